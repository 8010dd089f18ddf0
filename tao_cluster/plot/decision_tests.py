"""`plot_test` and `plot_tests`: the rows of a node on both sides of its test, by cluster."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from .._utils.matrices import spaced_rows
from ..columns.names import Indicator, printable_lines
from ..export.format import tested_name, value_text
from ..inspection.palette import cluster_color
from .boxes import name_lines, text_width, wrap
from .charts import legend_below, note_above
from .split_view import SHADE, TreeView, condition_lines, stacks_of
from .style import Target, drawable, drawn_with, font_size, ink, make_drawable, shade

_SIZE, _PANEL = (6.4, 3.6), (2.9, 2.4)  # inches: a single picture, one picture of a grid
_NARROW = 4.5  # inches; narrower grids have their legend below
_N_BINS = 30
_MOST_POINTS = 3000  # rows that a scatter plot shows
_MOST_TESTS = 60  # pictures in a grid
_MOST_ENTRIES = 14  # entries of a column of the legend
_MOST_TERMS = 6  # terms of a sum that are written below its axis
_LEAST = 0.75  # smallest width and height of a panel, relative to its usual ones
_KEY = 0.5  # inches, the colour of an entry of the legend and the gaps around it
_HEAD = "The tests of the tree"
_LEGEND = "Rows on the grey side of a test go left, the others right."
_CAPTION = "Each panel shows the rows that reach one test, in the colours of their clusters."
_GOLDEN = 0.6180339887  # multiples of it, modulo 1, spread evenly
_JITTER = 0.3  # width over which the rows of a category are spread


def plot_test(
    model, node, X, *, sample_weight=None, feature_names=None, ax=None, title=None, **options
):
    """Draw the rows of a node on both sides of its test, in the colours of their clusters.

    - A test of two features is a scatter plot of the two features with the line of the test.
    - A test of one feature is a histogram of the feature, stacked by cluster.
    - A test of three or more features is a histogram of their weighted sum w.x.
    - A test on the levels of a categorical column has a bar per level.

    Axes are in the units of the columns. The side of the rows that go left is grey, and the
    threshold is marked with its value. The title has the condition of the rows that go left.

    Parameters
    ----------
    model : Tree, fitted estimator with `tree_`, or fitted pipeline that ends in one
    node : int
        Number of a decision node, one of `tree_.decision_nodes`; 0 is the root.
    X : array-like or sparse matrix of shape (n, n_features)
        Rows; those that reach the node are drawn. A scatter plot shows at most 3000 of them.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows of X. Histograms are then weighted. Rows of weight 0 are left out.
    feature_names : sequence of str, optional
        Default: the names that the estimator was fitted with, or x0, x1, ...
    ax : matplotlib Axes, optional
        Default: a new figure. The legend is to the right of the axes, or below narrow ones.
    title : str, optional
        Default: the number and the place of the node, its number of rows and its condition.
    **options
        style, width, height, figsize and font_size, as for :func:`plot_tree`.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        If `node` is not a decision node of the tree, or if X or the other arguments do not fit it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import TAOClustering
    >>> from tao_cluster.plot import plot_test
    >>> X = load_iris().data
    >>> ax = plot_test(TAOClustering(3, depth=2, random_state=0).fit(X), 0, X)
    """
    tests = _tests(model, X, sample_weight, feature_names)
    view = tests.split(_check_node(tests.tree, node))
    target = Target.from_options(**options, ax=ax)
    with drawn_with(target.parameters, ax):
        width, height = target.width or _SIZE[0] * _unit(), target.height or _SIZE[1] * _unit()
        is_narrow = ax is None and width < _NARROW * _unit()
        if ax is None:
            _, ax = plt.subplots(figsize=(width, height), dpi=target.dpi, layout="constrained")
        width -= (0.6 if is_narrow else 2.2) * _unit()
        _draw(ax, view, title, width)
        if view.abbreviate.note:
            lines = wrap(f"({view.abbreviate.note})", font_size(), width)
            ax.set_xlabel("\n".join([ax.get_xlabel(), *lines]), parse_math=False)
        handles = tests.handles([view])
        if is_narrow:
            legend_below(ax, handles, grows=target.height is None)
        else:
            place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
            ax.legend(handles=handles, ncols=-(-len(handles) // _MOST_ENTRIES), **place)
        make_drawable(ax.figure)
    return ax


def plot_tests(
    model,
    X,
    *,
    nodes=None,
    sample_weight=None,
    feature_names=None,
    n_columns=None,
    title=None,
    **options,
):
    """Draw all tests of a tree as a grid; each picture is one of :func:`plot_test`.

    Parameters
    ----------
    model : Tree, fitted estimator with `tree_`, or fitted pipeline that ends in one
    X : array-like or sparse matrix of shape (n, n_features)
    nodes : sequence of int, optional
        Decision nodes to draw, at most 60. Default: all, in the order of their numbers.
    sample_weight, feature_names : as for :func:`plot_test`
    n_columns : int, optional
        Number of pictures per line. Default: 3, or as many as fit the given size.
    title : str, optional
        First line of the title of the figure, instead of its general name. Further lines explain
        how to read the pictures on a screen; their figure always has them as `caption`.
    **options
        style, width, height, figsize and font_size, as for :func:`plot_tree`.

    Returns
    -------
    array of matplotlib Axes of shape (n_tests,)

    Raises
    ------
    ValueError
        If there is no test to draw or if there are more than 60, if a node is not a decision node,
        if X or the other arguments do not fit the tree, or if the tests do not fit the size.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import TAOClustering
    >>> from tao_cluster.plot import plot_tests
    >>> X = load_iris().data
    >>> axes = plot_tests(TAOClustering(3, depth=2, random_state=0).fit(X), X)
    """
    tests = _tests(model, X, sample_weight, feature_names)
    chosen = tests.tree.decision_nodes.tolist() if nodes is None else list(nodes)
    if not 0 < len(chosen) <= _MOST_TESTS:
        raise ValueError(
            f"plot_tests draws 1 to {_MOST_TESTS} tests; there are {len(chosen)}. Name some of "
            "them with nodes=[...]."
        )
    views = [tests.split(_check_node(tests.tree, node)) for node in chosen]
    target = Target.from_options(**options)
    with drawn_with(target.parameters):
        size, n_columns, n_lines = _grid(target, n_columns, len(views))
        figure, axes = plt.subplots(
            n_lines, n_columns, figsize=size, dpi=target.dpi, layout="constrained", squeeze=False
        )
        axes = axes.ravel()
        for ax in axes[len(views) :]:
            ax.set_axis_off()
        handles = tests.handles(views, counted=False)
        texts = [line for handle in handles for line in handle.get_label().split("\n")]
        widest = max(text_width(text, font_size()) for text in texts) + _KEY * _unit()
        if target.width is not None and target.width < _NARROW * _unit():
            n_beside, left = max(1, int(size[0] / widest)), size[0]
            place = {"loc": "outside lower center", "columnspacing": 1.0}
        else:
            n_beside = -(-len(handles) // (_MOST_ENTRIES * n_lines))
            left, place = size[0] - n_beside * widest, {"loc": "outside right upper"}
        figure.legend(handles=handles, ncols=n_beside, **place)
        for ax, view in zip(axes, views, strict=False):
            _draw(ax, view, None, width=left / n_columns - 0.6 * _unit())
        note = tests.abbreviate.note
        n_all = len(tests.tree.decision_nodes)
        known = _HEAD if len(chosen) == n_all else f"{len(chosen)} of the {n_all} tests of the tree"
        head = known if title is None else printable_lines(title)
        legend = _LEGEND + (f" In names, {note}." if note else "")
        figure.caption = f"{legend} {_CAPTION}"
        texts = [head, legend] if target.style == "screen" else [title and head]
        lines = [x for text in texts if text for x in wrap(text, font_size(), left - 0.1)]
        look = {"x": 0.01, "ha": "left", "fontsize": font_size(), "parse_math": False}
        figure.suptitle("\n".join(lines), **look)
        make_drawable(figure)
    return axes[: len(views)]


def _unit():
    """Return the size of the text relative to the usual one of a screen."""
    return font_size() / 8


def _grid(target, n_columns, n_panels):
    """Return the size of a figure in inches, and the numbers of its columns and lines."""
    wide, high = np.array(_PANEL) * _unit()
    beside = 1.3 * _unit()  # of the legend
    if target.width is None:
        n_columns = min(max(1, n_columns or 3), n_panels)
        n_lines = -(-n_panels // n_columns)
        return (wide * n_columns + beside, high * n_lines + 0.3 * _unit()), n_columns, n_lines
    free = target.width - beside * (target.width >= _NARROW * _unit())
    most = int(free / (_LEAST * wide))
    n_columns = min(n_columns or max(1, most), n_panels)
    n_lines = -(-n_panels // n_columns)
    height = target.height or (high + 0.1) * n_lines + 0.6 * _unit()
    if n_columns > most or height < _LEAST * high * n_lines:
        least = _LEAST * wide * n_columns + beside, _LEAST * high * n_lines
        raise target.too_small("grid of tests", *least, further=" nodes=[...] draws some of them.")
    return (target.width, height), n_columns, n_lines


def _check_node(tree, node):
    """Return the number of a decision node as an int, or raise a ValueError."""
    inner = tree.decision_nodes.tolist()
    if isinstance(node, bool) or not isinstance(node, int | np.integer) or node not in inner:
        known = f"one of {', '.join(map(str, inner[:20]))}" if inner else "but the tree has none"
        known += ", ..." if len(inner) > 20 else ""
        raise ValueError(f"node must be the number of a decision node, {known}; got {node!r}.")
    return int(node)


def _tests(model, X, sample_weight, feature_names):
    """Return the tests of a tree and the rows that they divide: _Tests."""
    if X is None:
        raise ValueError("X is None; give the rows to draw.")
    return _Tests.from_model(model, X, sample_weight, feature_names)


class _Tests(TreeView):
    """The tests of a tree and the rows that they divide, with a legend."""

    def handles(self, views, *, counted=True):
        """Return the entries of a legend: the clusters of some nodes, the side, the threshold."""
        here = np.unique(np.concatenate([view.here() for view in views]))
        clusters, counts = np.unique(self.rows.clusters[here], return_counts=True)
        outline = {"edgecolor": ink("0.35"), "linewidth": 0.5}
        colors = [cluster_color(k, self.labels[k]) for k in clusters.tolist()]
        entries = [
            Patch(facecolor=color, label=self._label(k, n, counted), **outline)
            for color, k, n in zip(colors, clusters.tolist(), counts.tolist(), strict=True)
        ]
        entries.append(Patch(facecolor=shade(SHADE), label="rows here go left"))
        if any(view.facts["levels"] is None for view in views):
            entries.append(Line2D([], [], color=ink("0.0"), label="threshold"))
        return entries

    def _label(self, cluster, n, counted):
        name = "\n".join(name_lines(self.labels[cluster], font_size(), 1.6))
        return f"{name}: {n} row{'s' if n != 1 else ''}" if counted else name


def _is_plane(view):
    """Return whether a test has two features and is not about the levels of a column."""
    return len(view.terms) == 2 and view.facts["levels"] is None


def _draw(ax, view, title, width):
    """Draw a test into axes that are about `width` inches wide."""
    if _is_plane(view):
        _draw_plane(ax, view, width)
    else:
        _draw_histogram(ax, view, width)
    lines = _title_lines(view, width) if title is None else [printable_lines(title)]
    look = {"loc": "left", "fontsize": font_size(), "parse_math": False}
    ax.set_title("\n".join(lines), pad=4 + 1.3 * font_size() * len(ax.texts), **look)


def _title_lines(view, width):
    """Return the place of a node, where its sides lead, its rows, and the condition of its test."""
    n, head = len(view.here()), f"node {view.node} ({view.place})"
    ends = wrap(view.ends, font_size(), width)
    start = f"{n} row{'s' if n != 1 else ''}, left if "
    if view.written is not None:
        column, comparison = view.written
        lines = condition_lines(f"{start}{column}", comparison, width, 3, font_size())
    elif _is_plane(view):
        end = f" ≤\N{NO-BREAK SPACE}{view.limit}"
        lines = view.sum_lines(font_size(), width, start=start, end=end)
    else:
        lines = [f"{start}sum ≤ {view.limit}"]
    return [head, *ends, *lines]


def _draw_histogram(ax, view, width):
    """Draw the stacked histogram of a test of one feature, of a sum, or of levels."""
    stacks = stacks_of(view, _N_BINS)
    low, high = stacks.edges[[0, -1]]
    ax.axvspan(*stacks.left_range, color=shade(SHADE), linewidth=0, zorder=0)
    for cluster, base, top in stacks.steps():
        color = cluster_color(cluster, view.labels[cluster])
        ax.stairs(top, stacks.edges, baseline=base, fill=True, color=color, zorder=2)
    outline = {"color": ink("0.35"), "linewidth": 0.5, "zorder": 2.5}
    ax.stairs(stacks.heights.sum(axis=0), stacks.edges, **outline)
    threshold = next(x for x in stacks.left_range if low < x < high)
    ax.axvline(threshold, color=ink("0.0"), linewidth=1.2, zorder=3)
    ax.set_xlim(low, high)
    is_counted = view.rows.weight is None
    ax.set_ylabel("rows" if is_counted else "weight of the rows")
    ax.yaxis.set_major_locator(MaxNLocator(5, integer=is_counted))
    ax.grid(visible=False)
    if stacks.ticks:
        places, names = zip(*stacks.ticks, strict=True)
        shown_names = [_tick_text(name, width / len(names)) for name in names]
        ax.set_xticks(places, shown_names, parse_math=False)
        (column, _) = view.written
        ax.set_xlabel("\n".join(name_lines(column, font_size(), width)), parse_math=False)
        return
    note_above(ax, threshold, view.limit, "left" if threshold < (low + high) / 2 else "right")
    if len(view.terms) == 1:
        _label_axis(ax.xaxis, view, view.terms[0], width)
    else:
        lines = view.sum_lines(font_size(), width, _MOST_TERMS, start="sum = ")
        ax.set_xlabel("\n".join(lines), parse_math=False)


def _tick_text(name, width):
    """Return the name of a level on at most two lines, as it can be drawn."""
    return drawable("\n".join(name_lines(name, font_size(), width))).text


def _draw_plane(ax, view, width):
    """Draw the rows of a test of two features, with its line."""
    terms = view.terms  # the feature with the larger effect is on the x axis
    points = view.columns([term["feature"] for term in terms])
    weights = np.array([term["weight"] for term in terms])
    clusters = view.rows.clusters[view.here()]
    some = spaced_rows(len(points), _MOST_POINTS)
    points, clusters = points[some], clusters[some]
    for j, term in enumerate(terms):
        if isinstance(term["name"], Indicator):
            points[:, j] += _JITTER * ((np.arange(len(points)) * _GOLDEN) % 1.0 - 0.5)
    limits = [_limits(points[:, j]) for j in range(2)]
    ax.set(xlim=limits[0], ylim=limits[1])
    sums = np.add.outer(weights[1] * np.array(limits[1]), weights[0] * np.array(limits[0]))
    signed = sums - view.threshold
    if signed.min() < 0 < signed.max():
        side = {"levels": [signed.min() - 1.0, 0.0], "colors": [shade(SHADE)]}
        ax.contourf(*limits, signed, **side, zorder=0)
        ax.contour(*limits, signed, levels=[0.0], colors=[ink("0.0")], linewidths=1.2, zorder=1.5)
    colors = [cluster_color(k, view.labels[k]) for k in clusters]
    look = {"s": 12, "linewidths": 0.3, "edgecolors": [ink("0.35")], "zorder": 2}
    ax.scatter(*points.T, c=colors, **look)
    ax.grid(visible=False)
    for axis, term, length in ((ax.xaxis, terms[0], width), (ax.yaxis, terms[1], 2.2)):
        _label_axis(axis, view, term, length)


def _limits(values):
    """Return the ends of an axis a little beyond all values."""
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    if not low <= high:
        return (0.0, 1.0)
    beyond = 0.04 * (high - low) or 0.5 * abs(low) or 1.0
    return (float(low - beyond), float(high + beyond))


def _label_axis(axis, view, term, length):
    """Write the name of a feature beside its axis; dates and 0/1 features get fitting ticks."""
    name = term["name"]
    label = name_lines(view.abbreviate(tested_name(name)), font_size(), length)
    if isinstance(name, Indicator):
        axis.set_ticks([0.0, 1.0], ["no", "yes"])
        label = name_lines(str(name), font_size(), length)
    elif value_text(name, 0.0):
        axis.set_major_formatter(lambda x, _: value_text(name, x))
        axis.set_major_locator(MaxNLocator(3))
    axis.set_label_text("\n".join(label), parse_math=False)
