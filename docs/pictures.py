"""The pictures of docs/start.md: its code is run, and each figure saved where the page shows it.

python docs/pictures.py
"""

import doctest
import re
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

DOCS = Path(__file__).parent
DPI = 130


def main():
    """Run the page and write its pictures."""
    mpl.use("agg")
    text = (DOCS / "start.md").read_text(encoding="utf-8")
    paths = iter(re.findall(r"\]\((images/\w+\.png)\)", text))
    names = {}
    for example in doctest.DocTestParser().get_examples(text):
        exec(compile(example.source, "start.md", "single"), names)  # noqa: S102
        if plt.get_fignums():
            path = DOCS / next(paths)
            plt.gcf().savefig(path, dpi=DPI, bbox_inches="tight")
            plt.close("all")
            print(path.name, path.stat().st_size // 1000, "kB")


if __name__ == "__main__":
    main()
