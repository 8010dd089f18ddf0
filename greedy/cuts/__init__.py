"""Numba kernels that find the best axis-aligned cut of a tree node.

Terms
-----
row, weight
    A row is one row of X. Each fit merges equal rows first. The weight of a row is then the number
    (or the total sample weight) of the equal rows that were merged. The kernels also accept equal
    rows that are not merged: two equal rows of weight 1 have the effect of one row of weight 2.
rows
    int64 array of shape (m,): the row numbers, in X, of the m rows that reach the node.
n, d, k
    Numbers of rows of X, of features and of reference centres (clusters).
cut
    A test ``x[feature] <= threshold``; rows that satisfy it go left.
X, columns
    Array of shape (n, d), or the arrays (data, indices, indptr) of a sparse X in CSC form.
inverse
    int64 array of shape (n,), the inverse index of `rows`: ``inverse[rows[i]] == i``, and -1 for
    rows that are not in the node. It is empty for a dense X, which does not need it.
excess cost
    Increase in the cost of a row when it is assigned to a centre that is not its nearest one.
quantized
    Multiplied by a power of two (`scale`) and rounded to an integer, such that all sums over a
    node stay below 2 ** 53; see :func:`greedy.nodes.quantized`. Sums of quantized numbers are
    exact. Therefore a sum does not depend on the order of the rows, two cuts that divide the rows
    alike have exactly the same value, and the result does not depend on the number of threads.
mass
    Quantized weight.
lo, hi
    A call searches the features lo..hi-1. Each thread searches its own range of features.

Method
------
`separation.py` and `surrogate.py` use branch and bound. One pass over the rows evaluates each
feature at a few candidate thresholds, called edges, and computes a bound of the criterion between
adjacent edges. Only intervals whose bound is at least as good as the best cut so far are searched,
and only the rows in these intervals are sorted.

The other files use no such bounds. `impurity.py` sorts the rows of the node by every feature and
evaluates all cuts. `sweeps.py` also evaluates all cuts, but of features whose values are sorted
beforehand. `random.py` grows whole trees from random numbers.

If several cuts have the best value, the kernels return the cut with the lowest feature number and,
within this feature, with the lowest threshold.
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
