"""`plot_tree`: what is asked for, checked, and handed to the picture."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from ...columns import numbers_of, one_row, printable_lines, shown
from ...inspection.rows import Rows, ways
from ...inspection.tolerances import tolerances
from ...report import cluster_names, gaps_of, spreads_of, terms_at
from ...tree import tree_of
from ..glyphs import choose_glyph
from .folding import Upper
from .leaves import Subtree
from .panels import make_panels
from .picture import Picture

_STYLE = {"font.size": 8, "font.family": "sans-serif"}
_ORIENTATIONS = ("vertical", "horizontal")


def plot_tree(
    tree,
    X=None,
    *,
    y=None,
    nodes="auto",
    image_shape=None,
    feature_names=None,
    class_names=None,
    panels=(),
    scaled=False,
    ax=None,
    title=None,
    max_depth=None,
    orientation="vertical",
    highlight=None,
):
    """Draw a tree.

    A test shows its weights: red features push a row to the right (towards w.x > threshold),
    blue ones to the left; weights of images lie over the pale mean of the rows that come there,
    with a colour scale each. Edges say which side of the threshold they are. Features are chosen
    and sized by their effect, |weight| times spread over the rows of the node (of X, or else of
    the fit; of a bare tree by weight); numbers, and the colours of pixels, are weights. A leaf
    shows its cluster, and with X its rows and their mean; the width of an edge is the share of
    the rows that take it. A cluster has the same colour everywhere.

    Parameters
    ----------
    tree : Tree, or fitted estimator with `tree_`
    X : array-like or CSR matrix of shape (n, n_features), optional
        Rows to count and average; needed for everything at the leaves but their clusters.
    y : array-like of shape (n,), optional
        True classes of the rows; a leaf shows the shares of the three most frequent ones.
    nodes : {"auto", "image", "words", "bars", "projection"} or Glyph, default="auto"
        How nodes are drawn. "image": weights as pixels. "words": names of the features of
        largest effect, larger where the effect is. "bars": horizontal bars of the largest
        effects; a test of one feature is written out. "projection": histogram of w.x over the
        node's rows by the side they take. "auto": "image" if `image_shape` is given; else
        "words" if X is sparse or the tree uses more than 30 features; else "bars".
        An object with the attributes and methods of :class:`tao_cluster.plot.Glyph`
        draws them as it likes.
    image_shape : (height, width), optional
        Draw features as pixels; height * width = n_features.
    feature_names : sequence of str, optional
        Default those that the estimator was fitted with, or x0, x1, ...
    class_names : sequence of str, optional
        In the order of the sorted distinct values of `y`; default these values.
    panels : sequence of {"mask", "centers", "history"}, default=()
        Beside the tree: the pixels that some test uses, the centres of the free clustering as
        images, the cost increase along the fit.
    scaled : bool, default=False
        Whether numbers and pixels are weights times the spread of their feature.
    ax : matplotlib Axes, optional
        Default a new figure of a size that fits the tree; text shrinks with smaller axes.
    title : str, optional
    max_depth : int, optional
        Tests at this depth (the root has depth 0) and what is below them become one box each:
        how many leaves there are, and which clusters they or their rows belong to.
    orientation : {"vertical", "horizontal"}, default="vertical"
        Whether the root is above its children, or on their left.
    highlight : int or row, optional
        A row of X by its position, or any row as :func:`tao_cluster.explanations.explain` takes
        it: its path is drawn strongly, with its sums at the tests.

    Returns
    -------
    matplotlib Axes
        One unit is one inch of the figure that would fit.

    Raises
    ------
    ValueError
        If `image_shape`, `feature_names`, `y` or `class_names` do not fit, if `nodes` or a
        panel is unknown, if what they show is not given, or if `max_depth`, `orientation` or
        `highlight` is none of what is named above.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import TAOClustering
    >>> from tao_cluster.plot import plot_tree
    >>> iris = load_iris()
    >>> model = TAOClustering(3, lambda_=5, depth=2, random_state=0).fit(iris.data)
    >>> ax = plot_tree(
    ...     model, iris.data, y=iris.target, feature_names=iris.feature_names,
    ...     class_names=iris.target_names)
    >>> ax.figure.savefig("iris.png")  # doctest: +SKIP
    >>> plt.close(ax.figure)
    """
    estimator, names = shown(tree, feature_names)
    tree = tree_of(estimator)
    if X is None and y is not None:
        raise ValueError("y needs X, the rows whose classes it holds.")
    rows = None if X is None else Rows.of(tree, numbers_of(estimator, X), y, class_names)
    if orientation not in _ORIENTATIONS:
        raise ValueError(f"orientation must be one of {_ORIENTATIONS}; got {orientation!r}.")
    glyph = choose_glyph(nodes, tree, rows, image_shape, names)
    panels = make_panels(panels, estimator, tree, image_shape)
    upper = Upper.of(tree, max_depth)
    labels = cluster_names(estimator, int(tree.leaf_label.max()) + 1)
    counts = getattr(estimator, "node_counts_", None) if rows is None else rows.counts
    terms, allowed = _tests(estimator, tree, names, rows, counts, scaled)
    picture = Picture(
        tree=upper.tree,
        rows=None if rows is None else rows.through(upper.tree, upper.stands_for),
        glyph=glyph,
        panels=panels,
        title=title and printable_lines(title),
        terms=[terms[i] for i in upper.origin],
        labels=labels,
        tolerances=[allowed.get(int(i)) for i in upper.origin],
        subtrees=_subtrees(tree, upper, labels, counts, rows is not None),
        way=_way(estimator, X, highlight, feature_names, upper),
        is_horizontal=orientation == "horizontal",
    )
    with mpl.rc_context(_STYLE):
        return picture.draw(ax)


def _tests(estimator, tree, names, rows, counts, scaled):
    """Terms of all nodes, and by node how far a shown threshold may be from the exact one."""
    spreads = spreads_of(estimator) if rows is None else rows.spreads
    terms = [terms_at(tree, node, names, spreads, scaled) for node in range(tree.n_nodes)]
    counts = [None] * tree.n_nodes if counts is None else counts
    nodes = [{"terms": t, "count": n} for t, n in zip(terms, counts, strict=True)]
    return terms, tolerances(tree, nodes, gaps_of(estimator))


def _subtrees(tree, upper, labels, counts, has_rows):
    """What stands for the nodes that are not drawn, by node of the upper tree."""
    found = {}
    for node, leaves in upper.hidden.items():
        sizes = np.ones(len(leaves)) if counts is None else counts[leaves]
        if not np.any(sizes):  # no row comes here
            sizes = np.ones(len(leaves))
        shares = np.bincount(tree.leaf_label[leaves], sizes, minlength=len(labels))
        n_rows = float(counts[upper.origin[node]]) if has_rows else None
        found[node] = Subtree(len(leaves), shares / shares.sum(), labels, n_rows)
    return found


def _way(estimator, X, highlight, feature_names, upper):
    """The sums of a row at the nodes of the upper tree that it visits, None at its end."""
    if highlight is None:
        return {}
    if isinstance(highlight, int | np.integer) and not isinstance(highlight, bool):
        n_rows = 0 if X is None else np.shape(X)[0]
        if not -n_rows <= highlight < n_rows:
            raise ValueError(f"highlight={highlight} is a row of X, which has {n_rows} rows.")
        position = int(highlight) % n_rows
        highlight = X.iloc[[position]] if hasattr(X, "iloc") else X[position : position + 1]
    (way,) = ways(estimator, one_row(estimator, highlight, feature_names))
    drawn = {node: i for i, node in enumerate(upper.origin.tolist()) if i not in upper.hidden}
    sums = {drawn[node]: total for node, total in way.totals.items() if node in drawn}
    return sums | {int(upper.stands_for[way.leaf]): None}


def save_tree(path, tree, X=None, **options):
    """Draw a tree into a file; other parameters as for :func:`plot_tree`.

    Examples
    --------
    >>> import os, tempfile
    >>> from tao_cluster import Tree
    >>> from tao_cluster.plot import save_tree
    >>> save_tree(os.path.join(tempfile.mkdtemp(), "tree.png"), Tree.single_leaf(0, 2))
    """
    figure = plot_tree(tree, X, **options).figure
    figure.savefig(path)
    plt.close(figure)
