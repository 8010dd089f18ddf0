"""What all methods share: parameters, the end of a growth, and growths as initial trees."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import ClassVar

from ..growth import with_midpoints
from ..points import Points

# What every function that builds a tree checks by itself; Points.of checks the rest.
SHARED = {"midpoints": ["boolean"], "n_jobs": [None, Integral]}


def finish(growth, points, midpoints, sees_centers=True):
    """The tree of :func:`finish_and_route` alone."""
    return finish_and_route(growth, points, midpoints, sees_centers)[0]


def finish_and_route(growth, points, midpoints, sees_centers=True):
    """Tree of a growth, with its thresholds or with midpoints instead of them.

    These are between values of rows alone where the cuts do not see the reference centres.

    Returns
    -------
    Tree
    int32 array of shape (n,), the leaf of each row where midpoints had to find it, else None
    """
    tree = growth.to_tree(points.n_features)
    if not sees_centers:
        points = replace(points, positions=points.positions[:0])
    return with_midpoints(tree, points) if midpoints else (tree, None)


@dataclass(frozen=True)
class GreedyStart:
    """A method with its settings as an initial tree of :class:`tao_cluster.TAOClustering`.

    Parameters
    ----------
    grow : callable(Points) -> Growth
    midpoints : bool
    n_jobs : int, optional
    objective : str, of the distances where none are given
    sees_centers : bool, whether cuts part the reference centres too
    """

    grow: Callable
    midpoints: bool = True
    n_jobs: int | None = None
    objective: str = "kmeans"
    sees_centers: bool = True
    deterministic: ClassVar[bool] = True
    uses_distances: ClassVar[bool] = True
    n_different: ClassVar[int] = 1
    in_raw_units: ClassVar[bool] = False

    def build(self, X, labels, centers, sample_weight, rng=None, distances=None):
        """Tree for a free clustering.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
        labels : int array of shape (n,)
        centers : float array of shape (k, d)
        sample_weight : float array of shape (n,)
        rng : ignored
        distances : float64 array of shape (n, k), default squared Euclidean ones
            What a row costs in each cluster, where that is not measured between the rows of X.

        Returns
        -------
        Tree
        """
        del rng
        points = Points.of(
            X, centers, sample_weight, None, labels, self.n_jobs, distances, self.objective
        )
        return finish(self.grow(points), points, self.midpoints, self.sees_centers)
