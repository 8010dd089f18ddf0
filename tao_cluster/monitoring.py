"""`monitor`: whether the clusters of a fitted model still hold on the rows of another month."""

import html
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.api.types import is_numeric_dtype
from scipy.stats import norm
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from ._utils.frames import as_pandas, check_aligned, display_names
from ._utils.matrices import check_rows
from ._utils.warnings import listed, numpy_errors
from .chance import (
    CHANCE,
    LEAST,
    chance_of_counts,
    growth_of_costs,
    new_groups,
    pooled,
    stability_index,
    unknown_levels,
)
from .columns.dates import Date
from .columns.readers import Level, Number, as_texts
from .columns.steps import UnsupportedStepError
from .columns.table_reader import output_name
from .columns.view import RawView, flat_steps, numbers_of, shown, transformed
from .export.format import condition_text
from .inspection.rows import Values
from .plot.charts import plot_monitor
from .refitting import facts_of, last_step
from .report import cluster_names
from .tree.routing import kernel_arrays, project

__all__ = ["Monitor", "monitor"]

_DECILES = np.arange(1, 10) / 10
_RARE = 0.02  # levels with a smaller share of the rows of both months are one bin together
# Columns are mentioned from a difference of so many standard deviations on: a new group from the
# rest of its segment, a segment from itself, if this is not chance in one of the columns.
_DIFFERS, _MOVED, _CHANCE = 0.5, 0.1, 0.01
_MOST, _FEW = 0.9, 30  # share of a new group that is in one segment; few rows of a month
_FORMAT, _N_SHOWN = {"float_format": "{:.3g}".format, "na_rep": "-"}, 10
_OF_COLUMNS = ("psi", "status", "tested", "gaps_then", "gaps_now", "unknown_share", "unknown")
_OF_TESTS = ("test", "psi", "rows_then", "rows_now", "left_then", "left_now")
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
        One row per cluster, by name: rows_then, rows_now, share_then, share_now, the change of the
        share in percentage points, cost_then and cost_now (per row, as the fit measures it),
        new_rows (the number of its rows in `groups`), and moved (the columns whose median in the
        cluster moved most, then and now; empty for sparse rows).
    costs : pandas.DataFrame
        Cost increase over the free clustering of the model in percent, then and now. If the model
        explains labels, it is the percentage of rows with another label.
    columns : pandas.DataFrame
        One row per column, by name, the largest psi first: psi, status ("stable", "moved" or "not
        compared"), tested (whether the tree tests the column), gaps_then and gaps_now (shares of
        missing values), unknown_share and unknown (levels that the old rows do not have).
    tests : pandas.DataFrame
        One row per test, by node: test, psi, rows_then and rows_now (that reach it), and left_then
        and left_now (the shares of these rows that go left).
    transitions : pandas.DataFrame or None
        Numbers of rows by old cluster (rows) and new cluster (columns), if ids are given.
    groups : list of int arrays
        The positions in `X_new` of the rows of each new group, the largest group first.
    new_segments : list of str
        How each new group differs from the other rows of its cluster.
    """

    verdict: str
    reasons: list
    segments: pd.DataFrame
    costs: pd.DataFrame
    columns: pd.DataFrame
    tests: pd.DataFrame
    transitions: pd.DataFrame | None = None
    groups: list = field(default_factory=list)
    new_segments: list = field(default_factory=list)

    @property
    def table(self):
        """The attribute `segments`: pandas.DataFrame."""
        return self.segments

    @property
    def text(self):
        """The verdict and the tables as text: str."""
        tables = (f"{title}\n{table.to_string(**_FORMAT)}" for title, table in self._tables())
        return "\n\n".join([self.verdict, *self.new_segments, *tables])

    def plot(self, *, title=None, **options):
        """Draw the sizes then and now with their new rows, and the columns that differ most.

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
        title, columns = self.verdict if title is None else title, self.columns.dropna()
        return plot_monitor(self.segments, columns, LEAST["psi"], title, **options)

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        tables = "".join(f"<p>{t}</p>{f.to_html(border=0, **_FORMAT)}" for t, f in self._tables())
        texts = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.new_segments)
        return f"<p><b>{html.escape(self.verdict)}</b></p>{texts}{tables}"

    def _tables(self):
        yield "Segments", self.segments
        if self.transitions is not None:
            yield "From the segment then (lines) to the segment now (columns)", self.transitions
        yield "Cost increase in percent", self.costs
        title = f"Columns that differ most ({len(self.columns)} in total)"
        yield title, self.columns.head(_N_SHOWN)
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
    *The verdict* is to refit if a difference matters and is so unlikely by chance that all rules
    together alarm in at most 5 % of unchanged months. Otherwise the clusters still hold.

    1. The cost per row grew by 20 %, the cost over the free clustering by 10 percentage points, or
       badly fitted rows (1 % of the old ones) by 3 points. If the model explains labels, the rows
       with another label grew by 5 points.
    2. The share of a cluster changed by 5 points.
    3. A column has moved: its population stability index (PSI) is at least 0.1, or 5 points more of
       the rows have unknown levels than in random divisions of the rows into months.
    4. A group of rows is new: it has 3 % of the new rows, four times its share of the old rows.

    *Costs* of rule 1 are squared distances in a stand-in for the model, which is fitted to half of
    the old rows: k-means, and a tree by CART. If nothing has changed, those of the other half and
    of the new rows are exchangeable, so that random divisions show what chance does. *Groups* are
    cells of k-means of the rows of both months. It does not look at the month, so that numbers of
    new rows are hypergeometric. Rows that are sparse or have more than 50 columns are projected on
    50 directions for both. Random choices do not depend on the order of the rows.

    *The PSI* of shares p then and q now is the sum of (q - p) log(q / p) over the bins of a column;
    half a row is added to each bin. Bins of numbers are the deciles of both months, and single
    values that are more than one decile. Bins of categories are the levels with at least 2 % of the
    rows, and all rarer ones. Missing values are a bin. The PSI of a test is that of its weighted
    sum, over the rows that reach it. Dates are not compared, since those of another month always
    differ; parts of dates, such as the weekday, are. If the tree tests a date, or clusters are made
    of dates, shares of clusters change from month to month.

    All chances are those of independent rows. If rows belong together, such as several of each
    machine, alarms without a change are more frequent: compare one row of each.

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
    ids = None if ids is None else checked_ids(ids, tables)
    try:
        view, names = shown(model, X=tables[0])
    except UnsupportedStepError:
        view, names = last, None
    clusters = list(dict.fromkeys([*cluster_names(view), NOWHERE]))
    months = [_month(model, view, *each) for each in zip(tables, arrays, strict=True)]
    labels = [month.labels % len(clusters) for month in months]  # -1 is the last one
    reasons, groups, complete = [], [], months[1].complete
    if all(len(month.complete) for month in months):
        dates = _dates(view) if embedding is None else []
        points, codes, (old, new) = pooled(last._space, dates, *(month.rows for month in months))
        size = len(last.cluster_centers_), last.tree_.n_leaves
        reasons = growth_of_costs(points, codes, len(old), *size)
        groups = [np.sort(complete[new[g - len(old)]]) for g in new_groups(points, len(old))]
    values, columns = _values_and_columns(last, view, names, tables)
    segments = _segments(labels, clusters, months, groups, values)
    sentences = _sentences(labels, clusters, groups, values)
    what = "over the free clustering of the model" if y is None else "rows with another label"
    costs = pd.DataFrame({"then": months[0].increase, "now": months[1].increase}, index=[what])
    tests, transitions = _tests(model, last.tree_, months), None
    if ids is not None:
        own = [np.array(clusters, dtype=object)[each] for each in labels]
        transitions = _transitions(own, ids, clusters)
    n_large = sum(len(group) >= LEAST["new"] / 100 * len(complete) for group in groups)
    reasons = _reasons(columns, sentences[:n_large], reasons, segments)
    verdict = _verdict(reasons, segments, transitions, len(groups))
    tables = segments, costs, columns, tests, transitions
    return Monitor(verdict, reasons, *tables, groups, sentences)


class _Month(NamedTuple):
    """The rows of a month as the tree sees them."""

    labels: np.ndarray  # the cluster of each row; -1 if it has none
    leaves: np.ndarray  # the leaf of each row that can be assigned
    values: Any  # these rows, as the kernels of the tree take them
    complete: np.ndarray  # the rows without gaps that prevent their cost
    rows: Any  # these rows as the last step takes them, and in the clustering space
    costs: np.ndarray  # their costs
    increase: float  # their cost increase in percent


def _month(model, view, X, arrays):
    """Return the rows of a table as a _Month."""
    last, reader = last_step(model), getattr(view, "_reader", None)
    labels, rows, costs, increase = np.full(_num_samples(X), -1), None, np.empty(0), np.nan
    complete = assigned = np.arange(len(labels))
    if reader is not None:
        complete = np.flatnonzero(reader.usable_rows(X))
    if len(complete) == len(labels):
        encoded = values = transformed(flat_steps(model)[:-1], X)
    else:
        assigned = np.flatnonzero(reader.usable_rows(X, view.tested_columns))
        if len(assigned) == 0:
            raise ValueError("No row can be assigned: each lacks a value that the tree tests.")
        values = view.encoded(X.iloc[assigned])
        encoded = view.encoded(X.iloc[complete], is_complete=True) if len(complete) else None
        arrays = {name: _safe_indexing(array, complete) for name, array in arrays.items()}
    values = check_rows(values)
    leaves = last.tree_.apply(values)
    labels[assigned] = last.tree_.leaf_label[leaves]
    if len(complete):
        rows = last._new_rows(encoded, arrays.get("y"), None, arrays.get("embedding"))[:2]
        objective = last._space.objective
        centers = last._space.scaled_centers(last.cluster_centers_)
        costs = objective.distances(objective.prepare(rows[1]), centers)
        costs = costs[np.arange(len(complete)), labels[complete]]
        increase = last.cost_increase(encoded, **arrays)
    return _Month(labels, leaves, kernel_arrays(values), complete, rows, costs, increase)


# ---------------------------------------------------------------- segments and new groups


def _segments(labels, clusters, months, groups, values):
    """Return :attr:`Monitor.segments` for the positions of the clusters of the rows."""
    n, new = len(clusters), np.concatenate([*groups, np.empty(0, np.intp)])
    rows = [np.bincount(each, minlength=n) for each in labels]
    shares = [size / size.sum() for size in rows]
    known = [each[month.complete] for each, month in zip(labels, months, strict=True)]
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(1 / rows[0] + 1 / rows[1]) * norm.isf(_CHANCE / (1 + len(values.features)))
        costs = [
            np.bincount(each, month.costs, n) / np.bincount(each, minlength=n)
            for each, month in zip(known, months, strict=True)
        ]
    groups_of_months, moved = np.append(labels[0], labels[1] + n), []
    medians = values.medians(groups_of_months, 2 * n)
    above = np.zeros((n, len(values.features)))  # for sparse rows, no test of chance is made
    if not sp.issparse(values.numbers):  # how many more rows are above the median then, not below
        then = medians.mean[np.concatenate(labels), : values.numbers.shape[1]]
        above = pd.DataFrame(np.sign(values.numbers - then)).groupby(groups_of_months).mean()
        above = above.reindex(range(2 * n)).diff(n)[n:].to_numpy()
    for j in range(n):
        off = medians.deviations(n + j, j)
        off[: above.shape[1]] *= np.abs(above[j]) >= error[j]
        found = _differences(medians, n + j, j, off, max(_MOVED, error[j]))[:2]
        moved.append("; ".join(f"{column} {then} -> {now}" for column, now, then in found))
    names = [f"{what}_{when}" for what in ("rows", "share", "cost") for when in ("then", "now")]
    table = pd.DataFrame(dict(zip(names, [*rows, *shares, *costs], strict=True)), index=clusters)
    table.insert(4, "change", 100 * (shares[1] - shares[0]))
    table = table.assign(new_rows=np.bincount(labels[1][new], minlength=n), moved=moved)
    return table if rows[0][-1] or rows[1][-1] or clusters[-1] != NOWHERE else table.iloc[:-1]


def _sentences(labels, clusters, groups, values):
    """Return :attr:`Monitor.new_segments`."""
    place, n, sentences = np.concatenate(labels), len(clusters), []
    for g, group in enumerate(groups):
        place[len(labels[0]) + group] = n + g
    medians = values.medians(place, n + len(groups)) if groups else None
    for g, group in enumerate(groups):
        size = np.bincount(labels[1][group])
        own, is_mixed = size.argmax(), size.max() < len(group) / 2
        rest = None if is_mixed or not (place == own).any() else own
        name = "rows of several segments" if is_mixed else f"rows of {clusters[own]}"
        if len(group) / 2 <= size.max() < _MOST * len(group):
            name = f"rows, most of {clusters[own]},"
        off = medians.deviations(n + g, rest)
        found = _differences(medians, n + g, rest, off, _DIFFERS)
        texts = ", ".join(f"{column} {here} against {there}" for column, here, there in found)
        texts = f": {texts}{' overall' * (rest is None)}" * (len(found) > 0)
        sentences.append(f"{len(group)} {name} are new{texts}")
    return sentences


def _differences(medians, a, b, off, least):
    """Return (column, text in group a, text in group b) of the columns that differ most: list."""
    other = medians.overall if b is None else medians.mean[b]
    return [
        (medians.features[j].phrase, medians.text(j, medians.mean[a, j]), medians.text(j, other[j]))
        for j in medians.largest(off, 3)
        if abs(off[j]) >= least
    ]


# ---------------------------------------------------------------- distributions


def _bins_of_numbers(*pair):
    """Return the counts of the bins of old and new numbers, gaps at last."""
    known = np.concatenate(pair)
    known = known[~np.isnan(known)]
    edges = np.quantile(known, _DECILES, method="inverted_cdf") if len(known) else np.empty(0)
    heavy = edges[1:][edges[1:] == edges[:-1]]  # such a value has a bin of its own
    edges = np.unique(np.append(edges, np.nextafter(heavy, -np.inf)))
    bins = (np.where(np.isnan(v), len(edges) + 1, np.searchsorted(edges, v)) for v in pair)
    return [np.bincount(each, minlength=len(edges) + 2) for each in bins]


def _values_and_columns(last, view, names, tables):
    """Return the columns of both months as Values, and :attr:`Monitor.columns`."""
    frames, used = [_frame(view, names, X) for X in tables], last.tree_.used_features
    own = frames[0].columns.intersection(frames[1].columns, sort=False)
    tested = set() if names is None else {str(names[j]) for j in used}
    if isinstance(view, RawView):
        sources = [column.source for column in view.columns]
        known = [output_name(str(view.raw_names[s.column]), s.reader) for s in sources]
        own, tested = own[own.isin(known)], {known[j] for j in used}
    both = pd.concat([frame[own] for frame in frames], ignore_index=True)
    if getattr(view, "_reader", None) is not None:
        readers = {name: reader for name, _, reader in view._reader.outputs()}
    else:
        kinds = both.dtypes.map(lambda dtype: Number() if dtype.kind in "iuf" else Level())
        readers = dict(zip(own, kinds, strict=True))
    if all(isinstance(dtype, pd.SparseDtype) for dtype in both.dtypes):  # it is not made dense
        values = Values.from_rows(None, None, both.sparse.to_coo().tocsr(), list(both))
    else:
        kept = {name: readers[name] for name in own if not _is_date(readers[name], both[name])}
        values = Values.from_table(both, kept)
    lines = {
        name: _compared([frame[name] for frame in frames], readers[name], name in tested, len(own))
        for name in own
    }
    table = pd.DataFrame.from_dict(lines, orient="index", columns=_OF_COLUMNS)
    return values, table.sort_values("psi", ascending=False, kind="stable")


def _dates(view):
    """Return the features of the last step that are dates, which always differ in another month."""
    readers = [column.source.reader for column in view.columns] if hasattr(view, "columns") else []
    return [j for j, reader in enumerate(readers) if _is_date(reader)]


def _is_date(reader, cells=None):
    is_read = isinstance(reader, Date) and not (reader.part or reader.is_time)
    return is_read or (cells is not None and cells.dtype.kind == "M")


def _compared(pair, reader, is_tested, n_columns):
    """Return a row of :attr:`Monitor.columns` for the old and the new cells of a column."""
    gaps, unknown, share, excess = [cells.isna().sum() for cells in pair], [], 0.0, (0.0, 1.0)
    if not isinstance(reader, Level):
        counts = _bins_of_numbers(*(c.to_numpy(np.float64, na_value=np.nan) for c in pair))
    else:
        levels = [as_texts(cells.dropna()).value_counts() for cells in pair]
        levels = pd.concat(levels, axis=1).fillna(0).astype(int)
        then, now = levels.to_numpy().T
        unknown, share = sorted(levels.index[then == 0]), now[then == 0].sum() / len(pair[1])
        excess, rare = unknown_levels(then, now), then + now < _RARE * sum(map(len, pair))
        counts = zip((then, now), gaps, strict=True)
        counts = [np.array([*n[~rare], n[rare].sum(), missing]) for n, missing in counts]
    index, chance = stability_index(*counts)
    found = (index, chance, LEAST["psi"]), (*excess, LEAST["unknown"])
    moved = any(size >= least and p < CHANCE / n_columns for size, p, least in found)
    status = "moved" if moved else "stable"
    if _is_date(reader, pair[0]):
        index, status = np.nan, "not compared"
    gaps = [n / len(cells) for n, cells in zip(gaps, pair, strict=True)]
    return index, status, is_tested, *gaps, share, listed(unknown, quote=False)


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
        index, _ = stability_index(*_bins_of_numbers(*sums))
        lines[node] = (condition_text(nodes[node], 3, 3), index, *map(len, sums), *left)
    return pd.DataFrame.from_dict(lines, orient="index", columns=_OF_TESTS)


# ---------------------------------------------------------------- transitions and verdict


def checked_ids(ids, tables):
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


def _reasons(columns, new, costs, segments):
    """Return the reasons for a refit, by the rules of :func:`tao_cluster.monitor`: list of str."""
    moved = []
    for name, line in columns[columns["status"] == "moved"].iterrows():
        gaps = line["gaps_now"] - line["gaps_then"]
        grown = {"unknown levels": 100 * line["unknown_share"], "more gaps": 100 * gaps}
        grown = [f", {n:.1f} % {what}" for what, n in grown.items() if n >= LEAST["unknown"]]
        moved.append(f"{name} (PSI {line['psi']:.2f}{''.join(grown)})")
    have = "a column has moved" if len(moved) == 1 else "columns have moved"
    moved = [f"{have}: {listed(moved, quote=False)}"] if moved else []
    chance = chance_of_counts(segments["rows_then"].to_numpy(), segments["rows_now"].to_numpy())
    is_large = (segments["change"].abs() >= LEAST["share"]) & (chance < CHANCE / len(segments))
    shares = (100 * segments.loc[is_large, ["share_then", "share_now"]]).itertuples()
    texts = [f"{name} has {now:.1f} % of the rows, {then:.1f} % then" for name, then, now in shares]
    return [*moved, *new, *costs, *texts]  # a column that moves makes new groups


def _verdict(reasons, segments, transitions, n_groups):
    """Return the verdict as a string."""
    if reasons:
        more = f"; and {len(reasons) - 2} more" * (len(reasons) > 2)
        return f"Refit: {'; '.join(reasons[:2])}{more}."
    change = segments["change"].abs().max()
    change = f"The share of a segment changed by at most {change:.1f} points"
    if transitions is not None:
        both = transitions.to_numpy()[:-1, :-1]
        change = f"{100 * (1 - np.trace(both) / max(1, both.sum())):.1f} % changed segment"
    small = f"; small groups of new rows: {n_groups}" * (n_groups > 0)
    fewest = segments[["rows_then", "rows_now"]].sum().min()
    few = f" {fewest} rows are too few to show more than large changes." * bool(fewest < _FEW)
    return f"{change}; the segments still hold{small}.{few}"
