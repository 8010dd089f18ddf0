"""How many clusters: whether the groups that a clustering finds are apart from each other."""

import warnings
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import silhouette_score
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples

from ._utils.matrices import check_rows
from .objectives.kmeans import KMeans
from .objectives.spherical import SphericalKMeans
from .problem.repeats import content_order
from .problem.scaling import ClusteringSpace
from .tree.split_statistics import GAP, density_ratio

MOST_ROWS = 20_000  # rows of a sample, in which the numbers of clusters are compared
_MOST_CLUSTERS = 12  # tried by default
_FEW_ROWS = 35  # per cluster: with fewer rows, the suggestion is often wrong by one
_LEAST_ROWS = 5  # of a cluster in the other half; with fewer, it is not shown to be apart
_OF_SILHOUETTE = 2000  # rows
_MOST_GROUPS = 3  # values of a column that can be groups of their own
# If none of these parameters is set, a tree has one leaf per cluster.
_SIZES = ("max_leaves", "max_parameters", "max_cost_increase", "lambda_", "depth", "init")
_PURPOSE = "The criterion finds groups that are apart, which need not be the most useful segments."


class Suggestion(NamedTuple):
    """A suggested number of clusters, its reason in words, and the measures of all numbers.

    See :class:`tao_cluster.n_clusters.NClusters`.
    """

    n_clusters: int
    reason: str
    table: pd.DataFrame


def suggest(X, estimator, n_clusters=None, *, embedding=None, trees=True, max_rows=MOST_ROWS):
    """Return the measures and the suggestion of :func:`tao_cluster.choose_n_clusters`.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n, d)
    estimator : TAOClustering, not fitted
        Its `random_state` also divides the rows into two halves.
    n_clusters : sequence of int, optional
        By default 2 to 12, or up to the number of rows.
    embedding, trees, max_rows : as for `choose_n_clusters`

    Returns
    -------
    Suggestion
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
    order = rng.permutation(content_order(X, embedding))[:max_rows]
    halves = [
        [None if rows is None else _safe_indexing(rows, part) for rows in (X, embedding)]
        for part in (order[1::2], order[::2])
    ]
    lines = [_measures(k, estimator, halves, trees) for k in n_clusters]
    table = pd.DataFrame(lines, index=pd.Index(list(n_clusters), name="k"), dtype=float)
    return Suggestion(*_suggestion(table, len(order), n_rows), table)


def _suggestion(table, n_used, n_rows):
    """Return the suggested number of clusters and the reason."""
    density = table["density"].dropna() if len(table) else table.sum(axis=1)
    real = density[density <= GAP]
    n_clusters = int(real.index.max()) if len(real) else 1
    if len(real):
        pairs = "any two of them" if n_clusters > 2 else "them"
        text = (
            f"{n_clusters} clusters: between {pairs}, the rows are at most "
            f"{100 * real[n_clusters]:.0f} % as dense as at the lower of the two peaks beside the "
            f"cut (up to {100 * GAP:.0f} % is a gap)."
        )
        more = density[density.index > n_clusters]
        if len(more):
            text += f" With {more.index[0]} clusters, it is {100 * more.iloc[0]:.0f} %."
        else:
            text += " This is the largest number that could be tried."
    elif len(density):
        best = density.idxmin()
        text = (
            f"No clusters found: for each number of clusters, some cut runs through rows that are "
            f"more than {100 * GAP:.0f} % as dense as at the lower of the peaks beside it "
            f"({100 * density[best]:.0f} % with {best} clusters, the least)."
        )
    else:
        text = f"No clusters found: {n_used} rows are too few to compare two halves of them."
    sentences = [text, _PURPOSE]
    if n_used < _FEW_ROWS * max(n_clusters, 2):
        few = f"fewer than {_FEW_ROWS} rows per cluster"
        sentences.append(f"With {few}, the number is often wrong by one.")
    if n_used < n_rows:
        sentences.append(f"It was measured on {n_used} of the {n_rows} rows.")
    return n_clusters, " ".join(sentences)


def _measures(k, estimator, halves, trees):
    """Return the line of the table for k clusters as a dict."""
    (fitted, embedding), (new, new_embedding) = halves
    if k > _num_samples(fitted):
        return {"density": np.nan}
    is_sized = any(getattr(estimator, name) not in (None, "auto") for name in _SIZES)
    estimator = clone(estimator).set_params(n_clusters=k)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # costs and lost clusters are in the table
        first, second = (_Free.of(estimator, *half) for half in halves)
        line = {
            "density": (first.density(new, new_embedding) + second.density(*halves[0])) / 2,
            "silhouette": first.silhouette(estimator.random_state),
            "free_cost": first.cost,
            "smallest": np.bincount(first.labels, minlength=k).min(),
        }
        if trees:
            model = estimator.set_params(**({} if is_sized else {"max_leaves": k}))
            model.fit(fitted, embedding=embedding)
            line |= {
                "cost_increase": model.cost_increase_,
                "cost_increase_new": model.cost_increase(new, embedding=new_embedding),
                "parameters": model.tree_.n_parameters,
                "density_tree": np.nanmax(model.split_densities_, initial=0.0),
            }
    return line


def _steps(rows):
    """Return the usual step between the values of each column, for example 1 for numbers of orders.

    Between two values of such a column there are no rows, but this is no gap between groups. The
    step of a column with at most three values, which can be groups, and of all columns of sparse
    rows is 0.
    """
    steps = np.zeros(rows.shape[1])
    if not sp.issparse(rows):
        for j in range(rows.shape[1]):
            values = np.unique(rows[:, j])
            steps[j] = np.median(np.diff(values)) if len(values) > _MOST_GROUPS else 0.0
    return steps


class _Free(NamedTuple):
    """The free clustering of one half of the rows.

    Parameters
    ----------
    space : ClusteringSpace
    rows : array or CSR matrix of shape (n, m), in the clustering space
    labels : int array of shape (n,)
    centers : float64 array of shape (k, m)
    cost : float, per row
    """

    space: ClusteringSpace
    rows: Any
    labels: np.ndarray
    centers: np.ndarray
    cost: float

    @classmethod
    def of(cls, estimator, X, embedding):
        """Cluster the rows as the fit of an estimator does, without a tree."""
        inputs, merged, problem = estimator._freeze(estimator._method(), X, None, None, embedding)
        space, free = ClusteringSpace.from_problem(problem, inputs), problem.free
        rows = space.scaled(inputs.space)
        labels = merged.expand(free.labels)
        return cls(space, rows, labels, free.centers, free.inertia / len(labels))

    def density(self, X, embedding):
        """Return the largest density of other rows between two clusters, relative to the peaks.

        The rows of two clusters are projected on the line between their centres. The result is 1 if
        a cluster has fewer than five of the rows.
        """
        rows = self.space.clustered_rows(check_rows(X), None, embedding)
        objective = self.space.objective
        line = objective if isinstance(objective, SphericalKMeans) else KMeans()
        distances = objective.distances(objective.prepare(rows), self.centers)
        labels = distances.argmin(axis=1)
        if np.bincount(labels, minlength=len(self.centers)).min() < _LEAST_ROWS:
            return 1.0
        steps = np.zeros(self.centers.shape[1])
        if line is not objective:
            distances = line.distances(line.prepare(rows), self.centers)
        if isinstance(line, KMeans):  # of a sum, d(x, a) - d(x, b) = 2 (b - a).x + constant
            steps = _steps(rows)
        worst = 0.0
        for a, b in combinations(range(len(self.centers)), 2):
            pair = (labels == a) | (labels == b)
            blur = np.linalg.norm((self.centers[a] - self.centers[b]) * steps)
            worst = max(worst, density_ratio(distances[pair, a] - distances[pair, b], blur=blur))
        return worst

    def silhouette(self, random_state):
        """Return the mean silhouette of at most 2000 rows; NaN for fewer than two clusters."""
        size = min(len(self.labels), _OF_SILHOUETTE)
        some = check_random_state(random_state).permutation(len(self.labels))[:size]
        labels = self.labels[some]
        if not 1 < len(np.unique(labels)) < size:
            return np.nan
        return float(silhouette_score(self.rows[some], labels))
