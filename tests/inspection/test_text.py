"""Text and rules lead every row to its cluster."""

import copy
import itertools
import math
import pickle
import re

import numpy as np
import pytest
from conftest import random_tree, tree_of
from export_cases import chain, every_case, stump
from hypothesis import given, settings
from hypothesis import strategies as st

from tao_cluster import Tree
from tao_cluster.export import Indicator, to_dataframe, to_dot, to_rules, to_sql, to_text
from tao_cluster.export.format import terms_text
from tao_cluster.report import terms_at
from tao_cluster.tree.conditions import Bound, conditions_of_leaves, explanation_sizes

EXPORTS = [to_text, to_rules, to_dot, to_dataframe]


def run(code, row):
    names = {f"x{j}": value for j, value in enumerate(row)}
    exec(code, names)  # noqa: S102
    return names


@every_case
def test_text_leads_to_the_cluster(case):
    """The text with all digits is Python code, except for its indentation."""
    model, X, labels = case()
    if tree_of(model).max_depth > 90:
        pytest.skip("Python allows 100 levels of indentation.")
    code = to_text(model, precision=17).replace("|--- ", "").replace("|    ", "    ")
    code = re.sub(r"^( *if .*|.*else)$", r"\1:", code, flags=re.MULTILINE)
    code = compile(re.sub(r"cluster (\d+)", r"label = \1", code), "text", "exec")
    np.testing.assert_array_equal([run(code, row)["label"] for row in X], labels)


@every_case
def test_every_row_meets_one_rule(case):
    model, X, labels = case()
    model = tree_of(model).prune()  # without leaves that no row can reach, whose rules may hold
    rules = [rule.removeprefix("if ").split(" then cluster ") for rule in to_rules(model, None, 17)]
    assert len(rules) == model.n_leaves
    rules = [
        (compile(f"holds = {premise.replace('always', 'True')}", "rule", "exec"), int(cluster))
        for premise, cluster in rules
    ]
    for row, label in zip(X, labels, strict=True):
        assert [cluster for code, cluster in rules if run(code, row)["holds"]] == [label]


def test_a_tree_prints_as_its_text(rng):
    tree = random_tree(rng, n_features=5, n_nodes=41)
    assert str(tree) == f"{tree}" == to_text(tree)
    assert repr(tree).startswith("Tree(n_leaves=21")
    large = str(random_tree(rng, n_features=40, n_nodes=1001, density=1.0))
    assert len(large.split("\n")) == 201
    assert re.search(r"\.\.\. \d+ more lines; to_text\(\) returns all of them$", large)
    assert " + 20 more" in large


def test_long_tests_are_cut_short():
    tree = stump(0.0, [1.0, 2.0, 3.0, 4.0], 4)
    short = "4*x3 + 3*x2 + 2 more <= 0"
    assert short in to_dot(tree, max_terms=2)
    assert to_rules(tree, max_terms=2)[0] == f"if {short} then cluster 0"
    assert to_dataframe(tree, max_terms=2)["test"][0] == short
    assert to_text(tree, max_terms=2).startswith(f"|--- if {short}")


@pytest.mark.parametrize("write", EXPORTS)
def test_what_no_option_is_gets_a_sentence(write):
    precisions = [-1, 0, 1.5, "3", 10**9, None, float("nan")]
    for option, values in (("precision", precisions), ("max_terms", [-1, 0, 1.5, "3"])):
        for value in values:
            message = f"The '{option}' parameter of {write.__name__} must be"
            with pytest.raises(ValueError, match=message):
                write(stump(), **{option: value})


@pytest.mark.parametrize("write", [*EXPORTS, to_sql])
def test_names_are_a_sequence(write):
    """Iterators are rejected, since they may be infinite."""
    for names in (0, "ab", itertools.count(), (name for name in "ab"), 1.5):
        with pytest.raises(ValueError, match="Feature names must be a sequence of 2 strings, got"):
            write(stump(), names)


@pytest.fixture
def stairs():
    """Return a tree with two tests of one feature on a path, and then an oblique test."""
    return Tree.from_splits(
        [1, 3, -1, 5, -1, -1, -1],
        [2, 4, -1, 6, -1, -1, -1],
        [([0], [1.0]), ([0], [1.0]), None, ([0, 1], [0.5, -2.0]), None, None, None],
        [3.0, 1.0, 0, 0.25, 0, 0, 0],
        [-1, -1, 2, -1, 1, 0, 2],
        n_features=2,
    )


def test_text(stairs):
    assert stairs.to_text(["a", "b"]).splitlines() == [
        "|--- if a <= 3",
        "|    |--- if a <= 1",
        "|    |    |--- if -2*b + 0.5*a <= 0.25",
        "|    |    |    |--- cluster 0",
        "|    |    |--- else",
        "|    |    |    |--- cluster 2",
        "|    |--- else",
        "|    |    |--- cluster 1",
        "|--- else",
        "|    |--- cluster 2",
    ]


def test_rules_merge_conditions_of_one_direction(stairs):
    assert stairs.to_rules() == [
        "if x0 > 3 then cluster 2",
        "if 1 < x0 <= 3 then cluster 1",
        "if x0 <= 1 and -2*x1 + 0.5*x0 <= 0.25 then cluster 0",
        "if x0 <= 1 and -2*x1 + 0.5*x0 > 0.25 then cluster 2",
    ]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_conditions_hold_for_exactly_the_rows_of_their_leaf(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_features=2, n_nodes=21, density=0.4)  # few features: many merges
    X = rng.integers(-3, 4, (80, 2)).astype(float)
    tree = tree.prune()  # rules omit tests without weights
    for leaf, conditions in conditions_of_leaves(tree):
        holds = np.ones(len(X), dtype=bool)
        for condition in conditions:
            below = X[:, condition.indices] @ condition.weights <= condition.threshold
            holds &= below == condition.is_left
        np.testing.assert_array_equal(holds, tree.apply(X) == leaf)


def test_weighted_sums():
    def text(indices, weights, *options):
        splits = [(indices, weights), None, None]
        tree = Tree.from_splits([1, -1, -1], [2, -1, -1], splits, [0.5, 0, 0], [-1, 0, 1], 3)
        return terms_text(terms_at(tree, 0, ["a", "b", "c"]), *options)

    assert text([], [], 3) == "0"
    assert text([0, 2], [-1.0, 1.0], 3) == "-a + c"
    assert text([0, 1, 2], [0.12345, -7.0, 1.0], 2) == "-7*b + c + 0.12*a"
    assert text([0, 1, 2], [0.1, -7.0, 1.0], 2, 1) == "-7*b + 2 more"
    assert text([0, 1], [1234567.0, 0.5], 3) == "1234567*a + 0.5*b"  # no 1.23e+06


def test_tests_of_one_feature_are_bounds_whatever_their_weight():
    tree = chain((0, -0.25, -239.25, True), (0, 2.0, 2400.0, True), (0, 1.0, 990.5, False))
    assert tree.to_text(["proline", "b"]).splitlines()[:4] == [
        "|--- if proline >= 957",
        "|    |--- if proline <= 1200",
        "|    |    |--- if proline <= 990.5",
        "|    |    |    |--- cluster 2",
    ]
    assert tree.to_rules(["proline", "b"]) == [
        "if proline < 957 then cluster 0",
        "if proline > 1200 then cluster 1",
        "if 957 <= proline <= 990.5 then cluster 2",
        "if 990.5 < proline <= 1200 then cluster 3",
    ]
    assert explanation_sizes(tree)[tree.leaves].tolist() == [1, 1, 2, 2]


def test_strict_bounds_are_the_tighter_ones():
    tree = chain((0, 1.0, 2.0, True), (0, -1.0, -2.0, False), (0, 1.0, 2.0, True))
    assert tree.to_rules()[-1] == "if x0 < 2 then cluster 3"
    assert tree.to_rules()[1] == "if 2 <= x0 <= 2 then cluster 1"


@settings(max_examples=100, deadline=None)
@given(
    weight=st.floats(allow_nan=False, allow_infinity=False).filter(bool),
    threshold=st.floats(allow_nan=False, allow_infinity=False),
    x=st.floats(allow_nan=False, allow_infinity=False),
    is_left=st.booleans(),
)
def test_bounds_hold_exactly_where_the_test_does(weight, threshold, x, is_left):
    bound = Bound.from_test(0, weight, threshold, is_left)
    most = np.finfo(float).max
    near = [math.nextafter(bound.value, side) for side in (-np.inf, np.inf)]
    for value in (x, bound.value, *np.clip(near, -most, most).tolist()):
        if abs(value) == most:
            continue  # where nothing holds, the bound is the last of the floats
        with np.errstate(over="ignore", under="ignore"):
            assert (value in bound) == ((weight * value <= threshold) == is_left)


def test_indicators():
    gold, silver = Indicator("plan", "gold"), Indicator("plan", "silver")
    tree = chain((1, 1.0, 0.5, True), (0, -1.0, -0.25, False), (0, 1.0, 0.0, True))
    assert tree.to_rules([gold, silver])[:2] == [
        "if plan is silver then cluster 0",
        "if plan is gold then cluster 1",
    ]
    assert tree.to_rules([gold, silver])[3] == ("if plan not in {gold, silver} then cluster 3")
    assert "if plan is not silver" in tree.to_text([gold, silver])
    assert "if plan is gold" in tree.to_text([gold, silver])
    other = Indicator("sex", "male")
    assert tree.to_rules([other, silver])[1] == (
        "if plan is not silver and sex is male then cluster 1"
    )
    never = chain((0, 1.0, 1.5, True))
    assert never.to_rules([gold, silver])[1] == "if [plan is gold] <= 1.5 then cluster 1"
    mixed = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0, 1], [0.5, 2.0]), None, None], [3, 0, 0], [-1, 0, 1], 2
    )
    assert "2*age + 0.5*[plan is gold] <= 3" in mixed.to_text([gold, "age"])
    for copied in (copy.deepcopy(gold), pickle.loads(pickle.dumps(gold))):  # noqa: S301
        assert copied == "plan is gold"
        assert (copied.column, copied.value) == ("plan", "gold")
