"""Draw the pictures of docs/start.md, also those of README and docs/index.md, and of the guide.

``python docs/pictures.py`` runs the code of these pages and saves each figure under the name that
the page shows next.
"""

import doctest
import os
import re
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

DOCS = Path(__file__).parent
# Dots per inch; None: thumbnails.
PAGES = {"start.md": 130, "guide/lambda.md": 100, "guide/nested.md": 110, "guide/stability.md": 110}
PAGES |= {"guide/pictures.md": None, "guide/segments.md": 130}
THUMBNAIL = 520, 390  # largest width and height, pixels


def main():
    """Draw the pictures of all pages."""
    mpl.use("agg")
    os.chdir(DOCS)  # which has customers.csv
    for page, dpi in PAGES.items():
        draw(DOCS / page, dpi)


def draw(page, dpi):
    """Run the code of a page and save its figures, in the order of their pictures."""
    text = page.read_text(encoding="utf-8")
    paths = iter(re.findall(r"\]\(([./]*images/[\w/]+\.png)\)", text))
    names = {}
    for example in doctest.DocTestParser().get_examples(text):
        exec(compile(example.source, page.name, "single"), names)  # noqa: S102
        for number in plt.get_fignums():
            path = page.parent / next(paths)
            figure = plt.figure(number)
            small = min(THUMBNAIL / figure.get_size_inches())
            figure.savefig(path, dpi=dpi or small, bbox_inches="tight")
            plt.close(number)
            print(path.name, path.stat().st_size // 1000, "kB")


if __name__ == "__main__":
    main()
