"""Optimal subtrees of depth two against all trees of that depth, and how leaves are shared."""

import itertools

import numpy as np
import pytest
from conftest import make_search
from sklearn.datasets import load_digits

from tao_cluster.optimize import sketch_kernels as kernels
from tao_cluster.optimize.local_search import _LocalSearch
from tao_cluster.optimize.optimal_subtrees import (
    best_trees,
    shared_leaves,
    values_of_cuts,
    with_optimal_subtrees,
)
from tao_cluster.optimize.sketch import Sketch
from tao_cluster.optimize.sketch_kernels import LABEL, LEFT


def random_branch(seed):
    """Return codes, costs with units in the last column, and a minimum size of leaves."""
    rng = np.random.RandomState(seed)
    n_rows, n_columns, n_clusters = rng.randint(1, 25), rng.randint(1, 5), rng.randint(2, 5)
    codes = rng.randint(0, rng.randint(2, 9), (n_rows, n_columns)).astype(np.uint8)
    paid = rng.randint(0, 20, (n_rows, n_clusters + 1)).astype(float)
    paid[:, :-1] -= paid[:, :-1].min(axis=1, keepdims=True)
    paid[:, -1] = seed % 2
    return codes, paid, float(rng.randint(1, 4)) if seed % 2 else 0.0


def cuts(codes, paid, rows, least):
    """Yield the two sides of each allowed cut of some rows."""
    for column in codes[rows].T:
        for bin_ in np.unique(column)[:-1]:
            left, right = rows[column <= bin_], rows[column > bin_]
            if min(paid[left, -1].sum(), paid[right, -1].sum()) >= least:
                yield left, right


def least_costs(codes, paid, least):
    """Return the least costs of trees of depth two with 1 to 4 leaves, by trying all of them."""

    def one(rows):
        return paid[rows, :-1].sum(axis=0).min()

    def two(rows):
        return min((one(a) + one(b) for a, b in cuts(codes, paid, rows, least)), default=one(rows))

    rows = np.arange(len(codes))
    found = [one(rows), two(rows), two(rows), two(rows)]
    for a, b in cuts(codes, paid, rows, least):
        # A cut child never costs more than a leaf in the same place.
        two_a, two_b = min(one(a), two(a)), min(one(b), two(b))
        found[2] = min(found[2], one(a) + two_b, two_a + one(b))
        found[3] = min(found[3], two_a + two_b)
    return np.minimum.accumulate(found)


# With seed 159, a larger side allows a better cut than a smaller one of the same rows.
@pytest.mark.parametrize("seed", [*range(40), 159])
def test_no_tree_of_depth_two_costs_less(seed):
    codes, paid, least = random_branch(seed)
    values, tests = best_trees(codes, paid, least)
    np.testing.assert_allclose(values, least_costs(codes, paid, least))
    for value, (root, left, right) in zip(values, tests, strict=True):
        is_left = codes[:, root[0]] <= root[1] if root[0] >= 0 else np.ones(len(codes), bool)
        found = 0.0
        for test, rows in ((left, np.flatnonzero(is_left)), (right, np.flatnonzero(~is_left))):
            below = codes[rows, test[0]] <= test[1] if test[0] >= 0 else np.ones(len(rows), bool)
            for leaf in (rows[below], rows[~below]):
                found += paid[leaf, :-1].sum(axis=0).min()
                assert not len(leaf) or root[0] < 0 or paid[leaf, -1].sum() >= least
        assert found == pytest.approx(value)


@pytest.mark.parametrize("seed", range(10))
def test_values_of_cuts(seed):
    codes, paid, least = random_branch(seed)
    found = values_of_cuts(codes, paid, least)
    for j, value in enumerate(found):
        assert value == pytest.approx(least_costs(codes[:, [j]], paid, least)[1])


def test_leaves_are_shared_at_least_cost():
    rng = np.random.RandomState(0)
    for price, most_leaves in itertools.product((0.0, 0.3, 2.0), (4, 7, 16)):
        values = -np.sort(-rng.exponential(size=(4, 4)), axis=1)
        sizes = shared_leaves(values, price, most_leaves)
        assert sum(sizes) <= most_leaves

        def total(sizes, values=values, price=price):
            return sum(row[n - 1] + price * n for row, n in zip(values, sizes, strict=True))

        every = itertools.product(range(1, 5), repeat=4)
        best = min(total(other) for other in every if sum(other) <= most_leaves)
        assert total(sizes) == pytest.approx(best)


@pytest.mark.parametrize(("n_leaves", "least"), [(20, 1), (20, 30), (6, 1)])
def test_the_tree_costs_at_most_as_much_at_its_centres(n_leaves, least):
    search = make_search(load_digits().data, 10, split="axis")
    sketch = Sketch.of(search.problem, [], 0.0, n_leaves, 0)
    sketch.limit = np.ones(len(sketch.codes)), least
    leaf = sketch.evaluate(np.array([[-1, -1, -1, -1, 0]]))
    state = sketch.evaluate(sketch.expand(leaf, n_leaves))
    nodes = with_optimal_subtrees(sketch, state)
    assert (len(nodes) + 1) // 2 <= n_leaves
    order, span = kernels.spans(nodes, sketch.codes, len(nodes))
    leaves = np.flatnonzero(nodes[:, LEFT] < 0)
    assert np.diff(span[leaves]).min() >= least
    cost = sum(
        state.cost[order[span[leaf, 0] : span[leaf, 1]], nodes[leaf, LABEL]].sum()
        for leaf in leaves
    )
    tests = sketch.price * (len(nodes) // 2)
    assert cost + tests < state.value  # greedy splits are not optimal here
    local = _LocalSearch(sketch)
    assert local.with_optimal_subtrees(state).value < state.value


def test_four_leaves_in_a_chain_stay_if_they_cost_less():
    X = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
    labels = np.where(X.any(axis=1), X.argmax(axis=1), 3)  # the first column with a one
    sketch = Sketch.of(make_search(X, 4, split="axis").problem, [], 0.0, 4, 0)
    sketch.cost = np.where(labels[:, None] == np.arange(4), 0.0, 1.0)
    chain = [[1, 2, 0, 0, -1], [3, 4, 1, 0, -1], [-1, -1, -1, -1, 0]]
    chain += [[5, 6, 2, 0, -1], [-1, -1, -1, -1, 1], [-1, -1, -1, -1, 3], [-1, -1, -1, -1, 2]]
    found = sketch.evaluate(with_optimal_subtrees(sketch, sketch.evaluate(np.array(chain))))
    assert found.n_leaves == 4
    assert found.value == pytest.approx(3 * sketch.price)
