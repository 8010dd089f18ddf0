"""Rounds that make a tree better for all rows: weights, thresholds, labels, centres."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._utils.matrices import as_array
from ...solvers.exact import Candidate
from ...solvers.exact import Rows as NodeRows
from ...tree import Split
from ...tree.routing import kernel_view, project
from ..blocks import sum_over_blocks
from ..coreset import uniforms
from ..rows import Reader
from ..sums import Sums, Tables
from .thresholds import Bracket, best_thresholds, node_gains
from .trees import weigh

NODE_ROWS = 8000  # rows of a node, expected, by which its weights are refitted

# Other thresholds might cost less by so much of the cost, in all, when one is taken for the least.
RESOLUTION = 1e-5


@dataclass(frozen=True, eq=False)
class _Drawing:
    """A tree, the centres at which rows cost, and what draws rows of its nodes.

    `threshold` : float64 array (n_nodes,); rows are drawn with probability min(1, |gain| / t).
    """

    reader: Reader
    tree: Any
    centers: np.ndarray
    threshold: np.ndarray
    seed: int


@dataclass(frozen=True, eq=False)
class _Drawn(Sums):
    """Values (m, features of the test) and steps (m,) of rows, in lists of parts."""

    values: list
    steps: list


def _draw(block, state):
    rows = state.reader.rows(block)
    if rows is None:
        return None
    tree, drawn = state.tree, [_Drawn([], []) for _ in range(state.tree.n_nodes)]
    for node, at, gain in node_gains(rows, tree, state.centers):
        size, t = np.abs(gain), state.threshold[node]
        kept = uniforms(rows.numbers[at], state.seed + node) * t < size
        values = rows.X[at[kept]][:, tree.split(node)[0]]
        values = as_array(values)
        steps = np.copysign(np.maximum(size[kept], t), gain[kept])
        drawn[node] = _Drawn([values.astype(np.float64)], [steps])
    return Tables(drawn)


def improved(blocks, reader, state, sample, rng, at_midpoints):
    """The tree after one round over all rows; its labels and centres follow.

    Parameters
    ----------
    blocks : Blocks
    reader : Reader
    state : object with `tree`, its optimal `centers` and `cost`
    sample : Rows, which stand for all
    rng : RandomState
    at_midpoints : bool

    Returns
    -------
    Weighed, of cost at the centres that there were; None where no test changes
    """
    tree, centers = state.tree, state.centers
    threshold, seed = _drawing(sample, tree, centers), int(rng.randint(2**31))
    draw = _Drawing(reader, tree, centers, threshold, seed)
    drawn = sum_over_blocks(_draw, blocks, draw).arrays
    brackets = [
        bracket
        for node in tree.decision_nodes.tolist()
        for bracket in _brackets(tree, node, drawn[node])
    ]
    resolution = RESOLUTION * state.cost
    found = best_thresholds(blocks, reader, tree, centers, brackets, resolution, at_midpoints)
    updates = _updates(found)
    if not updates:
        return None
    trees = [tree.with_splits(some) for some in _together(tree, updates)]
    return weigh(blocks, reader, trees, centers)


def _drawing(sample, tree, centers):
    """By what gain a row is drawn for sure, at each node: float64 array; infinite without gains."""
    sizes = np.zeros(tree.n_nodes)
    for node, _, gain in node_gains(sample, tree, centers):
        sizes[node] = np.abs(gain).sum()
    return np.where(sizes > 0, sizes / NODE_ROWS, np.inf)


def _brackets(tree, node, drawn):
    """The test of a node, and what its weights become by the rows that were drawn."""
    old = Split.at(tree, node)
    if not len(old.indices) or not drawn.values:
        return []
    values, steps = np.concatenate(drawn.values), np.concatenate(drawn.steps)
    if not len(steps):
        return []
    numbers, view = np.arange(len(steps)), kernel_view(values)
    own = Split(np.arange(len(old.indices), dtype=np.int32), old.weights, old.threshold)
    splits = [own]
    if len(old.indices) > 1:
        test = Candidate.of(NodeRows(values, numbers, steps), own).improved(price=0.0)
        now = steps[project(view, numbers, own.indices, own.weights) <= own.threshold].sum()
        if test.loss < now:
            splits.append(_of_unit_weight(test.split))
    brackets = []
    for split in splits:
        if len(split.indices):
            projected = project(view, numbers, split.indices, split.weights)
            named = Split(old.indices[split.indices], split.weights, split.threshold)
            brackets.append(Bracket.of(node, named, projected))
    return brackets


def _of_unit_weight(split):
    """The test, with weight 1 or -1 if it is of one feature."""
    if len(split.indices) != 1:
        return split
    size = abs(float(split.weights[0]))
    return Split(split.indices, np.sign(split.weights), split.threshold / size)


def _updates(found):
    """The best test of each node where it costs less than the one that is there."""
    now, best = {}, {}
    for test in found:  # the one that is there comes first
        now.setdefault(test.node, test.cost_now)
        if test.node not in best or test.cost < best[test.node].cost:
            best[test.node] = test
    return {
        node: ((test.best.indices, test.best.weights), test.best.threshold)
        for node, test in best.items()
        if test.cost < now[node] or test.best is not test.split
    }


def _together(tree, updates):
    """Sets of updates that are tried: all, and those of every other depth.

    Each update is the best for the rest of the tree as it is; tests above and below each other may
    get into each other's way, those of one depth share no rows.
    """
    odd = {node: update for node, update in updates.items() if tree.depth[node] % 2}
    even = {node: update for node, update in updates.items() if not tree.depth[node] % 2}
    return [updates, odd, even] if odd and even else [updates]
