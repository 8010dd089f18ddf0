"""Charts of fits: cost against size, the optimisation history, and regions of the plane."""

from collections.abc import Iterable

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap

from .._utils.frames import check_list_of_names
from .._utils.matrices import spaced_rows
from ..columns.names import brief, names_of, printable, printable_names
from ..export.format import name_with_unit, number_text
from ..inspection.palette import cluster_color, method_look, series_looks, tint
from ..measures import weighted_average_explanation_size
from ..optimize.choose import knee
from ..reference import nearest_center
from ..tree import tree_of
from .boxes import wrap
from .charts import (
    chart,
    finish,
    label_lines,
    lay_out,
    legend_below,
    note_above,
    pad,
    write_head,
    write_notes,
)
from .split_view import number
from .style import font_size, ink

# In sizes of a marker: by how much a ring is larger than the last one, and the distance of markers
# of which one would cover most of the other.
_RING, _NEAR = 0.6, 0.7
# Pictures of regions: grid points per axis, margin around the rows, and number of rows.
_RESOLUTION, _MARGIN, _MOST_ROWS = 400, 0.05, 2000
_LEGEND = "Dots have the colour of their nearest free centre, and regions that of their cluster."
_TINT = 0.55  # share of the colour of the cluster in the colour of its region; the rest is white
# Names of the default free clustering of each objective.
_FREE = {
    "kmeans": "k-means",
    "spherical": "spherical k-means",
    "kmedians": "k-medians",
    "kmedoids": "k-medoids",
}
# Names and colours of the stages of `history_` in pictures.
STAGES = {
    "start": ("initial trees", "#888888"),
    "direct fit": ("fit to the free clusters", "#888888"),
    "penalty": ("penalty method", "#771155"),
    "direct": ("passes over tests", "#0072B2"),
    "regrow": ("new leaves", "#56B4E9"),
    "relax": ("refits of tests", "#009E73"),
    "exact": ("passes on the cost", "#5E3C99"),
    "search": ("search", "#D55E00"),
    "sets": ("sets of levels", "#000000"),
}

# Axis label of each measure of the size of a tree. The keys are columns of the table of results
# that a comparison of methods returns.
SIZE_NAMES = {
    "parameters": "number of parameters",
    "leaves": "number of leaves",
    "WAD": "mean number of tests per row (WAD)",
    "WAES": "mean number of conditions per row (WAES)",
}
# Values of the option `size` of `plot_tradeoff`: the key in SIZE_NAMES, and the function of the
# tree and the rows that computes the size.
_MEASURES = {
    "parameters": ("parameters", lambda tree, X: tree.n_parameters),
    "leaves": ("leaves", lambda tree, X: tree.n_leaves),
    "explanation_size": ("WAES", weighted_average_explanation_size),
}


def plot_path(models, *, ax=None, title=None, **options):
    """Draw cost increase against number of parameters for the models of a regularization path.

    The knee, a compromise of cost and size that :func:`tao_cluster.knee` chooses, is marked. It
    and the ends of the path have notes.

    Parameters
    ----------
    models : list of fitted estimators, result of :func:`tao_cluster.tao_path`
    ax : matplotlib Axes, default a new figure
    title : str, optional
    **options
        style, width, height, figsize and font_size, as for :func:`plot_tree`. On a screen, the
        default width and size of text are those of ``rcParams``.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import tao_path
    >>> from tao_cluster.plot import plot_path
    >>> axes = plot_path(tao_path(load_iris().data, 3, random_state=0))
    """
    models = _model_list(models)
    with chart(ax=ax, **options) as (axes, _):
        (ax,) = axes
        x = [tree_of(model).n_parameters for model in models]
        points = np.column_stack([x, [model.cost_increase_ for model in models]])
        look = series_looks({"path": _title(models[0])})["path"]
        ax.plot(*points.T, "-", marker=look.marker, color=ink(look.color))
        chosen, texts = [0, len(models) - 1], [_note(model) for model in models]
        if len(models) > 2:  # the knee first, because later notes give way
            best = knee(models)
            at = next(i for i, model in enumerate(models) if model is best)
            ax.plot(*points[at], "o", markersize=9, fillstyle="none", color=ink("#D62728"))
            chosen = [at, *chosen]
            texts[at] = f"knee, {texts[at]}"
        _finish(ax, SIZE_NAMES["parameters"], title, cost_label(models))
        pad(ax, plt.rcParams["font.size"])  # also for notes
        chosen = list(dict.fromkeys(chosen))
        write_notes(ax, [texts[i] for i in chosen], [points[[i]] for i in chosen])
    return ax


def cost_label(models, new=False):
    """Return the label of an axis of costs, which names the clustering that they are compared with.

    Parameters
    ----------
    models : list of fitted estimators
    new : bool, default=False
        Whether the costs are those of held-out rows.
    """
    names = {free_name(model) for model in models}
    if names == {"labels"}:
        return f"{'held-out ' if new else ''}rows with another label, %"
    (name,) = names if len(names) == 1 else ("the free clustering",)
    return f"cost{' of held-out rows' if new else ''} above {name}, %"


def free_name(model):
    """Return what a tree is compared with: "k-means", "labels" or "the free clustering", ..."""
    parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    objective, reference = (parameters.get(name) for name in ("objective", "reference"))
    if getattr(objective, "explains_labels", objective == "labels"):
        return "labels"
    is_default = reference is None or type(reference).__name__.endswith("KMeans")
    is_known = is_default and isinstance(objective or "kmeans", str)
    return _FREE.get((objective or "kmeans") if is_known else "", "the free clustering")


def _note(model):
    """Return the note beside a model of a path: lambda, or the leaves of axis-aligned trees."""
    if model.lambda_ == "auto":
        return f"{tree_of(model).n_leaves} leaves"
    return f"\u03bb = {number_text(model.lambda_, 3)}"


def plot_tradeoff(
    models, *, labels=None, size="parameters", X=None, ax=None, title=None, **options
):
    """Draw the cost increase of fitted estimators against the size of their trees.

    Models with the same label are one series, joined by a line from the smallest to the largest. A
    method has the same colour and marker in every picture.

    Parameters
    ----------
    models : list of fitted estimators with `tree_` and `cost_increase_`
    labels : list of str, optional
        One label per model. Default: the names of their classes. Parameters with string values,
        such as `split`, are added if models of one class differ in them, so that oblique and
        axis-aligned trees are two series.
    size : {"parameters", "leaves", "explanation_size"}, default="parameters"
    X : array-like or CSR matrix of shape (n, d)
        Rows over which "explanation_size" is averaged; the other sizes do not need it.
    ax : matplotlib Axes, default a new figure
    title : str, optional
    **options
        style, width, height, figsize and font_size, as for :func:`plot_tree`. On a screen, the
        default width and size of text are those of ``rcParams``.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        If `size` is unknown, X is missing, or the number of labels is not that of the models.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import CART, ExKMC
    >>> from tao_cluster.plot import plot_tradeoff
    >>> X = load_iris().data
    >>> models = [make(3, max_leaves=n).fit(X) for make in (CART, ExKMC) for n in (3, 6)]
    >>> axes = plot_tradeoff(models)
    """
    if size not in _MEASURES:
        raise ValueError(f"size must be one of {', '.join(_MEASURES)}; got {size!r}.")
    if size == "explanation_size" and X is None:
        raise ValueError("size='explanation_size' is a mean over rows: pass them as X.")
    models = _model_list(models)
    check_list_of_names(labels, "labels")
    labels = _methods(models) if labels is None else list(labels)
    if len(labels) != len(models):
        raise ValueError(
            f"labels must have one entry per model; got {len(labels)} for {len(models)} models."
        )
    column, measure = _MEASURES[size]
    points, methods = {}, {}
    for label, model in zip(labels, models, strict=True):
        place = (float(measure(tree_of(model), X)), model.cost_increase_)
        points.setdefault(label, []).append(place)
        methods.setdefault(label, _title(model))
    label = cost_label(models)
    return plot_series(points, column, label, methods=methods, ax=ax, title=title, **options)


def _model_list(models):
    """Return models as a list that is not empty."""
    if not isinstance(models, Iterable):
        raise TypeError(
            f"models must be a list of fitted estimators, such as tao_path returns; got one "
            f"{type(models).__name__}."
        )
    models = list(models)
    if not models:
        raise ValueError("models is an empty list: there is nothing to draw.")
    return models


def _methods(models):
    """Return a label per model: its class and the strings in which models of the class differ."""
    strings = [_string_parameters(model) for model in models]
    names = [type(model).__name__ for model in models]
    for i, name in enumerate(names):
        same = [strings[j] for j in range(len(models)) if type(models[j]) is type(models[i])]
        # Only parameters that are strings in all models of the class count: lambda_="auto" of one
        # model and lambda_=3.0 of another are not two methods.
        shared = [key for key in strings[i] if all(key in other for other in same)]
        differ = [key for key in shared if len({other[key] for other in same}) > 1]
        names[i] = ", ".join([name, *(f"{key}={strings[i][key]}" for key in differ)])
    return names


def _title(model):
    """Return the title that `compare` gives to the method of a model, such as "TAO axis"."""
    name = type(model).__name__.replace("TAOClustering", "TAO")
    split = _string_parameters(model).get("split", "")
    titles = f"{name} {split}", name
    return next((title for title in titles if method_look(title) is not None), name)


def _string_parameters(model):
    """Return the parameters of a model whose values are strings."""
    parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    return {key: value for key, value in parameters.items() if isinstance(value, str)}


def plot_series(points, size, cost, *, methods=None, curves=None, ax=None, title=None, **options):
    """Draw cost against size, with the colour and the marker of the method of each series.

    The name of a line stands right of its last point. Those of single points are in a legend
    below. A marker that would be covered by that of an earlier series is a ring around it.

    Parameters
    ----------
    points : dict of str to sequence of (size, cost in percent) or (size, cost, standard error)
        Points of each series, joined from the smallest size to the largest. Standard errors become
        error bars.
    size : str, a key of `SIZE_NAMES`
    cost : str, label of the axis of costs
    methods : dict of str to str, optional
        The title of the method of each series; default the name of the series.
    curves : dict of str to sequence of (size, cost), optional
        Lines to draw for some series instead of the straight lines between their points.
    ax : matplotlib Axes, default a new figure
    title : str, optional
    **options : of :func:`.charts.chart`

    Returns
    -------
    matplotlib Axes
    """
    curves = {} if curves is None else curves
    looks = series_looks(dict(zip(points, points, strict=True)) if methods is None else methods)
    with chart(ax=ax, **options) as (axes, target):
        (ax,), lines, ground = axes, [], plt.rcParams["axes.facecolor"]
        marker_size = 1.25 * plt.rcParams["lines.markersize"]
        for i, (label, places) in enumerate(points.items()):
            color, marker, is_hollow = looks[label]
            look = {"color": ink(color), "zorder": 3 - 0.01 * i}
            style = {"marker": marker, "markersize": marker_size}
            style |= {"linestyle": "--", "markerfacecolor": ground} if is_hollow else {}
            x, y, *errors = np.transpose(sorted(map(tuple, places)))
            if errors:
                bars = [y - errors[0], y + errors[0], np.full(len(y), np.nan)]
                ax.plot(np.repeat(x, 3), np.transpose(bars).ravel(), "-", **look)
            if label in curves:
                ax.plot(*np.transpose(curves[label]), "--" if is_hollow else "-", **look)
                style["linestyle"] = "none"
            lines += ax.plot(x, y, label=brief(printable(str(label))), **look | style)
        _finish(ax, SIZE_NAMES[size], title, cost)
        _nest(ax, lines, marker_size)
        label_lines(ax, lines, grows=target.height is None)
    return ax


def _nest(ax, lines, size):
    """Draw markers that earlier ones would cover as rings around them, which do not hide them."""
    above, look = np.empty((0, 2)), {"markerfacecolor": "none", "linestyle": "none"}
    for line in lines:
        own = ax.transData.transform(line.get_xydata()) * 72 / ax.figure.dpi
        n_above = np.sum(np.abs(own[:, None] - above).max(axis=2) < _NEAR * size, axis=1)
        line.set_markevery(np.flatnonzero(n_above == 0).tolist())
        look |= {"color": line.get_color(), "marker": line.get_marker()}
        for n in np.unique(n_above[n_above > 0]):
            ax.plot(*line.get_xydata()[n_above == n].T, markersize=size * (1 + _RING * n), **look)
        above = np.vstack([above, own])
    pad(ax, max(line.get_markersize() for line in ax.lines) - size)


def plot_history(model, *, ax=None, title=None, **options):
    """Draw the cost increase of the trees that a fit evaluated, one line per stage.

    The dashed line is the cost increase of the resulting tree. A hollow point is a tree that was
    not better than those before it in its stage. Initial trees are not joined by a line, because
    each has a start of its own. A stage whose trees were measured on a sample of the rows, as with
    `max_rows`, is marked "(sample)". Vertical lines mark changes of lambda, whose values stand
    above them where they have space. The horizontal axis is the penalty mu if the fit used only
    the penalty method; its first point is then the direct fit, at mu = 0. Otherwise the axis is
    the number of the tree, in the order of evaluation.

    Parameters
    ----------
    model : fitted TAOClustering
    ax : matplotlib Axes, default a new figure
    title : str, optional
    **options
        style, width, height, figsize and font_size, as for :func:`plot_tree`. On a screen, the
        default width and size of text are those of ``rcParams``.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        If the model has no history, or an empty one since the fit did not change its initial tree.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import TAOClustering
    >>> from tao_cluster.plot import plot_history
    >>> axes = plot_history(TAOClustering(3, lambda_=1.0, random_state=0).fit(load_iris().data))
    """
    tree_of(model)  # raises an error if the model is not fitted
    records = getattr(model, "history_", None)
    if records is None or any("mu" not in record for record in records):
        raise ValueError(
            f"{type(model).__name__} does not record the stages of its fit; plot_history takes a "
            "fitted TAOClustering."
        )
    if not records:
        raise ValueError("history_ is empty: the fit ended with its initial tree, as it was.")
    mu = np.array([record["mu"] for record in records])
    along_mu = np.isfinite(mu).all() and (mu > 0).any()
    # The axis of mu is logarithmic. The direct fit, at mu = 0, is drawn left of the other points.
    x = np.maximum(mu, mu[mu > 0].min() / 1.5) if along_mu else np.arange(1.0, len(mu) + 1)
    y = np.array([record["cost_increase"] for record in records])
    is_kept = np.array([bool(record["kept"]) for record in records])
    stages = np.array([_stage_name(record) for record in records])
    with chart(ax=ax, **options) as (axes, target):
        (ax,), ground = axes, plt.rcParams["axes.facecolor"]
        for name in dict.fromkeys(stages.tolist()):
            at = stages == name
            stage = records[int(np.argmax(at))]["stage"]
            look = {"color": ink(_stage(stage)[1])}
            line = "none" if stage == "start" else "-"
            # A missing value where another stage interrupts this one also interrupts the line.
            ax.plot(x, np.where(at, y, np.nan), "o", linestyle=line, label=name, **look)
            hollow = at & ~is_kept
            ax.plot(x[hollow], y[hollow], "o", markerfacecolor=ground, **look)
        style = {"color": ink("0.3"), "linestyle": "--"}
        result = round(float(model.cost_increase_), 2) + 0.0  # no negative zero
        label = f"result: {number(result, '.2f')} %"
        ax.axhline(model.cost_increase_, label=label, **style)
        if not is_kept.all():
            ax.plot([], [], "o", color=ink("0.5"), fillstyle="none", label="not kept")
        x_label = r"penalty $\mu$" if along_mu else "number of the tree"
        ax.set(xlabel=x_label, ylabel=cost_label([model]))
        ax.set_title(title or "", loc="left")
        if along_mu:
            ax.set_xscale("log")
        finish(ax, whole=not along_mu, costs=True)
        if not along_mu:
            _mark_lambdas(ax, np.array([record["lambda"] for record in records], dtype=float))
        legend_below(ax, grows=target.height is None)
    return ax


def _mark_lambdas(ax, lambdas):
    """Draw a line at each change of lambda, and write above it the values that have space."""
    starts = [0, *(np.flatnonzero(np.diff(lambdas)) + 1)]
    if len(starts) == 1:
        return
    edges = np.array([*starts, len(lambdas)]) + 0.5
    name = "\u03bb = "
    for start, left, right in zip(starts, edges, edges[1:], strict=False):
        if start:
            ax.axvline(left, color=ink("0.75"), linestyle=":", zorder=1)
        if ax not in ax.figure.axes:  # a panel beside a tree, whose final size is unknown
            continue
        note = note_above(ax, (left + right) / 2, name + number_text(lambdas[start], 2))
        room = np.diff(ax.transData.transform([(left, 1.0), (right, 1.0)])[:, 0])
        if note.get_window_extent().width > room:
            note.remove()
        else:
            name = ""
    ax.set_title(ax.get_title(loc="left"), loc="left", pad=plt.rcParams["font.size"] * 1.5 + 4)
    lay_out(ax)


def _stage_name(record):
    """Return what the stage of a record is called in the legend."""
    name, _ = _stage(record["stage"])
    return f"{name} (sample)" if record.get("sampled") else name


def _stage(stage):
    """Return the name and the colour of a stage, which may be one of a user's own algorithm."""
    return STAGES.get(stage, (stage, "#AA1155"))


def _finish(ax, size_name, title, cost):
    """Write labels and title of an axes of costs against sizes, and set its scales and ticks."""
    ax.set(xlabel=size_name, ylabel=cost)
    ax.set_title(title or "", loc="left")
    finish(ax, whole=size_name.startswith("number"), costs=True, log_x=True)


# ---------------------------------------------------------------------- regions of the plane


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
            axes, figure.caption = new, f"{_LEGEND} Crosses are centres."
            if target.style == "screen":
                lines = wrap(_LEGEND, font_size(), figure.get_figwidth() - 0.1)
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
