"""The schedule of the penalty parameter mu."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Geometric:
    """mu_t = mu_0 a^t for t = 0..n_steps (KDD'22 paper, section 7; there a = 1.1, 100 steps).

    Parameters
    ----------
    factor : float > 1, the paper's a
    n_steps : int >= 0, steps after the first
    """

    factor: float
    n_steps: int

    def values(self, start):
        """Yield mu_0 = `start`, mu_1, ..."""
        for t in range(self.n_steps + 1):
            yield start * self.factor**t


def smallest_effective_mu(distances, labels, penalty_matrix):
    """The smallest mu that changes an assignment (mu_0; KDD'22 paper, appendix A.2).

    Row n leaves cluster z_n for cluster k once mu (p_zn - p_kn) > d_kn - d_zn, so mu_0 is the
    least positive ratio of the two over all rows and clusters. Where the tree already
    reproduces every assignment no mu changes one; then the least positive d_kn - d_zn takes its
    place, the price of the cheapest mismatch, so that the tree can still become sparser.

    Parameters
    ----------
    distances : float array of shape (n, k), d(x_n, psi_k)
    labels : int array of shape (n,), the free assignment z
    penalty_matrix : float array of shape (n, k), P(e_k, T(x_n))

    Returns
    -------
    float, or None if all dissimilarities of each row are equal (one cluster, say)
    """
    own = labels[:, None]
    needed = distances - np.take_along_axis(distances, own, axis=1)
    relief = np.take_along_axis(penalty_matrix, own, axis=1) - penalty_matrix
    effective = (relief > 0) & (needed > 0)
    if effective.any():
        return float((needed[effective] / relief[effective]).min())
    return float(needed[needed > 0].min()) if np.any(needed > 0) else None
