"""Curves: cost against size over several fitted models, and the way of one fit."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from ..columns.names import brief, printable
from ..export.format import number_text
from ..inspection.palette import cluster_color
from ..measures import weighted_average_explanation_size
from ..optimize.path import knee
from ..tree import tree_of

STYLE = {"font.size": 8, "font.family": "sans-serif", "axes.spines.top": False}
STYLE |= {"axes.spines.right": False, "axes.grid": True, "grid.color": "0.92"}
_MARKERS = "osD^vPX*<>"
_LINES = ("-", "--", "-.", ":")
_MOST_NOTES = 5
_LOGARITHMIC = 8  # from this ratio of the largest to the smallest on
_FAR = 20  # the same of costs
_SIZE, _WIDE, _DPI = (5.0, 3.4), (6.4, 3.4), 150
COST = "cost over the free clustering, %"

# What a tree's size is called: columns of a comparison.
SIZE_NAMES = {
    "parameters": "parameters (weights, thresholds, leaves)",
    "leaves": "leaves",
    "WAD": "mean tests on a row's path (WAD)",
    "WAES": "mean conditions a row (WAES)",
}
# The sizes that `plot_tradeoff` measures itself.
_MEASURES = {
    "leaves": ("leaves", lambda tree, X: tree.n_leaves),
    "parameters": ("parameters", lambda tree, X: tree.n_parameters),
    "explanation_size": ("WAES", weighted_average_explanation_size),
}


def plot_path(models, *, ax=None, title=None):
    """Cost increase against parameters along lambda; the knee is marked.

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
    with mpl.rc_context(STYLE):
        ax = _axes(ax)
        x = [tree_of(model).n_parameters for model in models]
        y = [model.cost_increase_ for model in models]
        ax.plot(x, y, "-o", color="C0", markersize=4, linewidth=1)
        for i in _spread(x):
            is_last = x[i] == max(x) > min(x)
            ax.annotate(
                f"$\\lambda$ = {number_text(models[i].lambda_, 3)}",
                (x[i], y[i]),
                textcoords="offset points",
                xytext=(2, 7) if is_last else (5, 5),
                ha="right" if is_last else "left",
                color="0.35",
            )
        ax.margins(y=0.1)
        if len(models) > 2:
            best = knee(models)
            spot = (best.tree_.n_parameters, best.cost_increase_)
            ax.plot(*spot, "o", markersize=10, fillstyle="none", color="C3", label="knee")
            ax.legend(frameon=False)
        _finish(ax, SIZE_NAMES["parameters"], title)
    return ax


def plot_tradeoff(models, *, labels=None, size="leaves", X=None, ax=None, title=None):
    """Cost increase against size for any fitted estimators, on the same axes.

    One series a method: models with the same label are joined by a line, smallest first.

    Parameters
    ----------
    models : list of fitted estimators with `tree_` and `cost_increase_`
    labels : list of str, optional
        Default the names of their classes, with those parameters given as words, such as `split`,
        in which models of the class differ: oblique and axis-aligned trees are two series.
    size : {"leaves", "parameters", "explanation_size"}
    X : array-like or CSR matrix of shape (n, d)
        Rows over which "explanation_size" is a mean; needed for it only.
    ax : matplotlib Axes, default a new figure
    title : str, optional

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        If `size` is unknown, X is missing, or there is not one label a model.

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
        raise ValueError("size='explanation_size' needs X, the rows it is a mean over.")
    labels = _methods(models) if labels is None else list(labels)
    if len(labels) != len(models):
        raise ValueError(f"There are {len(labels)} labels for {len(models)} models.")
    column, measure = _MEASURES[size]
    points = {}
    for label, model in zip(labels, models, strict=True):
        place = (float(measure(tree_of(model), X)), model.cost_increase_)
        points.setdefault(label, []).append(place)
    return plot_series(points, column, ax=ax, title=title)


def _methods(models):
    """Names of the methods of models: the class, and the words in which its models differ."""
    words = [_words(model) for model in models]
    names = [type(model).__name__ for model in models]
    for i, name in enumerate(names):
        same = [words[j] for j in range(len(models)) if type(models[j]) is type(models[i])]
        # A word that others have as a number, lambda_="auto" say, is not a method of its own.
        shared = [key for key in words[i] if all(key in other for other in same)]
        differ = [key for key in shared if len({other[key] for other in same}) > 1]
        names[i] = ", ".join([name, *(f"{key}={words[i][key]}" for key in differ)])
    return names


def _words(model):
    """Parameters of a model that are words; none of what has no parameters."""
    parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    return {key: value for key, value in parameters.items() if isinstance(value, str)}


def plot_series(points, size, *, curves=None, new=False, ax=None, title=None):
    """Cost against size, a colour and a marker a series; what ranges far is logarithmic.

    Parameters
    ----------
    points : dict of str to sequence of (size, cost in percent), joined smallest first
    size : str, of `SIZE_NAMES`
    curves : dict of str to sequence of (size, cost), optional
        Of some series, the line between their points.
    new : bool, whether the cost is that of rows that no fit has seen
    ax : matplotlib Axes, default a new figure
    title : str, optional

    Returns
    -------
    matplotlib Axes
    """
    curves = {} if curves is None else curves
    is_own = ax is None  # then there is room for the legend beside the axes
    with mpl.rc_context(STYLE):
        ax = _axes(ax, _WIDE)
        for i, (label, places) in enumerate(points.items()):
            # Methods often coincide: the first lie on top, others are open rings about them.
            look = {"color": cluster_color(i), "linewidth": 1, "zorder": 3 - 0.01 * i}
            marker = {"marker": _MARKERS[i % len(_MARKERS)], "markersize": 4}
            if len(places) == 1 or i % 2:
                marker |= {"markersize": 6, "fillstyle": "none"}
            line = _LINES[i % len(_LINES)]
            x, y = np.transpose(sorted(map(tuple, places)))
            if label in curves:
                ax.plot(*np.transpose(curves[label]), line, **look)
                ax.plot(x, y, linestyle="none", **look, **marker)
                x, y = [], []  # for the legend: line and marker
            ax.plot(x, y, line, label=brief(printable(str(label))), **look, **marker)
        beside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if is_own else {"loc": "best"}
        for text in ax.legend(frameon=False, **beside).get_texts():
            text.set_parse_math(False)
        _finish(ax, SIZE_NAMES[size], title)
        _scale_costs(ax)
        if new:
            ax.set_ylabel("cost of new rows over the free clustering, %")
    return ax


def plot_history(model, *, ax=None, title=None):
    """Cost increase of the trees that a fit looked at, by stage; kept ones are filled.

    Along mu on a logarithmic axis for the penalty method, else one after the other.

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
        If the history has no records, as after a fit that changed nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import TAOClustering
    >>> from tao_cluster.plot import plot_history
    >>> axes = plot_history(TAOClustering(3, lambda_=1.0, random_state=0).fit(load_iris().data))
    """
    tree_of(model)  # it says where a model is not fitted
    records = model.history_
    if not records:
        raise ValueError("history_ has no records: the fit ended with its initial tree.")
    along_mu = all(np.isfinite(record["mu"]) for record in records)
    with mpl.rc_context(STYLE):
        ax = _axes(ax)
        for i, stage in enumerate(dict.fromkeys(record["stage"] for record in records)):
            at = [j for j, record in enumerate(records) if record["stage"] == stage]
            x = [records[j]["mu"] if along_mu else j + 1 for j in at]
            y = [records[j]["cost_increase"] for j in at]
            ax.plot(x, y, "o", color=f"C{i}", markersize=4, fillstyle="none", label=stage)
            kept = [j for j in range(len(at)) if records[at[j]]["kept"]]
            ax.plot([x[j] for j in kept], [y[j] for j in kept], "o", color=f"C{i}", markersize=4)
        ax.axhline(model.cost_increase_, color="0.5", linewidth=0.8, linestyle="--")
        if along_mu:
            ax.set_xscale("log")
        ax.legend(frameon=True, framealpha=0.85, edgecolor="none")  # it may lie over points
        ax.set_ylabel(COST)
        ax.set_xlabel(r"penalty $\mu$" if along_mu else "tree")
        ax.set_title(title or "", loc="left")
    return ax


def _spread(sizes):
    """Positions of a few sizes about evenly spread on a logarithmic axis."""
    sizes = np.log(sizes)
    wanted = np.linspace(sizes.min(), sizes.max(), _MOST_NOTES)
    return np.unique(np.abs(sizes[:, None] - wanted).argmin(axis=0))


def _axes(ax, size=_SIZE):
    if ax is None:
        _, ax = plt.subplots(figsize=size, dpi=_DPI, layout="constrained")
    return ax


def _scale_costs(ax):
    """A logarithmic axis of costs where all are above 0 and they range far."""
    costs = np.concatenate([line.get_ydata() for line in ax.lines])
    if costs.min() > 0 and costs.max() > _FAR * costs.min():
        ax.set_yscale("log")
        ax.set_ylim(0.8 * costs.min(), 1.25 * costs.max())
        _log_ticks(ax.yaxis)


def _finish(ax, size_name, title):
    low, high = ax.get_xlim()
    if high > _LOGARITHMIC * max(low, 0.0):  # ticks of a shorter range would crowd
        ax.set_xscale("log")
        _log_ticks(ax.xaxis)
    if ax.get_yscale() == "linear":  # perhaps shared with another that is not
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    ax.set_xlabel(size_name)
    ax.set_ylabel(COST)
    ax.set_title(title or "", loc="left")


def _log_ticks(axis):
    """Ticks at 1, 2 and 5 of each power of ten, written without exponents."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())
