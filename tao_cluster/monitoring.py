"""`monitor`: whether the clusters of a fitted model still hold on the rows of another month."""

import html
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.api.types import is_numeric_dtype
from scipy.stats import chi2
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from ._utils.frames import as_pandas, check_aligned, display_names
from ._utils.matrices import check_rows
from ._utils.warnings import listed, numpy_errors
from .columns.dates import Date
from .columns.readers import as_texts
from .columns.steps import UnsupportedStepError
from .columns.table_reader import output_name
from .columns.view import RawView, flat_steps, numbers_of, shown, transformed
from .export.format import condition_text
from .plot.charts import plot_monitor
from .refitting import facts_of, last_step, refitted
from .report import cluster_names
from .tree.routing import kernel_arrays, project

__all__ = ["Monitor", "monitor"]

LIMITS = {"watch": 0.1, "moved": 0.25}  # the usual limits of the population stability index
_DECILES = np.arange(1, 10) / 10
_RARE = 0.01  # levels with a smaller share of the old rows are one bin together
_CHANCE = 0.999  # quantile of the index under chance, which a moved distribution must exceed
_FACTOR, _POINTS = 2.0, 5.0  # limits of the growth of costs, and of gaps and unknown levels
_FORMAT, _N_SHOWN = {"float_format": "{:.3g}".format, "na_rep": "-"}, 10
_OF_COLUMNS = ("psi", "status", "tested", "gaps_then", "gaps_now", "unknown_share", "unknown")
_OF_TESTS = ("test", "psi", "status", "rows_then", "rows_now", "left_then", "left_now")
NOWHERE, NEW, LEFT = "no segment", "(new)", "(left)"


@dataclass(frozen=True, eq=False, repr=False)
class Monitor:
    """What has changed between the rows of two months; :func:`tao_cluster.monitor` returns it.

    Parameters
    ----------
    verdict : str
        One sentence.
    reasons : list of str
        Why a refit is necessary; empty if the clusters still hold.
    segments : pandas.DataFrame
        One row per cluster, by name: rows_then, rows_now, share_then, share_now, and the change of
        the share in percentage points.
    costs : pandas.DataFrame
        Cost increase in percent, then and now: over the free clustering of the model, and over a
        new free clustering of the same rows (with new centres of the clusters of the tree). If the
        model explains labels, it is only the percentage of rows with another label.
    columns : pandas.DataFrame
        One row per column, by name, the largest psi first: psi, status, tested (whether the tree
        tests the column), gaps_then and gaps_now (shares of missing values), unknown_share and
        unknown (levels that the old rows do not have).
    tests : pandas.DataFrame
        One row per test, by node: test, psi, status, rows_then and rows_now (that reach it), and
        left_then and left_now (the shares of these rows that go left).
    transitions : pandas.DataFrame or None
        Numbers of rows by old cluster (rows) and new cluster (columns), if ids are given.
    """

    verdict: str
    reasons: list
    segments: pd.DataFrame
    costs: pd.DataFrame
    columns: pd.DataFrame
    tests: pd.DataFrame
    transitions: pd.DataFrame | None = None

    @property
    def text(self):
        """The verdict and the tables as text: str."""
        tables = (f"{title}\n{table.to_string(**_FORMAT)}" for title, table in self._tables())
        return "\n\n".join([self.verdict, *tables])

    def plot(self, *, title=None, **options):
        """Draw the sizes then and now, and the largest population stability indices.

        Parameters
        ----------
        title : str, optional
            Default the verdict.
        **options
            style, width, height, figsize and font_size, as for :func:`tao_cluster.plot.plot_path`.

        Returns
        -------
        array of two matplotlib Axes
        """
        both = pd.concat([self.tests.set_index("test"), self.columns])[["psi", "status"]].dropna()
        title = self.verdict if title is None else title
        return plot_monitor(self.segments, both, LIMITS, title, **options)

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        tables = "".join(f"<p>{t}</p>{f.to_html(border=0, **_FORMAT)}" for t, f in self._tables())
        return f"<p><b>{html.escape(self.verdict)}</b></p>{tables}"

    def _tables(self):
        yield "Sizes of the segments", self.segments
        if self.transitions is not None:
            yield "From the segment then (lines) to the segment now (columns)", self.transitions
        yield "Cost increase in percent", self.costs
        yield (
            f"Columns that differ most ({len(self.columns)} in total)",
            self.columns.head(_N_SHOWN),
        )
        yield "Tests", self.tests


@numpy_errors()
def monitor(model, X_old, X_new, ids=None, *, y=None, embedding=None):
    """Compare the rows of two months by a fitted model, and report whether a refit is necessary.

    Parameters
    ----------
    model : fitted estimator of this project, or fitted Pipeline that ends with one
    X_old, X_new : array-like, DataFrame or sparse matrix, as for `predict`
        The rows then (usually those of the fit) and now. Sparse rows are not converted to dense
        arrays.
    ids : str, or pair of array-likes, optional
        The column of both tables that identifies a row, or the ids of the old and of the new rows.
        Ids that only one of both has count as left or new. The integer 12, the float 12.0 and, if
        the ids of the other month are numbers, the strings "12" and "0012" are the same id.
    y, embedding : pair, optional
        Labels, or rows of the embedding, of the old and of the new rows, for a model that was
        fitted with them.

    Returns
    -------
    Monitor

    Raises
    ------
    ValueError
        If ids are missing or not distinct, have another number than the rows, or if no id is in
        both months; if a month has no rows; and for the reasons of `predict` and `cost_increase`.

    See Also
    --------
    refit : Fits the model to the new rows and keeps numbers and names of the clusters.

    Notes
    -----
    The *population stability index* (PSI) of shares p then and q now is the sum of
    (q - p) log(q / p) over the bins of a column; half a row is added to each bin. Bins of numbers
    are the deciles of the old rows, and single values that are more than one decile. Bins of
    categories are the levels with at least 1 % of the old rows, all rarer ones, and unknown ones.
    Missing values are a bin. The PSI of a test is that of its weighted sum, over the rows that
    reach it. A distribution is to be watched above 0.1 and has moved above 0.25. It must also
    exceed what chance gives in one of 1000 draws from equal distributions (about a chi-squared
    quantile times 1/n_old + 1/n_new). Dates are not compared, since those of another month always
    differ; parts of dates, such as the weekday, are.

    *The verdict* is to refit if one of these rules holds; otherwise the clusters still hold.

    1. The distribution at a test, or that of the sizes of the clusters, has moved.
    2. The cost increase over a new free clustering of the rows is more than twice as large as then,
       and larger by more than 5 percentage points.
    3. The share of gaps and unknown levels in a tested column grew by more than 5 percentage
       points.

    A row cannot be assigned if a tested number is missing in a column without gaps in the fit. It
    has the segment "no segment", and no cost.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import TAOClustering, monitor
    >>> X = load_iris().data
    >>> model = TAOClustering(3, lambda_=10, depth=2, random_state=0).fit(X[::2])
    >>> monitor(model, X[::2], X[1::2]).reasons
    []
    """
    tables, last = [as_pandas(X_old), as_pandas(X_new)], last_step(model)
    given = {name: both for name, both in (("y", y), ("embedding", embedding)) if both is not None}
    arrays = [{name: both[i] for name, both in given.items()} for i in (0, 1)]
    for i, name in enumerate(("X_old", "X_new")):
        if _num_samples(tables[i]) == 0:
            raise ValueError(f"{name} has no rows.")
        check_aligned(tables[i], **arrays[i])
    ids = None if ids is None else _checked_ids(ids, tables)
    try:
        view, names = shown(model, X=tables[0])
    except UnsupportedStepError:
        view, names = last, None
    months = [_month(model, view, X) for X in tables]
    clusters = list(dict.fromkeys([*cluster_names(view), NOWHERE]))
    costs = [_costs(model, *month) for month in zip(tables, months, arrays, strict=True)]
    costs = pd.DataFrame(dict(zip(("then", "now"), costs, strict=True)))
    own = [np.array(clusters, dtype=object)[month.labels] for month in months]
    segments = _segments(own, clusters)
    columns, tests = _columns(last, view, names, tables), _tests(model, last.tree_, months)
    transitions = None if ids is None else _transitions(own, ids, clusters)
    reasons = _reasons(segments, costs, columns, tests)
    verdict = _verdict(reasons, segments, costs, columns, tests, transitions)
    return Monitor(verdict, reasons, segments, costs, columns, tests, transitions)


class _Month(NamedTuple):
    """The rows of a month as the tree sees them.

    Parameters
    ----------
    labels : int array of shape (n,), the cluster of each row; -1 if it has none
    complete : int array of the rows without gaps that prevent their cost
    leaves : int array of shape (m,), the leaf of each row that can be assigned
    values : the rows that can be assigned, as the kernels of the tree take them
    """

    labels: np.ndarray
    complete: np.ndarray
    leaves: np.ndarray
    values: Any


def _month(model, view, X):
    """Return the rows of a table as a _Month."""
    tree, reader = last_step(model).tree_, getattr(view, "_reader", None)
    labels = np.full(_num_samples(X), -1)
    complete = assigned = np.arange(len(labels))
    if reader is not None:
        complete = np.flatnonzero(reader.usable_rows(X))
        assigned = np.flatnonzero(reader.usable_rows(X, view.tested_columns))
        if len(assigned) == 0:
            raise ValueError("No row can be assigned: each lacks a value that the tree tests.")
        X = X.iloc[assigned]
    values = check_rows(
        transformed(flat_steps(model)[:-1], X) if reader is None else view.encoded(X)
    )
    leaves = tree.apply(values)
    labels[assigned] = tree.leaf_label[leaves]
    return _Month(labels, complete, leaves, kernel_arrays(values))


def _costs(model, X, month, arrays):
    """Return the costs of a month, a column of :attr:`Monitor.costs`, as a Series."""
    rows, names = month.complete, ["over the free clustering of the model", "over a new one"]
    if len(rows) == 0:
        return pd.Series(np.nan, names)
    if len(rows) < len(month.labels):
        X = _safe_indexing(X, rows)
        arrays = {name: _safe_indexing(array, rows) for name, array in arrays.items()}
    last = last_step(model)
    if "y" in arrays or len(rows) < len(last.free_centers_):  # too few for a clustering of them
        cost = last.cost_increase(transformed(flat_steps(model)[:-1], X), **arrays)
        costs = {"rows with another label": cost}
        return pd.Series(costs if "y" in arrays else dict(zip(names, (cost, np.nan), strict=True)))
    further = dict.fromkeys(("y", "sample_weight", "embedding")) | arrays
    found, cost, *_ = refitted(model, X, X, "tests", further)
    return pd.Series([cost, last_step(found).cost_increase_], names)


def _segments(labels, clusters):
    """Return :attr:`Monitor.segments` for the names of the clusters of the rows."""
    counts = [pd.Series(own).value_counts().reindex(clusters, fill_value=0) for own in labels]
    table = pd.DataFrame({"rows_then": counts[0], "rows_now": counts[1]})
    for when in ("then", "now"):
        table[f"share_{when}"] = table[f"rows_{when}"] / table[f"rows_{when}"].sum()
    table["change"] = 100 * (table["share_now"] - table["share_then"])
    return table if table.loc[NOWHERE].any() else table.drop(index=NOWHERE)


# ---------------------------------------------------------------- distributions


def _index(then, now):
    """Return the population stability index of the counts of bins, and its status."""
    counts = np.array([then, now])[:, then + now > 0] + 0.5  # so that logarithms are finite
    n = counts.sum(axis=1, keepdims=True)
    p, q = counts / n
    psi = float(((q - p) * np.log(q / p)).sum())
    chance = chi2.ppf(_CHANCE, max(1, len(p) - 1)) * (1 / n).sum()
    over = [status for status, limit in LIMITS.items() if psi > max(limit, chance)]
    return psi, over[-1] if over else "stable"


def _bins_of_numbers(*pair):
    """Return the counts of the bins of old and new numbers, gaps at last."""
    known = pair[0][~np.isnan(pair[0])]
    edges = np.quantile(known, _DECILES, method="inverted_cdf") if len(known) else np.empty(0)
    heavy = edges[1:][edges[1:] == edges[:-1]]  # such a value has a bin of its own
    edges = np.unique(np.append(edges, np.nextafter(heavy, -np.inf)))
    bins = (np.where(np.isnan(v), len(edges) + 1, np.searchsorted(edges, v)) for v in pair)
    return [np.bincount(each, minlength=len(edges) + 2) for each in bins]


def _bins_of_levels(*pair):
    """Return the counts of the bins of old and new categories: at last rare, unknown, gaps."""
    pair = [as_texts(cells).where(cells.notna()) for cells in pair]
    levels = pair[0].value_counts(normalize=True)
    common, counts = levels.index[levels >= _RARE], []
    for cells in pair:
        bins = common.get_indexer(cells)
        bins[bins < 0] = np.where(cells.isin(levels.index), 0, 1)[bins < 0] + len(common)
        bins[cells.isna()] = len(common) + 2
        counts.append(np.bincount(bins, minlength=len(common) + 3))
    return counts


def _columns(last, view, names, tables):
    """Return :attr:`Monitor.columns`."""
    then, now = (_frame(view, names, X) for X in tables)
    used, lines, dates = last.tree_.used_features, {}, set()
    if getattr(view, "_reader", None) is not None:
        outputs = view._reader.outputs()
        dates = {
            name
            for name, _, each in outputs
            if isinstance(each, Date) and not (each.part or each.is_time)
        }
    own = then.columns.intersection(now.columns, sort=False)
    tested = set() if names is None else {str(names[j]) for j in used}
    if isinstance(view, RawView):
        sources = [column.source for column in view.columns]
        known = [output_name(str(view.raw_names[s.column]), s.reader) for s in sources]
        own, tested = own[own.isin(known)], {known[j] for j in used}
    for name in own:
        pair, unknown, share = (then[name], now[name]), [], 0.0
        if all(column.dtype.kind in "iuf" for column in pair):
            counts = _bins_of_numbers(*(c.to_numpy(np.float64, na_value=np.nan) for c in pair))
        else:
            counts = _bins_of_levels(*pair)
            levels = [set(as_texts(cells.dropna())) for cells in pair]
            unknown = sorted(levels[1] - levels[0])
            share = counts[1][-2] / counts[1].sum()
        gaps = [each[-1] / each.sum() for each in counts]
        index = (np.nan, "not compared") if name in dates else _index(*counts)
        unknown = listed(unknown, quote=False)
        lines[name] = (*index, name in tested, *gaps, share, unknown)
    table = pd.DataFrame.from_dict(lines, orient="index", columns=_OF_COLUMNS)
    return table.sort_values("psi", ascending=False, kind="stable")


def _frame(view, names, X):
    """Return rows as a DataFrame; the columns of a sparse matrix stay sparse."""
    if getattr(view, "_reader", None) is not None:
        return view._reader._read(X)  # unlike `transform`, it accepts gaps in new columns
    if hasattr(X, "iloc"):
        return X.set_axis(display_names(X), axis=1)
    if isinstance(view, RawView) and not view.text_steps:
        names = view.raw_names
    X = X if hasattr(X, "shape") else numbers_of(view, X)
    names = None if names is None else list(map(str, names))
    if sp.issparse(X):
        return pd.DataFrame.sparse.from_spmatrix(X, columns=names)
    return pd.DataFrame(X, columns=names).infer_objects()


def _tests(model, tree, months):
    """Return :attr:`Monitor.tests`."""
    nodes, lines = facts_of(model)["nodes"], {}
    paths = [tree.paths(month.leaves).tocsc() for month in months]
    for node in tree.decision_nodes.tolist():
        here = [path.indices[slice(*path.indptr[node : node + 2])] for path in paths]
        sums = [
            project(month.values, rows.astype(np.int64), *tree.split(node))
            for month, rows in zip(months, here, strict=True)
        ]
        left = [np.mean(s <= tree.threshold[node]) if len(s) else np.nan for s in sums]
        index = _index(*_bins_of_numbers(*sums))
        lines[node] = (condition_text(nodes[node], 3, 3), *index, *map(len, sums), *left)
    return pd.DataFrame.from_dict(lines, orient="index", columns=_OF_TESTS)


# ---------------------------------------------------------------- transitions and verdict


def _checked_ids(ids, tables):
    """Return the ids of the old and of the new rows as two Indexes."""
    if isinstance(ids, str):
        if not all(ids in getattr(X, "columns", ()) for X in tables):
            raise ValueError(f"ids={ids!r} must be a column of both tables, or a pair of arrays.")
        ids = [X[ids] for X in tables]
    found = [pd.Index(np.asarray(each)) for each in ids]
    if list(map(len, found)) != list(map(_num_samples, tables)):
        raise ValueError("ids must be a pair: one id per row of X_old, and one per row of X_new.")
    if any(index.hasnans for index in found):
        raise ValueError("ids must not be missing; leave out the rows without an id.")
    texts = [index.map(str).str.strip() for index in found]
    if any(is_numeric_dtype(index) for index in found):
        texts = [t.str.replace(r"^0+(?=\d)|\.0+$", "", regex=True) for t in texts]
    for index in texts:
        if index.has_duplicates:
            twice = listed(index[index.duplicated()].unique())
            raise ValueError(f"ids must be distinct within a month; these are not: {twice}.")
    if not texts[0].isin(texts[1]).any():
        raise ValueError(
            f"No id is in both months (ids are such as {found[0].tolist()[0]!r} then and "
            f"{found[1].tolist()[0]!r} now). Leave out ids to compare the months without them."
        )
    return texts


def _transitions(labels, ids, clusters):
    """Return :attr:`Monitor.transitions`."""
    pairs = pd.concat(list(map(pd.Series, labels, ids)), axis=1)
    table = pd.crosstab(pairs[0].fillna(NEW), pairs[1].fillna(LEFT))
    table = table.reindex(index=[*clusters, NEW], columns=[*clusters, LEFT], fill_value=0)
    return table.rename_axis(index="then", columns="now")


def _reasons(segments, costs, columns, tests):
    """Return the reasons for a refit, by the rules of :func:`tao_cluster.monitor`: list of str."""
    found = [
        f"the rows at the test {test} have moved (PSI {psi:.2f})"
        for test, psi in tests.loc[tests["status"] == "moved", ["test", "psi"]].to_numpy()
    ]
    psi, status = _index(segments["rows_then"].to_numpy(), segments["rows_now"].to_numpy())
    if status == "moved":
        name = segments["change"].abs().idxmax()
        before, after = 100 * segments.loc[name, ["share_then", "share_now"]]
        change = f"{name}: {before:.1f} -> {after:.1f} %"
        found.append(f"the sizes of the segments have moved (PSI {psi:.2f}; {change})")
    before, after = costs.iloc[-1]
    if after > _FACTOR * before and after > before + _POINTS:
        found.append(f"the cost increase grew from {before:.1f} to {after:.1f} %")
    grown = 100 * (columns["gaps_now"] - columns["gaps_then"] + columns["unknown_share"])
    grown = grown[columns["tested"] & (grown > _POINTS)]
    found += [f"{n:.1f} % more gaps or unknown levels in {name}" for name, n in grown.items()]
    return found


def _verdict(reasons, segments, costs, columns, tests, transitions):
    """Return the verdict in one sentence."""
    if reasons:
        return f"Refit: {listed(reasons, quote=False, most=2)}."
    change = segments["change"].abs().max()
    change = f"The share of a segment changed by at most {change:.1f} points"
    if transitions is not None:
        both = transitions.to_numpy()[:-1, :-1]
        change = f"{100 * (1 - np.trace(both) / max(1, both.sum())):.1f} % changed segment"
    status = pd.concat([tests.set_index("test"), columns])["status"]
    watched = listed(status.index[status.isin([*LIMITS])], quote=False, most=3)
    before, after = ("unknown" if np.isnan(cost) else f"{cost:.1f}" for cost in costs.iloc[-1])
    holds = f"the segments still hold: cost increase {before} -> {after} %"
    return f"{change}; {holds}{'; watch ' * bool(watched)}{watched}."
