"""The k-medians objective: L1 distance."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import manhattan_distances

from .._utils.matrices import row_blocks
from .._utils.options import Part
from .alternating import ByDistances
from .base import members_of

# Maximum number of values of a cluster that are sorted together, to limit the memory.
_SORTED_VALUES = 1_000_000


@dataclass(frozen=True)
class KMedians(Part, ByDistances):
    """k-medians: L1 distance; centres are coordinate-wise weighted medians.

    If two values are medians, the lower one is used. CSR input stays sparse. Only columns whose
    non-zeros have at least half of the weight of a cluster can have a non-zero median.

    Parameters
    ----------
    n_init : int, default=10
        Restarts of the free clustering; swaps of centres start from the best one.
    """

    can_perturb_rows: ClassVar[bool] = True
    swaps: ClassVar[str | None] = "settled"

    n_init: int = 10

    def distances(self, data, centers):
        """Return L1 distances, float64 array of shape (n, k)."""
        if sp.issparse(data):
            centers = sp.csr_matrix(centers)
        out = np.empty((data.shape[0], centers.shape[0]))
        for part in row_blocks(data):
            out[part] = manhattan_distances(data[part], centers)
        return out

    def update_centers(self, data, labels, weight, centers):
        """Return weighted medians of each column of each cluster, float64 array (k, d)."""
        updated = np.array(centers, dtype=np.float64)
        medians = _sparse_medians if sp.issparse(data) else _dense_medians
        for k, rows in members_of(labels, weight, len(centers)):
            updated[k] = medians(data[rows], weight[rows])
        return updated


def _dense_medians(rows, weight):
    """Return the lower weighted median of each column: float64 array of shape (d,)."""
    out = np.empty(rows.shape[1])
    step = max(1, _SORTED_VALUES // rows.shape[0])
    for start in range(0, len(out), step):
        values = rows[:, start : start + step].astype(np.float64)
        order = np.argsort(values, axis=0, kind="stable")
        below = np.cumsum(weight[order], axis=0)
        # The first row at which half of the weight is reached, with a margin for rounding of sums.
        half = (below >= below[-1] / 2 * (1 - 1e-12)).argmax(axis=0)
        columns = np.arange(values.shape[1])
        out[start : start + step] = values[order[half, columns], columns]
    return out


def _sparse_medians(rows, weight):
    """Return the lower weighted median of each column of CSR rows: float64 array of shape (d,).

    The median of a column is 0 if rows with non-zero values have less than half of the weight.
    """
    out = np.zeros(rows.shape[1])
    stored = np.repeat(weight, np.diff(rows.indptr))
    filled = np.bincount(rows.indices, weights=stored, minlength=len(out))
    columns = np.flatnonzero(filled >= weight.sum() / 2 * (1 - 1e-9))
    if len(columns):
        out[columns] = _dense_medians(rows[:, columns].toarray(), weight)
    return out
