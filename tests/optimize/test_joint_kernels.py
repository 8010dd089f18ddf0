"""Joint passes: tests and labels that are the best if the centres follow them."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_search
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from greedy import ExKMC
from tao_cluster import TAOClustering
from tao_cluster.optimize import local_search
from tao_cluster.optimize import sketch as sketch_module
from tao_cluster.optimize import sketch_kernels as kernels
from tao_cluster.optimize.joint_kernels import joint_pass, values_of_rows
from tao_cluster.optimize.local_search import search_structure
from tao_cluster.optimize.sketch import Sketch
from tao_cluster.optimize.sketch_kernels import BIN, FEATURE, LABEL, LEFT, RIGHT

pytestmark = pytest.mark.filterwarnings("ignore:The tree has lost")

ANY_SIZE = (np.empty(0), 0.0)  # of the leaves
# A stump, and a tree with a test below the left child of the root.
STUMP = np.array([[1, 2, 0, 1, -1], [-1, -1, -1, -1, 0], [-1, -1, -1, -1, 1]])
THREE = np.array(
    [[1, 2, 0, 1, -1], [3, 4, 1, 1, -1], *([-1, -1, -1, -1, label] for label in (2, 0, 1))]
)


def small_case(seed, n=24, d=2):
    """Codes, where the bins start, points of the plane near them, and weights."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (n, d)).astype(np.uint8)
    points, weight = codes + rng.normal(size=(n, d)), rng.integers(1, 4, n).astype(float)
    values = np.zeros((n, 12))
    values[:, :d], values[:, -1] = points * weight[:, None], weight
    return codes, np.arange(0, 4 * d + 1, 4), values, points, weight


def cost_of(nodes, codes, points, weight, n_clusters=3):
    """Cost of the labels of a tree at the means of its clusters."""
    labels, total = labels_of(nodes, codes), 0.0
    for k in range(n_clusters):
        own = labels == k
        if own.any():
            mean = np.average(points[own], axis=0, weights=weight[own])
            total += weight[own] @ ((points[own] - mean) ** 2).sum(axis=1)
    return total


def labels_of(nodes, codes):
    order, span = kernels.spans(nodes, codes, len(nodes))
    labels = np.empty(len(codes), int)
    for leaf in np.flatnonzero(nodes[:, LEFT] < 0):
        labels[order[span[leaf, 0] : span[leaf, 1]]] = nodes[leaf, LABEL]
    return labels


def retested(nodes, node):
    """Every tree with another test at a node, also with its subtrees exchanged."""
    for feature in range(2):
        for bin_ in range(3):
            other = nodes.copy()
            other[node, FEATURE], other[node, BIN] = feature, bin_
            yield other
            flipped = other.copy()
            flipped[node, LEFT], flipped[node, RIGHT] = other[node, RIGHT], other[node, LEFT]
            yield flipped


def relabeled(nodes, leaf, n_clusters=3):
    for label in range(n_clusters):
        other = nodes.copy()
        other[leaf, LABEL] = label
        yield other


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), tree=st.sampled_from([STUMP, THREE]), bin_=st.integers(-1, 4))
def test_each_node_gets_what_is_best_for_the_means(seed, tree, bin_):
    """Node by node, compared with all tests and labels; also from a test that divides no rows."""
    codes, first, values, points, weight = small_case(seed)
    tree = tree.copy()
    tree[0, BIN] = bin_
    expected = tree
    for node in range(len(tree) - 1, -1, -1):
        others = relabeled if tree[node, LEFT] < 0 else retested
        _, span = kernels.spans(expected, codes, len(tree))
        if span[node, 0] == span[node, 1]:
            continue
        costs = [(cost_of(o, codes, points, weight), o) for o in others(expected, node)]
        before = cost_of(expected, codes, points, weight)
        least, best = min(costs, key=lambda pair: pair[0])
        expected = best if least < before - 1e-6 else expected
    found, changed = joint_pass(tree, codes, first, values, 3, 1e-7, *ANY_SIZE)
    cost = cost_of(found, codes, points, weight)
    assert cost == pytest.approx(cost_of(expected, codes, points, weight))
    assert cost <= cost_of(tree, codes, points, weight) + 1e-6
    assert changed == (cost < cost_of(tree, codes, points, weight) - 1e-6)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), least=st.integers(2, 12))
def test_new_tests_leave_enough_rows_on_both_sides(seed, least):
    codes, first, values, points, weight = small_case(seed)
    units = np.ones(len(codes))
    found, _ = joint_pass(STUMP, codes, first, values, 3, 1e-7, units, least)
    allowed = [
        other
        for other in retested(STUMP, 0)
        if min(np.bincount(codes[:, other[0, FEATURE]] <= other[0, BIN], minlength=2)) >= least
    ]
    labels = joint_pass(STUMP, codes, first, values, 3, 1e-7, units, len(codes))[0]
    costs = [cost_of(labels, codes, points, weight)]
    for other in allowed:
        other[[1, 2], LABEL] = labels[[1, 2], LABEL]
        costs.append(cost_of(other, codes, points, weight))
    assert cost_of(found, codes, points, weight) == pytest.approx(min(costs))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("n_columns", [3, 30])
def test_rows_keep_their_distances_in_few_directions(rng, form, n_columns):
    """The rows lie in three dimensions, so that 11 directions lose nothing."""
    X = rng.normal(size=(50, 3)) @ rng.normal(size=(3, n_columns)) + 5.0
    weight = rng.uniform(0.5, 2.0, 50)
    values = values_of_rows(make_search(form(X), 4, split="axis", weight=weight).problem)
    np.testing.assert_allclose(values[:, -1], weight)
    np.testing.assert_allclose(values[:, :-1].sum(axis=0), 0.0, atol=1e-8)
    rows = values[:, :-1] / weight[:, None]
    distances = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(distances, ((X[:, None] - X[None]) ** 2).sum(axis=2), atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_joint_passes_never_raise_the_cost_and_end_at_an_optimum(seed):
    X = np.random.default_rng(seed).normal(size=(200, 4))
    search = make_search(X, 5, split="axis", max_leaves=5)
    tree = ExKMC(max_leaves=5).build(X, None, search.problem.free.centers, None)
    sketch = Sketch.of(search.problem, [tree], 0.0, 5, 0)
    local = local_search._LocalSearch(sketch, np.random.RandomState(0), 100)
    state = sketch.from_tree(tree)
    found = local.jointly_optimized(state)
    assert found.value < state.value
    assert local.jointly_optimized(found).value == found.value


def test_only_trees_of_few_leaves_get_joint_passes_throughout(monkeypatch, rng):
    X = rng.normal(size=(80, 3))
    monkeypatch.setattr(sketch_module, "_MOST_PASSES", 60)
    calls = []
    monkeypatch.setattr(Sketch, "joint_pass", lambda self, state: calls.append(0) or (None, False))

    def n_calls(max_leaves, **options):
        calls.clear()
        search = make_search(X, 4, split="axis", max_leaves=max_leaves, **options)
        tree = ExKMC(max_leaves=max_leaves).build(X, None, search.problem.free.centers, None)
        search_structure(search, [tree], 0.0, 0)
        return len(calls)

    assert min(n_calls(4), n_calls(6)) > 2
    assert n_calls(7) == 1  # of the result
    assert n_calls(4, objective="kmedians") == 0


@pytest.mark.slow
def test_standardised_breast_cancer_with_a_leaf_per_cluster():
    """Without joint passes, these seeds end at 6.1 % on average."""
    X = StandardScaler().fit_transform(load_breast_cancer().data)
    options = {"split": "axis", "max_leaves": 5}
    options["reference"] = KMeans(5, n_init=10, random_state=0).fit(X)
    fits = (TAOClustering(5, random_state=seed, **options).fit(X) for seed in range(4))
    assert np.mean([model.cost_increase_ for model in fits]) <= 6.0
