"""The k-medoids objective: any dissimilarity; centres are rows."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances, pairwise_distances_chunked

from .alternating import AlternatingClustering
from .base import members_of, row_blocks, sum_of_own


@dataclass(frozen=True)
class KMedoids:
    """k-medoids: the centre of a cluster is its row with the least summed dissimilarity.

    An update of the centres takes the dissimilarities within clusters, a block at a time:
    time grows with the square of the largest cluster (20 000 rows are a matter of seconds),
    memory does not.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        Any metric of :func:`sklearn.metrics.pairwise_distances`, or a function of two rows, of at
        least 0. With "precomputed" the rows that are clustered (the `embedding`) are
        dissimilarities to all n rows of the fit, each least to itself; a centre is then a row of
        zeros with a one in the medoid's column.
    n_init : int, default=10
        Restarts of the free clustering.
    """

    metric: str | Callable = "euclidean"
    n_init: int = 10

    def reference(self, n_clusters, random_state):
        """Alternation of assignments and medoids from k-means++ seeds, `n_init` restarts."""
        return AlternatingClustering(
            n_clusters, self, n_init=self.n_init, random_state=random_state
        )

    def prepare(self, X):
        """X itself.

        Raises
        ------
        ValueError
            If precomputed dissimilarities are negative.
        """
        if self.metric == "precomputed" and X.min() < 0:
            raise ValueError("Precomputed dissimilarities must be at least 0.")
        return X

    def distances(self, data, centers):
        """Dissimilarities to the medoids, float64 array of shape (n, k)."""
        if self.metric == "precomputed":
            chosen = data[:, np.asarray(centers).argmax(axis=1)]
            return (chosen.toarray() if sp.issparse(chosen) else chosen).astype(np.float64)
        centers = np.asarray(centers, dtype=data.dtype)
        if sp.issparse(data):
            centers = sp.csr_matrix(centers)
        out = np.empty((data.shape[0], centers.shape[0]))
        for part in row_blocks(data):
            out[part] = pairwise_distances(data[part], centers, metric=self.metric)
        return out

    def update_centers(self, data, labels, weight, centers):
        """Medoids of the clusters, ties to the first row: float64 array of shape (k, d)."""
        updated = np.array(centers, dtype=np.float64)
        medoid = self._precomputed_medoid if self.metric == "precomputed" else self._medoid
        for k, rows in members_of(labels, weight, len(centers)):
            updated[k] = medoid(data[rows], weight[rows])
        return updated

    def value(self, data, labels, weight, centers):
        """Weighted sum of the dissimilarities of the rows to the medoids of their clusters."""
        return sum_of_own(self.distances(data, centers), labels, weight)

    def as_distance(self, dissimilarities):
        """The dissimilarity as it is."""
        return dissimilarities

    def _medoid(self, rows, weight):
        sums = pairwise_distances_chunked(
            rows, metric=self.metric, reduce_func=lambda block, start: block @ weight
        )
        best = rows[[np.concatenate(list(sums)).argmin()]]
        return best.toarray()[0] if sp.issparse(best) else best[0]

    @staticmethod
    def _precomputed_medoid(rows, weight):
        own_columns = np.unique(np.asarray(rows.argmin(axis=1)).ravel())
        sums = np.asarray(weight @ rows[:, own_columns]).ravel()
        medoid = np.zeros(rows.shape[1])
        medoid[own_columns[sums.argmin()]] = 1.0
        return medoid
