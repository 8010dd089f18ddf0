"""Methods side by side: one row of measures a method, and the table of them."""

from dataclasses import dataclass

import numpy as np

from ..problem.reference import optimal_centers
from .measures import (
    cost_increase,
    normalized_mutual_information,
    weighted_average_depth,
    weighted_average_explanation_size,
)

_HEADER = (
    "method",
    "cost +%",
    "leaves",
    "depth",
    "parameters",
    "features/node",
    "WAD",
    "WAES",
    "NMI",
    "seconds",
)


@dataclass(frozen=True)
class Row:
    """One method.

    Parameters
    ----------
    method : str
    cost_increase : float, percent over the free clustering
    tree : Tree, None for a method without one
    average_depth, explanation_size, agreement : float
        WAD, WAES, and NMI with the free clustering; None without a tree.
    seconds : float
    """

    method: str
    cost_increase: float
    tree: object
    average_depth: float | None
    explanation_size: float | None
    agreement: float | None
    seconds: float

    def cells(self):
        """The row as text."""
        head = (self.method, f"{self.cost_increase:.2f}")
        tail = (f"{self.seconds:.2f}",)
        if self.tree is None:
            return head + ("-",) * (len(_HEADER) - 3) + tail
        tree = self.tree
        shape = (tree.n_leaves, tree.max_depth, tree.n_parameters)
        means = (self.average_depth, self.explanation_size, self.agreement)
        features = f"{tree.features_per_split:.1f}"
        return (*head, *map(str, shape), features, *(f"{x:.2f}" for x in means), *tail)


def measure_tree(method, tree, X, objective, free, seconds, sample_weight=None, embedding=None):
    """Row of a tree, with centres recomputed as the optimum for its assignment.

    Parameters
    ----------
    method : str
    tree : Tree
    X : array or CSR matrix of shape (n, d), what the tree tests
    objective : Objective
    free : FreeClustering
    seconds : float
    sample_weight : float array of shape (n,), optional
    embedding : array or CSR matrix of shape (n, m), default X
        What was clustered.

    Returns
    -------
    Row
    """
    weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    data, labels = objective.prepare(X if embedding is None else embedding), tree.predict(X)
    _, cost = optimal_centers(objective, data, labels, weight, free)
    return Row(
        method,
        cost_increase(cost, free.inertia),
        tree,
        weighted_average_depth(tree, X, sample_weight),
        weighted_average_explanation_size(tree, X, sample_weight),
        normalized_mutual_information(labels, free.labels, sample_weight),
        seconds,
    )


def format_table(rows):
    """The rows under a header, numbers aligned to the right.

    Parameters
    ----------
    rows : list of Row

    Returns
    -------
    str
    """
    lines = [_HEADER, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, tuple("-" * width for width in widths))
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
