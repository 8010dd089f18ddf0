"""`monitor`: whether the clusters of a fitted model still hold on the rows of another month."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.stats import chi2
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from ._utils.frames import as_pandas, display_names
from ._utils.matrices import check_rows
from ._utils.warnings import listed
from .columns.steps import UnsupportedStepError
from .columns.table_reader import TableReader
from .columns.view import RawView, numbers_of, shown
from .export.format import condition_text
from .plot.monitoring import plot_monitor
from .refitting import facts_of, last_step, refit
from .report import cluster_names
from .tree import tree_of
from .tree.routing import kernel_arrays, project

__all__ = ["Monitor", "monitor"]

WATCH, MOVED = 0.1, 0.25  # the usual limits of the population stability index
_QUANTILES = np.arange(1, 10) / 10
_LEAST_SHARE = 1e-4  # shares of bins count as at least this, so that logarithms are finite
_RARE = 0.01  # levels with a smaller share of the old rows are one bin together
_CHANCE = 0.999  # quantile of the index under chance, which a moved distribution must exceed
_FACTOR, _POINTS = 2.0, 5.0  # limits of the growth of costs, and of gaps and unknown levels
_N_SHOWN = 10
NOWHERE, NEW, LEFT = "no segment", "(new)", "(left)"
_STATUS = ("stable", "watch", "moved")


@dataclass(frozen=True, eq=False, repr=False)
class Monitor:
    """What has changed between the rows of two months; :func:`monitor` returns it.

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
        parts = [f"{title}\n{table.to_string(**_FORMAT)}" for title, table in self._tables()]
        return "\n\n".join([self.verdict, *parts])

    def plot(self, *, title=None):
        """Draw the sizes then and now, with the flows if ids are given, and the largest indices.

        Parameters
        ----------
        title : str, optional
            Default the verdict.

        Returns
        -------
        array of two matplotlib Axes
        """
        both = pd.concat([self.tests.set_index("test"), self.columns])[["psi", "status"]].dropna()
        terms = (self.segments, self.transitions, both, (WATCH, MOVED))
        return plot_monitor(*terms, self.verdict if title is None else title)

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        tables = "".join(f"<p>{t}</p>{f.to_html(border=0, **_FORMAT)}" for t, f in self._tables())
        return f"<p><b>{self.verdict}</b></p>{tables}"

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


_FORMAT = {"float_format": "{:.3g}".format, "na_rep": "-"}


def monitor(model, X_old, X_new, ids=None, *, y=None, embedding=None):
    """Compare the rows of two months by a fitted model, and tell whether a refit is necessary.

    Parameters
    ----------
    model : fitted estimator of this project, or fitted Pipeline that ends with one
    X_old, X_new : array-like, DataFrame or sparse matrix, as for `predict`
        The rows then (usually those of the fit) and now. Sparse rows are not converted to dense
        arrays.
    ids : str, or pair of array-likes, optional
        The column of both tables that identifies a row, or the ids of the old and of the new rows.
        Ids that only one of both has count as left or new.
    y, embedding : pair, optional
        Labels, or rows of the embedding, of the old and of the new rows, for a model that was
        fitted with them.

    Returns
    -------
    Monitor

    Raises
    ------
    ValueError
        If ids are not distinct or have another number than the rows, and for the reasons of
        `predict` and `cost_increase`.

    See Also
    --------
    refit : Fits the model to the new rows and keeps numbers and names of the clusters.

    Notes
    -----
    The *population stability index* (PSI) of shares p then and q now is the sum of
    (q - p) log(q / p) over the bins of a column. Bins of numbers are the deciles of the old rows,
    and single values that are more than one decile. Bins of categories are the levels with at least
    1 % of the old rows, all rarer ones, and unknown ones. Missing values are a bin. The PSI of a
    test is that of its weighted sum, over the rows that reach it. A distribution is to be watched
    above 0.1 and has moved above 0.25. It must also exceed what chance gives in one of 1000 draws
    from equal distributions (about a chi-squared quantile times 1/n_old + 1/n_new).

    *The verdict* is to refit if one of these rules holds; otherwise the clusters still hold.

    1. The distribution at a test, or that of the sizes of the clusters, has moved.
    2. The cost increase over a new free clustering of the rows is more than twice as large as then,
       and larger by more than 5 percentage points.
    3. The share of gaps and unknown levels in a tested column, or the share of rows that cannot be
       assigned, grew by more than 5 percentage points.

    A row cannot be assigned if a tested number is missing in a column without gaps in the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import TAOClustering, monitor
    >>> X = load_iris().data
    >>> model = TAOClustering(3, lambda_=10, depth=2, random_state=0).fit(X[::2])
    >>> monitor(model, X[::2], X[1::2]).reasons
    []
    """
    pair = [as_pandas(X_old), as_pandas(X_new)]
    ids = _checked_ids(ids, pair)
    try:
        view, names = shown(model, X=pair[0])
    except UnsupportedStepError:
        view, names = last_step(model), None
    tree, clusters = tree_of(last_step(model)), cluster_names(view)
    then, now = (_Rows.from_table(model, view, tree, X) for X in pair)
    segments = _segments(then, now, clusters)
    further = [
        {name: both[i] for name, both in (("y", y), ("embedding", embedding)) if both is not None}
        for i in range(2)
    ]
    costs = _costs(model, pair, [then, now], further)
    columns, tests = _columns(model, view, names, pair), _tests(model, tree, then, now)
    transitions = None if ids is None else _transitions(*ids, then, now, clusters)
    reasons = _reasons(segments, costs, columns, tests, then, now)
    verdict = _verdict(reasons, segments, costs, columns, tests, transitions)
    return Monitor(verdict, reasons, segments, costs, columns, tests, transitions)


def _encoded(model, X):
    """Return rows as the last step of a model takes them."""
    while isinstance(model, Pipeline):
        X = model[:-1].transform(X) if len(model.steps) > 1 else X
        model = model[-1]
    return X


def _reader(model):
    """Return the TableReader that is the first step of a model, or None."""
    first = model.steps[0][1] if isinstance(model, Pipeline) else None
    return first if isinstance(first, TableReader) else None


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a month as the tree sees them.

    Parameters
    ----------
    labels : int array of shape (n,), the cluster of each row; -1 if it has none
    complete : bool array of shape (n,), whether no gap prevents the cost of a row
    leaves : int array of shape (m,), the leaf of each row that can be assigned
    values : rows that can be assigned, as the kernels of the tree take them
    """

    labels: np.ndarray
    complete: np.ndarray
    leaves: np.ndarray
    values: object

    @classmethod
    def from_table(cls, model, view, tree, X):
        """Return the rows of a table."""
        n, reader = _num_samples(X), _reader(model)
        is_assigned = complete = np.ones(n, bool)
        if reader is not None:
            complete = reader.usable_rows(X)
            is_assigned = reader.usable_rows(X, view.tested_columns)
        if not is_assigned.any():
            raise ValueError("No row can be assigned: each lacks a value that the tree tests.")
        Z = X if is_assigned.all() else _safe_indexing(X, np.flatnonzero(is_assigned))
        values = check_rows(_encoded(model, Z) if reader is None else view.encoded(Z))
        leaves, labels = tree.apply(values), np.full(n, -1)
        labels[is_assigned] = tree.leaf_label[leaves]
        return cls(labels, complete, leaves, kernel_arrays(values))

    def shares(self, n_clusters):
        """Return the number of rows of each cluster, at last of those without one."""
        return np.bincount(
            np.where(self.labels < 0, n_clusters, self.labels), minlength=n_clusters + 1
        )


def _segments(then, now, clusters):
    counts = {"then": then.shares(len(clusters)), "now": now.shares(len(clusters))}
    table = pd.DataFrame({f"rows_{when}": n for when, n in counts.items()}, [*clusters, NOWHERE])
    for when, n in counts.items():
        table[f"share_{when}"] = n / n.sum()
    table["change"] = 100 * (table["share_now"] - table["share_then"])
    is_used = table[["rows_then", "rows_now"]].sum(axis=1) > 0
    return table[is_used | (table.index != NOWHERE)]


def _costs(model, tables, rows, further):
    """Return :attr:`Monitor.costs`."""
    last, found = last_step(model), {}
    explains_labels = last._space.classes is not None
    for when, X, own, arrays in zip(("then", "now"), tables, rows, further, strict=True):
        found[when] = [np.nan] if explains_labels else [np.nan, np.nan]
        if not own.complete.any():
            continue
        if not own.complete.all():
            kept = np.flatnonzero(own.complete)
            X = _safe_indexing(X, kept)
            arrays = {name: _safe_indexing(array, kept) for name, array in arrays.items()}
        found[when][0] = last.cost_increase(_encoded(model, X), **arrays)
        if not explains_labels:
            found[when][1] = last_step(refit(model, X, verbose=0, **arrays)).cost_increase_
    names = ["over the free clustering of the model", "over a new free clustering"]
    return pd.DataFrame(found, ["rows with another label"] if explains_labels else names)


# ---------------------------------------------------------------- distributions


def _index(then, now):
    """Return the population stability index of the counts of bins, and its status."""
    n = then.sum(), now.sum()
    if not min(n):
        return np.nan, _STATUS[0]
    p, q = (np.maximum(counts / counts.sum(), _LEAST_SHARE) for counts in (then, now))
    psi = float(((q - p) * np.log(q / p)).sum())
    n_bins = max(2, np.count_nonzero(then + now))
    chance = chi2.ppf(_CHANCE, n_bins - 1) * (1 / n[0] + 1 / n[1])
    return psi, _STATUS[sum(psi > max(limit, chance) for limit in (WATCH, MOVED))]


def _numbers_in_bins(*pair):
    """Return the counts of the bins of two samples of a number: two arrays, gaps at last.

    A sample is a pair of an array of values and the number of further zeros.
    """
    known = [(np.append(v[~np.isnan(v)], 0.0), np.isnan(v).sum(), zeros) for v, zeros in pair]
    values, _, zeros = known[0]
    weight = np.append(np.ones(len(values) - 1), zeros)
    order = np.argsort(values, kind="stable")
    below, edges = np.cumsum(weight[order]), np.empty(0)
    if below[-1] > 0:
        edges = values[order][np.searchsorted(below, _QUANTILES * below[-1])]
    heavy = edges[1:][edges[1:] == edges[:-1]]  # such a value has a bin of its own
    edges = np.unique(np.concatenate([edges, np.nextafter(heavy, -np.inf)]))
    for values, gaps, zeros in known:
        weight = np.append(np.ones(len(values) - 1), zeros)
        counts = np.bincount(np.searchsorted(edges, values), weight, len(edges) + 1)
        yield np.append(counts, gaps)


def _levels_in_bins(then, now):
    """Return the counts of bins of two Series of categories, gaps at last; and unknown levels."""
    old, new = then.astype(str).where(then.notna()), now.astype(str).where(now.notna())
    counts = [old.value_counts(), new.value_counts()]
    kept = counts[0].index[counts[0] >= _RARE * max(1, counts[0].sum())]
    unknown = counts[1][~counts[1].index.isin(counts[0].index)]
    parts = []
    for cells, own in zip((old, new), counts, strict=True):
        each = own.reindex(kept, fill_value=0).to_numpy()
        others = own[own.index.isin(unknown.index)].sum()
        parts.append(np.array([*each, own.sum() - each.sum() - others, others, cells.isna().sum()]))
    return *parts, unknown


def _columns(model, view, names, tables):
    """Return :attr:`Monitor.columns`."""
    used = tree_of(last_step(model)).used_features
    if isinstance(view, RawView):
        tested = {str(view.raw_names[view.columns[j].source.column]) for j in used}
    else:
        tested = set() if names is None else {str(names[j]) for j in used}
    lines = []
    for name, raw, then, now in _pairs_of_columns(view, names, tables):
        unknown = pd.Series(dtype=np.int64)
        if isinstance(then, pd.Series):
            a, b, unknown = _levels_in_bins(then, now)
        else:
            a, b = _numbers_in_bins(then, now)
        n = a.sum(), b.sum()
        levels = listed(unknown.index, quote=False) if len(unknown) else ""
        shares = (a[-1] / n[0], b[-1] / n[1], unknown.sum() / n[1])
        lines.append((name, *_index(a, b), raw in tested, *shares, levels))
    heads = [
        "column",
        "psi",
        "status",
        "tested",
        "gaps_then",
        "gaps_now",
        "unknown_share",
        "unknown",
    ]
    table = pd.DataFrame(lines, columns=heads).set_index("column")
    return table.sort_values("psi", ascending=False, kind="stable")


def _pairs_of_columns(view, names, tables):
    """Yield the name, the name of the raw column, and the old and the new values of each column.

    Values are Series of categories, or pairs of an array of numbers and a number of zeros.
    """
    reader = view._reader if isinstance(view, RawView) else None
    if reader is not None:
        read = [reader._read(X) for X in tables]
        for name, raw, _ in reader.outputs():
            yield name, raw, *_both(read[0][name], read[1][name])
    elif all(hasattr(X, "iloc") for X in tables):
        own = [display_names(X) for X in tables]
        for name in own[0]:
            if name in own[1]:
                pair = (X.iloc[:, o.index(name)] for X, o in zip(tables, own, strict=True))
                yield name, name, *_both(*pair)
    else:
        if isinstance(view, RawView) and not view.text_steps:
            names = view.raw_names
        tables = [X if hasattr(X, "shape") else numbers_of(view, X) for X in tables]
        tables = [X.tocsc() if sp.issparse(X) else np.asarray(X) for X in tables]
        for j in range(tables[0].shape[1]):
            name = str(names[j]) if names is not None else f"x{j}"
            yield name, name, *_both(*(_column(X, j) for X in tables))


def _column(X, j):
    if not sp.issparse(X):
        return pd.Series(X[:, j])
    stored = X.data[X.indptr[j] : X.indptr[j + 1]]
    return np.asarray(stored, np.float64), X.shape[0] - len(stored)


def _both(then, now):
    """Return two columns as numbers if both have numbers, else as categories."""
    if isinstance(then, tuple):
        return then, now
    dtypes = (column.infer_objects().dtype for column in (then, now))
    if all(pd.api.types.is_numeric_dtype(d) and not pd.api.types.is_bool_dtype(d) for d in dtypes):
        return tuple((c.to_numpy(np.float64, na_value=np.nan), 0) for c in (then, now))
    return then, now


def _tests(model, tree, then, now):
    """Return :attr:`Monitor.tests`."""
    nodes, lines = facts_of(model)["nodes"], []
    paths = [tree.paths(rows.leaves).tocsc() for rows in (then, now)]
    for node in tree.decision_nodes.tolist():
        sums = []
        for rows, path in zip((then, now), paths, strict=True):
            here = path.indices[path.indptr[node] : path.indptr[node + 1]].astype(np.int64)
            sums.append(project(rows.values, here, *tree.split(node)))
        left = [np.mean(s <= tree.threshold[node]) if len(s) else np.nan for s in sums]
        counts = _numbers_in_bins(*((s, 0) for s in sums))
        text = condition_text(nodes[node], 3, 3)
        lines.append((node, text, *_index(*counts), *map(len, sums), *left))
    heads = ["node", "test", "psi", "status", "rows_then", "rows_now", "left_then", "left_now"]
    return pd.DataFrame(lines, columns=heads).set_index("node")


# ---------------------------------------------------------------- transitions


def _checked_ids(ids, tables):
    """Return the ids of the old and of the new rows as two Indexes, or None."""
    if ids is None:
        return None
    if isinstance(ids, str):
        for X in tables:
            if not hasattr(X, "iloc") or ids not in X:
                raise ValueError(
                    f"ids={ids!r} must be a column of both tables, or a pair of arrays."
                )
        ids = [X[ids] for X in tables]
    if len(ids) != 2:
        raise ValueError(f"ids must be a column, or a pair of arrays; got {len(ids)} items.")
    found = [pd.Index(np.asarray(each)) for each in ids]
    for index, X, when in zip(found, tables, ("old", "new"), strict=True):
        if len(index) != _num_samples(X):
            raise ValueError(f"ids of the {when} rows: {len(index)}, but {_num_samples(X)} rows.")
        if index.has_duplicates:
            twice = listed(index[index.duplicated()].unique())
            raise ValueError(f"ids of the {when} rows must be distinct; these are not: {twice}.")
    return found


def _transitions(old, new, then, now, clusters):
    """Return :attr:`Monitor.transitions`."""
    k = len(clusters)
    absent = pd.DataFrame({0: pd.Series(then.labels, old), 1: pd.Series(now.labels, new)})
    codes = absent.where(absent != -1, k).fillna(k + 1).to_numpy(np.intp)
    counts = np.zeros((k + 2, k + 2), np.int64)
    np.add.at(counts, tuple(codes.T), 1)
    table = pd.DataFrame(counts, [*clusters, NOWHERE, NEW], [*clusters, NOWHERE, LEFT])
    is_kept = np.ones(k + 2, bool)
    is_kept[k:] = counts[k:].sum(axis=1) + counts[:, k:].sum(axis=0) > 0
    return table.loc[is_kept, is_kept]


def _moved(transitions):
    """Return the share of the rows of both months whose cluster has changed."""
    both = transitions.drop(index=NEW, errors="ignore").drop(columns=LEFT, errors="ignore")
    total = both.to_numpy().sum()
    return 1 - np.trace(both.to_numpy()) / total if total else 0.0


# ---------------------------------------------------------------- verdict


def _reasons(segments, costs, columns, tests, then, now):
    """Return the reasons for a refit, by the rules of :func:`monitor`: list of str."""
    found = []
    for _, line in tests[tests["status"] == _STATUS[2]].iterrows():
        found.append(f"the rows at the test {line['test']} have moved (PSI {line['psi']:.2f})")
    psi, status = _index(*(segments[f"rows_{when}"].to_numpy() for when in ("then", "now")))
    if status == _STATUS[2]:
        name = segments["change"].abs().idxmax()
        shares = (100 * segments.loc[name, f"share_{when}"] for when in ("then", "now"))
        found.append(
            "the sizes of the segments have moved (PSI {:.2f}; {}: {:.1f} -> {:.1f} %)".format(
                psi, name, *shares
            )
        )
    before, after = costs.iloc[-1]
    if after > _FACTOR * before and after > before + _POINTS:
        found.append(f"the cost increase grew from {before:.1f} to {after:.1f} %")
    grown = columns["gaps_now"] - columns["gaps_then"] + columns["unknown_share"]
    for name in columns.index[columns["tested"] & (100 * grown > _POINTS)]:
        found.append(f"{100 * grown[name]:.1f} % more gaps or unknown levels in {name}")
    lost = np.mean(now.labels < 0) - np.mean(then.labels < 0)
    if 100 * lost > _POINTS:
        found.append(f"{100 * lost:.1f} % more rows without a segment")
    return found


def _verdict(reasons, segments, costs, columns, tests, transitions):
    """Return the verdict in one sentence."""
    if reasons:
        more = len(reasons) - 1
        return f"Refit: {reasons[0]}" + (f", and {more} more reasons" if more else "") + "."
    change = (
        f"The share of a segment changed by at most {segments['change'].abs().max():.1f} points"
    )
    if transitions is not None:
        change = f"{100 * _moved(transitions):.1f} % changed segment"
    watched = [
        *tests["test"][tests["status"] != "stable"],
        *columns.index[columns["status"] != "stable"],
    ]
    watched = f"; watch {listed(watched, quote=False, most=3)}" if watched else ""
    before, after = costs.iloc[-1]
    return (
        f"{change}; the segments still hold: cost increase {before:.1f} -> {after:.1f} %{watched}."
    )
