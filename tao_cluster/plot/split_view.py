"""The data that pictures of a tree draw: the text of a decision node, and its rows as bars."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..columns.names import Abbreviation, Numbered, brief
from ..columns.view import shown
from ..export.format import (
    bound_of,
    comparable_texts,
    condition_parts,
    factor_name,
    more_text,
    number_text,
    terms_text,
    value_text,
)
from ..inspection.rows import Rows
from ..report import check_weight, effect, report
from ..tree import tree_of
from .boxes import SMALLEST, name_lines, shortened, text_width, wrap

_MINUS = "\N{MINUS SIGN}"
_FIXED = "\N{NO-BREAK SPACE}"
_LONGEST = 28  # characters of a name in a sum; longer names lose their middle
_CONDITION_SIZE = 6.5  # points, of a condition of several lines
_NARROW = 60  # integers with at most this range get bins of width 1, if there are enough bins
_MOST_NAMES = 500  # names that are compared to find a beginning that they share
_MOST_LEVELS = 6  # levels that get their own bar
SHADE = "0.9"  # grey on white, behind the rows that go left


@dataclass(frozen=True, eq=False)
class TreeView:
    """A tree with what pictures show of it.

    Parameters
    ----------
    model : Tree, fitted estimator, or RawView of a pipeline
    tree : Tree
    names : sequence of str, printable names of the features
    rows : Rows, or None if the picture was given no X
    nodes : list of dict, those of :func:`tao_cluster.report.report`
    labels : list of str, names of the clusters
    abbreviate : Abbreviation, of the names of features
    """

    model: Any
    tree: Any
    names: Sequence
    rows: Rows | None
    nodes: list
    labels: list
    abbreviate: Abbreviation

    @classmethod
    def from_model(cls, model, X, weight=None, feature_names=None, *, scaled=False, **classes):
        """Check the arguments of a picture, and report the tree; see :func:`.tree.plot_tree`."""
        model, names = shown(model, feature_names, X)
        weight = None if weight is None else check_weight(weight, X)
        tree, rows = tree_of(model), Rows.from_data(model, X, weight=weight, **classes)
        facts = report(model, X, feature_names=names, sample_weight=weight, scaled=scaled)
        labels, known = [part["name"] for part in facts["clusters"]], names
        if len(names) > _MOST_NAMES:  # of many names, only those of tested features count
            known = [] if isinstance(names, Numbered) else [names[j] for j in tree.used_features]
        abbreviate = Abbreviation.from_names(known)
        return cls(model, tree, names, rows, facts["nodes"], labels, abbreviate)

    def split(self, node):
        """Return the SplitView of a decision node."""
        return SplitView(*(getattr(self, field.name) for field in fields(TreeView)), node)


@dataclass(frozen=True, eq=False)
class SplitView(TreeView):
    """The data of a decision node that glyphs draw.

    Parameters
    ----------
    model, tree, ...
        As for `TreeView`.
    node : int
    """

    node: int

    @property
    def facts(self):
        """The node in :func:`tao_cluster.report.report`: dict."""
        return self.nodes[self.node]

    @property
    def terms(self):
        """Terms of the weighted sum, the largest effects first: list of dict."""
        return self.facts["terms"]

    @property
    def indices(self):
        """Features of the test: increasing int array of shape (n_terms,)."""
        return self.tree.split(self.node)[0]

    @property
    def weights(self):
        """Weights of the features in `indices`: float array of shape (n_terms,)."""
        return self.tree.split(self.node)[1]

    @property
    def shown(self):
        """Weights to show, in the order of `indices`: float array of shape (n_terms,).

        If `plot_tree` has ``scaled=True``, they are multiplied by the standard deviations.
        """
        terms = sorted(self.terms, key=lambda term: term["feature"])
        return np.array([term["shown"] for term in terms])

    @property
    def threshold(self):
        """Threshold of the test: a row goes left if and only if w.x <= threshold."""
        return self.facts["threshold"]

    @property
    def mean(self):
        """Mean of each feature over the rows that reach the node; 0 if there are none."""
        return self.rows.means[self.node]

    @property
    def place(self):
        """The place of the node in the tree: "root", or "left child of node 3"."""
        parent = int(self.tree.parent[self.node])
        if parent < 0:
            return "root"
        is_left = self.tree.children_left[parent] == self.node
        return f"{'left' if is_left else 'right'} child of node {parent}"

    @property
    def ends(self):
        """Where both sides lead: "left to node 1, right to cluster 4"."""
        texts = []
        for side in ("left", "right"):
            child = int(getattr(self.tree, f"children_{side}")[self.node])
            is_leaf = self.tree.children_left[child] < 0
            name = self.labels[self.tree.leaf_label[child]] if is_leaf else f"node {child}"
            texts.append(f"{side} to {brief(name)}")
        return ", ".join(texts)

    @property
    def written(self):
        """What a test of one feature or of levels compares, and the comparison, as two strings.

        It is None for other tests. A long name is abbreviated.
        """
        if len(self.terms) != 1 and self.facts["levels"] is None:
            return None
        column, comparison = condition_parts(self.facts, 3)
        return self.abbreviate(column), comparison

    @property
    def limit(self):
        """The threshold as text, in the units of the columns."""
        if self.written is not None and self.facts["levels"] is None:
            return self.written[1].split(" ", 1)[1]  # without the sign of the comparison
        return number(self.threshold)

    def sum_lines(self, size, max_width, max_terms=None, start="", end=""):
        """Return the weighted sum as lines that break between its terms; long names are cut.

        Parameters
        ----------
        size, max_width : float, points and inches
        max_terms : int, optional
            Number of terms that are written; the others are counted.
        start, end : str, before and behind the sum
        """
        some = self.terms[:max_terms]
        more = len(self.terms) - len(some)
        # A short sum can be drawn as a line, which rounded weights must give, too.
        digits = 3 if len(self.terms) <= 3 else 2
        texts = [
            _term_text(term, brief(self._factor(term), _LONGEST), is_first=i == 0, digits=digits)
            for i, term in enumerate(some)
        ]
        texts = (texts or ["0"]) + ([f"+ {more_text(more)}"] if more else [])
        fixed = start + " ".join(text.replace(" ", _FIXED) for text in texts) + end
        return [line.replace(_FIXED, " ") for line in wrap(fixed, size, max_width)]

    def term_lines(self, n, size, max_width):
        """Return the n terms with the largest effects, a line each; names are cut to fit.

        The last line counts the other terms.
        """
        lines = []
        for i, term in enumerate(self.terms[:n]):
            more = len(self.terms) - n if i == n - 1 else 0
            end = f" + {more_text(more)}" if more > 0 else ""

            def line_of(name, term=term, i=i, end=end):
                return _term_text(term, name, is_first=i == 0) + end

            def does_fit(name, line_of=line_of):
                return text_width(line_of(name), size) <= max_width

            name = self._factor(term)
            lines.append(line_of(name if does_fit(name) else shortened(name, does_fit)))
        return lines or ["0"]

    def _factor(self, term):
        """Return the abbreviated name of a feature with its unit, as a factor of a sum."""
        return self.abbreviate(factor_name(term["name"]))

    def value_text(self, total):
        """Return the weighted sum of a row as text; for a test of one feature, its value."""
        if self.facts["levels"] is not None:
            return "the row"
        goes_left = total <= self.threshold
        if len(self.terms) != 1:
            return f"sum {_distinct(total, self.threshold, '<=' if goes_left else '>')}"
        (term,) = self.terms
        bound, value = bound_of(self.facts, goes_left), total / term["weight"]
        date = value_text(term["name"], value)
        return f"value {date or _distinct(value, bound.value, bound.sign)}"

    def largest(self, n):
        """Return the features, shown weights and effects of the n terms with the largest effects.

        The results are three arrays of at most n elements; see :func:`tao_cluster.report.effect`.
        """
        some = self.terms[:n]
        features = np.array([term["feature"] for term in some], dtype=np.int32)
        shown = np.array([term["shown"] for term in some])
        return features, shown, np.array([effect(term) for term in some])

    # ------------------------------------------------------------------ rows

    def here(self):
        """Return the positions of the rows that reach the node and have a positive weight."""
        here = self.rows.reaching(self.node)
        return np.flatnonzero(here if self.rows.weight is None else here & (self.rows.weight > 0))

    def columns(self, features):
        """Return some features of the rows that reach the node: float array (n, n_features)."""
        values = self.rows.X[self.here()][:, features]
        return values.toarray() if sp.issparse(values) else np.asarray(values, dtype=np.float64)


def _term_text(term, name, *, is_first, digits=2):
    """Return a term of a sum with its sign, such as "+ 2*b", with a name in place of its own."""
    text = terms_text([{**term, "name": name}], digits)
    if text.startswith("-"):
        return f"{_MINUS}{'' if is_first else ' '}{text[1:]}"
    return text if is_first else f"+ {text}"


def condition_lines(column, comparison, max_width, most, size=_CONDITION_SIZE):
    """Return a condition as at most `most` lines, of which the comparison is never cut.

    A line that is still too long is shrunk or cut when it is written.
    """
    if text_width(f"{column} {comparison}", size) <= max_width:
        return [f"{column} {comparison}"]
    first, *rest = wrap(comparison, size, max_width)
    n_lines = int(np.clip(most - 1 - len(rest), 1, 2))  # of the name
    *lines, last = name_lines(column, size, max_width, n_lines)
    joined = text_width(f"{last} {first}", size) <= max_width
    lines += [f"{last} {first}", *rest] if joined else [last, first, *rest]
    end = " ".join(lines[most - 1 :])
    return [*lines[: most - 1], end] if end else lines


def number(value, form=".3g"):
    """Format a number, with the typographic minus sign."""
    return format(value, form).replace("-", _MINUS)


def weight_text(value, size, max_width):
    """Return a weight with two digits, or with one if two do not fit at a readable size.

    Parameters
    ----------
    value : float
    size : float, points
    max_width : float, inches
    """
    power = re.sub(r"e([+-])0*", lambda found: f"e{found[1]}".rstrip("+"), f"{value:.0e}")
    texts = [number_text(value, 2), number_text(value, 1), power]
    texts = [text.replace("-", _MINUS) for text in texts]
    fitting = (text for text in texts if text_width(text, min(size, SMALLEST)) <= max_width)
    return next(fitting, min(texts, key=len))


def _distinct(value, limit, sign):
    """Return a value as text, with enough digits to see on which side of the limit it lies."""
    return comparable_texts(value, limit, sign, 3)[0].replace("-", _MINUS)


# ---------------------------------------------------------------------- stacked bars


class Stacks(NamedTuple):
    """Stacked bars: the weight of the rows of each cluster in each bin.

    Parameters
    ----------
    edges : float array of shape (n_bins + 1,)
    heights : float array of shape (n_present, n_bins)
    clusters : int array of shape (n_present,)
        The clusters that have rows.
    left_range : (float, float)
        The part of the axis whose rows go left.
    ticks : list of (float, str)
        Names of the bars of a test on levels; empty for numbers.
    """

    edges: np.ndarray
    heights: np.ndarray
    clusters: np.ndarray
    left_range: tuple[float, float]
    ticks: list

    def steps(self, unit=1.0):
        """Yield the cluster, the lower and the upper outline of each layer, in steps of `unit`."""
        tops = np.cumsum(self.heights, axis=0) * unit
        for cluster, top, own in zip(self.clusters, tops, self.heights * unit, strict=True):
            yield int(cluster), top - own, top


def stacks_of(split, n_bins=24):
    """Return the stacked bars of the rows of a node.

    The threshold is the edge of two bins, and each row is in a bin on its own side.

    Parameters
    ----------
    split : SplitView, with rows
    n_bins : int
        Approximate number of bins.

    Returns
    -------
    Stacks
    """
    has_levels, here, rows = split.facts["levels"] is not None, split.here(), split.rows
    bins = _bins_of_levels(split) if has_levels else _bins_of_values(split, n_bins)
    place, edges, left_range, ticks = bins
    clusters, row_of = np.unique(rows.clusters[here], return_inverse=True)
    heights = np.zeros((len(clusters), len(edges) - 1))
    np.add.at(heights, (row_of, place), 1.0 if rows.weight is None else rows.weight[here])
    return Stacks(edges, heights, clusters, left_range, ticks)


def _bins_of_values(split, n_bins):
    """Return the bin of each row of a node, their edges, the part that goes left, and no ticks.

    The values are in the units of the columns.
    """
    here, threshold, is_left_lower = split.here(), split.threshold, True
    if len(split.terms) == 1:
        bound, values = bound_of(split.facts), split.columns(split.indices)[:, 0]
        threshold, is_left_lower = bound.value, bound.is_upper
    else:
        values = split.rows.X[here][:, split.indices] @ split.weights
    goes_left = split.rows.reaching(split.tree.children_left[split.node])[here]
    edges, n_lower = _edges(values, threshold, n_bins)
    place = np.searchsorted(edges, values, side="right") - 1
    lower, upper = np.minimum(place, n_lower - 1), np.maximum(place, n_lower)
    place = np.clip(np.where(goes_left == is_left_lower, lower, upper), 0, len(edges) - 2)
    left_range = (edges[0], threshold) if is_left_lower else (threshold, edges[-1])
    return place, edges, left_range, []


def _edges(values, threshold, n_bins):
    """Return the edges of the bins, and the number of bins below the threshold."""
    finite = values[np.isfinite(values)]
    low, high = finite.min(initial=threshold), finite.max(initial=threshold)
    step = (high - low) / n_bins or abs(threshold) or 1.0
    if high - low <= _NARROW and np.all(finite == np.round(finite)) and high > low:
        step = max(1.0, np.ceil(step))
    n_lower = max(1, int(np.ceil((threshold - low) / step - 1e-9)))
    n_upper = max(1, int(np.ceil((high - threshold) / step - 1e-9)))
    return threshold + step * np.arange(-n_lower, n_upper + 1), n_lower


def _bins_of_levels(split):
    """Return the same of a test on levels: a bar per listed level, and one for all others."""
    levels = split.facts["levels"]
    is_here = split.columns(levels["features"]) != 0
    names = [name.level for name in levels["names"]]
    if len(names) > _MOST_LEVELS:
        is_here, names = is_here.any(axis=1)[:, None], [f"{len(names)} levels"]
    is_listed, n = is_here.any(axis=1), len(names)
    place, names = np.where(is_listed, np.argmax(is_here, axis=1), n), [*names, "others"]
    if not levels["is_left"]:  # the rows that go left are drawn at the left
        place, names, n = np.where(is_listed, place + 1, 0), ["others", *names[:-1]], 1
    starts = np.arange(len(names))[:, None] + [0.0, 0.12, 0.88]  # a gap, the bar, another gap
    edges, ticks = np.append(starts, len(names)), [(i + 0.5, name) for i, name in enumerate(names)]
    return 3 * place + 1, edges, (0.0, float(n)), ticks
