"""The path of one row: what each feature adds to each test."""

import itertools
import math
from dataclasses import asdict, dataclass

from ..export.names import fact_text, factor_name, factor_of
from ..export.numbers import decimals_of, number_text, rounded, summands, told_apart
from ..plot.explained import plot_ways
from ..tree.conditions import Bound
from .markup import path_html

_PRECISION = 3
MAX_TERMS = 8  # of a line of text


@dataclass(frozen=True)
class Contribution:
    """The term weight * value of a feature in a weighted sum.

    Parameters
    ----------
    feature : int
    name : str
    weight : float
    spread : float
        Of the feature over the rows of the node; None if these are not known.
    shown : float
        The weight as the text gives it: itself, or times the spread where `scaled` asks for that.
    value : float
    """

    feature: int
    name: str
    weight: float
    spread: float | None
    shown: float
    value: float

    @property
    def product(self):
        """What the feature adds to the sum."""
        return self.weight * self.value

    def __str__(self):
        factor = {1.0: "", -1.0: "-"}.get(self.shown, f"{number_text(self.shown, _PRECISION)}*")
        return f"{factor}{factor_of(self.name, self.shown, self.weight)}"


@dataclass(frozen=True)
class PathTest:
    """One test on the path of a row.

    Parameters
    ----------
    node : int
    contributions : tuple of Contribution, largest products first, those of 0 by effect
    total : float
        The weighted sum, by the order of summation that routing uses.
    threshold : float
    """

    node: int
    contributions: tuple[Contribution, ...]
    total: float
    threshold: float

    @property
    def margin(self):
        """Weighted sum minus threshold: at most 0 to the left, above 0 to the right."""
        return self.total - self.threshold

    @property
    def side(self):
        """The side the row takes, "left" or "right"."""
        return "left" if self.total <= self.threshold else "right"

    @property
    def _parts(self):
        """(text, product) of the largest terms, and of one for all that are not shown."""
        shown, hidden = self.contributions[:MAX_TERMS], self.contributions[MAX_TERMS:]
        parts = [(str(term), term.product) for term in shown]
        if hidden:
            rest = math.fsum(term.product for term in hidden)
            parts.append((f"{len(hidden)} more", rest))
        return parts

    @property
    def _numbers(self):
        """Texts of these products, which add up to that of the sum, and of the threshold."""
        compare, parts = self._compare, self._parts
        if not all(map(math.isfinite, (self.total, *(product for _, product in parts)))):
            numbers = (*(product for _, product in parts), self.total, self.threshold)
            *texts, total, limit = (number_text(number, _PRECISION) for number in numbers)
            return texts, total, limit
        largest = max((abs(term.product) for term in self.contributions), default=0.0)
        decimals = decimals_of(self.total, self.threshold, largest, compare, _PRECISION)
        texts, total = summands([product for _, product in parts], self.total, decimals)
        return texts, total, rounded(self.threshold, decimals)

    @property
    def _compare(self):
        return "<=" if self.side == "left" else ">"

    @property
    def steps(self):
        """Bars that add up to the sum: (text, text of the product, product, start)."""
        parts, (texts, *_) = self._parts, self._numbers
        starts = itertools.accumulate((product for _, product in parts), initial=0.0)
        return [
            (name, text, product, start)
            for (name, product), text, start in zip(parts, texts, starts, strict=False)
        ]

    @property
    def outcome(self):
        """What was compared, without the terms of a sum: "sum = 2.5 <= 5"."""
        if len(self.contributions) == 1:
            return self._of_one_feature()
        _, total, limit = self._numbers
        return f"sum = {total} {self._compare} {limit}"

    @property
    def bound(self):
        """What the row's side says of the feature where one is tested alone; else None: Bound."""
        if len(self.contributions) != 1:
            return None
        (term,) = self.contributions
        return Bound.of_test(term.feature, term.weight, self.threshold, self.side == "left")

    def __str__(self):
        text = self._of_one_feature() if len(self.contributions) == 1 else self._of_a_sum()
        return f"{text} -> {self.side}"

    def _of_one_feature(self):
        """The value, and the bound that it meets."""
        (term,) = self.contributions
        bound = self.bound
        fact = fact_text(term.name, bound)
        if fact and term.value in (0.0, 1.0):
            return fact
        value, limit = told_apart(term.value, bound.value, bound.sign, _PRECISION)
        return f"{factor_name(term.name)} = {value} {bound.sign} {limit}"

    def _of_a_sum(self):
        """The terms, with one number for those that are not shown, their sum and the threshold."""
        numbers, total, limit = self._numbers
        pairs = zip(self._parts, numbers, strict=True)
        terms = [f"{name} ({number})" for (name, _), number in pairs]
        left = f"{' + '.join(terms)} = {total}" if terms else total
        return f"{left} {self._compare} {limit}"


@dataclass(frozen=True)
class Explanation:
    """The path of one row: its tests, from the root, and the leaf it ends in.

    Parameters
    ----------
    tests : tuple of PathTest
    leaf : int, node number
    cluster : int
    name : str, of the cluster
    """

    tests: tuple[PathTest, ...]
    leaf: int
    cluster: int
    name: str

    def to_dict(self):
        """Plain Python values, ready for JSON; with product, margin and side."""
        return {
            "tests": [
                {
                    **asdict(test),
                    "contributions": [
                        {**asdict(term), "product": term.product} for term in test.contributions
                    ],
                    "margin": test.margin,
                    "side": test.side,
                }
                for test in self.tests
            ],
            "leaf": self.leaf,
            "cluster": self.cluster,
            "name": self.name,
        }

    def plot(self, title=None):
        """The tests below each other: at each the terms that add up to the sum, and the threshold.

        Parameters
        ----------
        title : str, optional
            Default the cluster.

        Returns
        -------
        array of matplotlib Axes, one a test
        """
        return plot_ways(self.tests, self.name if title is None else title)

    def __str__(self):
        return "\n".join([*map(str, self.tests), f"{self.name} (leaf {self.leaf})"])

    def _repr_html_(self):
        """A table a test, with bars; texts are escaped."""
        return path_html(self.tests, str(self).rsplit("\n", 1)[-1])
