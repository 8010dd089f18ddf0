"""How many clusters: groups that are apart, and segments that are found again in other rows."""

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.cluster import KMeans as _SklearnKMeans
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import pairwise_distances, silhouette_score
from sklearn.preprocessing import normalize
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples

from ._utils.matrices import as_array
from ._utils.threads import one_thread
from .objectives.alternating import AlternatingClustering, lloyd
from .objectives.kmeans import KMeans
from .objectives.spherical import SphericalKMeans
from .problem.levels import FEW_VALUES, many_valued
from .problem.problem import Problem
from .problem.repeats import content_order
from .reference import nearest_center, to_fit
from .tree.split_statistics import GAP, density_ratio

MOST_ROWS = 20_000  # rows of a sample, in which the numbers of clusters are compared
_MOST_TRIMMED = 5000  # rows of a trimmed clustering, whose starts take ten times as long
HALVINGS, MAJORITY = 10, 0.5  # groups are apart if there are gaps in this share of the halvings
FOUND_AGAIN = 0.7  # least mean Jaccard index of a segment and its match (Hennig 2007: "stable")
_MOST_CLUSTERS = 12  # tried by default
_FEW_ROWS = 35  # per cluster: with fewer rows, the suggestion is often wrong by one
_LEAST_ROWS = 5  # of a cluster in the other half; with fewer, it is neither apart nor found again
# Gaps in columns with few values say nothing about groups. This is the largest share of such
# columns in the squared distance of two centres.
_MOSTLY = 0.5
_NO_GAP = 0.9  # after a pair of clusters with this density, further pairs are not measured
_OF_SILHOUETTE = 2000  # rows
_N_TRIALS = 4  # of k-means++ per seed, as scikit-learn makes for 8 to 20 clusters
_MORE_STARTS = 3  # times as many for all rows as for a half, so that the seed matters less
_RACE, _TOL = 8, 1e-4  # iterations of each start; the best one ends at this relative change of cost
# If none of these parameters is set, a tree has one leaf per cluster.
_SIZES = ("max_leaves", "max_parameters", "max_cost_increase", "lambda_", "depth", "init")


@dataclass(frozen=True, eq=False)
class Suggestion:
    """Suggested numbers of clusters, the reason in words, and the measures of all numbers.

    See :class:`tao_cluster.n_clusters.NClusters`.
    """

    n_apart: int
    n_segments: int
    reason: str
    table: pd.DataFrame
    stability: pd.DataFrame

    @property
    def n_clusters(self):
        """Number of groups that are apart or, if there are none, of segments."""
        return self.n_apart if self.n_apart > 1 else self.n_segments


def suggest(X, estimator, n_clusters=None, *, embedding=None, trees=True, max_rows=MOST_ROWS):
    """Return the Suggestion of :func:`tao_cluster.choose_n_clusters`, which has these arguments.

    The estimator is a TAOClustering that is not fitted. The numbers are 2 to 12 by default.
    """
    if estimator.reference is not None or estimator.objective == "labels":
        raise ValueError(
            "reference= and objective='labels' set the number of clusters themselves: leave them "
            "out. The space of a reference can be given as embedding=."
        )
    estimator._validate_params()
    n_rows = _num_samples(X)
    if n_clusters is None:
        n_clusters = range(2, min(n_rows, _MOST_CLUSTERS) + 1)
    rng = check_random_state(estimator.random_state)
    if getattr(estimator._method().objective, "trims", False):
        max_rows = min(max_rows, _MOST_TRIMMED)
    order = rng.permutation(content_order(X, embedding))[:max_rows]
    given = {"X": X} if embedding is None else {"X": X, "embedding": embedding}
    given = {name: _safe_indexing(rows, order) for name, rows in given.items()}
    orders = [rng.permutation(len(order)) for _ in range(HALVINGS)]
    seed, *seeds = rng.randint(np.iinfo(np.int32).max, size=2 * HALVINGS + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # costs and lost clusters are in the table
        sample = _Sample(estimator, given, max(n_clusters, default=1), seed)
        halvings = [[_Half(sample, rows[i::2], seeds.pop()) for i in (1, 0)] for rows in orders]
        least = min(len(half.weight) for halving in halvings for half in halving)
        lines = {k: sample.measures(k, halvings) for k in n_clusters if k <= least}
        for k in lines if trees else ():
            lines[k] |= _of_tree(k, estimator, given, orders[0][1::2], orders[0][::2])
    segments = {k: dict(enumerate(line.pop("segments"))) for k, line in lines.items()}
    index = pd.Index(n_clusters, name="k")
    table, stability = (
        pd.DataFrame.from_dict(part, "index", float).reindex(index) for part in (lines, segments)
    )
    return Suggestion(*_suggestion(table, len(order), n_rows), table, stability)


def _suggestion(table, n_used, n_rows):
    """Return the number of groups that are apart, that of segments, and the reason."""
    table = table.reindex(columns=["gaps", "stability", "few_valued"]).dropna(subset=["gaps"])
    gaps, index, few = (table[column] for column in table)
    n_apart = int(max(gaps.index[gaps >= MAJORITY], default=1))
    is_found = index >= FOUND_AGAIN
    n_segments = int(max(index.index[is_found & ~(few > _MOSTLY)], default=1))
    n_of_few = int(max(index.index[is_found], default=1))
    n_clusters = n_apart if n_apart > 1 else n_segments
    more, nearest = gaps[gaps.index > n_apart].nlargest(1), index.nlargest(1)
    is_small = n_used < _FEW_ROWS * max(n_clusters, 2)
    so = ", so they divide the rows reliably" if n_apart == 1 else ""
    sentences = {
        f"{n_apart} groups are apart: there is a gap between any two of them in "
        f"{100 * gaps.get(n_apart, 0):.0f} % of the divisions into halves.": n_apart > 1,
        "No groups are apart.": n_apart == 1 and few.notna().any(),
        f"{n_used} rows, or their different values, are too few to show groups.": not len(table),
        f"Gaps between groups cannot be seen: no column has more than {FEW_VALUES} values.": (
            few.count() == 0 < len(few)
        ),
        f"Of larger numbers, {more.index.max()} comes closest, with gaps in "
        f"{100 * more.max():.0f} % of the divisions into halves.": more.max() > 0,
        f"{n_segments} segments are found again in other rows (Jaccard index of the least stable "
        f"one: {index.get(n_segments, 0):.2f}){so}.": n_segments > 1,
        f"{n_of_few} segments are found again only by columns with at most {FEW_VALUES} values, "
        "which make most of the difference of some of them.": n_of_few > n_segments,
        f"No segments are found again in other rows; {nearest.index.max()} come closest (Jaccard "
        f"index of the least stable one: {nearest.max():.2f}).": nearest.max() < FOUND_AGAIN,
        "Try other columns or weights of columns, objective='trimmed' if a few rows are far from "
        "all others, or set a number by its use.": n_clusters == 1,
        f"With fewer than {_FEW_ROWS} rows per cluster, the number is often off by one.": is_small,
        f"It was measured on {n_used} of the {n_rows} rows.": n_used < n_rows,
    }
    return n_apart, n_segments, " ".join(text for text, holds in sentences.items() if holds)


def _of_tree(k, estimator, given, *halves):
    """Return the measures of the tree of one half; `given` are X and the embedding."""
    fitted, new = ({key: _safe_indexing(x, half) for key, x in given.items()} for half in halves)
    is_sized = any(getattr(estimator, name) not in (None, "auto") for name in _SIZES)
    model = clone(estimator).set_params(n_clusters=k, **({} if is_sized else {"max_leaves": k}))
    model.fit(**fitted)
    return {
        "cost_increase": model.cost_increase_,
        "cost_increase_new": model.cost_increase(new["X"], embedding=new.get("embedding")),
        "parameters": model.tree_.n_parameters,
        "density_tree": np.nanmax(model.split_densities_, initial=0.0),
    }


class _Sample:
    """The distinct rows in the clustering space, and the columns in which gaps can be seen."""

    def __init__(self, estimator, given, most, seed):
        estimator = clone(estimator).set_params(n_clusters=1)
        method, self.most = estimator._method(), most
        terms = (method, given["X"], None, None, given.get("embedding"))
        _, merged, problem = estimator._freeze(*terms)
        self.objective, self.space = method.objective, problem.space
        self.row_of_input = merged.row_of_input
        is_spherical = isinstance(self.objective.geometry or self.objective, SphericalKMeans)
        rows = normalize(self.space) if is_spherical else self.space
        self.is_numeric = many_valued(rows)
        self.numeric = rows[:, self.is_numeric]
        self.steps = _steps(self.numeric)
        self.whole = _Half(self, slice(None), seed, _MORE_STARTS)
        self.shown = self.row_of_input[:_OF_SILHOUETTE]
        self.distances = pairwise_distances(rows[self.shown])

    def measures(self, k, halvings):
        """Return the line of the table for k clusters, with their Jaccard indices as "segments".

        The last halvings are left out if k holds in neither way, whatever they show.
        """
        objective, centers = self.whole.clustered(k)
        data, weight = objective.prepare(self.space), self.whole.weight
        labels = nearest_center(objective, data, centers)
        few = pdist(centers[:k, ~self.is_numeric], "sqeuclidean")
        few = np.nan_to_num(few / pdist(centers[:k], "sqeuclidean")).max()
        few = few if self.is_numeric.any() else np.nan
        compared = []
        for left, halving in enumerate(halvings, 1 - len(halvings)):
            pairs = halving, halving[::-1]
            compared.append(np.mean([self._compared(k, labels, *pair) for pair in pairs], axis=0))
            is_gap, index = np.array(compared)[:, 0] <= GAP, np.array(compared)[:, 1:]
            is_lost = index.sum(axis=0).min() - left < FOUND_AGAIN * len(halvings)
            if (is_lost or few > _MOSTLY) and is_gap.sum() - left < MAJORITY * len(halvings):
                break
        terms = (self.distances, labels[self.shown])
        is_defined = 1 < len(np.unique(terms[1])) < len(terms[1])
        return {
            "density": np.mean(compared, axis=0)[0],
            "gaps": is_gap.mean(),
            "stability": index.mean(axis=0).min(),
            "few_valued": few,
            "silhouette": silhouette_score(*terms, metric="precomputed") if is_defined else np.nan,
            "free_cost": objective.value(data, labels, weight, centers) / weight.sum(),
            "smallest": np.bincount(labels, weight, k)[:k].min(),
            "segments": index.mean(axis=0),
        }

    def _compared(self, k, labels, half, other):
        """Return the density between the clusters of a half in another half, and k Jaccard indices.

        The density is the largest one of two clusters, along the numeric part of the line between
        their centres; pairs that are farther apart than one without a gap are not measured. The
        index is that of each cluster of all rows, given by labels, and its match.
        """
        objective, centers = half.clustered(k)
        found = nearest_center(objective, objective.prepare(self.space[other.which]), centers)
        size, weight = len(centers), other.weight  # Trimmed has one more, for rows left out
        joint = np.bincount(labels[other.which] * size + found, weight, size**2).reshape(size, size)
        rows, columns = joint.sum(axis=1), joint.sum(axis=0)
        index = (joint / np.maximum(rows[:, None] + columns - joint, 1.0))[:k, :k]
        index = index[linear_sum_assignment(index, maximize=True)]
        index[rows[:k] < _LEAST_ROWS] = 0.0
        worst = float(columns[:k].min() < _LEAST_ROWS)
        centers = centers[:k, self.is_numeric]
        distances = KMeans().distances(KMeans().prepare(self.numeric[other.which]), centers) / 2
        pairs = np.column_stack(np.triu_indices(k, 1))
        for a, b in pairs[np.argsort(pdist(centers), kind="stable")]:
            if worst > _NO_GAP:
                break
            pair = (found == a) | (found == b)
            blur = np.linalg.norm((centers[a] - centers[b]) * self.steps)
            # d(x, a) / 2 - d(x, b) / 2 = (b - a).x + constant
            places = distances[pair, a] - distances[pair, b]
            worst = max(worst, density_ratio(places, weight[pair], blur=blur))
        return np.append(worst, index)


class _Half:
    """One half of the rows: the distinct ones, weighted by the number of their copies."""

    def __init__(self, sample, rows, seed, times=1):
        counts = np.bincount(sample.row_of_input[rows], minlength=sample.space.shape[0])
        self.sample, self.which, self.seed = sample, np.flatnonzero(counts), seed
        self.weight, self.times = counts[self.which].astype(np.float64), times

    @cached_property
    def seeds(self):
        """The rows from which the starts of k-means begin: int array (n_starts, clusters)."""
        rng, most = np.random.RandomState(self.seed), min(self.sample.most, len(self.weight))
        terms = {"sample_weight": self.weight, "random_state": rng, "n_local_trials": _N_TRIALS}
        n_starts, space = self.times * self.sample.objective.n_init, self.sample.space[self.which]
        return np.array([kmeans_plusplus(space, most, **terms)[1] for _ in range(n_starts)])

    def clustered(self, k):
        """Return the objective (Trimmed has its price then) and the centres without a tree.

        The starts are compared after a few iterations, and only the best one is continued.
        """
        objective, space = self.sample.objective, self.sample.space[self.which]
        estimator = to_fit(None, objective, space, k, self.seed)
        if objective.trims or not isinstance(estimator, _SklearnKMeans | AlternatingClustering):
            problem = Problem.from_rows(space, space, self.weight, objective, None, k, self.seed)
            return problem.objective, problem.free.centers
        if type(objective) is KMeans:  # the first seeds for many clusters are those for fewer
            left = iter(self.seeds[:, :k])
            estimator.set_params(init=lambda X, *_, **__: as_array(X[next(left)]))
        elif getattr(estimator, "swaps", None) == "settled":
            estimator.set_params(swaps=None)
        estimator.set_params(n_init=self.times * estimator.n_init, max_iter=_RACE, tol=0)
        with one_thread():
            best = estimator.fit(space, sample_weight=self.weight).cluster_centers_
            run = lloyd(objective, objective.prepare(space), self.weight, best, tol=_TOL)
        return objective, run.centers


def _steps(rows):
    """Return the usual step between the values of each column; 0 for sparse rows.

    There are no rows between, say, two numbers of orders, but this is no gap between groups.
    """
    if sp.issparse(rows):
        return np.zeros(rows.shape[1])
    return np.array([np.median(np.diff(np.unique(column))) for column in rows.T])
