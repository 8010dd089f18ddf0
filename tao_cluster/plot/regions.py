"""Regions of the plane: clusters of the free clustering beside those of a tree."""

import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap

from .._utils.matrices import spaced_rows
from ..columns.names import brief, names_of, printable_names
from ..export.format import name_with_unit
from ..inspection.palette import cluster_color, tint
from ..reference import nearest_center
from ..tree import tree_of
from .boxes import wrap
from .charts import chart, write_head
from .style import font_size

_RESOLUTION = 400  # grid points per axis
_MARGIN = 0.05
_MOST_ROWS = 2000
_HOW_TO_READ = (
    "Dots are rows, in the colour of the nearest free centre. Crosses are centres. Regions have "
    "the colours of their clusters."
)
_TINT = 0.55  # share of the colour of the cluster in the colour of its region; the rest is white


def plot_regions(model, X, *, axes=None, title=None, **options):
    """Draw the Voronoi cells of the free clustering beside the leaves of the tree.

    The plane of the two features is drawn twice. Colours are clusters, and the same as in all other
    pictures. Lines are the borders of the Voronoi cells or of the leaves, crosses are centres. Dots
    are rows; in both drawings they have the colour of the nearest free centre, so that rows which
    the tree assigns to another cluster stand out. The picture follows figure 1 of the paper
    (Gabidolla & Carreira-Perpiñán, KDD 2022).

    Parameters
    ----------
    model : fitted estimator
        It must have two features, an objective with centres, and no embedding.
    X : array-like of shape (n, 2)
        Rows to show. At most 2000 of them are drawn. The axes are named by the features of the
        model, or else by the columns of X.
    axes : sequence of two matplotlib Axes, default a new figure
    title : str, optional
    **options
        style, width, height, figsize and font_size, as for :func:`plot_tree`. On a screen, the
        default width and size of text are those of ``rcParams``.

    Returns
    -------
    array of two matplotlib Axes

    Raises
    ------
    ValueError
        If the model or X does not have two columns, or if the model has no centres in this plane.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import TAOClustering
    >>> from tao_cluster.plot import plot_regions
    >>> X = load_iris().data[:, 2:]
    >>> axes = plot_regions(TAOClustering(3, lambda_=1.0, random_state=0).fit(X), X)
    """
    names, X, tree = getattr(X, "columns", None), np.asarray(X, dtype=np.float64), tree_of(model)
    _check_plane(model, tree, X)
    low, high = X.min(axis=0), X.max(axis=0)
    margin = _MARGIN * (high - low)
    low, high = low - margin, high + margin
    sides = [np.linspace(low[j], high[j], _RESOLUTION) for j in range(2)]
    grid = np.stack([side.ravel() for side in np.meshgrid(*sides)], axis=1)
    free = _free_clusters(model, grid)
    table = grid if names is None else pd.DataFrame(grid, columns=names)
    name = f"tree, {tree.n_leaves} leaves"
    pictures = (
        ("free clustering: nearest centre", free, free, model.free_centers_),
        (name, model.predict(table), model.apply(table), model.cluster_centers_),
    )
    shown = X[spaced_rows(len(X), _MOST_ROWS)]
    colors = [cluster_color(label) for label in _free_clusters(model, shown)]
    dots = {"c": colors, "s": 5, "linewidths": 0.25, "edgecolors": "0.2"}
    labels = printable_names(names_of(model, getattr(model, "feature_names_in_", names)))
    x_label, y_label = (brief(name_with_unit(label)) for label in labels)
    options["ax"] = None if axes is None else axes[0]
    with chart("ab", "a\nb", heights=(3.4, 6.0), **options) as (new, target):
        figure = new[0].figure
        if axes is None:
            axes, figure.caption = new, _HOW_TO_READ
            if target.style == "screen":
                lines = wrap(_HOW_TO_READ, font_size(), figure.get_figwidth() - 0.1)
                figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=font_size())
        for ax, (name, cluster, region, centers) in zip(axes, pictures, strict=True):
            _draw_regions(ax, sides, cluster, region, len(centers))
            ax.scatter(*shown.T, **dots)
            ax.plot(*centers.T, "P", color="white", markeredgecolor="black", markersize=8)
            ax.set_title(name, loc="left")
            ax.grid(visible=False)
            ax.set(xlim=sides[0][[0, -1]], ylim=sides[1][[0, -1]])
            ax.set_xlabel(x_label, parse_math=False)
            ax.set_ylabel(y_label, parse_math=False)
        write_head(figure, title)
    return np.array(axes)


def _free_clusters(model, X):
    """Return the nearest free centre of each row of the plane: int array of shape (n,)."""
    space = model._space
    data = space.objective.prepare(space.scaled(X))
    return nearest_center(space.objective, data, space.scaled_centers(model.free_centers_))


def _check_plane(model, tree, X):
    """Raise a ValueError if the model or the rows do not lie in a plane."""
    if tree.n_features != 2:
        raise ValueError(
            f"plot_regions draws two features; this model has {tree.n_features}: fit it to two "
            "columns of X."
        )
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"X must have the two columns of the fit; its shape is {X.shape}.")
    centers = getattr(model, "free_centers_", None)
    if centers is None or centers.shape[1] != 2 or model._space.has_embedding:
        raise ValueError(
            "plot_regions compares the tree with the nearest free centres, which must lie in the "
            "plane of the two features: fit an estimator with an objective that has centres, "
            "without an embedding."
        )


def _draw_regions(ax, sides, cluster, region, n_clusters):
    shape = (_RESOLUTION, _RESOLUTION)
    colors = [tint(cluster_color(k), _TINT) for k in range(-1, n_clusters)]
    style = {"cmap": ListedColormap(colors), "vmin": -1.5, "vmax": n_clusters - 0.5}
    ax.pcolormesh(*sides, cluster.reshape(shape), rasterized=True, **style)
    region = region.reshape(shape)
    border = np.zeros(shape, dtype=bool)
    # Both sides of a border: a line of one grid point has gaps in a small picture.
    across, along = region[:, 1:] != region[:, :-1], region[1:] != region[:-1]
    border[:, 1:] |= across
    border[:, :-1] |= across
    border[1:] |= along
    border[:-1] |= along
    lines = np.ma.masked_where(~border, np.ones(shape))
    ax.pcolormesh(*sides, lines, cmap=ListedColormap(["0.25"]), rasterized=True)
