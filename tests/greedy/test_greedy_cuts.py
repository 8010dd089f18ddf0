"""Every cut of the axis-aligned builders against plain searches over all cuts of tiny data."""

from fractions import Fraction
from functools import partial
from math import ceil

import numpy as np
import pytest
import scipy.sparse as sp
from building import built
from conftest import rest_in_sweeps
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from greedy import EMN, IMM, ExGreedy, ExKMC, ExShallow

build_imm, build_emn = partial(built, IMM), partial(built, EMN)
build_exgreedy, build_exshallow = partial(built, ExGreedy), partial(built, ExShallow)
build_exkmc = partial(built, ExKMC)

SMALL = {"max_examples": 150, "deadline": None}
OBJECTIVES = st.sampled_from(["kmeans", "kmedians"])


@st.composite
def problems(draw, max_rows=12, max_centers=4):
    """Few rows and centres with whole coordinates (many ties, duplicates), whole weights."""
    n, d = draw(st.integers(1, max_rows)), draw(st.integers(1, 3))
    k = draw(st.integers(1, max_centers))
    values = st.integers(0, draw(st.sampled_from([1, 3, 8])))
    X = draw(hnp.arrays(np.float64, (n, d), elements=values))
    if draw(st.booleans()):  # centres of clusters, as k-means gives them
        labels = draw(hnp.arrays(np.int64, n, elements=st.integers(0, k - 1)))
        centers = np.array([X[labels == c].mean(axis=0) for c in np.unique(labels)])
    else:
        centers = draw(hnp.arrays(np.float64, (k, d), elements=values))
    weight = draw(hnp.arrays(np.int64, n, elements=st.integers(1, 3)))
    return X, centers, weight


def squared(X, centers):
    return ((X[:, None, :] - centers) ** 2).sum(axis=2)


def costs_of(X, centers, objective):
    """What a row costs under each centre: squared Euclidean, or L1 distances."""
    if objective == "kmedians":
        return np.abs(X[:, None, :] - centers).sum(axis=2)
    return squared(X, centers)


def cuts_that_part(X, rows, centers, some):
    """(feature, threshold) of all cuts that part some centres: values of rows and centres."""
    for feature in range(X.shape[1]):
        places = centers[some, feature]
        for value in np.unique(np.concatenate([X[rows, feature], places])):
            if places.min() <= value < places.max():
                yield feature, value


def is_close(a, b):
    return a == pytest.approx(b, rel=1e-9, abs=1e-9)


# ---------------------------------------------------------------- cuts that part centres


def mistakes(X, centers, weight, labels, rows, some, feature, threshold):
    parted = (X[rows, feature] <= threshold) != (centers[labels[rows], feature] <= threshold)
    return weight[rows][parted].sum()


def induced_cost(distances, X, centers, weight, rows, some, feature, threshold):
    """Equation 7 of Laber et al. (2023): rows go to the nearest centre of their side."""
    total = 0.0
    for row in rows:
        side = (centers[some, feature] <= threshold) == (X[row, feature] <= threshold)
        total += weight[row] * distances[row, some[side]].min()
    return total


def fewer_centers(X, centers, some, feature, threshold):
    """Centres on the side of a cut that has fewer: what EMN divides by."""
    n_left = (centers[some, feature] <= threshold).sum()
    return min(n_left, len(some) - n_left)


def check_imm(tree, X, centers, weight, objective, divisor=None):
    """Walk down the tree: fewest mistakes at every node, the first of equal cuts."""
    # Equal distances to centres with thirds differ in their last bits: the lowest centre it is.
    labels = costs_of(X, centers, objective).round(9).argmin(axis=1)
    todo = [(0, np.arange(len(X)), np.arange(len(centers)), True)]
    while todo:
        node, rows, some, is_complete = todo.pop()
        options = {}
        for cut in cuts_that_part(X, rows, centers, some):
            found = mistakes(X, centers, weight, labels, rows, some, *cut)
            # Nothing on the right though some belong there: not after rows were dropped.
            is_beyond = found > 0 and bool((X[rows, cut[0]] <= cut[1]).all())
            by = 1 if divisor is None else divisor(X, centers, some, *cut)
            options[cut] = (is_beyond and not is_complete, Fraction(int(found), int(by)))
        if not options:
            assert tree.children_left[node] < 0
            assert tree.leaf_label[node] == some[0]
            continue
        (feature,), threshold = tree.split(node)[0], tree.threshold[node]
        assert (feature, threshold) == min(options, key=lambda cut: (*options[cut], *cut))
        left, places = X[rows, feature] <= threshold, centers[:, feature] <= threshold
        kept = left == places[labels[rows]]
        for child, side in ((tree.children_left[node], True), (tree.children_right[node], False)):
            below = rows[kept & (left == side)]
            complete = is_complete and kept[left == side].all()
            todo.append((child, below, some[places[some] == side], complete))


@pytest.mark.slow
@settings(**SMALL)
@given(problems(), OBJECTIVES)
@example(
    (np.array([[0.0], [1], [2], [3], [3], [3]]), np.array([[3], [4 / 3], [8 / 3]]), np.ones(6)),
    "kmeans",
)
def test_imm_makes_the_fewest_mistakes_at_every_node(problem, objective):
    X, centers, weight = problem
    tree = build_imm(
        X, centers, objective=objective, sample_weight=weight, midpoints=False, ties="first"
    )
    check_imm(tree, X, centers, weight, objective)
    distinct = np.unique(centers, axis=0)
    assert tree.n_leaves == len(distinct)
    assert len(np.unique(tree.leaf_label[tree.leaves])) == len(distinct)


@pytest.mark.slow
@settings(**SMALL)
@given(problems(max_rows=30, max_centers=9))
def test_emn_makes_the_fewest_mistakes_for_each_parted_center(problem):
    X, centers, weight = problem
    tree = build_emn(X, centers, sample_weight=weight, midpoints=False, ties="first")
    check_imm(tree, X, centers, weight, "kmeans", fewer_centers)


def test_equal_ratios_tie():
    """A row parted for one centre, or 49 rows for 49: 49 / 49 is 1, but 49 times 1 / 49 is not."""
    k = 98
    centers = np.zeros((k, 2))
    centers[0, 0] = -1.0
    centers[49:, 1] = 1.0
    X, labels = np.repeat(centers, 2, axis=0), np.repeat(np.arange(k), 2)
    X[2, 0] = -1.0
    X[0:98:2, 1] = 1.0
    tree = build_emn(X, centers, labels=labels, midpoints=False, ties="first")
    assert tree.split(0)[0].tolist() == [0]
    swapped = build_emn(X[:, ::-1], centers[:, ::-1], labels=labels, midpoints=False, ties="first")
    assert swapped.split(0)[0].tolist() == [0]


def walk(tree, X, centers):
    """(node, rows, centres, edges above) of the decision nodes."""
    todo = [(0, np.arange(len(X)), np.arange(len(centers)), [])]
    while todo:
        node, rows, some, path = todo.pop()
        if tree.children_left[node] < 0:
            assert len(np.unique(centers[some], axis=0)) == 1
            assert tree.leaf_label[node] == some[0]
            continue
        yield node, rows, some, path
        (feature,), threshold = tree.split(node)[0], tree.threshold[node]
        left, places = X[rows, feature] <= threshold, centers[some, feature] <= threshold
        for child, side in ((tree.children_left[node], True), (tree.children_right[node], False)):
            edges = [*path, (feature, side)]
            todo.append((child, rows[left == side], some[places == side], edges))


@pytest.mark.slow
@settings(**SMALL)
@given(problems(), OBJECTIVES)
def test_exgreedy_induces_the_least_cost_at_every_node(problem, objective):
    X, centers, weight = problem
    tree = build_exgreedy(
        X, centers, objective=objective, sample_weight=weight, midpoints=False, ties="first"
    )
    distances = costs_of(X, centers, objective)
    for node, rows, some, _ in walk(tree, X, centers):
        chosen = (int(tree.split(node)[0][0]), tree.threshold[node])
        costs = {
            cut: induced_cost(distances, X, centers, weight, rows, some, *cut)
            for cut in cuts_that_part(X, rows, centers, some)
        }
        least = min(costs.values())
        assert is_close(costs[chosen], least)
        if np.array_equal(centers, np.round(centers)):  # else sums of floats hide equal costs
            assert chosen == min(cut for cut, cost in costs.items() if cost == least)


def eval_wad(n, k, r_p, r_c):
    """Algorithm 2 of Laber et al. (2023), with whole centres."""
    if k == 1:
        return 0
    k_left = min(max(ceil(k * r_c), 1), k - 1)
    n_left = n * r_p
    inner = n_left * eval_wad(n_left, k_left, r_p, r_c)
    inner += (n - n_left) * eval_wad(n - n_left, k - k_left, r_p, r_c)
    return 1 + inner / n if n else 1 + eval_wad(0, k_left, r_p, r_c)


def expected_explanation(X, weight, centers, rows, some, path, feature, threshold):
    """Algorithm 3."""
    total, left = weight[rows].sum(), weight[rows][X[rows, feature] <= threshold].sum()
    r_p = Fraction(int(left), int(total))
    r_c = Fraction(int((centers[some, feature] <= threshold).sum()), len(some))
    depth = eval_wad(Fraction(int(total)), len(some), r_p, r_c)
    if (feature, True) in path:
        depth -= r_p
    if (feature, False) in path:
        depth -= 1 - r_p
    return float(depth)


@pytest.mark.slow
@settings(**SMALL)
@given(problems(), st.sampled_from([0.03, 0.3, 5.0]), OBJECTIVES)
def test_exshallow_minimises_price_plus_depth_at_every_node(problem, factor, objective):
    X, centers, weight = problem
    # Another feature that divides the rows alike can change what later tests add to explanations.
    options = {"objective": objective, "depth_factor": factor, "midpoints": False, "ties": "first"}
    tree = build_exshallow(X, centers, sample_weight=weight, **options)
    distances = costs_of(X, centers, objective)
    for node, rows, some, path in walk(tree, X, centers):
        current = (weight[rows] * distances[rows][:, some].min(axis=1)).sum() if len(rows) else 0
        if current == 0:  # see test_rows_on_their_centers
            continue
        chosen = (int(tree.split(node)[0][0]), tree.threshold[node])
        values = {}
        for cut in cuts_that_part(X, rows, centers, some):
            cost = induced_cost(distances, X, centers, weight, rows, some, *cut)
            depth = expected_explanation(X, weight, centers, rows, some, path, *cut)
            values[cut] = cost / current + factor * depth
        assert is_close(values[chosen], min(values.values()))


def test_rows_on_their_centers():
    """Where nothing costs anything, cuts that part no row come first, then shallow trees."""
    X = np.arange(8.0)[:, None]
    tree = build_exshallow(X, X)
    assert tree.n_leaves == 8
    assert tree.max_depth <= 4
    np.testing.assert_array_equal(tree.predict(X), np.arange(8))


# ---------------------------------------------------------------- cuts of any kind


# Of many features, the bounds take labels together.
@pytest.mark.parametrize("n_features", rest_in_sweeps([3, 2**18], 3))
def test_sparse_columns_are_skipped_only_if_they_cannot_save(n_features, rng):
    for _ in range(3 if n_features == 3 else 1):
        X = rng.integers(-1, 3, (60, 3)).astype(float)
        centers = X[rng.choice(60, 8, replace=False)]
        wide = sp.csr_matrix((60, n_features - 3))
        far = np.hstack([centers, np.zeros((8, n_features - 3))])
        options = {"max_leaves": 12, "base": "none", "midpoints": False, "ties": "first"}
        tree = build_exkmc(X, centers, **options)
        sparse = build_exkmc(sp.hstack([sp.csr_matrix(X), wide], "csr"), far, **options)
        np.testing.assert_array_equal(sparse.split_indices, tree.split_indices)
        np.testing.assert_array_equal(sparse.threshold, tree.threshold)
        np.testing.assert_array_equal(sparse.leaf_label, tree.leaf_label)


def tied_problem():
    """Cuts of two columns that cost the same, but for the rounding of distances."""
    left = "1111011011001111100100001011"
    right = "0011001010110110000011010111"
    X = np.array([list(left), list(right)], float).T
    centers = np.array([[5, 3], [4, 5], [6, 3], [2, 3]]) / 7
    return X, centers, np.full(len(X), 2)


BUILDS = (
    (build_imm, {}),
    (build_emn, {}),
    (build_imm, {"objective": "kmedians"}),
    (build_exgreedy, {}),
    (build_exgreedy, {"objective": "kmedians"}),
    (build_exshallow, {}),
    (build_exshallow, {"objective": "kmedians"}),
    (build_exkmc, {"max_leaves": 9}),
    (build_exkmc, {"max_leaves": 9, "base": "none"}),
)


def assert_one_tree_in_all_forms(build, problem, options):
    X, centers, weight = problem
    X, centers = X - 1, centers - 1  # zeros inside the range, negative values below
    tree = build(X, centers, sample_weight=weight, **options)
    for form in (sp.csr_matrix(X), sp.csr_array(X), np.asfortranarray(X), X[:, ::-1][:, ::-1]):
        assert build(form, centers, sample_weight=weight, **options) == tree
    for n_jobs in (2, -1):
        assert build(X, centers, sample_weight=weight, n_jobs=n_jobs, **options) == tree


@pytest.mark.slow
@settings(**SMALL)
@given(problems(max_rows=30), st.sampled_from(BUILDS))
def test_sparse_rows_and_threads_give_the_same_tree(problem, builder):
    build, options = builder
    assert_one_tree_in_all_forms(build, problem, options)


@pytest.mark.parametrize(("build", "options"), BUILDS)
def test_ties_give_the_same_tree_in_all_forms(build, options):
    assert_one_tree_in_all_forms(build, tied_problem(), options)
