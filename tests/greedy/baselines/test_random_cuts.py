"""Random cuts: where they fall, what they cost, how many leaves they make, and their bounds."""

import numpy as np
import pytest
import scipy.sparse as sp
from building import built
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import chisquare, kstest

from greedy import RandomCuts
from greedy.bounds import bound

RULES = {
    "random-coordinate": ("kmedians",),
    "gamlath": ("kmeans", "kmedians"),
    "makarychev-shan": ("kmeans", "kmedians"),
    "esfandiari": ("kmedians",),
    "bicriteria": ("kmeans",),
}
RULES_OF = [(objective, name) for name, objectives in RULES.items() for objective in objectives]


def draws(centers, rule, objective, n=600, delta=None):
    """First cuts of many trees: features and thresholds."""
    options = {"rule": rule, "objective": objective, "delta": delta, "n_trees": 1}
    options |= {"midpoints": False, "ties": "first"}
    trees = (built(RandomCuts, centers, centers, rng=seed, **options) for seed in range(n))
    return np.array([(tree.split(0)[0][0], tree.threshold[0]) for tree in trees])


def distances(X, centers, objective):
    gaps = np.abs(X[:, None, :] - centers)
    return gaps.sum(axis=2) if objective == "kmedians" else (gaps**2).sum(axis=2)


CENTERS = [[0.0, 0.0, 5.0], [1.0, 2.0, 5.0], [4.0, 3.0, 5.0]]


@pytest.mark.spaced(quick=0, slow=1)
@pytest.mark.parametrize("rule", ["random-coordinate", "gamlath", "makarychev-shan", "esfandiari"])
def test_cuts_of_kmedians_are_uniform(rule):
    found = draws(CENTERS, rule, "kmedians")
    feature, threshold = found.T
    counts = np.bincount(feature.astype(int), minlength=3)
    assert counts[2] == 0  # nothing to part there
    assert chisquare(counts[:2], np.array([4, 3]) / 7 * len(found)).pvalue > 1e-3
    for f, extent in ((0, 4.0), (1, 3.0)):
        assert kstest(threshold[feature == f] / extent, "uniform").pvalue > 1e-3


@pytest.mark.spaced(quick=0, slow=1)
@pytest.mark.parametrize("rule", ["gamlath", "makarychev-shan"])
def test_cuts_of_kmeans_prefer_wide_gaps_and_their_middle(rule):
    found = draws(CENTERS, rule, "kmeans")
    feature, threshold = found.T
    gaps = [(0, 0, 1), (0, 1, 4), (1, 0, 2), (1, 2, 3)]
    inside = [(feature == f) & (threshold >= a) & (threshold < b) for f, a, b in gaps]
    squares = np.array([(b - a) ** 2 for _, a, b in gaps])
    counts = np.array([each.sum() for each in inside])
    assert counts.sum() == len(found)
    assert chisquare(counts, squares / squares.sum() * len(found)).pvalue > 1e-3
    for (_, a, b), each in zip(gaps, inside, strict=True):
        # The density 4 min(s, 1 - s) is that of the mean of two uniform numbers.
        assert kstest((threshold[each] - a) / (b - a), "triang", args=(0.5,)).pvalue > 1e-3


@pytest.mark.slow
def test_bicriteria_cuts_have_uniform_squares_of_their_distance_to_the_median():
    found = draws(CENTERS, "bicriteria", "kmeans", delta=0.5)
    feature, threshold = found.T
    away = threshold - np.array([1.0, 2.0, 5.0])[feature.astype(int)]
    squares = np.array([9.0, 1.0, 4.0, 1.0])  # sides: feature 0 above and below, feature 1
    sides = [(feature == f) & (np.sign(away) == s) for f, s in ((0, 1), (0, -1), (1, -1), (1, 1))]
    counts = [side.sum() for side in sides]
    assert chisquare(counts, squares / squares.sum() * len(found)).pvalue > 1e-3
    for side, most in zip(sides, squares, strict=True):
        # Cuts in the band of the outermost centres are not made: 1 / 384 of the distance.
        assert kstest(away[side] ** 2 / most * (1 + 1 / 384) ** 2, "uniform").pvalue > 1e-3


@pytest.mark.slow
def test_centers_that_are_near_are_parted_last():
    near = [[0.0, 0.0], [1e-4, 0.01], [5.0, 1.0], [9.0, 4.0]]
    found = draws(near, "makarychev-shan", "kmedians")
    feature, threshold = found.T
    assert not ((feature == 0) & (threshold < 1e-4)).any()
    assert not ((feature == 1) & (threshold < 0.01)).any()
    tree = built(RandomCuts, near, near, rule="makarychev-shan", objective="kmedians", n_trees=1)
    assert tree.n_leaves == 4


def test_shared_cuts_are_made_in_every_leaf_that_they_part():
    corners = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    for rule, is_shared in (("gamlath", True), ("esfandiari", False)):
        same = [
            len({tree.threshold[node] for node in tree.decision_nodes[1:]}) == 1
            for tree in (
                built(
                    RandomCuts,
                    corners,
                    corners,
                    rule=rule,
                    objective="kmedians",
                    n_trees=1,
                    midpoints=False,
                    ties="first",
                    rng=seed,
                )
                for seed in range(20)
            )
        ]
        assert all(same) if is_shared else not any(same)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    hnp.arrays(
        np.float64, st.tuples(st.integers(1, 7), st.integers(1, 3)), elements=st.integers(0, 4)
    ),
    st.sampled_from(RULES_OF),
    st.integers(0, 2**20),
)
def test_every_center_gets_a_leaf(centers, rule, seed):
    objective, name = rule
    tree = built(
        RandomCuts,
        centers,
        centers,
        rule=name,
        objective=objective,
        n_trees=1,
        rng=seed,
        midpoints=False,
        ties="first",
    )
    distinct = len(np.unique(centers, axis=0))
    assert set(tree.leaf_label[tree.leaves]) == set(
        np.unique(centers, axis=0, return_index=True)[1].tolist()
    )
    most = int(1.5 * len(centers)) if name == "bicriteria" else distinct
    assert distinct <= tree.n_leaves <= most
    np.testing.assert_array_equal(centers[tree.predict(centers)], centers)


@pytest.mark.slow
def test_bicriteria_shares_centers_while_there_are_leaves():
    X = np.random.default_rng(0).normal(size=(40, 3))
    options = {"rule": "bicriteria", "delta": 0.05, "n_trees": 1}
    sizes = [built(RandomCuts, X, X, rng=seed, **options).n_leaves for seed in range(60)]
    assert min(sizes) == 40
    assert 40 < max(sizes) <= 42


@pytest.mark.spaced(quick=3)
@pytest.mark.parametrize(("objective", "name"), RULES_OF)
def test_the_first_tree_of_least_cost_is_kept(objective, name, rng):
    X = np.round(rng.normal(size=(60, 3)), 1)
    centers, weight = X[:6], rng.integers(0, 4, 60).astype(float)
    options = {"rule": name, "objective": objective, "rng": 3, "sample_weight": weight}
    table, best = distances(X, centers, objective), (np.inf, None)
    for n_trees in range(2, 12):
        tree = built(RandomCuts, X, centers, n_trees=n_trees, **options)
        assert built(RandomCuts, sp.csr_matrix(X), centers, n_trees=n_trees, **options) == tree
        cost = weight @ table[np.arange(60), tree.predict(X)]
        assert cost <= best[0] + 1e-9
        assert tree == best[1] or cost < best[0] - 1e-9
        best = (cost, tree)


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 4, 8])
def test_the_mean_of_200_seeds_respects_the_bound(k, rng):
    X = np.concatenate([rng.normal(size=(150, 4)), rng.standard_cauchy((50, 4))])
    centers = X[rng.choice(len(X), k, replace=False)]
    table = distances(X, centers, "kmedians")
    costs = []
    for seed in range(200):
        tree = built(
            RandomCuts,
            X,
            centers,
            objective="kmedians",
            n_trees=1,
            rng=seed,
            midpoints=False,
            ties="first",
        )
        costs.append(table[np.arange(len(X)), tree.predict(X)].sum())
    most = bound("random-coordinate", k, 4, objective="kmedians").value
    assert np.mean(costs) / table.min(axis=1).sum() <= most


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"rule": "esfandiari"},
            "'esfandiari' does not support objective='kmeans'; the rules that do are gamlath",
        ),
        (
            {"rule": "bicriteria", "objective": "kmedians"},
            "rules that do are random-coordinate",
        ),
        ({"delta": 0.5}, "delta=0.5 applies to rule=\"bicriteria\" only, not to rule='gamlath'"),
        ({"n_trees": 0}, "'n_trees' parameter"),
        ({"rule": "best"}, "'rule' parameter"),
        ({"rule": "bicriteria", "delta": 1.0}, "'delta' parameter"),
    ],
)
def test_bad_parameters_get_one_message(options, message):
    with pytest.raises(ValueError, match=message):
        RandomCuts(2, **options).fit(CENTERS)


def test_seeds(digits, digits_reference):
    options = {"reference": digits_reference, "n_trees": 20}
    trees = [RandomCuts(10, random_state=s, **options).fit(digits).tree_ for s in (0, 0, 1)]
    assert trees[0] == trees[1] != trees[2]
