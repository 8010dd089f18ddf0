"""The ways of rows through a tree: the nodes they visit, and their sums there."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...columns import numbers_of
from ...tree import tree_of
from ...tree.routing import kernel_view, project


@dataclass(frozen=True, eq=False)
class Way:
    """The way of one row.

    Parameters
    ----------
    values : float64 array or CSR matrix of shape (1, n_features)
    leaf : int, node number
    totals : dict of float, the weighted sum by test, from the root on
        By the order of summation that routing uses.
    """

    values: Any
    leaf: int
    totals: dict


def ways(model, table):
    """The ways of rows.

    Parameters
    ----------
    model : Tree, fitted estimator, or a pipeline in its raw columns
    table : rows as :func:`tao_cluster.columns.some_rows` gives them

    Returns
    -------
    list of Way
    """
    tree, rows = tree_of(model), numbers_of(model, table)
    # An estimator compares the names of columns with those of fit; a bare array has none.
    leaves = model.apply(table) if hasattr(table, "columns") else tree.apply(rows)
    values = rows if sp.issparse(rows) else np.asarray(rows, dtype=np.float64)
    return [_way(tree, values[[i]], int(leaf)) for i, leaf in enumerate(leaves)]


def _way(tree, values, leaf):
    view, first = kernel_view(values), np.zeros(1, dtype=np.int64)
    nodes = [node for node, _ in itertools.pairwise(tree.path(leaf).tolist())]
    return Way(values, leaf, {i: float(project(view, first, *tree.split(i))[0]) for i in nodes})
