"""The pictures of the trees of digits and newsgroups in docs/images/.

    python -m benchmarks.pictures             # both, a minute
    python -m benchmarks.pictures digits

Newsgroups needs its files, see docs/join/data.md.
"""

import io
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from benchmarks.datasets import DATA_DIR, load_text
from benchmarks.shared import parser
from tao_cluster import TAOClustering, tao_path
from tao_cluster.plot import Words, plot_tree

DOCS = Path(__file__).parents[1] / "docs" / "images"


def digits():
    """Signed weights as images, as the demonstration fits them."""
    data = load_digits()
    X = data.data / 16
    model = TAOClustering(10, lambda_=8, depth=5, random_state=0).fit(X)
    return _draw("digits", model, X, y=data.target, image_shape=(8, 8), panels=("mask", "centers"))


def newsgroups():
    """Words at the nodes, newsgroups at the leaves."""
    X, vocabulary = load_text()
    # The end of a path from large trees is balanced. A single fit with this lambda gives a chain,
    # which has fewer words and costs more.
    lambdas = np.geomspace(0.005, 0.4, 10)[:8]
    *_, model = tao_path(X, 20, lambdas, depth=6, objective="spherical", random_state=0)
    y, names = _newsgroups()
    words = {"nodes": Words(vocabulary), "feature_names": vocabulary}
    return _draw("20 newsgroups", model, X, y=y, class_names=names, dpi=110, **words)


PICTURES = {"digits": digits, "newsgroups": newsgroups}


def _newsgroups(name="newsgroups_a1"):
    """Classes of the rows of `load_text`, and the last two parts of their names."""
    with np.load(DATA_DIR / f"{name}.npz") as counts:
        present = np.diff(counts["indptr"]) > 0
    with np.load(DATA_DIR / f"{name}.meta.npz", allow_pickle=True) as meta:
        names = [".".join(str(name).split(".")[-2:]) for name in meta["class_names"]]
        return meta["y"][present], names


def _draw(name, model, X, *, dpi=140, **options):
    """Bytes of a picture with a title that says what the tree costs."""
    tree = model.tree_
    title = (
        f"{name}: {tree.n_leaves} leaves, {tree.n_nonzero} weights, "
        f"{model.cost_increase_:.2f} % above the free clustering"
    )
    figure = plot_tree(model, X, title=title, **options).figure
    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, dpi=dpi)
    plt.close(figure)
    picture = Image.open(drawn).convert("RGB")
    # Colours carry the weights: a palette that covers the rare ones, not that of most pixels.
    method = {"method": Image.Quantize.MAXCOVERAGE, "kmeans": 3, "dither": Image.Dither.NONE}
    picture.quantize(256, **method).save(small, "PNG", optimize=True)
    return small.getvalue()


def main():
    """Write the pictures."""
    arguments = parser(__doc__)
    arguments.add_argument("names", nargs="*", metavar="NAME", default=PICTURES)
    for name in arguments.parse_args().names:
        path = DOCS / f"{name}_tree.png"
        path.write_bytes(PICTURES[name]())
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
