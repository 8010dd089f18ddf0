"""Fitted models side by side: their measures, the table of them, and its picture."""

import html
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._utils.options import resolve
from ..measures import (
    adjusted_rand_index,
    normalized_mutual_information,
    weighted_average_depth,
    weighted_average_explanation_size,
)
from ..objectives import Objective, encode
from ..optimize.settings import OBJECTIVES
from ..plot.curves import SIZE_NAMES, plot_series
from ..tree import labels_of, tree_of

FREE = "free clustering"

_WHOLE = ["leaves", "depth", "parameters"]
_COLUMNS = [
    "name",
    "method",
    "cost_increase",
    "cost_increase_new",
    *_WHOLE,
    "features_per_test",
    "WAD",
    "WAES",
    "NMI",
    "ARI",
    "seconds",
]
# What the costs of trees for given labels are.
_OF_LABELS = {
    "cost_increase": "rows with another label, %",
    "cost_increase_new": "new rows with another label, %",
}
FORMAT = {"float_format": "{:.2f}".format, "na_rep": "-"}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Fitted models side by side. It shows itself as its table, and in notebooks, too.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a model, by its name. Columns: method; cost_increase (percent over the free
        clustering; of trees for given labels the percentage of rows with another label) and
        cost_increase_new (the same for rows held out, NaN without); leaves,
        depth, parameters; features_per_test; WAD and WAES (mean number of tests on a row's path,
        and of conditions that explain it); NMI and ARI with classes, without them with the free
        clustering; seconds of the fit.
    models : dict of str to fitted estimator
    notes : tuple of str, what the fits warned of
    """

    table: pd.DataFrame
    models: dict[str, Any]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, models, X=None, *, y=None, sample_weight=None, embedding=None, new=None, seconds=None
    ):
        """Measures of models that are fitted already.

        Parameters
        ----------
        models : dict of str to fitted estimator, all with the same free clustering
        X : array-like or CSR matrix of shape (n, d), optional
            The rows of the fits; without them (after a fit to rows in blocks, say) the table has
            only what the models themselves know.
        y : array-like of shape (n,), optional
            Classes to compare the clusters with; default the free clustering. Rows of -1, None or
            NaN have none, and are left out of the comparison.
        sample_weight, embedding
            As `fit` was given them.
        new : dict, optional
            Rows that the fits have not seen: the arguments of `cost_increase`, at least X.
        seconds : dict of str to float, optional

        Returns
        -------
        Comparison

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from greedy import IMM, ExShallow
        >>> from tao_cluster.comparison import Comparison
        >>> X = load_iris().data
        >>> models = {"IMM": IMM(3).fit(X), "ExShallow": ExShallow(3).fit(X)}
        >>> Comparison.of(models, X).table["leaves"].tolist()
        [3, 3]
        """
        seconds = {} if seconds is None else seconds
        rows = {"X": X, "sample_weight": sample_weight, "embedding": embedding}
        entries = [Entry(name, name, each, seconds.get(name)) for name, each in models.items()]
        return cls.of_records([measures_of(entry, rows, y, new) for entry in entries], entries)

    @classmethod
    def of_records(cls, records, entries, notes=()):
        """A row a record, its keys the columns and "name", and the models of the entries."""
        table = pd.DataFrame(records, columns=_COLUMNS).set_index("name").rename_axis(None)
        kinds = dict.fromkeys(_WHOLE, "Int64") | {"seconds": float}
        notes = (*notes, *(note for entry in entries for note in entry.notes))
        return cls(table.astype(kinds), {entry.name: entry.model for entry in entries}, notes)

    @property
    def series(self):
        """The models of each method: dict of str to list of fitted estimators."""
        methods = self.table["method"]
        return {
            method: [model for name, model in self.models.items() if methods[name] == method]
            for method in methods[list(self.models)].unique()
        }

    def plot(self, size="parameters", *, new=False, ax=None, title=None):
        """Cost against size, a series a method.

        Models of one method are joined, smallest first; an ExKMC is shown by the curve of all the
        trees of its trace, but on new rows, where only the fitted ones are measured. Axes are
        logarithmic where values range far.

        Parameters
        ----------
        size : {"parameters", "leaves", "WAD", "WAES"}, a column of the table
        new : bool, whether the cost is that of the rows held out
        ax : matplotlib Axes, default a new figure
        title : str, optional

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        ValueError
            If `size` is unknown, or no rows were held out.
        """
        if size not in SIZE_NAMES:
            raise ValueError(f"size must be one of {', '.join(SIZE_NAMES)}; got {size!r}.")
        cost = "cost_increase_new" if new else "cost_increase"
        found = self.table.loc[list(self.models)]
        if found[cost].isna().all():
            raise ValueError("No rows were held out: give compare a validation.")
        points = {
            method: part[[size, cost]].to_numpy(dtype=float)
            for method, part in found.groupby("method", sort=False)
        }
        curves = self._traces(size)
        if new:  # the trees of a trace are measured on the rows of the fit only
            points = {
                f"{method} (fitted trees only)" if method in curves else method: places
                for method, places in points.items()
            }
            curves = {}
        ax = plot_series(points, size, curves=curves, new=new, ax=ax, title=title)
        if self._explains_labels:
            ax.set_ylabel(_OF_LABELS[cost])
        return ax

    @property
    def _explains_labels(self):
        return any(map(explains_labels, self.models.values()))

    def _traces(self, size):
        """Size and cost of all trees of the longest trace of each method that has one."""
        # Of n leaves: the other n - 1 nodes test one feature, two parameters.
        sizes = {"leaves": lambda n: n, "parameters": lambda n: n + 2 * (n - 1)}
        curves = {}
        for name, model in self.models.items():
            if size in sizes and hasattr(model, "trace_"):
                method = self.table.at[name, "method"]
                steps = [(sizes[size](at["leaves"]), at["cost_increase"]) for at in model.trace_]
                curves[method] = max(curves.get(method, []), steps, key=len)
        return {method: np.array(steps, dtype=float) for method, steps in curves.items()}

    def __repr__(self):
        return "\n".join([self._shown().to_string(**FORMAT), *self.notes])

    def _repr_html_(self):
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return self._shown().to_html(border=0, **FORMAT) + notes

    def _shown(self):
        """The table to read: no names twice, and no columns of which nothing is known."""
        table = self.table.drop(columns="method").astype(dict.fromkeys(_WHOLE, object))
        table = table.where(table.notna(), np.nan).dropna(axis=1, how="all")
        return table.rename(columns=_OF_LABELS) if self._explains_labels else table


@dataclass(frozen=True, eq=False)
class Entry:
    """A fitted model with its name and that of its method, and what its fit warned of."""

    name: str
    method: str
    model: Any
    seconds: float | None
    notes: tuple[str, ...] = ()


def explains_labels(estimator):
    """Whether an estimator's trees are for labels that are given.

    Examples
    --------
    >>> from tao_cluster import TAOClustering
    >>> from tao_cluster.comparison import explains_labels
    >>> explains_labels(TAOClustering(objective="labels")), explains_labels(TAOClustering(3))
    (True, False)
    """
    objective = estimator.get_params(deep=False).get("objective", "kmeans")
    return resolve(objective, OBJECTIVES, Objective).explains_labels


def observed(run, name=None):
    """What a function returns, the seconds that it takes, and the sentences that it warns of.

    Where a name is given, each sentence begins with it.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        start = time.perf_counter()
        result = run()
        seconds = time.perf_counter() - start
    start = "" if name is None else f"{name}: "
    told = (f"{start}{each.message}" for each in caught if issubclass(each.category, UserWarning))
    return result, seconds, tuple(dict.fromkeys(told))


def _cost_of_new(model, X, **further):
    return model.cost_increase(X, **further)


def measures_of(entry, rows, y, new):
    """A row of the table."""
    model, tree = entry.model, tree_of(entry.model)
    X, weight = rows["X"], rows["sample_weight"]
    record = {
        "name": entry.name,
        "method": entry.method,
        "cost_increase": model.cost_increase_,
        "cost_increase_new": np.nan if new is None else _cost_of_new(model, **new),
        "leaves": tree.n_leaves,
        "depth": tree.max_depth,
        "parameters": tree.n_parameters,
        "features_per_test": tree.features_per_split,
        "seconds": entry.seconds,
    }
    if X is not None:
        record["WAD"] = weighted_average_depth(tree, X, weight)
        record["WAES"] = weighted_average_explanation_size(tree, X, weight)
        record |= _agreement(labels_of(model), model.free_labels_ if y is None else y, weight)
    return record


def _agreement(labels, classes, weight):
    """NMI and ARI of the rows that have a class."""
    codes, _ = encode(classes)
    kept = codes >= 0
    weight = None if weight is None else np.asarray(weight)[kept]
    rows = (np.asarray(labels)[kept], codes[kept], weight)
    return {"NMI": normalized_mutual_information(*rows), "ARI": adjusted_rand_index(*rows)}


def free_record(model, y, sample_weight, seconds):
    """The row of the free clustering, which has no tree."""
    record = {"name": FREE, "method": FREE, "cost_increase": 0.0, "seconds": seconds}
    if y is not None:
        record |= _agreement(model.free_labels_, y, sample_weight)
    return record
