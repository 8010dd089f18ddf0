"""Curves: cost against size of several fitted models, and the optimisation history of one fit."""

from collections.abc import Iterable

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

from .._utils.frames import check_list_of_names
from ..columns.names import brief, printable
from ..export.format import number_text
from ..inspection.palette import long_name, method_look, series_looks
from ..measures import weighted_average_explanation_size
from ..optimize.choose import knee
from ..tree import tree_of
from .boxes import text_width, wrap
from .split_view import number
from .style import STYLE, drawn_with

_MOST_NOTES = 5
# Places of a note beside its point: offset in points, and horizontal and vertical alignment.
_PLACES = (
    *((7, 6, "left", "bottom"), (-7, 6, "right", "bottom"), (0, 10, "center", "bottom")),
    *((-7, -6, "right", "top"), (7, -6, "left", "top"), (0, -10, "center", "top")),
)
_NOTE_SIZE, _NOTE_GAP = 8, 4  # of a note: font size, and distance to lines and points, in points
_NEAR, _RING = 5, 3  # points: distance at which markers overlap, growth of the hidden ones
_LEGEND_WIDTH, _LEGEND_LINE = 1.75, 0.15  # inches: width of a long name, height of a line
# An axis is logarithmic if the ratio of its largest to its smallest value exceeds _LOGARITHMIC
# (axis of sizes) or _FAR (axis of costs).
_LOGARITHMIC, _FAR = 8, 20
_ROOM = {"x": 0.38, "y": 0.16}  # inches of the axis that the label of a tick takes
_SIZE, _WIDE, _DPI = (5.0, 3.4), (6.4, 3.4), 150
_BESIDE = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
COST = "cost above the free clustering\n({} without a tree), %"
# What the free clustering of an objective is, if it is the default one.
_FREE = {
    "kmeans": "k-means",
    "spherical": "spherical k-means",
    "kmedians": "k-medians",
    "kmedoids": "k-medoids",
}
# What the stages of `history_` are called in pictures, and their colours.
STAGES = {
    "start": ("initial trees", "#888888"),
    "direct fit": ("fit to the free clustering", "#888888"),
    "penalty": ("penalty method", "#771155"),
    "direct": ("passes over the tests", "#0072B2"),
    "regrow": ("new leaves", "#56B4E9"),
    "relax": ("refits of the tests", "#009E73"),
    "exact": ("passes that lower the cost directly", "#5E3C99"),
    "search": ("search for another structure", "#D55E00"),
    "polish": ("passes over all rows", "#000000"),
}

# Axis label of each measure of the size of a tree. The keys are columns of the table of results
# that a comparison of methods returns.
SIZE_NAMES = {
    "parameters": "number of parameters (weights, thresholds, leaves)",
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


def plot_path(models, *, ax=None, title=None):
    """Draw cost increase against number of parameters for the models of a regularization path.

    The knee, a compromise of cost and size that :func:`tao_cluster.knee` chooses, is marked.

    Parameters
    ----------
    models : list of fitted estimators, result of :func:`tao_cluster.tao_path`
    ax : matplotlib Axes, default a new figure
    title : str, optional

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
    with drawn_with(STYLE):
        ax = _axes(ax)
        x = [tree_of(model).n_parameters for model in models]
        y = [model.cost_increase_ for model in models]
        look = series_looks({"path": _title(models[0])})["path"]
        ax.plot(x, y, "-", marker=look.marker, color=look.color, markersize=4, linewidth=1)
        ax.margins(x=0.08, y=0.12)
        if len(models) > 2:
            best = knee(models)
            spot = (best.tree_.n_parameters, best.cost_increase_)
            label = "knee: a compromise of cost and size"
            ax.plot(*spot, "o", markersize=10, fillstyle="none", color="C3", label=label)
            ax.legend(frameon=False)
        _finish(ax, SIZE_NAMES["parameters"], title, cost_label(models))
        chosen = _evenly_spaced(x)
        if len(models) > 2:  # the knee first, because later notes give way
            at = next(i for i, model in enumerate(models) if model is best)
            chosen = [at, *(i for i in chosen if abs(i - at) > 1)]
        _write_notes(ax, chosen, [_note(models[i]) for i in chosen])
    return ax


def cost_label(models, new=False):
    """Return the label of an axis of costs, which names the clustering that they are compared with.

    Parameters
    ----------
    models : list of fitted estimators
    new : bool, default=False
        Whether the costs are those of held-out rows.
    """
    objectives, names = set(), set()
    for model in models:
        parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
        objective, reference = (parameters.get(name) for name in ("objective", "reference"))
        explains_labels = getattr(objective, "explains_labels", objective == "labels")
        objectives.add("labels" if explains_labels else "costs")
        is_default = reference is None or type(reference).__name__.endswith("KMeans")
        is_known = is_default and isinstance(objective or "kmeans", str)
        names.add(_FREE.get(objective or "kmeans") if is_known else None)
    if objectives == {"labels"}:
        return f"{'held-out ' if new else ''}rows with another label, %"
    (name,) = names if len(names) == 1 else (None,)
    label = COST.format(name or "clusters")
    return label.replace("cost", "cost of held-out rows", 1) if new else label


def _note(model):
    """Return the note beside a model of a path: lambda, or the leaves of axis-aligned trees."""
    if model.lambda_ == "auto":
        return f"{tree_of(model).n_leaves} leaves"
    return f"\u03bb = {number_text(model.lambda_, 3)}"


def _write_notes(ax, positions, texts):
    """Write a note beside some points of the first line of the axes.

    A note is at the first place of `_PLACES` where it lies inside the axes and covers neither lines
    and markers nor other notes. If there is no such place, it is left out.
    """
    low, high = ax.get_ylim()
    is_log = ax.get_yscale() == "log"
    ax.set_ylim(low, high * (high / low) ** 0.08 if is_log else high + 0.08 * (high - low))
    scale = 72 / ax.figure.dpi  # points per pixel
    frame = ax.get_window_extent().get_points() * scale
    points = ax.transData.transform(ax.lines[0].get_xydata()) * scale
    along = np.linspace(0, len(points) - 1, 40 * len(points))
    curve = [np.interp(along, np.arange(len(points)), points[:, j]) for j in range(2)]
    taken = np.column_stack(curve)
    for i, text in zip(positions, texts, strict=True):
        size = np.array([72 * text_width(text, _NOTE_SIZE), _NOTE_SIZE])
        corners = [_corner(points[i], size, place) for place in _PLACES]
        faults = [_n_covered(corner, size, taken, frame) for corner in corners]
        best = int(np.argmin(faults))
        if faults[best]:  # the note would cover something wherever it stands
            continue
        dx, dy, ha, va = _PLACES[best]
        style = {"ha": ha, "va": va, "color": "0.35", "fontsize": _NOTE_SIZE}
        at = ax.lines[0].get_xydata()[i]
        ax.annotate(text, at, (dx, dy), textcoords="offset points", **style)
        grid = np.meshgrid(*(np.linspace(0, length, 12) for length in size))
        own = corners[best] + np.column_stack([each.ravel() for each in grid])
        taken = np.vstack([taken, own])


def _corner(point, size, place):
    """Return the lower left corner of a note beside a point, in points."""
    dx, dy, ha, va = place
    shift = {"left": 0.0, "center": 0.5, "right": 1.0, "bottom": 0.0, "top": 1.0}
    return point + np.array([dx, dy]) - size * (shift[ha], shift[va])


def _n_covered(corner, size, taken, frame):
    """Return how many taken places a note covers; very many if it leaves the frame of the axes."""
    gap = np.maximum(corner - taken, taken - corner - size).max(axis=1)
    leaves = np.any(corner < frame[0]) or np.any(corner + size > frame[1])
    return np.sum(gap < _NOTE_GAP) + leaves * len(taken)


def plot_tradeoff(models, *, labels=None, size="parameters", X=None, ax=None, title=None):
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
    return plot_series(points, column, label, methods=methods, ax=ax, title=title)


def plot_n_clusters(table, chosen, limit, title=None):
    """Draw densities between clusters and costs against the number of clusters.

    Parameters
    ----------
    table : pandas.DataFrame, `table` of :class:`tao_cluster.n_clusters.NClusters`
    chosen : int, the suggested number, which is marked if it is in the table
    limit : float, largest density of a gap
    title : str, optional

    Returns
    -------
    array of two matplotlib Axes
    """
    words = f"suggestion: {chosen} clusters" if chosen > 1 else "no clusters found"
    lines = (("density", "between clusters", "C0"), ("density_tree", "at tests of the tree", "C1"))
    costs = (("cost_increase", "fitted rows", "C0"), ("cost_increase_new", "new rows", "C1"))
    has_trees = "cost_increase" in table
    with drawn_with(STYLE):
        figure, axes = plt.subplots(1, 2, figsize=_WIDE, dpi=_DPI, layout="constrained")
        axes[0].axhspan(0, limit, color="0.93", zorder=0, label="gap")
        parts = (lines, costs if has_trees else (("free_cost", None, "C0"),))
        for ax, part in zip(axes, parts, strict=True):
            for name, label, color in part:
                if name in table:
                    ax.plot(table.index, table[name], "o-", ms=4, lw=1, color=color, label=label)
            if chosen in table.index:
                ax.axvline(chosen, color="0.4", linewidth=1, linestyle=":")
            ax.set_xlabel("number of clusters")
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes[0].set_ylim(bottom=0)
        look = {"ls": "--", "lw": 1, "color": "0.6", "label": "silhouette"}
        axes[0].plot(table.index, table["silhouette"], **look)
        axes[0].set_ylabel("density relative to the peaks")
        axes[1].set_ylabel("cost of the tree, % above no tree" if has_trees else "cost per row")
        for ax in axes if has_trees else axes[:1]:
            ax.legend(frameon=False)
        figure.suptitle(words if title is None else title, x=0.01, ha="left")
    return axes


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


def plot_series(points, size, cost, *, methods=None, curves=None, ax=None, title=None):
    """Draw cost against size, with the colour and the marker of the method of each series.

    A point that lies below points of other series is drawn as a larger ring around them. In a
    figure of its own, the legend also has the long names of the methods.

    Parameters
    ----------
    points : dict of str to sequence of (size, cost in percent)
        Points of each series, joined from the smallest size to the largest.
    size : str, a key of `SIZE_NAMES`
    cost : str, label of the axis of costs
    methods : dict of str to str, optional
        The title of the method of each series; default the name of the series.
    curves : dict of str to sequence of (size, cost), optional
        Lines to draw for some series instead of the straight lines between their points.
    ax : matplotlib Axes, default a new figure
    title : str, optional

    Returns
    -------
    matplotlib Axes
    """
    curves = {} if curves is None else curves
    methods = dict(zip(points, points, strict=True)) if methods is None else methods
    looks = series_looks(methods)
    has_space, entries = ax is None, []
    with drawn_with(STYLE):
        ax = _axes(ax, _WIDE)
        for i, (label, places) in enumerate(points.items()):
            # Points of several series often coincide. The first series are drawn on top.
            color, marker, is_hollow = looks[label]
            look = {"color": color, "linewidth": 1, "zorder": 3 - 0.01 * i}
            line = "--" if is_hollow else "-"
            is_large = is_hollow or len(places) == 1
            marker = {"marker": marker, "markersize": 6 if is_large else 4}
            marker["fillstyle"] = "none" if is_hollow else "full"
            x, y = np.transpose(sorted(map(tuple, places)))
            if label in curves:
                ax.plot(*np.transpose(curves[label]), line, **look)
                ax.plot(x, y, linestyle="none", **look, **marker)
                x, y = [], []  # an empty line: its legend entry shows both the line and the marker
            entries += ax.plot(x, y, line, label=brief(printable(str(label))), **look, **marker)
        # Names are set afterwards, because a legend leaves out those that start with "_".
        numbers = map(str, range(len(entries)))
        texts = ax.legend(entries, numbers, **_BESIDE).get_texts()
        for text, entry in zip(texts, entries, strict=True):
            text.set_parse_math(False)
            text.set_text(entry.get_label())
        if has_space:
            _add_long_names(ax, texts, methods.values())
        _finish(ax, SIZE_NAMES[size], title, cost)
        _ring_hidden_points(ax, points, looks)
    return ax


def _add_long_names(ax, texts, titles):
    """Write the long name of each method below its entry of the legend, if there is space."""
    names = [wrap(long_name(title), 7, _LEGEND_WIDTH) for title in titles]
    n_lines = sum(1 + len(lines) for lines in names)
    if n_lines * _LEGEND_LINE <= ax.figure.get_size_inches()[1]:
        for text, lines in zip(texts, names, strict=True):
            text.set_text("\n".join([text.get_text(), *filter(None, lines)]))
            text.set_fontsize(7)


def _ring_hidden_points(ax, points, looks):
    """Draw a larger ring around each point that points of earlier series cover."""
    above = np.empty((0, 2))
    for i, (label, places) in enumerate(points.items()):
        own = np.array([tuple(place) for place in places], dtype=float)
        drawn = ax.transData.transform(own) * 72 / ax.figure.dpi
        distance = np.abs(drawn[:, None] - above).max(axis=2)
        for place, n_above in zip(own, np.sum(distance < _NEAR, axis=1), strict=True):
            if n_above:
                look = {"color": looks[label].color, "marker": looks[label].marker, "ls": "none"}
                size = 6 + _RING * n_above
                ax.plot(*place, fillstyle="none", markersize=size, zorder=3 - 0.01 * i, **look)
        above = np.vstack([above, drawn])


def plot_history(model, *, ax=None, title=None):
    """Draw the cost increase of the trees that a fit evaluated, one line per stage.

    The dashed line is the cost increase of the resulting tree. A hollow point is a tree that was
    not better than those before it in its stage. Initial trees are not joined by a line, because
    each has a start of its own. A stage whose trees were measured on a sample of the rows, as with
    `max_rows`, is marked "(sample)". The horizontal axis is the penalty mu if the fit used only
    the penalty method; its first point is then the direct fit, at mu = 0. Otherwise the axis is
    the number of the tree, in the order of evaluation.

    Parameters
    ----------
    model : fitted TAOClustering
    ax : matplotlib Axes, default a new figure
    title : str, optional

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
    with drawn_with(STYLE):
        ax = _axes(ax, _WIDE)
        for name in dict.fromkeys(stages.tolist()):
            at = stages == name
            stage = records[int(np.argmax(at))]["stage"]
            look = {"color": _stage(stage)[1], "markersize": 4, "linewidth": 1}
            line = "none" if stage == "start" else "-"
            # A missing value where another stage interrupts this one also interrupts the line.
            ax.plot(x, np.where(at, y, np.nan), "o", linestyle=line, label=name, **look)
            hollow = at & ~is_kept
            ax.plot(x[hollow], y[hollow], "o", markerfacecolor="white", **look)
        style = {"color": "0.3", "linewidth": 1, "linestyle": "--"}
        result = round(float(model.cost_increase_), 2) + 0.0  # no negative zero
        label = f"resulting tree: {number(result, '.2f')} %"
        ax.axhline(model.cost_increase_, label=label, **style)
        if not is_kept.all():
            ax.plot([], [], "o", color="0.5", markersize=4, fillstyle="none", label="not kept")
        if along_mu:
            ax.set_xscale("log")
        ax.legend(**_BESIDE)
        scale_costs(ax)
        ax.set_ylabel(cost_label([model]))
        ax.set_xlabel(
            r"penalty $\mu$" if along_mu else "number of the tree, in the order of the fit"
        )
        ax.set_title(title or "", loc="left")
    return ax


def _stage_name(record):
    """Return what the stage of a record is called in the legend."""
    name, _ = _stage(record["stage"])
    return f"{name} (sample)" if record.get("sampled") else name


def _stage(stage):
    """Return the name and the colour of a stage, which may be one of a user's own algorithm."""
    return STAGES.get(stage, (stage, "#AA1155"))


def _evenly_spaced(sizes):
    """Return the positions of a few sizes that are about evenly spaced on a logarithmic axis."""
    sizes = np.log(sizes)
    wanted = np.linspace(sizes.min(), sizes.max(), _MOST_NOTES)
    return np.unique(np.abs(sizes[:, None] - wanted).argmin(axis=0))


def _axes(ax, size=_SIZE):
    if ax is None:
        _, ax = plt.subplots(figsize=size, dpi=_DPI, layout="constrained")
    return ax


def scale_costs(*axes):
    """Make the axes of costs logarithmic or linear, by one rule for all pictures of costs.

    They are logarithmic if all costs are positive and the largest is more than 20 times the
    smallest. Otherwise they are linear and include 0. Axes that are passed together are treated
    alike.

    Parameters
    ----------
    *axes : matplotlib Axes, whose lines have the costs as y coordinates
    """
    costs = [np.concatenate([line.get_ydata() for line in ax.lines]) for ax in axes]
    low, high = np.nanmin(np.concatenate(costs)), np.nanmax(np.concatenate(costs))
    for ax, own in zip(axes, costs, strict=True):
        if low > 0 and high > _FAR * low:
            ax.set_yscale("log")
            ax.set_ylim(0.8 * np.nanmin(own), 1.25 * np.nanmax(own))
            log_ticks(ax.yaxis)
        elif ax.get_yscale() == "linear":  # given axes may have a logarithmic scale
            ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))


def _finish(ax, size_name, title, cost):
    low, high = ax.get_xlim()
    if high > _LOGARITHMIC * max(low, 0.0):  # logarithmic ticks overlap in a shorter range
        ax.set_xscale("log")
        log_ticks(ax.xaxis)
    elif size_name.startswith("number"):
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    scale_costs(ax)
    ax.set_xlabel(size_name)
    ax.set_ylabel(cost)
    ax.set_title(title or "", loc="left")


def log_ticks(axis):
    """Set ticks of a logarithmic axis, written without exponents.

    They are at the powers of ten and, if there is room, also at 2 and 5 times each of them.
    """
    low, high = axis.get_view_interval()
    place, name = axis.axes.get_position(), axis.axis_name
    width, height = axis.figure.get_size_inches()
    length = place.width * width if name == "x" else place.height * height
    has_room = 3 * np.log10(high / low) * _ROOM[name] < length
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if has_room else (1,)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())
