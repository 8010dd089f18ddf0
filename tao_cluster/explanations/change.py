"""The nearest change: what of a row would have to be another for it to be in a cluster."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._utils.matrices import check_rows
from ..columns import Indicator, RawView, named, numbers_of, one_row, printable_names, with_cells
from ..export.numbers import number_text, told_apart
from ..report import cluster_names, n_clusters_of, spreads_of
from ..tree import tree_of
from ..tree.conditions import conditions_of_leaves
from .markup import list_html
from .nearest import Room, nearest_values
from .profile import position_of

_PRECISION = 4


@dataclass(frozen=True)
class FeatureChange:
    """A feature of a row that would be another.

    Parameters
    ----------
    feature : int
    name : str
    before, after : float
    cost : float
        Size of the change in spreads of the feature; 1/2 for each category that comes or goes.
    """

    feature: int
    name: str
    before: float
    after: float
    cost: float

    def __str__(self):
        if isinstance(self.name, Indicator) and {self.before, self.after} == {0.0, 1.0}:
            return str(self.name) if self.after else self.name.contrary
        sign = ">" if self.before > self.after else "<"
        before, after = told_apart(self.before, self.after, sign, _PRECISION)
        step = number_text(self.after - self.before, _PRECISION)
        return f"{self.name} {before} -> {after} ({'' if step.startswith('-') else '+'}{step})"


@dataclass(frozen=True, eq=False)
class Change:
    """What sends a row to a cluster.

    Parameters
    ----------
    changes : tuple of FeatureChange, largest cost first; none if the row is there already
    row : array, CSR matrix or DataFrame of shape (1, n_features)
        The changed row, of the kind of the given one (of a Series or dict an array, of a pipeline
        a raw row); the model predicts the cluster for it.
    cost : float, the sum of the costs of the changes
    leaf : int, the leaf that the changed row reaches
    cluster : int
    name, before : str, of the cluster, and of the one the row is in
    """

    changes: tuple[FeatureChange, ...]
    row: Any
    cost: float
    leaf: int
    cluster: int
    name: str
    before: str

    def to_dict(self):
        """Plain Python values, ready for JSON; without the row."""
        values = {name: value for name, value in vars(self).items() if name != "row"}
        return {**values, "changes": [asdict(change) for change in self.changes]}

    @property
    def _heading(self):
        if not self.changes:
            return f"{self.name}: nothing has to change"
        return f"{self.before} -> {self.name} (leaf {self.leaf}), cost {self.cost:.3g}"

    def __str__(self):
        return "\n".join([self._heading, *(f"  {change}" for change in self.changes)])

    def _repr_html_(self):
        """A list of the changes; texts are escaped."""
        return list_html(self._heading, [str(change) for change in self.changes])


def nearest_change(model, x, k, *, feature_names=None, fixed=(), bounds=None, spreads=None):
    """A smallest change of a row that sends it to a cluster.

    Parameters
    ----------
    model : Tree, fitted estimator with `tree_`, or fitted pipeline that ends in one
    x : one row, as for :func:`tao_cluster.explanations.explain`
    k : int, the cluster; the label itself, number or string, of a model that explains labels
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...
    fixed : sequence of names or positions of features, default=()
        Features that stay what they are; the name of a column fixes all its categories.
    bounds : dict, optional
        (least, largest) value of a feature by its name or position, None for no limit. A value
        that lies outside may stay where it is, or come nearer.
    spreads : array-like of shape (n_features,), optional
        What a change of 1 of a feature is measured by. Default the spread over the rows of the
        fit that come to a test of the feature, the largest of these; 1 if it is 0 or not known.

    Returns
    -------
    Change
        Of `changes` (one a feature), the changed `row`, its `cost` and `leaf`; to be printed.

    Raises
    ------
    ValueError
        If no row of that kind reaches the cluster, there is no such cluster or feature, x is not
        one row, or a bound or spread is no number.

    Notes
    -----
    The cost is the sum over features of ``|change| / spread``. It is minimised for each leaf of
    the cluster subject to the tests on its path, and the cheapest leaf is taken, the first one of
    those. Where all tests on the path ask for one feature, the nearest numbers that pass them
    are exact, to the next float. Where some test a sum it is a small linear program, solved by
    HiGHS, whose sums stay some 1e-9 spreads clear of their thresholds, more where rounding asks
    for it: each answer is checked by routing the changed row. Categories (of one-hot columns and
    `Indicator` names) change as a whole: a column keeps one value a row, and a change of it costs
    1; whether a value is missing does not change. Other features may take any number: give
    `bounds` for those that may not be negative, say.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.explanations import nearest_change
    >>> tree = Tree.from_splits([1, -1, -1], [2, -1, -1], [([0, 1], [0.5, -2.0]), None, None],
    ...                         [2, 0, 0], [-1, 0, 1], n_features=2)
    >>> change = nearest_change(tree, [7.0, 0.25], 0, feature_names=["width", "height"])
    >>> print(change)
    cluster 1 -> cluster 0 (leaf 1), cost 0.5
      height 0.25 -> 0.75 (+0.5)
    >>> tree.predict(change.row)
    array([0], dtype=int32)
    """
    model, names = named(model, feature_names)
    k, tree = position_of(model, k), tree_of(model)
    asked = _Row.of(model, one_row(model, x, feature_names))
    labels = cluster_names(model, n_clusters_of(model))
    here = asked.leaf_of({})
    before = labels[tree.leaf_label[here]]
    room = Room.of(names, asked.values, fixed, bounds, _spreads(model, tree, spreads))
    if tree.leaf_label[here] == k:
        return Change((), asked.changed({}), 0.0, here, k, labels[k], before)
    best = min(_candidates(asked, tree, k, room), key=lambda found: found[:2], default=None)
    if best is None:
        limited = " with these features fixed and within these bounds" if fixed or bounds else ""
        raise ValueError(f"No change of the row leads to {labels[k]}{limited}.")
    cost, _, found, reached = best
    shown = printable_names(names)
    changes = [
        FeatureChange(j, shown[j], room.values[j], value, room.cost(j, value))
        for j, value in found.items()
    ]
    changes.sort(key=lambda change: (-change.cost, change.feature))
    return Change(tuple(changes), asked.changed(found), cost, reached, k, labels[k], before)


def _candidates(asked, tree, k, room):
    """(cost, leaf, changes, leaf reached) of the nearest change to each leaf of a cluster."""
    for leaf, conditions in conditions_of_leaves(tree):
        if tree.leaf_label[leaf] != k:
            continue
        for found in nearest_values(conditions, room):
            reached = asked.leaf_of(found)
            if tree.leaf_label[reached] == k:
                cost = sum(room.cost(j, value) for j, value in found.items())
                yield cost, leaf, found, reached
                break


@dataclass(frozen=True, eq=False)
class _Row:
    """A row of a model, and what becomes of it."""

    model: Any
    table: Any
    values: Any

    @classmethod
    def of(cls, model, table):
        values = check_rows(numbers_of(model, table)).astype(np.float64, copy=False)
        return cls(model, table, values)

    def changed(self, numbers):
        """The row in which features have other numbers."""
        if isinstance(self.model, RawView):
            return self.model.with_numbers(self.table, numbers)
        return with_cells(self.table if hasattr(self.table, "iloc") else self.values, numbers)

    def leaf_of(self, numbers):
        """The leaf that it reaches then."""
        row = self.changed(numbers)
        # A bare array has no names to be compared with those of fit, and need have none.
        has_names = isinstance(self.model, RawView) or hasattr(row, "columns")
        return int((self.model if has_names else tree_of(self.model)).apply(row)[0])


def _spreads(model, tree, spreads):
    """What changes are measured by: one number above 0 a feature."""
    if spreads is not None:
        spreads = np.asarray(spreads, dtype=np.float64)
        if spreads.shape != (tree.n_features,) or not np.all((spreads > 0) & np.isfinite(spreads)):
            raise ValueError(f"spreads must be {tree.n_features} numbers above 0, one a feature.")
        return spreads
    found = np.zeros(tree.n_features)
    known = spreads_of(model)
    if known is not None:
        np.fmax.at(found, tree.split_indices, known)
    return np.where(found > 0, found, 1.0)
