"""Numba kernels that search the best axis-aligned cut of a node.

Most searches work alike. One pass over the rows gives, for every feature, the value of the
criterion at a few edges and a bound of it between two edges; only where the bound is as good as
the best value so far are the rows between the edges looked at, and few of them are sorted.

Sums are sums of whole numbers: what a row pays is rounded to a multiple of a power of two that
keeps all sums of a node below 2 ** 53. So no sum depends on the order of the rows, equal cuts
have equal values, and threads that share the features give the result of one.

Ties go to the lowest feature, then to the lowest threshold.

Three files stand apart: `random.py` grows whole trees from random numbers, `impurity.py` sorts all
features of a node, and `sweeps.py` moves rows over all cuts of features that are sorted already,
for criteria that have no such bounds.
"""

from .impurity import gini_cut, spacing_cut
from .separation import expected_depth, mistakes_at_edges, optimal_search_tree, separating_cut
from .surrogate import N_EDGES, sparse_savings_bounds, surrogate_cut
from .sweeps import GraphNode, KauriNode, conductance_cuts, cut_sum_cache, kauri_cuts, side_sums

__all__ = [
    "N_EDGES",
    "GraphNode",
    "KauriNode",
    "conductance_cuts",
    "cut_sum_cache",
    "expected_depth",
    "gini_cut",
    "kauri_cuts",
    "mistakes_at_edges",
    "optimal_search_tree",
    "separating_cut",
    "side_sums",
    "spacing_cut",
    "sparse_savings_bounds",
    "surrogate_cut",
]
