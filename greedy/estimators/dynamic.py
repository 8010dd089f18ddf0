"""DPTree as an estimator."""

from ..methods.dynamic import POWERS, part_by_search_trees
from .base import CostTree


class DPTree(CostTree):
    """DPTree: one leaf a cluster, cut by the optimal search trees of single features.

    The method of Laber & Murtinho (2021), algorithm 2; see :func:`greedy.build_dptree`.
    With d features it costs at most 1 + 4 d log2 k times the reference for k-medians, and
    1 + 4 d k log2 k times for k-means.

    Parameters
    ----------
    n_clusters, objective, reference, standardize, n_jobs, random_state
        As in :class:`IMM`, like the attributes.
    midpoints : bool, default=True
        Put thresholds halfway between the values of rows and centres on their two sides. Else
        they lie halfway between two centres, as in the paper.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import DPTree
    >>> float(round(DPTree(3, random_state=0).fit(load_iris().data).cost_increase_, 2))
    5.34
    """

    def _grow(self, points, random_state):
        return part_by_search_trees(points, POWERS[self.objective])
