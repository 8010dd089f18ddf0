"""`describe`: what each cluster is, in sentences and numbers, and how two clusters differ."""

import html
import itertools
import json
import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ._utils.frames import check_aligned
from .columns.names import Indicator, level_features, printable
from .columns.table_reader import reads_once
from .columns.view import RawView, flat_steps, seen, transformed
from .explanations.path import MAX_TERMS, list_html
from .export.format import compared, percent_text, value_text
from .export.text import premises_of, rules_of
from .inspection.rows import Means, Values, grouped
from .objectives.base import cluster_sums
from .objectives.labels import encode
from .plot.cards import plot_cards
from .plot.curves import free_name
from .plot.style import Target
from .problem.repeats import content_order, row_keys
from .reference import free_labels, match_labels
from .report import check_weight, cluster_names, cluster_numbers, position_of, report
from .tree import tree_of
from .tree.conditions import LevelSet

__all__ = ["Contrast", "Description", "Segment", "describe"]

NO_SEGMENT = "no segment"  # rows that a tree leaves without a cluster
_PRECISION = 3
_LISTED, _IN_SENTENCE = 5, 3  # numbers of the columns that differ most
# Differences below _LEAST standard deviations, or _N_ERRORS standard errors, are not mentioned.
_LEAST, _N_ERRORS = 0.2, 3.0
_N_RESAMPLES, _N_BLOCKS = 1000, 2000
_WORDS = {">": "above", ">=": "at least", "<": "below", "<=": "at most"}
_WORDS_OF_DATES = {">": "after", ">=": "from", "<": "before", "<=": "up to"}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~])")
_CIRCULAR = (
    "The same rows made the segments. The intervals show how exactly the differences are known; "
    "to test on these rows whether the segments differ would be circular. Pass new rows as X_new."
)
_HONEST = (
    "These rows did not make the segments, so that the intervals are honest. In columns that the "
    "tree tests, segments differ by definition."
)

_PROMPT = """Give each segment a short name of at most three words, in the language of the columns.
All names are distinct, and none would suit another segment as well. A name promises nothing that
the facts above do not support: no motives, no loyalty, no future.
Answer with nothing but a JSON object of this form: """


@np.errstate(under="ignore")
@reads_once
def describe(
    model, X, *, rows="rows", feature_names=None, sample_weight=None, embedding=None, y=None
):
    """Describe each cluster: a sentence, its rules, what is typical of it, and how good it is.

    Parameters
    ----------
    model : Tree, fitted estimator with `tree_`, or fitted pipeline that ends in one
    X : array-like, sparse matrix or DataFrame of shape (n, n_features)
        Rows to describe, usually those of the fit; raw rows for a pipeline.
    rows : str, default="rows"
        What the rows are, in the plural: "customers".
    feature_names : sequence of str, optional
        Default the names of the columns of X or of the fit, or x0, x1, ...
    sample_weight : array-like of shape (n,), optional
        Weights of the rows: shares, means and costs are weighted.
    embedding : array-like or sparse matrix of shape (n, m), optional
        The same rows in the clustering space, if `fit` was given an embedding. Without it, the
        costs and typical rows of such a model are unknown (NaN).
    y : array-like of shape (n,), optional
        Labels of the rows, if the model explains labels. Without them, precision and recall are
        unknown (NaN).

    Returns
    -------
    Description

    Raises
    ------
    ValueError
        If X does not fit the model, or if the weights are negative or all 0.

    Notes
    -----
    The conditions of a sentence are the rule that :func:`tao_cluster.export.to_rules` prints, with
    its numbers. A weighted sum of more than eight columns is only mentioned.

    All columns of X are compared, also those that the tree does not test. Columns that a pipeline
    drops, names and identifiers are left out. A difference is that of the mean of the cluster from
    the mean of all rows, in standard deviations of all rows. Means leave out missing values, whose
    shares are compared, too. Categories are compared by the shares of their levels. Sentences and
    facts mention differences of at least 0.2 standard deviations and three standard errors.

    Each cluster is matched with the free cluster with which it shares most rows (one to one).
    Precision is the share of the rows of the cluster that this free cluster has; recall is the
    share of the rows of the free cluster that the cluster has. The free cluster of a row is that of
    the nearest free centre or, if the model explains labels, its label in `y`.

    Examples
    --------
    >>> import pandas as pd
    >>> from tao_cluster import TAOClustering, describe
    >>> table = pd.DataFrame({"spend": [*range(20), *range(90, 110)], "age": range(20, 60)})
    >>> model = TAOClustering(2, split="axis", max_leaves=2, random_state=0).fit(table)
    >>> print(describe(model, table, rows="customers").table["sentence"][1])
    20 customers (50.0 %): spend at most 54; age 30 against 40 overall
    """
    check_aligned(X, sample_weight=sample_weight, embedding=embedding, y=y)
    read = _Read.from_rows(model, X, feature_names, sample_weight)
    view, last, leaves, weight = read.view, read.last, read.leaves, read.weight
    tested = X if isinstance(view, RawView) else read.encoded
    facts = report(view, tested, feature_names=read.names, sample_weight=sample_weight)
    nodes, all_leaves, labels = facts["nodes"], tree_of(view).leaves.tolist(), cluster_names(view)
    quality, unlabelled = _Quality.from_rows(read, embedding, y), np.zeros(len(weight), dtype=bool)
    if y is not None:
        unlabelled = (quality.free < 0) & (weight > 0)
    levels = level_features(view, read.names)
    english = premises_of(tree_of(view), levels, _english(nodes, read.names))
    has_rest = any(nodes[leaf]["cluster"] < 0 for leaf in all_leaves)
    classes, segments = getattr(last, "classes_", None), []
    numbers, noun = [k for k in cluster_numbers(view) if k >= 0], printable(str(rows))
    nouns = noun, f"{noun[:-3]}y" if noun.endswith("ies") else noun.removesuffix("s")
    weighted = "" if sample_weight is None else " of the weight"
    for k in [*numbers, *([-1] if has_rest else [])]:
        own, here = [leaf for leaf in all_leaves if nodes[leaf]["cluster"] == k], read.clusters == k
        n, size = int((here & (weight > 0)).sum()), float(weight[here].sum())
        share, cost, fit = size / float(weight.sum()), quality.cost(here), quality.fit(k, here)
        size_text = f"{grouped(str(n))} {nouns[n == 1]} ({100 * share:.1f} %{weighted})"
        rule = _alternatives([english[leaf] for leaf in own])
        means, features, off = read.means, read.means.features, read.means.deviations(k)
        most, typical = read.mentioned(k, here, share), quality.typical(k, here)
        barred = most if len(most) > 1 else means.largest(off, 2)
        texts = {
            j: (means.text(j, means.mean[k, j]), means.text(j, means.overall[j])) for j in barred
        }
        bars = [(features[j].label, "{} ({})".format(*texts[j]), off[j]) for j in barred[:_LISTED]]
        alone = _tested_alone(tree_of(view), own, nodes, read.names)
        others = [j for j in most if features[j].column not in alone][:_IN_SENTENCE]
        phrases = [f"{features[j].phrase} {texts[j][0]} against {texts[j][1]}" for j in others]
        phrases[:1] = [f"{phrase} overall" for phrase in phrases[:1]]
        lines = [
            f"{text}{_fit_text(*quality.fit(k, leaves == leaf))}"
            for leaf, text in zip(own, rules_of(view, read.names, nodes, own), strict=True)
        ]
        lines += [f"all rules{_fit_text(*fit)}"] * (len(own) > 1 and math.isfinite(fit[1]))
        compared = [f"{label} {both} {size:+.1f} sd" for label, both, size in bars[: len(most)]]
        lines += [f"differs most in: {', '.join(compared)}"] if most else []
        lines += [f"cost: {_cost_text(cost)}"] if math.isfinite(cost) else []
        lines += [] if typical is None else [f"most typical row: row {typical}"]
        n_unlabelled = (here & unlabelled).sum()
        lines += [f"rows without a label: {n_unlabelled}"] if n_unlabelled else []
        who = (labels[k], k, k if classes is None else classes[k]) if k >= 0 else (NO_SEGMENT, k, k)
        sentence = f"{size_text}: {'; '.join(filter(None, [rule, ', '.join(phrases)]))}"
        known = size_text, rule, sentence, bars, lines, *fit, cost, typical
        segments.append(Segment(*who, n, size, share, *known))
    segments.sort(key=lambda segment: (segment.number < 0, -segment.share))
    cost = quality.cost(np.ones(len(weight), dtype=bool))
    n, count = len(segments) - has_rest, grouped(str(int((weight > 0).sum())))
    heading = f"{n} segment{'s' * (n != 1)} of {count} {noun}"
    heading += f"; the tree costs {_cost_text(cost)}" if math.isfinite(cost) else ""
    if unlabelled.any():
        heading += f"; {unlabelled.sum()} of them have no label, but the tree assigns them, too"
    return Description(segments, heading, cost, read, model, feature_names, bool(weighted))


class _Read(NamedTuple):
    """Rows as a model reads them.

    Parameters
    ----------
    view, names : the model in its raw columns, and their printable names
        If the steps of a pipeline cannot be shown in raw columns, those of its last step.
    last, encoded : the last step, and the rows that it takes
    leaves, clusters : int arrays of shape (n,)
    weight : float64 array of shape (n,)
    values, means : Values, and Means of the clusters; the last group has the rows of none
    keys : array of shape (n,), one number per row, the same for equal rows
    """

    view: Any
    names: Any
    last: Any
    encoded: Any
    leaves: np.ndarray
    clusters: np.ndarray
    weight: np.ndarray
    values: Values
    means: Means
    keys: np.ndarray

    @classmethod
    def from_rows(cls, model, X, feature_names, sample_weight):
        """Read the rows, and raise a ValueError if they do not fit the model."""
        view, names = seen(model, feature_names, X)
        last, encoded, own = view, X, names
        if isinstance(view, RawView):
            last, encoded = view.model, view.encoded(X, is_complete=True)
        elif view is not model:
            encoded, own = transformed(flat_steps(model)[:-1], X), None
        leaves = last.apply(encoded)
        weight = check_weight(sample_weight, X)
        own = own if feature_names is None else feature_names
        values = Values.from_rows(model, view, X, own)
        labels, numbers = tree_of(last).leaf_label[leaves], np.array(cluster_numbers(last))
        clusters, n = np.where(labels < 0, -1, numbers[labels]), len(numbers) + 1
        means = values.means(clusters, weight, n)
        keys = row_keys(encoded)
        return cls(view, names, last, encoded, leaves, clusters, weight, values, means, keys)

    def mentioned(self, k, here, share):
        """Return the features whose difference from all rows is worth a word, the largest first.

        The rows of cluster k are those of the mask `here`, with this share of the weight.
        """
        # Equal rows count once, so that neither weights nor repeats matter.
        n_distinct = len(np.unique(self.keys[here & (self.weight > 0)]))
        least = max(_LEAST, _N_ERRORS * math.sqrt((1 - share) / max(n_distinct, 1)))
        off = self.means.deviations(k)
        found = self.means.largest(off, 2 * MAX_TERMS)
        return [j for j in found if n_distinct and abs(off[j]) >= least]


def _english(nodes, names):
    """Return a function that writes conditions in English, for :func:`.premises_of`."""

    def write(pair):
        if isinstance(pair[0], LevelSet):
            column, own = printable(pair[0].variable), [names[j].level for j in pair[0].features]
            if len(own) > 1 and not pair[0].is_listed:
                return f"{column} is neither {' nor '.join(own)}"
            return f"{column} is {'' if pair[0].is_listed else 'not '}{' or '.join(own)}"
        tests, sides = [nodes[c.node] for c in pair], [c.is_left for c in pair]
        total, bounds = compared(tests, sides, _PRECISION)
        terms = tests[0]["terms"]
        if len(terms) > MAX_TERMS:
            total = f"a sum of {len(terms)} columns (above all {terms[0]['name']})"
        is_date = len(terms) == 1 and value_text(terms[0]["name"], 0.0)
        words = _WORDS_OF_DATES if is_date else _WORDS
        return f"{total} {' and '.join(f'{words[sign]} {grouped(text)}' for sign, text in bounds)}"

    return write


def _alternatives(rules):
    """Return the rules of the leaves of a cluster, lists of conditions, as one text."""
    if not rules:
        return "no rule leads here"
    if len(rules) == 1:
        return ", ".join(rules[0]) or "all of them"
    return f"either {', or '.join(' and '.join(rule) for rule in rules)}"


def _tested_alone(tree, leaves, nodes, names):
    """Return the columns that are tested without others on the paths to some leaves: frozenset."""
    found = set()
    for leaf in leaves:
        for node, _ in itertools.pairwise(tree.path(leaf).tolist()):
            if len(nodes[node]["terms"]) == 1 or nodes[node]["levels"] is not None:
                name = names[nodes[node]["terms"][0]["feature"]] if nodes[node]["terms"] else ""
                found.add(name.column if isinstance(name, Indicator) else str(name))
    return frozenset(found)


@dataclass(frozen=True, eq=False)
class _Quality:
    """The free clusters of rows, and their costs in both clusterings; None if they are unknown.

    Parameters
    ----------
    weight : float64 array of shape (n,)
    free : int array of shape (n,), -1 for rows without a free cluster
    match : dict, the free cluster of each cluster
    costs, distances : float64 arrays of shape (n, 2) and (n, k)
        Costs are those of the tree and of the free clustering.
    """

    weight: np.ndarray
    free: Any = None
    match: Any = None
    costs: Any = None
    distances: Any = None

    @classmethod
    def from_rows(cls, read, embedding, y):
        """Assign rows to free clusters; see :func:`tao_cluster.describe`."""
        last, X, clusters, weight = read.last, read.encoded, read.clusters, read.weight
        space = getattr(last, "_space", None)
        if y is not None and getattr(space, "classes", None) is None:
            raise ValueError('y is used only by a model with objective="labels": leave y out.')
        if space is None or getattr(space.objective, "is_missing", False):  # of a loaded model
            return cls(weight)
        free, costs, distances = None, None, None
        embedding = last._embedded(X, embedding)
        if space.classes is not None:
            free = None if y is None else encode(y, space.classes)[0]
            distances = last.transform(X)
        elif embedding is not None or not space.has_embedding:
            distances = last.transform(X if embedding is None else embedding)
            rows = space.clustered_rows(last._check_new(X), None, embedding)
            objective, data = space.objective, space.objective.prepare(rows)
            centers = [space.scaled_centers(c) for c in (last.cluster_centers_, last.free_centers_)]
            free = free_labels(objective, data, weight, centers[1])
            free = np.where(free == space.noise, -1, free)  # rows that a trimmed clustering leaves
            if objective.is_sum:
                both = zip(centers, (clusters, free), strict=True)
                n = np.arange(len(weight))
                costs = [objective.distances(data, c)[n, k] for c, k in both]  # -1: the price
                costs = np.column_stack(costs)
                if space.noise is None:
                    costs[(clusters < 0) | (free < 0)] = 0
        if free is None:
            return cls(weight, distances=distances)
        n_clusters = len(last.cluster_centers_)
        match = {k: k for k in range(n_clusters)}
        if space.classes is None:
            match = dict(enumerate(match_labels(clusters, free, n_clusters, weight)))
        return cls(weight, free, match, costs, distances)

    def fit(self, k, here):
        """Return precision and recall of the rows in a mask as a part of cluster k."""
        if self.free is None or k not in self.match:
            return math.nan, math.nan
        is_own = self.free == self.match[k]
        masks = here & is_own, here & (self.free >= 0), is_own
        both, found, own = (float(self.weight[mask].sum()) for mask in masks)
        return both / found if found else math.nan, both / own if own else math.nan

    def cost(self, here):
        """Return by how many percent the tree costs more than the free clustering on some rows."""
        if self.costs is None:
            return math.nan
        cost, free = self.weight[here] @ self.costs[here]
        return float(100 * (cost / free - 1)) if free > 0 else 0.0 if cost == 0 else math.nan

    def typical(self, k, here):
        """Return the position of the row of cluster k that is nearest to its centre, or None."""
        rows = np.flatnonzero(here & (self.weight > 0))
        if self.distances is None or k < 0 or len(rows) == 0:
            return None
        return int(rows[self.distances[rows, k].argmin()])


def _fit_text(precision, recall):
    if math.isnan(recall):
        return ""
    shares = ["unknown" if math.isnan(x) else percent_text(x) for x in (precision, recall)]
    return f": precision {shares[0]}, recall {shares[1]}"


def _cost_text(cost):
    cost = round(cost, 3)  # less is rounding
    size = f"{abs(cost):.3g} % {'more' if cost > 0 else 'less'} than" if cost else "the same as"
    return f"{size} the free clustering"


class Segment(NamedTuple):
    """A cluster as :func:`tao_cluster.describe` shows it.

    Parameters
    ----------
    name : str
    number : int, of the cluster; -1 for rows without a cluster
    cluster : int, or the label that the model explains
    rows : int
    weight : float, sum of the sample weights
    share : float, of all rows or of their weight
    size : str, rows and share
    rule : str, the conditions of its leaves in English
    sentence : str, the size, the rule, and what else differs most from all rows
    bars : list of (label, means, deviation), the columns that differ most
    lines : list of str, all further facts
    precision, recall : float
    cost_increase : float, percent
    typical_row : int, position of the most typical row; None if it is unknown
    """

    name: str
    number: int
    cluster: Any
    rows: int
    weight: float
    share: float
    size: str
    rule: str
    sentence: str
    bars: list
    lines: list
    precision: float
    recall: float
    cost_increase: float
    typical_row: int | None


@dataclass(frozen=True, eq=False, repr=False)
class Description:
    """What each cluster is, as :func:`tao_cluster.describe` found it. It can be printed.

    Parameters
    ----------
    segments : list of Segment
        The largest cluster first; rows without a cluster come last.
    heading : str
        The number of clusters and of rows, and the cost.
    cost_increase : float
        By how many percent the tree costs more than the free clustering on these rows; NaN if
        that is unknown.
    """

    segments: list[Segment]
    heading: str
    cost_increase: float
    _read: _Read
    _model: Any
    _feature_names: Any
    _is_weighted: bool

    @cached_property
    def table(self):
        """One line per cluster, the largest first: DataFrame.

        Its columns are segment (the name), cluster (as `predict` returns it), rows, weight (only
        with sample weights), share, rule, precision, recall, cost_increase (percent, on the rows of
        the cluster), typical_row (its position in X), sentence and differences.
        """
        table = pd.DataFrame(self.segments).rename(columns={"name": "segment"})
        table["differences"] = ["; ".join(f"{b[0]} {b[1]}" for b in s.bars) for s in self.segments]
        last = ["sentence", "differences"]
        hidden = ["number", "size", "bars", "lines", *([] if self._is_weighted else ["weight"])]
        order = [*table.columns.drop([*hidden, *last]), *last]
        return table.astype({"typical_row": "Int64"})[order]

    @cached_property
    def differences(self):
        """One line per cluster and feature, the largest difference first: DataFrame.

        Its columns are segment, column, feature (the column, one of its levels, or whether a value
        is missing), mean, overall (the mean of all rows) and deviation (the difference in standard
        deviations of all rows). Means are in the units of X; those of dates are days since the
        first date.
        """
        means, lines = self._read.means, []
        for s in self.segments:
            off = means.deviations(s.number)
            for j in np.argsort(-np.abs(off), kind="stable"):
                feature = means.features[j][:2]
                lines.append((s.name, *feature, means.mean[s.number, j], means.overall[j], off[j]))
        names = ["segment", "column", "feature", "mean", "overall", "deviation"]
        return pd.DataFrame(lines, columns=names)

    @property
    def title(self):
        """The number of clusters and of rows, and the share in their free cluster: str."""
        known = self.table.dropna(subset="precision")
        count, other = self.heading.split(";")[0], free_name(self._read.last)
        if known.empty:
            return count
        kept = percent_text(np.average(known["precision"], weights=known["share"]))
        place = "the labels have" if other == "labels" else f"{other} has"
        return f"{count}; the tree keeps {kept} of them where {place} them"

    @property
    def text(self):
        """The sentence and the facts of each cluster: str."""
        parts = ("\n  ".join([f"{s.name}: {s.sentence}", *s.lines]) for s in self.segments)
        return "\n\n".join([self.heading, *parts])

    def __repr__(self):
        return self.text

    def to_markdown(self):
        """Return the description as Markdown: one heading, sentence and list per cluster."""
        parts = [self.heading]
        for s in self.segments:
            parts += [f"## {_markdown(s.name)}", _markdown(s.sentence)]
            parts.append("\n".join(f"- {_markdown(line)}" for line in s.lines))
        return "\n\n".join(parts) + "\n"

    def to_html(self):
        """Return the description as an HTML page that needs no other file; strings are escaped."""
        head = f"<meta charset='utf-8'><title>{html.escape(self.heading)}</title>"
        return f"<!doctype html><html><head>{head}</head><body>{self._repr_html_()}</body></html>"

    def to_prompt(self):
        """Return a text that asks any language model for a name of each cluster.

        It has the sizes, rules and means of the clusters, and no row. Nothing is sent. The answer
        is a JSON object for ``model.name_clusters(json.loads(answer))``.
        """
        table = self.table[[s.number >= 0 for s in self.segments]]
        lines = "Segment " + table["cluster"].astype(str) + ": " + table["sentence"]
        parts = lines + "\nMeans (of all): " + table["differences"]
        form = json.dumps(dict.fromkeys(table["cluster"].astype(str), "..."), ensure_ascii=False)
        return "\n\n".join([f"{self.heading.split(';')[0]}:", *parts, _PROMPT + form]) + "\n"

    def _repr_html_(self):
        parts = (list_html(f"{s.name}: {s.sentence}", s.lines) for s in self.segments)
        return f"<div><h3>{html.escape(self.heading)}</h3>{''.join(parts)}</div>"

    def plot(self, title=None, **options):
        """Draw one card per cluster: its size, its rule, and the columns that differ most.

        Parameters
        ----------
        title : str, optional
            Default: the `title` of this description.
        **options
            style, width, height, figsize and font_size, as for :func:`tao_cluster.plot.plot_tree`.

        Returns
        -------
        matplotlib Figure
        """
        target = Target.from_options(**options)
        return plot_cards(self.segments, self.title if title is None else title, target)

    def contrast(self, a, b, X_new=None, *, n=10, sample_weight=None):
        """Compare two clusters by the columns that differ most between them.

        Parameters
        ----------
        a, b : cluster numbers, names, or labels that the model explains
        X_new : rows as X of :func:`tao_cluster.describe`, optional
            Rows that `fit` has not seen. The default is X.
        n : int, default=10
            Number of columns.
        sample_weight : array-like, optional
            Weights of the rows of X_new.

        Returns
        -------
        Contrast

        Raises
        ------
        ValueError
            If there is no such cluster, if one has no rows, or if both are the same.

        Notes
        -----
        The intervals are percentiles of the difference in 1000 bootstrap samples of the rows of
        each cluster, with a fixed seed. From more than 2000 rows, random blocks are drawn.
        """
        read = self._read
        if X_new is not None:
            read = _Read.from_rows(self._model, X_new, self._feature_names, sample_weight)
        found, means = [position_of(read.last, k) for k in (a, b)], read.means
        if found[0] == found[1]:
            raise ValueError(f"a and b must be two clusters, got {a!r} and {b!r}.")
        names = [cluster_names(read.last)[k] for k in found]
        places = [cluster_numbers(read.last)[k] for k in found]  # -1 for rows without a cluster
        masks = [(read.clusters == k) & (read.weight > 0) for k in places]
        for here, name in zip(masks, names, strict=True):
            if not here.any():
                raise ValueError(f"{name} has no rows here, so that it cannot be compared.")
        off, drawn, rng = means.deviations(*places), [], np.random.default_rng(0)
        which = means.largest(off, n)
        for here in masks:
            values = read.values.columns(which, here)
            drawn.append(_resampled_means(values, read.weight[here], rng))
        ends = np.nanpercentile(drawn[0] - drawn[1], [2.5, 97.5], axis=0)
        table, lines = [], []
        for j, low, high in zip(which, *ends, strict=True):
            first, second = means.mean[places, j]
            table.append((*means.features[j][:2], first, second, first - second, low, high, off[j]))
            size, *limits = (means.text(j, x, is_step=True) for x in (first - second, low, high))
            lines.append(
                f"{means.features[j].phrase} {means.text(j, first)} against "
                f"{means.text(j, second)}: difference {size} "
                f"(95 % interval {limits[0]} to {limits[1]}), {off[j]:+.1f} sd"
            )
        columns = ["column", "feature", "mean_a", "mean_b", "difference", "low", "high"]
        frame = pd.DataFrame(table, columns=[*columns, "deviation"])
        return Contrast(*names, frame, lines, _CIRCULAR if X_new is None else _HONEST)


def _markdown(text):
    return _MARKDOWN.sub(r"\\\1", text)


def _resampled_means(values, weight, rng):
    """Return the means of bootstrap samples: float array of shape (n_resamples, n_columns)."""
    order = content_order(values, weight)  # the draws do not depend on the order of the rows
    values, weight, n_blocks = values[order], weight[order], min(len(weight), _N_BLOCKS)
    block = rng.permutation(len(weight)) % n_blocks
    known = weight[:, None] * ~np.isnan(values)
    sums, sizes = (
        cluster_sums(each, block, np.ones(len(weight)), n_blocks)
        for each in (known * np.nan_to_num(values), known)
    )
    times = rng.multinomial(n_blocks, np.full(n_blocks, 1 / n_blocks), size=_N_RESAMPLES)
    with np.errstate(invalid="ignore"):
        return (times @ sums) / (times @ sizes)


@dataclass(frozen=True, eq=False, repr=False)
class Contrast:
    """The columns that distinguish two clusters, as :meth:`Description.contrast` found it.

    Parameters
    ----------
    a, b : str, names of the clusters
    table : DataFrame
        One line per feature, the largest difference first: column, feature, mean_a, mean_b,
        difference (mean_a - mean_b), low and high (its 95 % interval), and deviation (the
        difference in standard deviations of all rows).
    lines : list of str, the same in words
    note : str, what the intervals mean
    """

    a: str
    b: str
    table: pd.DataFrame
    lines: list
    note: str

    @property
    def text(self):
        """One line per feature, and the note: str."""
        return "\n  ".join([f"{self.a} against {self.b}", *self.lines]) + f"\n{self.note}"

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        return list_html(f"{self.a} against {self.b}", [*self.lines, self.note])
