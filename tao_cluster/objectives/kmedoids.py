"""The k-medoids objective: any dissimilarity; centres are rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS

from .._utils.matrices import row_blocks
from .._utils.options import Part
from .alternating import ByDistances
from .base import members_of

# Maximum number of dissimilarities in memory at a time.
_BLOCK_VALUES = 1_000_000

_BY_DIFFERENCES = {"euclidean": "euclidean", "l2": "euclidean", "sqeuclidean": "sqeuclidean"}
_OF_THE_DATA = ("seuclidean", "mahalanobis", "nan_euclidean")

# Metrics for codes or booleans. A row with added noise is not valid input for them.
_OF_CODES = {"precomputed", "hamming", "matching", *PAIRWISE_BOOLEAN_FUNCTIONS}


@dataclass(frozen=True)
class KMedoids(Part, ByDistances):
    """k-medoids: the centre of a cluster is its row with the least summed dissimilarity.

    An update of the centres computes the dissimilarities within clusters, one block at a time. Time
    grows with the square of the largest cluster (seconds for 20 000 rows); memory does not.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        A metric of :func:`sklearn.metrics.pairwise_distances` without parameters, or a non-negative
        function of two rows. With "precomputed", the rows of the `embedding` are dissimilarities to
        all n rows of the fit, 0 to themselves. A centre is then a row of zeros with a one in the
        column of the medoid.
    n_init : int, default=10
        Number of seedings of the free clustering; swaps start from the best one.
    """

    swaps: ClassVar[str | None] = "eager"

    metric: str | Callable = "euclidean"
    n_init: int = 10

    @property
    def can_perturb_rows(self):
        """Whether the metric accepts rows with added noise; False if the metric is a callable."""
        return isinstance(self.metric, str) and self.metric not in _OF_CODES

    def prepare(self, X):
        """Return X.

        Raises
        ------
        ValueError
            If precomputed dissimilarities are sparse, or if the metric estimates parameters from
            the data, which would differ from block to block.
        """
        if self.metric in _OF_THE_DATA:
            raise ValueError(
                f"metric={self.metric!r} takes parameters from the data; transform the data, or "
                "give a function of two rows."
            )
        if self.metric == "precomputed" and sp.issparse(X):
            raise ValueError(
                "Precomputed dissimilarities must be dense: those that are not stored would be 0."
            )
        return X

    def distances(self, data, centers):
        """Return dissimilarities to the medoids, float64 array of shape (n, k).

        Raises
        ------
        ValueError
            If a dissimilarity is negative.
        """
        centers = np.asarray(centers, dtype=data.dtype)
        if self.metric == "precomputed":
            out = data[:, centers.argmax(axis=1)].astype(np.float64)
        else:
            out = np.empty((data.shape[0], len(centers)))
            for part in row_blocks(data):
                out[part] = self._between(data[part], centers)
        if not out.min(initial=0.0) >= 0:
            raise ValueError("Dissimilarities must be at least 0.")
        return out

    def update_centers(self, data, labels, weight, centers):
        """Return the medoids of the clusters, ties to the first row: float64 array (k, d)."""
        updated = np.array(centers, dtype=np.float64)
        medoid = self._precomputed_medoid if self.metric == "precomputed" else self._medoid
        for k, rows in members_of(labels, weight, len(centers)):
            updated[k] = medoid(data[rows], weight[rows])
        return updated

    def _between(self, a, b):
        """Return the dissimilarities of two sets of rows."""
        if sp.issparse(a):
            return pairwise_distances(a, sp.csr_matrix(b), metric=self.metric)
        if self.metric in _BY_DIFFERENCES:
            # scikit-learn computes distances from products, which lose digits for rows far from
            # zero.
            return cdist(a, b, _BY_DIFFERENCES[self.metric])
        return pairwise_distances(a, b, metric=self.metric)

    def _medoid(self, rows, weight):
        step = max(1, _BLOCK_VALUES // len(weight))
        sums = [
            self._between(rows[start : start + step], rows) @ weight
            for start in range(0, len(weight), step)
        ]
        best = rows[[np.concatenate(sums).argmin()]]
        return best.toarray()[0] if sp.issparse(best) else best[0]

    @staticmethod
    def _precomputed_medoid(rows, weight):
        own_columns = np.unique(rows.argmin(axis=1))
        if rows.shape[0] > rows.shape[1] or rows.min(axis=1).any():
            raise ValueError(
                "metric='precomputed' needs dissimilarities of all rows to all rows, 0 to "
                f"themselves (as embedding); it got rows of {rows.shape[1]} values."
            )
        sums = weight @ rows[:, own_columns]
        medoid = np.zeros(rows.shape[1])
        medoid[own_columns[sums.argmin()]] = 1.0
        return medoid
