"""The picture of a tree: tests at the nodes, what the rows look like at the leaves."""

from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from ..export.names import check_feature_names
from .glyphs import Box, Image, Terms
from .layout import tidy_positions

_STYLE = {"font.size": 8, "font.family": "sans-serif"}
_DPI = 150
_INCH = 0.95  # of one horizontal slot
_LEVEL = 1.5  # height of a level, in slots
_HALF = 0.4  # half-width of a glyph, in slots


def plot_tree(tree, X=None, *, image_shape=None, feature_names=None, ax=None, title=None):
    """Draw a tree.

    A test shows its weights: red features push a row to the right (towards w.x > threshold),
    blue ones to the left, white is exactly 0. A leaf shows its cluster, and with X its rows
    and their mean; the width of an edge is the share of the rows that take it.

    Parameters
    ----------
    tree : Tree, or fitted estimator with `tree_`
    X : array-like or CSR matrix of shape (n, n_features), optional
        Rows to count and average; needed for images at the leaves.
    image_shape : (height, width), optional
        Draw features as pixels; height * width = n_features.
    feature_names : sequence of str, optional
        For tests written as text, where `image_shape` is not given.
    ax : matplotlib Axes, optional
        Default a new figure of a size that fits the tree.
    title : str, optional

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        If `image_shape` or `feature_names` does not fit the features.
    """
    tree = getattr(tree, "tree_", tree)
    if image_shape is None:
        glyph = Terms(check_feature_names(feature_names, tree.n_features))
    elif image_shape[0] * image_shape[1] == tree.n_features:
        glyph = Image(tuple(image_shape))
    else:
        raise ValueError(f"image_shape {image_shape} does not hold {tree.n_features} features.")
    rows = None if X is None else _Rows.of(tree, X)
    x, depth = tidy_positions(tree)
    with mpl.rc_context(_STYLE):
        if ax is None:
            width, height = x.max() + 1.4, (depth.max() + 1) * _LEVEL + 0.7
            _, ax = plt.subplots(figsize=(max(4.0, width * _INCH), height * _INCH), dpi=_DPI)
            ax.figure.subplots_adjust(0.01, 0.01, 0.99, 0.95)
        _draw_edges(ax, tree, x, -depth * _LEVEL, rows)
        for node in range(tree.n_nodes):
            box = Box(x[node], -depth[node] * _LEVEL, _HALF)
            _draw_node(ax, tree, node, box, glyph, rows)
        _finish(ax, x, depth, title, image_shape is not None)
    return ax


def save_tree(path, tree, X=None, **options):
    """Draw a tree into a file; other parameters as for :func:`plot_tree`."""
    figure = plot_tree(tree, X, **options).figure
    figure.savefig(path)
    plt.close(figure)


@dataclass(frozen=True, eq=False)
class _Rows:
    """What a set of rows says about the nodes: counts, and means of the leaves."""

    counts: np.ndarray
    means: Any
    limits: tuple[float, float]

    @classmethod
    def of(cls, tree, X):
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        leaf_of_row = tree.apply(X)
        counts = tree.node_counts(leaf_of_row)
        membership = sp.csr_matrix(
            (np.ones(len(leaf_of_row)), (leaf_of_row, np.arange(len(leaf_of_row)))),
            shape=(tree.n_nodes, len(leaf_of_row)),
        )
        sums = membership @ X
        sums = sums.toarray() if sp.issparse(sums) else sums
        means = sums / np.maximum(counts, 1)[:, None]
        return cls(counts, means, (float(X.min()), float(X.max())))


def _draw_edges(ax, tree, x, y, rows):
    for node in tree.decision_nodes:
        for child in (tree.children_left[node], tree.children_right[node]):
            share = 0.2 if rows is None else rows.counts[child] / max(1, rows.counts[0])
            ax.plot(
                [x[node], x[child]],
                [y[node] - _HALF, y[child] + _HALF],
                color="0.6",
                linewidth=0.6 + 8 * share,
                solid_capstyle="butt",
                zorder=1,
            )


def _draw_node(ax, tree, node, box, glyph, rows):
    above = {"ha": "center", "va": "bottom", "zorder": 5}
    below = {"ha": "center", "va": "top", "zorder": 5}
    if tree.children_left[node] >= 0:
        glyph.draw_test(ax, box, tree, node)
        n_used = len(tree.split(node)[0])
        label = f"{n_used} feature{'s' if n_used != 1 else ''}"
        backing = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85}
        ax.text(box.x, box.y + box.half + 0.04, label, color="0.25", bbox=backing, **above)
        return
    glyph.draw_leaf(
        ax,
        box,
        np.zeros(tree.n_features) if rows is None else rows.means[node],
        (0.0, 1.0) if rows is None else rows.limits,
    )
    label = f"cluster {tree.leaf_label[node]}"
    if rows is not None:
        label += f"\n{rows.counts[node]:.0f} rows"
    ax.text(box.x, box.y - box.half - 0.05, label, fontweight="bold", **below)


def _finish(ax, x, depth, title, is_image):
    ax.set_xlim(x.min() - 0.7, x.max() + 0.7)
    ax.set_ylim(-depth.max() * _LEVEL - 1.0, 0.75)
    ax.set_aspect("equal")
    ax.set_axis_off()
    convention = "left if w.x <= threshold, else right"
    if is_image:
        convention = f"red pixels push right, blue pixels left, white is weight 0; {convention}"
    ax.set_title(f"{title}\n{convention}" if title else convention, fontsize=9)
