"""The k-means objective."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans as _SklearnKMeans
from sklearn.utils.extmath import row_norms

from ...core.matrices import row_blocks
from .base import Objective, cluster_sums


@dataclass(frozen=True)
class _CenteredRows:
    """Rows of X relative to a common origin, made a block at a time.

    Dense data are shifted by their mean, which keeps the digits of distances when the data
    lie far from the origin; sparse data stay where they are, since a shift would fill them.
    """

    X: Any
    origin: np.ndarray
    squared_norms: np.ndarray

    @classmethod
    def of(cls, X):
        sparse = sp.issparse(X)
        origin = np.zeros(X.shape[1]) if sparse else X.mean(axis=0, dtype=np.float64)
        rows = cls(X, origin, np.empty(X.shape[0]))
        for part, block in rows.blocks():
            rows.squared_norms[part] = row_norms(block, squared=True)
        return rows

    def blocks(self):
        """Yield (slice, rows as float64 relative to the origin)."""
        for part in row_blocks(self.X):
            block = self.X[part]
            yield part, block.astype(np.float64) if sp.issparse(block) else block - self.origin


@dataclass(frozen=True)
class KMeans(Objective):
    """k-means: squared Euclidean distance; centres are weighted means.

    Scratch memory is a block of rows, 256 or more, beside the (n, k) distances; X is not copied.

    Parameters
    ----------
    n_init : int, default=10
        Restarts of the free clustering.
    """

    n_init: int = 10
    centers_are_means: ClassVar[bool] = True

    def reference(self, n_clusters, random_state):
        """scikit-learn's KMeans (k-means++, `n_init` restarts)."""
        return _SklearnKMeans(n_clusters, n_init=self.n_init, random_state=random_state)

    def prepare(self, X):
        """Mean and squared norms of the rows; X itself is only referred to.

        Raises
        ------
        ValueError
            If squared norms overflow the precision of X.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            rows = _CenteredRows.of(X)
            total = rows.squared_norms.sum()
        if not total < np.finfo(X.dtype).max:
            raise ValueError(
                f"The squared norms of the rows of X overflow {X.dtype}; rescale the data."
            )
        return rows

    def distances(self, data, centers):
        """Squared Euclidean distances, float64 array of shape (n, k)."""
        moved = centers - data.origin
        out = np.empty((data.X.shape[0], len(centers)))
        for part, block in data.blocks():
            out[part] = block @ moved.T
        out *= -2.0
        out += data.squared_norms[:, None]
        out += row_norms(moved, squared=True)
        return np.maximum(out, 0.0, out=out)

    def update_centers(self, data, labels, weight, centers):
        """Weighted means of the clusters, float64 array of shape (k, d)."""
        k = len(centers)
        sums = cluster_sums(data.blocks(), labels, weight, (k, data.X.shape[1]))
        total = np.bincount(labels, weights=weight, minlength=k)
        filled = total > 0
        updated = np.array(centers, dtype=np.float64)
        updated[filled] = sums[filled] / total[filled, None] + data.origin
        return updated

    def value(self, data, labels, weight, centers):
        """Weighted sum of squared distances of the rows to the centres of their clusters."""
        moved, total = centers - data.origin, 0.0
        for part, block in data.blocks():
            own = labels[part]
            if sp.issparse(block):  # a difference would fill the block
                products = (block @ moved.T)[np.arange(len(own)), own]
                squares = data.squared_norms[part] - 2 * products
                squares += row_norms(moved, squared=True)[own]
            else:
                squares = row_norms(block - moved[own], squared=True)
            total += float(weight[part] @ np.maximum(squares, 0.0))
        # Rows on their centres are off by the rounding of the centres.
        scale = float(weight @ data.squared_norms) + weight.sum() * float(data.origin @ data.origin)
        relative = 8 * np.finfo(np.float64).eps
        noise = relative * scale if sp.issparse(data.X) else relative**2 * scale
        return total if total > noise else 0.0

    def as_distance(self, dissimilarities):
        """Euclidean distances, as scikit-learn's KMeans.transform gives them."""
        return np.sqrt(dissimilarities, out=dissimilarities)


def cluster_means(X, labels, weight, n_clusters):
    """Weighted means of the rows of each cluster; of all rows for a cluster without any.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    labels : int array of shape (n,)
    weight : float64 array of shape (n,)
    n_clusters : int

    Returns
    -------
    float64 array of shape (n_clusters, d)
    """
    objective = KMeans()
    data = objective.prepare(X)
    one = np.zeros(len(labels), dtype=np.intp)
    mean = objective.update_centers(data, one, weight, np.zeros((1, X.shape[1])))
    return objective.update_centers(data, labels, weight, np.repeat(mean, n_clusters, axis=0))
