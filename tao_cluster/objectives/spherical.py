"""The spherical k-means objective: cosine distance."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import row_norms

from .._utils.frames import InvalidRowsError
from .._utils.matrices import row_blocks, rows_between
from .._utils.options import Part
from .alternating import ByDistances
from .base import cluster_sums

# Cosine distances below this value are rounding errors of products of unit vectors.
_ROUNDING = 16 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class _Directions:
    """Rows of X, and the inverse (1 / norm) of the norm of each row.

    The normalised rows are computed when they are needed, and never stored for the whole of X.
    """

    X: Any
    inverse_norms: np.ndarray

    def blocks(self):
        """Yield (slice, rows as float64, not normalised)."""
        for part in row_blocks(self.X):
            yield part, rows_between(self.X, part).astype(np.float64, copy=False)


@dataclass(frozen=True)
class SphericalKMeans(Part, ByDistances):
    """Spherical k-means: cosine distance; centres are normalised sums of normalised rows.

    Only the direction of a row matters (Dhillon & Modha 2001; KDD'22 paper, section 9.2). The tree
    still tests X itself, so rows should be normalised, as tf-idf vectors are. CSR input stays
    sparse. Besides the (n, k) distances, memory is needed for a block of rows.

    Parameters
    ----------
    n_init : int, default=10
        Restarts of the free clustering.
    init : {"k-means++", "random"}, default="k-means++"
        Seeding of the free clustering.
    """

    can_perturb_rows: ClassVar[bool] = True

    n_init: int = 10
    init: str = "k-means++"

    def prepare(self, X):
        """Compute the inverse norms of the rows; X itself is not copied.

        Raises
        ------
        ValueError
            If a row has no non-zero value, and so no direction, or squared norms overflow.
        """
        norms = np.empty(X.shape[0])
        for part in row_blocks(X):
            with np.errstate(over="ignore"):
                norms[part] = row_norms(X[part].astype(np.float64, copy=False))
        n_zero = np.count_nonzero(norms == 0)
        if n_zero and (X[norms == 0] != 0).sum():
            raise ValueError("The squared norms of some rows of X underflow; rescale the data.")
        if n_zero:
            raise InvalidRowsError(
                norms == 0,
                "have only zeros, and the cosine distance is not defined for them; drop them.",
            )
        if not np.isfinite(norms.max(initial=0.0)):
            raise ValueError("The squared norms of the rows of X overflow; rescale the data.")
        return _Directions(X, 1.0 / norms)

    def distances(self, data, centers):
        """Return cosine distances in [0, 2], float64 array (n, k); 1 to a centre of zeros."""
        directions = np.ascontiguousarray(normalize(centers).T)
        out = np.empty((data.X.shape[0], len(centers)))
        for part, block in data.blocks():
            out[part] = block @ directions
        out *= -data.inverse_norms[:, None]
        out += 1.0
        out[out < _ROUNDING] = 0.0
        return np.minimum(out, 2.0, out=out)

    def update_centers(self, data, labels, weight, centers):
        """Return the normalised weighted sum of the unit rows per cluster: float64 array (k, d).

        A centre stays unchanged if the unit rows of its cluster cancel.
        """
        sums = self.cluster_sums(data, labels, weight, len(centers))
        total = np.bincount(labels, weights=weight, minlength=len(centers))
        return self.centers_of(sums, total, centers)

    def cluster_sums(self, data, labels, weight, n_clusters):
        """Return the weighted sum of the normalised rows of each cluster: float64 array (k, d)."""
        return cluster_sums(data.X, labels, weight * data.inverse_norms, n_clusters)

    def centers_of(self, sums, total, centers):
        """Return the normalised sums of the clusters as centres; see :class:`Objective`."""
        norms = row_norms(sums)
        # If the normalised rows of a cluster cancel, their sum consists of rounding errors, and its
        # direction has no meaning.
        defined = norms > 8 * np.finfo(np.float64).eps * total
        updated = np.array(centers, dtype=np.float64)
        updated[defined] = sums[defined] / norms[defined, None]
        return updated
