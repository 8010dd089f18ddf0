"""Numba kernels that search the best axis-aligned cut of a node without sorting its features.

All searches work alike. One pass over the rows gives, for every feature, the value of the
criterion at a few edges and a bound of it between two edges; only where the bound is as good as
the best value so far are the rows between the edges looked at, and few of them are sorted.

Sums are sums of whole numbers: what a row pays is rounded to a multiple of a power of two that
keeps all sums of a node below 2 ** 53. So no sum depends on the order of the rows, equal cuts
have equal values, and threads that share the features give the result of one.

Ties go to the lowest feature, then to the lowest threshold.

Two files stand apart: `random.py` grows whole trees from random numbers, and `impurity.py` sorts
the features of a node, for criteria that have no such bounds.
"""

from .binary import binary_cut, stored_by_columns, stored_by_rows
from .codes import code_dense, code_stored
from .conductance import GraphNode, conductance_cuts
from .impurity import purest_cut
from .kauri import KauriNode, few_valued, kauri_cuts, side_sums
from .parting import expected_depth, parting_cut, prices
from .search_trees import parted_at_edges, search_tree
from .spacing import spacing_cut
from .surrogate import N_EDGES, label_costs, label_savings, savings_of_stored, surrogate_cut

__all__ = [
    "N_EDGES",
    "GraphNode",
    "KauriNode",
    "binary_cut",
    "code_dense",
    "code_stored",
    "conductance_cuts",
    "expected_depth",
    "few_valued",
    "kauri_cuts",
    "label_costs",
    "label_savings",
    "parted_at_edges",
    "parting_cut",
    "prices",
    "purest_cut",
    "savings_of_stored",
    "search_tree",
    "side_sums",
    "spacing_cut",
    "stored_by_columns",
    "stored_by_rows",
    "surrogate_cut",
]
