"""`explain`: the tests on the decision paths of rows."""

import html
import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import pandas as pd

from ..columns.names import by_column, level_features, levels_text, set_text
from ..columns.view import shown, some_rows
from ..export.format import (
    comparison_text,
    cut_text,
    decimals_of,
    factor_of,
    more_text,
    number_text,
    rounded,
    summands,
    tested_name,
)
from ..inspection.palette import NEGATIVE, POSITIVE
from ..inspection.rows import decision_paths
from ..plot.explained import plot_decision_path, plot_image_path
from ..report import report
from ..tree.conditions import Bound

_PRECISION = 3
MAX_TERMS = 8  # number of terms that a line of text shows
_COLUMNS = ["row", "step", "node", "test", "sum", "threshold", "side", "density"]
_COLUMNS += ["leaf", "cluster", "name"]
_MOST_SHOWN = 20  # number of rows that a notebook shows
_CELL = "text-align: left; vertical-align: top; padding: 1px 8px"
_BAR = "height: 0.7em; min-width: 1px; margin-left: {left:.2f}%; width: {width:.2f}%"


def explain(model, x, feature_names=None, *, scaled=False):
    """Explain why rows are in their clusters by the tests on their decision paths.

    Parameters
    ----------
    model : Tree, or fitted estimator with `tree_`
    x : array-like of shape (n_features,) or (n, n_features)
        One row (array, list, sparse row, DataFrame of one row, or pandas Series or dict of values
        by column) or several rows (array, list of lists, sparse matrix, DataFrame). The values of
        a Series or dict are found by name, in any order, if the names of the columns are known.
        For a pipeline, x is raw; it may be a string or strings if the pipeline begins with a
        vectorizer.
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...
    scaled : bool, default=False
        Show weights multiplied by the standard deviation of their feature at the node. The
        products do not change.

    Returns
    -------
    Explanation, or Explanations for several rows
        The text has one line per test. A line shows what each feature adds to the sum, for up to
        eight features, and the total of the others. Features that add 0 come last, ordered by
        their effect (absolute weight times standard deviation): they are reasons, too, for
        example the absence of a word. The numbers of a line have the same number of decimals and
        add up as they are shown. If rounding alone does not achieve this, some numbers are off by
        less than one unit of the last decimal.

    Raises
    ------
    ValueError
        If x does not consist of rows with the features of the tree, if a named feature is missing,
        or if `scaled` is used with a Tree, which has no standard deviations.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.explanations import explain
    >>> tree = Tree.from_splits([1, -1, -1], [2, -1, -1], [([0, 1], [0.5, -2.0]), None, None],
    ...                         [2, 0, 0], [-1, 0, 1], n_features=2)
    >>> why = explain(tree, [7.0, 0.25], ["width", "height"])
    >>> print(why)
    0.5*width (3.5) + -2*height (-0.5) = 3 > 2 -> right
    cluster 1 (leaf 2)
    >>> why.tests[0].margin
    1.0
    """
    model, names = shown(model, feature_names, x)
    table = some_rows(model, x, feature_names)
    nodes = report(model, feature_names=names, scaled=scaled)["nodes"]
    columns = by_column(level_features(model, names))
    found = []
    for row, path in enumerate(decision_paths(model, table)):
        known = path.values, names, columns
        tests = tuple(_test(nodes[i], total, *known) for i, total in path.totals.items())
        leaf = nodes[path.leaf]
        found.append(Explanation(tests, path.leaf, leaf["cluster"], leaf["name"], path.values, row))
    if len(found) > 1:
        return Explanations(found)
    return replace(found[0], row=None)


def _test(node, total, values, names, columns):
    """Return a test of a report for the row `values`, whose weighted sum is `total`: PathTest."""
    terms = [
        Contribution(**term, value=float(values[0, term["feature"]])) for term in node["terms"]
    ]
    terms.sort(key=lambda term: -abs(term.product))  # a stable sort: ties stay sorted by effect
    known = node["threshold"], node["between"], node["decimals"]
    fact = _fact(node, values, names, columns, is_left=total <= node["threshold"])
    return PathTest(node["id"], tuple(terms), total, *known, fact, node["density"])


def _fact(node, values, names, columns, *, is_left):
    """Return the outcome of a test for a row, such as "plan is free, not in {gold, silver}".

    It is None if the test is not about levels, or if the row does not have at most one level. The
    levels are those of :func:`.by_column`.
    """
    levels = node["levels"]
    if levels is None:
        return None
    known = columns[levels["column"]]
    own = [j for j in known if values[0, j] != 0]
    if len(own) > 1 or any(values[0, j] != known[j] for j in own):
        return None
    is_listed = levels["is_left"] == is_left
    if len(levels["names"]) == 1 or not own:
        return levels_text(levels["column"], levels["names"], is_listed=is_listed)
    return f"{names[own[0]]}, {set_text(levels['names'], is_listed=is_listed)}"


@dataclass(frozen=True, repr=False)
class Contribution:
    """The term weight * value of a feature in a weighted sum.

    Parameters
    ----------
    feature : int
    name : str
    weight : float
    spread : float
        Standard deviation of the feature over the rows of the node; None if it is unknown.
    shown : float
        The weight as the text shows it: `weight`, or `weight` times `spread` if `explain` was
        called with ``scaled=True``.
    value : float, the value of the feature in the row
    """

    feature: int
    name: str
    weight: float
    spread: float | None
    shown: float
    value: float

    @property
    def product(self):
        """The part of the sum that the feature adds: weight * value."""
        return self.weight * self.value

    def __str__(self):
        factor = {1.0: "", -1.0: "-"}.get(self.shown, f"{number_text(self.shown, _PRECISION)}*")
        return f"{factor}{factor_of(self.name, self.shown, self.weight)}"

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class PathTest:
    """One test on the path of a row.

    Parameters
    ----------
    node : int
    contributions : tuple of Contribution
        The terms of the sum, largest absolute product first. Terms with equal products are in the
        order of decreasing effect (absolute weight times standard deviation).
    total : float
        The weighted sum, computed in the same order of terms as in `predict`.
    threshold : float
    between : pair of float or None
        Nearest fitted values below and above the threshold: values of the feature of a test of one
        feature, and sums of other tests. They are None if they are unknown.
    decimals : int or None
        Number of decimals of the fitted values of the feature of a test of one feature.
    fact : str or None
        The outcome of a test on the levels of a categorical column, such as "plan is gold" or
        "plan is free, not in {gold, silver}"; None for other tests.
    density : float or None
        How dense the fitted rows are at the threshold, as a share of the lower of the peaks on its
        sides; see `split_densities_` of an estimator.
    """

    node: int
    contributions: tuple[Contribution, ...]
    total: float
    threshold: float
    between: Sequence = (None, None)
    decimals: int | None = None
    fact: str | None = None
    density: float | None = None

    @property
    def margin(self):
        """Weighted sum minus threshold: at most 0 on the left side, above 0 on the right."""
        return self.total - self.threshold

    @property
    def side(self):
        """The side to which the row goes: "left" or "right"."""
        return "left" if self.total <= self.threshold else "right"

    @property
    def cut(self):
        """Where the cut lies, such as " (cut in a gap)"; empty if unknown, and for levels."""
        text = cut_text({"density": self.density, "levels": self.fact})
        return f" (cut {text})" if text else ""

    @cached_property
    def _written(self):
        """The bars of the sum (see `steps`) and the text of the comparison, such as "2.5 <= 5".

        There is one bar per term for the largest terms, and one for all others together. The
        numbers add up as they are shown.
        """
        terms, hidden = self.contributions[:MAX_TERMS], self.contributions[MAX_TERMS:]
        names, products = [*map(str, terms)], [term.product for term in terms]
        if hidden:
            rest = math.fsum(term.product for term in hidden)
            names, products = [*names, more_text(len(hidden))], [*products, rest]
        compare = "<=" if self.side == "left" else ">"
        if all(map(math.isfinite, (self.total, *products))):
            largest = max((abs(term.product) for term in self.contributions), default=0.0)
            decimals = decimals_of(self.total, self.threshold, largest, compare, _PRECISION)
            texts, total = summands(products, self.total, decimals)
            limit = rounded(self.threshold, decimals)
        else:
            numbers = (*products, self.total, self.threshold)
            *texts, total, limit = (number_text(number, _PRECISION) for number in numbers)
        starts = itertools.accumulate(products, initial=0.0)
        # `starts` has one item more than `names`: its last item is the whole sum.
        bars = list(zip(names, texts, products, starts, strict=False))
        return bars, f"{total} {compare} {limit}"

    @property
    def steps(self):
        """Bars that add up to the sum: list of (name, text of the product, product, start).

        The start of a bar is the sum of the products before it.
        """
        return self._written[0]

    @property
    def outcome(self):
        """The test without the terms: "sum = 2.5 <= 5", "a = 3 > 2" or "plan is gold"."""
        if self.fact is not None:
            return self.fact
        if len(self.contributions) == 1:
            (term,) = self.contributions
            limit = self.bound, _PRECISION, self.between, self.decimals
            compared = comparison_text(term.name, term.value, *limit)
            return f"{tested_name(term.name)} = {compared}"
        return f"sum = {self._written[1]}"

    @property
    def bound(self):
        """The Bound that the row satisfies if the test has one feature; otherwise None."""
        if len(self.contributions) != 1:
            return None
        (term,) = self.contributions
        return Bound.from_test(term.feature, term.weight, self.threshold, self.side == "left")

    def __str__(self):
        if len(self.contributions) == 1 or self.fact is not None:
            return f"{self.outcome} -> {self.side}"
        bars, compared = self._written
        terms = " + ".join(f"{name} ({number})" for name, number, *_ in bars)
        return f"{terms}{' = ' if terms else ''}{compared} -> {self.side}"

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class Explanation:
    """The decision path of one row: its tests, from the root, and its leaf.

    Parameters
    ----------
    tests : tuple of PathTest
    leaf : int, node number
    cluster : int
    name : str, of the cluster
    values : float64 array or CSR matrix of shape (1, n_features), optional
        The row in the features of the tree. Explanations are compared without it.
    row : int, optional
        Position of the row in the x of :func:`explain`, from 0; None if x is a single row.
        Explanations are compared without it.
    """

    tests: tuple[PathTest, ...]
    leaf: int
    cluster: int
    name: str
    values: Any = field(default=None, compare=False)
    row: int | None = field(default=None, compare=False)

    def to_dict(self):
        """Return plain Python values for JSON, including product, margin and side."""
        tests = [asdict(test) | {"margin": test.margin, "side": test.side} for test in self.tests]
        for written, test in zip(tests, self.tests, strict=True):
            for term, own in zip(written["contributions"], test.contributions, strict=True):
                term["product"] = own.product
            written["contributions"] = [*written["contributions"]]
        return {"tests": tests, "leaf": self.leaf, "cluster": self.cluster, "name": self.name}

    def to_frame(self):
        """Return a pandas DataFrame with one line per test; see :meth:`Explanations.to_frame`."""
        return Explanations([self], [self.row or 0]).to_frame()

    def plot(self, title=None, *, image_shape=None, **options):
        """Draw the tests below each other, each with its terms, their sum and the threshold.

        Parameters
        ----------
        title : str, optional
            First line of the title. Default: the row, its cluster and its leaf.
        image_shape : (height, width), optional
            Draw the terms of each test as pixels over the pale image of the row. Red pixels add
            to the sum, blue ones subtract from it. height * width = n_features.
        **options
            style, width, height, figsize and font_size, as for
            :func:`tao_cluster.plot.plot_tree`.

        Returns
        -------
        matplotlib Figure
            As everywhere, a picture with one pair of axes is returned as Axes, and one of several
            parts as a Figure. Its `axes` are those of the tests, in the order of the path.

        Raises
        ------
        ValueError
            If the image does not have one pixel per feature.
        """
        title = self._title if title is None else title
        if image_shape is None:
            return plot_decision_path(self.tests, title, **options)
        return plot_image_path(self.tests, title, self.values, image_shape, **options)

    @property
    def _title(self):
        """The title of pictures, such as "Why row 12 is in cluster 3 (leaf 5)"."""
        row = "this row" if self.row is None else f"row {self.row}"
        return f"Why {row} is in {self.name} (leaf {self.leaf})"

    def __str__(self):
        tests = [f"{test}{test.cut}" for test in self.tests]
        return "\n".join([*tests, f"{self.name} (leaf {self.leaf})"])

    __repr__ = __str__

    def _repr_html_(self):
        """Return one HTML table with bars per test; names are escaped."""
        end = html.escape(str(self).rsplit("\n", 1)[-1])
        return f"<div>{''.join(map(_test_html, self.tests))}<p><b>{end}</b></p></div>"


class Explanations(Sequence):
    """Explanations of several rows, in their order.

    Parameters
    ----------
    explanations : list of Explanation
    index : list of int, optional
        Positions of the rows in the x of :func:`explain`; default 0, 1, ...
    """

    def __init__(self, explanations, index=None):
        self._explanations = list(explanations)
        self.index = list(range(len(self._explanations)) if index is None else index)

    def __len__(self):
        return len(self._explanations)

    def __getitem__(self, at):
        if isinstance(at, slice):
            return Explanations(self._explanations[at], self.index[at])
        return self._explanations[at]

    def __eq__(self, other):
        if not isinstance(other, Explanations):
            return NotImplemented
        return (self._explanations, self.index) == (other._explanations, other.index)

    __hash__ = None  # type: ignore[assignment]

    def to_frame(self):
        """Return a pandas DataFrame with one line per test.

        Its columns are row (its position in x, from 0), step (0 at the root), node, test (a
        string), sum, threshold, side and density (of the fitted rows at the threshold; NaN if
        unknown). The last three columns have the leaf of the row, its cluster, and the name of the
        cluster.
        """
        lines = [
            (
                *(name, step, t.node, str(t), t.total, t.threshold, t.side, t.density),
                *(e.leaf, e.cluster, e.name),
            )
            for name, e in zip(self.index, self, strict=True)
            for step, t in enumerate(e.tests)
        ]
        return pd.DataFrame(lines, columns=_COLUMNS).astype({"density": float})

    def __str__(self):
        pairs = zip(self.index, self, strict=True)
        return "\n\n".join(f"row {name}\n{explanation}" for name, explanation in pairs)

    def __repr__(self):
        return f"Explanations of {len(self)} rows"

    def _repr_html_(self):
        """Return an HTML table with one line per row, for the first rows; strings are escaped."""
        lines = [
            (name, e.name, e.leaf, "\n".join(map(str, e.tests)))
            for name, e in zip(self.index[:_MOST_SHOWN], self, strict=False)
        ]
        more = f"{len(self) - len(lines)} more rows" if len(self) > len(lines) else ""
        return table_html(("row", "cluster", "leaf", "tests"), lines, more)


def _test_html(test):
    """Return a test as an HTML table of bars."""
    heading = html.escape(f"{test.outcome} -> {test.side}{test.cut}")
    heading = f"<p style='margin: 6px 0 2px'>{heading}</p>"
    if len(test.contributions) < 2 or test.fact is not None:
        return heading
    steps = test.steps
    places = [0.0, test.total, *(start for *_, start in steps)]
    low, width = min(places), max(places) - min(places) or 1.0
    rows = "".join(
        f"<tr><td style='{_CELL}'>{html.escape(name)}</td><td style='{_CELL}'>{number}</td>"
        f"<td style='{_CELL}; width: 240px'><div style='{_bar(start, size, low, width)}'></div>"
        "</td></tr>"
        for name, number, size, start in steps
    )
    return f"{heading}<table>{rows}</table>"


def _bar(start, size, low, width):
    """Return the CSS of a bar: its place, in percent of the cell, and its colour."""
    left = min(start, start + size) - low
    place = {"left": 100 * left / width, "width": 100 * abs(size) / width}
    return f"{_BAR.format(**place)}; background: {POSITIVE if size > 0 else NEGATIVE}"


def table_html(heads, lines, more=""):
    """Return an HTML table; line breaks in strings are kept.

    Parameters
    ----------
    heads : sequence of str
    lines : list of sequences
    more : str, text below the table
    """
    head = "".join(f"<th style='{_CELL}'>{html.escape(text)}</th>" for text in heads)
    cell = f"<td style='{_CELL}; white-space: pre-line'>{{}}</td>"
    rows = ("".join(cell.format(html.escape(str(value))) for value in line) for line in lines)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    foot = f"<p>{html.escape(more)}</p>" if more else ""
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}</div>"


def list_html(heading, lines):
    """Return an HTML list below a heading."""
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return f"<div><p><b>{html.escape(heading)}</b></p><ul>{items}</ul></div>"
