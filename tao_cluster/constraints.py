"""Rules of the business: which columns the tests of a tree may use, and how often and where."""

import math
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval

from ._utils.frames import check_list_of_names, display_name, display_names
from ._utils.matrices import ranges
from ._utils.options import Part
from ._utils.warnings import listed
from .problem.split_limits import Grid, SplitLimits

_POSITIVE = Interval(Integral, 1, None, closed="left")
_OF_DIRECT_FORM = ("first", "max_depth", "max_tests_per_column")


@dataclass(frozen=True, repr=False)
class Constraints(Part):
    """Rules that every tree of a fit keeps: ``TAOClustering(constraints=Constraints(...))``.

    Columns are named as in the DataFrame that `fit` gets, or by position (0, 1, ...) if X has no
    names. In :func:`table_pipeline` they are the columns of the raw table. The features that the
    pipeline makes of one raw column (levels, parts of a date) belong to that column.

    Parameters
    ----------
    columns : list, optional
        Only these columns may be tested. All columns determine the clusters.
    not_tested : list, optional
        These columns determine the clusters, but no test uses them. It excludes `columns`.
    first : column, optional
        The test at the root uses this column alone.
    steps : dict of column to positive number, optional
        Thresholds of a column are multiples of its step: ``steps={"age": 5}`` leads to tests such
        as ``age >= 55``. Steps are in the units of the user, also with ``standardize=True`` and in
        pipelines of `table_pipeline`; those of dates are in days. They need ``split="axis"``. In
        another Pipeline, constraints refer to the columns that its last step gets. Steps of a
        column that a StandardScaler has scaled raise an error.
    max_depth : int, optional
        Maximum number of tests on the path to a leaf, which is the length of a rule.
    max_tests_per_column : int, optional
        Maximum number of tests of the tree that use the same column.

    Raises
    ------
    ValueError
        If two constraints contradict each other. `fit` raises it for constraints that contradict
        its parameters or data, before it fits anything. The message names both sides.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import Constraints, TAOClustering
    >>> X = load_iris(as_frame=True).data
    >>> rules = Constraints(not_tested=["petal length (cm)"], steps={"petal width (cm)": 0.5})
    >>> model = TAOClustering(2, split="axis", constraints=rules, random_state=0).fit(X)
    >>> sorted(rule.split(" then ")[0] for rule in model.to_rules())
    ['if petal width (cm) < 1', 'if petal width (cm) >= 1']
    """

    columns: Any = None
    not_tested: Any = None
    first: Any = None
    steps: Any = None
    max_depth: int | None = None
    max_tests_per_column: int | None = None

    _constraints: ClassVar[dict] = {
        "columns": [None, "array-like"],
        "not_tested": [None, "array-like"],
        "steps": [None, dict],
        "max_depth": [None, _POSITIVE],
        "max_tests_per_column": [None, _POSITIVE],
    }

    def __post_init__(self):
        for name in ("columns", "not_tested"):
            names = getattr(self, name)
            check_list_of_names(names, name)
            if hasattr(names, "__iter__"):  # tuples are equal by value, and have a hash
                vars(self)[name] = tuple(names)
        super().__post_init__()
        if self.columns is not None and self.not_tested is not None:
            raise ValueError("Constraints: give columns or not_tested, not both.")
        used = {f"steps of {name!r}": name for name in self.steps or ()}
        if self.first is not None:
            used[f"first={self.first!r}"] = self.first
        for what, name in used.items():
            if self.columns is not None and name not in self.columns:
                raise ValueError(f"Constraints: {what} conflicts with columns, which lacks it.")
            if self.not_tested is not None and name in self.not_tested:
                raise ValueError(f"Constraints: {what} conflicts with not_tested, which has it.")
        for name, step in (self.steps or {}).items():
            is_number = isinstance(step, Real) and not isinstance(step, bool | np.bool_)
            if not is_number or not 0 < step < math.inf:
                raise ValueError(f"Constraints: the step of {name!r} must be > 0, got {step!r}.")

    def __hash__(self):
        values = vars(self).values()
        return hash(tuple(frozenset(v.items()) if isinstance(v, dict) else v for v in values))

    def check_parameters(self, n_clusters, kind, algorithm):
        """Raise a ValueError if the constraints contradict parameters of TAOClustering.

        `n_clusters` is 1 if the number of clusters is not known before `fit`.
        """
        if self.steps and kind == "oblique":
            raise ValueError(
                f"constraints: steps={self.steps!r} conflicts with split='oblique', whose tests "
                "are weighted sums of columns; use split='axis'."
            )
        given = [name for name in _OF_DIRECT_FORM if getattr(self, name) is not None]
        if given and not algorithm.is_direct:
            raise ValueError(
                f"constraints: {listed(given)} conflicts with the penalty method, which cannot "
                "keep it; use algorithm='direct'."
            )
        if self.max_depth is not None and 2**self.max_depth < n_clusters:
            raise ValueError(
                f"constraints: max_depth={self.max_depth} conflicts with n_clusters={n_clusters}: "
                f"it allows {2**self.max_depth} leaves. Use max_depth >= "
                f"{(n_clusters - 1).bit_length()}, or fewer clusters."
            )

    def limits(self, given, every, X, n_clusters):
        """Return the constraints for the columns of X, as SplitLimits.

        Parameters
        ----------
        given : X as passed to `fit`, which has the names of the columns
        every, X : arrays or CSR matrices of shape (n, d), in the units of the user
            All rows, and the distinct rows that the tree is fitted to.
        n_clusters : int

        Raises
        ------
        ValueError
            If a column does not exist or cannot be tested, or if no tree with a leaf for each
            cluster is possible.
        """
        names, known = display_names(given), getattr(given, "attrs", {}).get("raw_columns")
        default = [str(j) for j in range(X.shape[1])] if names is None else names
        # A TableEncoder knows the raw column and the Column of each feature.
        owners, sources = zip(*known, strict=True) if known else (default, None)
        users = list(dict.fromkeys(owners))
        group = np.array([users.index(owner) for owner in owners], dtype=np.intp)
        place = partial(_place, users)
        tested = np.full(len(users), self.columns is None)
        tested[[place("columns", name) for name in self.columns or ()]] = True
        tested[[place("not_tested", name) for name in self.not_tested or ()]] = False
        n_tested, most = int(tested.sum()), self.max_tests_per_column
        if n_tested == 0:
            option = "not_tested" if self.columns is None else "columns"
            raise ValueError(f"constraints: {option} leaves no column that may be tested.")
        if most is not None and most * n_tested < n_clusters - 1:
            raise ValueError(
                f"constraints: max_tests_per_column={most} conflicts with n_clusters={n_clusters}: "
                f"{n_tested} columns then have at most {most * n_tested} tests, and a leaf for "
                f"each cluster needs {n_clusters - 1}."
            )
        (low, high), first, grids = ranges(X), None, {}
        if self.first is not None:
            first = place("first", self.first)
            if not np.any(low[group == first] < high[group == first]):
                raise ValueError(f"constraints: first={self.first!r} is a constant column.")
        for name, step in (self.steps or {}).items():
            own = np.flatnonzero(group == place("steps", name)).tolist()
            if sources is not None:
                own = [j for j in own if _is_number(sources[j])]
            elif _is_standardised(every, own[0]):
                raise ValueError(
                    f"constraints: steps: {name!r} has the standard deviation 1, as if it had been "
                    f"scaled: {step!r} would not be in its own units. Use standardize=True in "
                    "place of the scaler, or table_pipeline, whose constraints are in raw units."
                )
            if not own:
                raise ValueError(f"constraints: steps: {name!r} is not a column of numbers.")
            grids |= {j: Grid(float(step), sources and sources[j]) for j in own}
            if not any(np.diff(grids[j].cell(np.array([low[j], high[j]]))) for j in own):
                raise ValueError(
                    f"constraints: steps: no multiple of {step!r} is among the values of {name!r}."
                )
        return SplitLimits(group, tested[group], grids, first, self.max_depth, most)


def _place(users, option, name):
    """Return the position of a column that an option names among the user's columns."""
    if display_name(name) not in users:
        raise ValueError(
            f"constraints: {option}: there is no column {name!r}; the columns are {listed(users)}."
        )
    return users.index(display_name(name))


def _is_standardised(X, j):
    """Return whether a column has fractions and the standard deviation 1, up to rounding."""
    values = (X[:, [j]].toarray() if sp.issparse(X) else X[:, j]).astype(np.float64)
    return np.any(values % 1 != 0) and abs(values.std() - 1) < 1e-6  # X may be float32


def _is_number(column):
    """Return whether a column of a pipeline is a number itself: no level, no part of a date."""
    source = column.source
    return not source.is_category and not getattr(source.reader, "part", None)
