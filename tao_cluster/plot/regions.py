"""Regions of the plane: the nearest centres of the reference beside the leaves of a tree."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from .._utils.matrices import spaced_rows
from ..tree import tree_of
from .curves import STYLE

_RESOLUTION = 400  # points a side at which regions are looked up
_MARGIN = 0.05
_MOST_ROWS = 2000


def plot_regions(model, X, *, axes=None, title=None):
    """Voronoi cells of the free clustering and regions of the tree, for two features.

    Figure 1 of the KDD'22 paper. Colours are clusters, lines the borders of leaves.

    Parameters
    ----------
    model : fitted estimator with two features, k-means objective, no embedding
    X : array-like of shape (n, 2)
        Rows to show, 2000 of them at most.
    axes : two matplotlib Axes, default a new figure
    title : str, optional

    Returns
    -------
    array of two matplotlib Axes

    Raises
    ------
    ValueError
        If the model does not have two features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import TAOClustering
    >>> from tao_cluster.plot import plot_regions
    >>> X = load_iris().data[:, 2:]
    >>> axes = plot_regions(TAOClustering(3, lambda_=1.0, random_state=0).fit(X), X)
    """
    X, tree = np.asarray(X, dtype=np.float64), tree_of(model)
    if tree.n_features != 2 or X.ndim != 2 or X.shape[1] != 2:
        raise ValueError("Regions are drawn for two features only.")
    low, high = X.min(axis=0), X.max(axis=0)
    margin = _MARGIN * (high - low)
    low, high = low - margin, high + margin
    sides = [np.linspace(low[j], high[j], _RESOLUTION) for j in range(2)]
    grid = np.stack([side.ravel() for side in np.meshgrid(*sides)], axis=1)
    free = ((grid[:, None] - model.free_centers_) ** 2).sum(axis=2).argmin(axis=1)
    name = f"tree, {tree.n_leaves} leaves"
    pictures = (
        ("nearest centre", free, free, model.free_centers_),
        (name, model.predict(grid), model.apply(grid), model.cluster_centers_),
    )
    shown = X[spaced_rows(len(X), _MOST_ROWS)]
    with mpl.rc_context(STYLE | {"axes.grid": False}):
        if axes is None:
            _, axes = plt.subplots(1, 2, figsize=(7.0, 3.5), dpi=150, layout="constrained")
        for ax, (name, cluster, region, centers) in zip(axes, pictures, strict=True):
            _draw_regions(ax, sides, cluster, region, len(centers))
            ax.plot(*shown.T, ".", color="0.2", markersize=1.5, alpha=0.6)
            ax.plot(*centers.T, "P", color="white", markeredgecolor="black", markersize=8)
            ax.set_title(name, loc="left")
            ax.set(xlim=sides[0][[0, -1]], ylim=sides[1][[0, -1]])
            ax.set_axis_off()
        if title:
            axes[0].figure.suptitle(title, fontsize=9)
    return axes


def _draw_regions(ax, sides, cluster, region, n_clusters):
    shape = (_RESOLUTION, _RESOLUTION)
    colors = [mpl.colormaps["tab20"](2 * k % 20 + 1 - (k // 10) % 2) for k in range(n_clusters)]
    style = {"cmap": ListedColormap(colors), "vmin": -0.5, "vmax": n_clusters - 0.5}
    ax.pcolormesh(*sides, cluster.reshape(shape), rasterized=True, **style)
    region = region.reshape(shape)
    border = np.zeros(shape, dtype=bool)
    border[:, 1:] |= region[:, 1:] != region[:, :-1]
    border[1:] |= region[1:] != region[:-1]
    lines = np.ma.masked_where(~border, np.ones(shape))
    ax.pcolormesh(*sides, lines, cmap=ListedColormap(["0.25"]), rasterized=True)
