"""`Comparison`: the measures of fitted models in one table, and a picture of them."""

import html
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from .._utils.options import resolve
from .._utils.warnings import InterruptedWarning
from ..measures import (
    adjusted_rand_index,
    normalized_mutual_information,
    weighted_average_depth,
    weighted_average_explanation_size,
)
from ..objectives import Objective, encode
from ..optimize.settings import OBJECTIVES
from ..plot.curves import SIZE_NAMES, cost_label, plot_series
from ..tree import labels_of, tree_of

FREE = "free clustering"

_INTEGERS = ["leaves", "depth", "parameters"]
_COLUMNS = ["name", "method", "cost_increase", "cost_increase_new", *_INTEGERS]
_COLUMNS += ["features_per_test", "WAD", "WAES", "NMI", "ARI", "seconds"]
_FIGURES = ("cost_increase", "cost_increase_new", "parameters", "WAES", "NMI", "ARI")
# Headings of the printed table.
_HEADINGS = {
    "cost_increase": "cost increase, %",
    "cost_increase_new": "held-out cost increase, %",
    "features_per_test": "features per test",
    "WAD": "tests per row",
    "WAES": "conditions per row",
    "seconds": "fit time, s",
}
# Headings of the costs if the trees explain given labels.
_HEADINGS_OF_LABELS = {
    "cost_increase": "rows with another label, %",
    "cost_increase_new": "held-out rows with another label, %",
}
# Measures of quality, of which `to_latex` prints the best one in bold, and whether more is better.
_QUALITY = {"cost_increase": False, "cost_increase_new": False, "NMI": True, "ARI": True}
_ESCAPED = str.maketrans({c: f"\\{c}" for c in "&%$#_{}"} | {"\\": r"\textbackslash{}"})
_ESCAPED |= str.maketrans({"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"})
FORMAT = {"float_format": "{:.2f}".format, "na_rep": "-"}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The measures of fitted models in one table. It is printed as this table.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per model, indexed by its name. The printed table has longer headings.

        ===================  =====================================================================
        Column               Meaning
        ===================  =====================================================================
        method               name of the series to which the model belongs
        cost_increase        percent over the cost of the free clustering; for trees that explain
                             given labels, the percentage of rows with another label
        cost_increase_new    the same on held-out rows; NaN if there are none
        leaves, depth        size of the tree
        parameters           number of weights, thresholds and leaves
        features_per_test    mean number of features per test
        WAD                  mean number of tests on the path of a row
                             (:func:`tao_cluster.measures.weighted_average_depth`)
        WAES                 mean number of conditions that explain a row
                             (:func:`tao_cluster.measures.weighted_average_explanation_size`)
        NMI, ARI             agreement of the clusters with the classes `y`, or with the free
                             clustering if there are no classes; 1 is perfect
        seconds              duration of the fit in seconds
        ===================  =====================================================================
    models : dict of str to fitted estimator
    notes : tuple of str
        Warnings of the fits, and arguments that were not used.
    splits : tuple of Comparison
        With ``compare(..., splits=5)``, the comparison of each split. `table` has their means, and
        after each column, such as "cost_increase", one with the standard errors of the means,
        "cost_increase_se". `models` are those of the first split.
    """

    table: pd.DataFrame
    models: dict[str, Any]
    notes: tuple[str, ...] = ()
    splits: tuple = ()

    @classmethod
    def from_models(
        cls, models, X=None, *, y=None, sample_weight=None, embedding=None, new=None, seconds=None
    ):
        """Measure models that are already fitted.

        Parameters
        ----------
        models : dict of str to fitted estimator, all with the same free clustering
        X : array-like or CSR matrix of shape (n, d), optional
            The rows of the fits. Without them, for example after an out-of-core fit, the columns
            WAD, WAES, NMI and ARI are NaN.
        y : array-like of shape (n,), optional
            Classes to compare the clusters with. Default: the free clustering. Rows of class -1,
            None or NaN are left out of NMI and ARI.
        sample_weight, embedding
            As they were passed to `fit`.
        new : dict, optional
            Held-out rows, as the arguments of `cost_increase`: at least "X".
        seconds : dict of str to float, optional
            Durations of the fits by name.

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
        >>> Comparison.from_models(models, X).table["leaves"].tolist()
        [3, 3]
        """
        seconds = {} if seconds is None else seconds
        rows = {"X": X, "sample_weight": sample_weight, "embedding": embedding}
        entries = [Entry(name, name, each, seconds.get(name)) for name, each in models.items()]
        return cls.from_records([measures_of(entry, rows, y, new) for entry in entries], entries)

    @classmethod
    def from_records(cls, records, entries, notes=()):
        """Make the table from one dict of measures per row, and collect models and notes.

        Parameters
        ----------
        records : list of dict, with the key "name" and the columns as further keys
        entries : list of Entry
        notes : tuple of str, printed before the notes of the entries
        """
        table = pd.DataFrame(records, columns=_COLUMNS).set_index("name").rename_axis(None)
        kinds = dict.fromkeys(_INTEGERS, "Int64") | {"seconds": float}
        notes = (*notes, *(note for entry in entries for note in entry.notes))
        return cls(table.astype(kinds), {entry.name: entry.model for entry in entries}, notes)

    @classmethod
    def from_splits(cls, found):
        """Average the comparisons of several splits, which have the same rows."""
        notes = tuple(dict.fromkeys(note for each in found for note in each.notes))
        return cls(_averaged([each.table for each in found]), found[0].models, notes, tuple(found))

    @property
    def series(self):
        """Models by method: dict of str to list of fitted estimators."""
        methods = self.table["method"]
        return {
            method: [model for name, model in self.models.items() if methods[name] == method]
            for method in methods[list(self.models)].unique()
        }

    def plot(self, size="parameters", *, new=None, ax=None, title=None, **options):
        """Draw cost against size, one series per method.

        The models of one method are joined by a line from the smallest to the largest. ExKMC is
        drawn as the curve of all trees of its trace; on held-out rows, only the costs of fitted
        models are known. A method has the same colour and marker in every picture. The axis of
        costs is logarithmic if all costs are positive and the largest is more than 20 times the
        smallest.

        Parameters
        ----------
        size : {"parameters", "leaves", "WAD", "WAES"}, default="parameters"
            Column of the table.
        new : bool, default=None
            Whether to draw the cost increase on held-out rows instead of that on the rows of the
            fits. None draws it if there are held-out rows.
        ax : matplotlib Axes, default a new figure
        title : str, optional
        **options
            style, width, height, figsize and font_size, as for :func:`tao_cluster.plot.plot_path`.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        ValueError
            If `size` is unknown, or if `new` is True and no rows were held out.
        """
        if size not in SIZE_NAMES:
            raise ValueError(f"size must be one of {', '.join(SIZE_NAMES)}; got {size!r}.")
        found = self.table.loc[list(self.models)]
        has_new = found["cost_increase_new"].notna().any()
        new = has_new if new is None else new
        cost = "cost_increase_new" if new else "cost_increase"
        if new and not has_new:
            raise ValueError(
                "new=True needs held-out rows: call compare(..., validation=0.2), or "
                "Comparison.from_models(..., new={'X': X_new})."
            )
        columns = [size, cost, f"{cost}_se"] if self.splits else [size, cost]
        points = {
            method: part[columns].to_numpy(dtype=float)
            for method, part in found.groupby("method", sort=False)
        }
        # The cost of the trees of a trace is known for the rows of the fit only.
        curves = {} if new or self.splits else self._traces(size)
        label = cost_label(self._estimators.values(), new)
        return plot_series(points, size, label, curves=curves, ax=ax, title=title, **options)

    def to_latex(self, columns=_FIGURES):
        """Return the table in LaTeX, for the package booktabs.

        With `splits`, a cell has the mean and its standard error. The best mean of a column is
        bold, and so is every method within one standard error of the difference from the best: the
        mean difference over the splits is at most its standard error. Means that are better than a
        bold one are bold, too. Costs, NMI and ARI have a best value. It is that of the methods with
        the same limit on the number of parameters, which are together between two lines. Without
        `splits`, methods with the printed value of the best are bold.

        Parameters
        ----------
        columns : sequence of str, optional
            Columns of `table`. Default: costs, parameters, WAES, NMI and ARI, if they have values.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            If a column is unknown.
        """
        known = [name for name in _COLUMNS[2:] if name in self.table]
        unknown = [name for name in columns if name not in known]
        if unknown:
            raise ValueError(f"columns must be some of {', '.join(known)}; got {unknown[0]!r}.")
        if columns is _FIGURES:
            columns = [name for name in columns if self.table[name].notna().any()]
        tables = [each.table for each in self.splits] or [self.table]
        limits = {name: _limit(model) for name, model in self._estimators.items()}
        return _latex(tables, self.table, list(columns), self._headings, limits | {FREE: -1})

    @property
    def _estimators(self):
        """Fitted estimators by name, without the first steps of Pipelines."""
        return {
            name: model[-1] if isinstance(model, Pipeline) else model
            for name, model in self.models.items()
        }

    @property
    def _headings(self):
        is_labels = any(map(explains_labels, self._estimators.values()))
        return _HEADINGS | (_HEADINGS_OF_LABELS if is_labels else {})

    def _traces(self, size):
        """Return arrays of (size, cost) of the trees in the longest trace of each method."""
        # A tree with n leaves has n - 1 tests of one feature, each with a weight and a threshold.
        sizes = {"leaves": lambda n: n, "parameters": lambda n: n + 2 * (n - 1)}
        curves = {}
        for name, model in self.models.items():
            if size in sizes and hasattr(model, "trace_"):
                method = self.table.at[name, "method"]
                steps = [(sizes[size](at["leaves"]), at["cost_increase"]) for at in model.trace_]
                curves[method] = max(curves.get(method, []), steps, key=len)
        return {method: np.array(steps, dtype=float) for method, steps in curves.items()}

    def __repr__(self):
        return "\n".join([self._printed().to_string(**FORMAT), *self.notes])

    def _repr_html_(self):
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return self._printed().to_html(border=0, **FORMAT) + notes

    def _printed(self):
        """Return the table with readable headings, without "method" and without empty columns."""
        table = self.table.drop(columns="method").astype(dict.fromkeys(_INTEGERS, object))
        table = table.where(table.notna(), np.nan).dropna(axis=1, how="all")
        for name in [name for name in table if f"{name}_se" in table]:  # of splits
            errors = table.pop(f"{name}_se")
            both = table[name].map("{:.2f}".format) + errors.map(" \u00b1 {:.2f}".format)
            table[name] = both.where(errors > 0, table[name].map("{:.2f}".format))
            table[name] = table[name].where(self.table[name].notna(), np.nan)
        return table.rename(columns=self._headings)


@dataclass(frozen=True, eq=False)
class Entry:
    """A fitted model, its name, its method, the seconds and the warnings of its fit."""

    name: str
    method: str
    model: Any
    seconds: float | None
    notes: tuple[str, ...] = ()


def _limit(model):
    """Return the number of parameters to which a model was limited; NaN if it had no such limit.

    An axis-aligned tree with n leaves has 3 n - 2 parameters.
    """
    own = model.get_params(deep=False)
    if own.get("max_parameters") is not None:
        return own["max_parameters"]
    split = own.get("split", "oblique" if "lambda_" in own else "axis")
    is_oblique = getattr(split, "name", split) == "oblique"
    leaves = own["n_clusters"] if "max_leaves" not in own else own["max_leaves"]
    return np.nan if leaves is None or is_oblique else 3 * leaves - 2


def explains_labels(estimator):
    """Whether an estimator explains given labels.

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
    """Run a function and record its warnings.

    Parameters
    ----------
    run : callable without arguments
    name : str, optional
        Prefix of the messages of the warnings.

    Returns
    -------
    result : the result of the function
    seconds : float, its duration
    messages : tuple of str, messages of its UserWarnings without repeats

    Raises
    ------
    KeyboardInterrupt
        If a warning says that Ctrl-C has cut off the function: its result is not complete.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        start = time.perf_counter()
        result = run()
        seconds = time.perf_counter() - start
    if any(issubclass(each.category, InterruptedWarning) for each in caught):
        raise KeyboardInterrupt
    start = "" if name is None else f"{name}: "
    messages = (
        f"{start}{each.message}" for each in caught if issubclass(each.category, UserWarning)
    )
    return result, seconds, tuple(dict.fromkeys(messages))


def _cost_of_new(model, X, **further):
    return model.cost_increase(X, **further)


def measures_of(entry, rows, y, new):
    """Return the row of the table of a model: dict of its measures."""
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
    """Return NMI and ARI over the rows that have a class."""
    codes, _ = encode(classes)
    kept = codes >= 0
    weight = None if weight is None else np.asarray(weight)[kept]
    rows = (np.asarray(labels)[kept], codes[kept], weight)
    return {"NMI": normalized_mutual_information(*rows), "ARI": adjusted_rand_index(*rows)}


def free_record(model, y, sample_weight, seconds):
    """Return the row of the table of the free clustering, which has no tree."""
    record = {"name": FREE, "method": FREE, "cost_increase": 0.0, "seconds": seconds}
    if y is not None:
        record |= _agreement(model.free_labels_, y, sample_weight)
    return record


# ------------------------------------------------------------------repeats over splits


def _averaged(tables):
    """Return means over tables, and standard errors of the means in columns "..._se": DataFrame.

    A measure counts only in the splits that have it.
    """
    numbers = pd.concat([table.drop(columns="method").astype(float) for table in tables])
    groups = numbers.groupby(level=0, sort=False)
    errors = groups.std(ddof=1) / np.sqrt(groups.count())
    both = groups.mean().join(errors.add_suffix("_se"))
    both.insert(0, "method", tables[0]["method"].reindex(both.index))
    order = [name + end for name in numbers for end in ("", "_se")]
    return both[["method", *order]].rename_axis(None)


def _latex(tables, rows, columns, headings, limits):
    """Return a table in LaTeX; see :meth:`Comparison.to_latex`.

    Parameters
    ----------
    tables : list of DataFrame, one per split
    rows : DataFrame, means and standard errors
    columns : list of str
    headings : dict of str by column
    limits : dict of float by row, limits on the number of parameters; NaN if there is none
    """
    limits = pd.Series(limits, dtype=float).reindex(rows.index)
    blocks = []
    for limit in sorted(limits.unique(), key=lambda limit: np.nan_to_num(limit, nan=np.inf)):
        names = rows.index[limits.isna() if np.isnan(limit) else limits == limit]
        own = [table.reindex(names)[columns].astype(float) for table in tables]
        is_best = {column: _best([table[column] for table in own], column) for column in columns}
        lines = []
        for name in names:
            cells = [_cell(rows, name, column, name in is_best[column]) for column in columns]
            lines.append(f"{' & '.join([name.translate(_ESCAPED), *cells])} \\\\")
        blocks.append("\n".join(lines))
    head = " & ".join(["", *(headings.get(c, c).translate(_ESCAPED) for c in columns)])
    body = "\n\\midrule\n".join(blocks)
    start = f"\\begin{{tabular}}{{l{'r' * len(columns)}}}\n\\toprule\n{head} \\\\\n\\midrule\n"
    return f"{start}{body}\n\\bottomrule\n\\end{{tabular}}"


def _best(values, column):
    """Return the names of the best mean, and of those that cannot be distinguished from it.

    `values` is a list of Series by name, one per split. A mean is distinguished if it is worse than
    the best one by more than a standard error of the mean of the differences within splits. Of a
    single split, values that are printed alike are equal. What is better than a mean that is not
    distinguished is not, either.
    """
    if column not in _QUALITY:
        return set()
    values = pd.concat(values, axis=1) * (1 if _QUALITY[column] else -1)
    means = values.mean(axis=1)
    if means.isna().all() or len(means) == 1:
        return set()
    difference = values.loc[means.idxmax()] - values
    n = difference.notna().sum(axis=1)
    error = difference.std(axis=1, ddof=1).where(n > 1, 0.0) / np.sqrt(n)
    is_close = difference.mean(axis=1) <= np.maximum(error, 0.005)
    return set(means.index[means >= means[is_close].min()])


def _cell(rows, name, column, is_best):
    """Return a mean and its standard error in LaTeX; "--" if there is none."""
    mean, error = rows.at[name, column], rows.get(f"{column}_se", {}).get(name, np.nan)
    if pd.isna(mean):
        return "--"
    is_whole = column not in _QUALITY and bool((rows[column].dropna() % 1 == 0).all())
    digits = 0 if is_whole else 2
    text = f"{round(float(mean), digits) + 0.0:.{digits}f}"  # no negative zero
    text = f"\\mathbf{{{text}}}" if is_best else text
    return f"${text}$" if pd.isna(error) or is_whole else f"${text} \\pm {error:.2f}$"
