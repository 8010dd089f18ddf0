"""Trees of files that anybody may have written: a sentence, or a tree that can be used."""

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from conftest import random_tree

from tao_cluster import Tree

OK = Tree.from_splits(
    [1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None], [0.5, 0, 0], [-1, 0, 1], 2
).to_dict()
KEPT = Path(__file__).with_name("tree_version_1.json")

BAD = {
    "half a feature": ({"n_features": 2.9}, "n_features must be an integer"),
    "features as text": ({"n_features": "7"}, "n_features must be an integer"),
    "no features": ({"n_features": 0}, "n_features must be an integer"),
    "too many features": ({"n_features": 10**9}, "n_features must be an integer from 1 to"),
    "thresholds as text": ({"threshold": ["0.5", 0, 0]}, "threshold must be a list of finite"),
    "a huge threshold": ({"threshold": [10**400, 0, 0]}, "wrong type or size"),
    "infinite weights": ({"split_weights": [float("inf")]}, "split_weights must be a list"),
    "another child": ({"children_left": [1, -5, -1]}, "-1 for none"),
    "children as floats": ({"children_left": [1.0, -1, -1]}, "children_left must be a list"),
    "children beyond 32 bits": (
        {"children_right": [2**40, -1, -1]},
        "wrong type or size|32-bit integers",  # of numpy 2, of numpy 1
    ),
    "features in a list": ({"split_indices": [[0, 1]]}, "split_indices must be a list of integers"),
    "a leaf without a label": ({"leaf_label": [-1, -1, 1]}, "Leaves must have a label"),
    "a label out of reach": ({"leaf_label": [-1, 0, 2**31 - 1]}, "must be less than 65536"),
    "NaN in a histogram": ({"leaf_value": [[float("nan")]] * 3}, "leaf_value must be null"),
    "histograms of two lengths": ({"leaf_value": [[1.0], [1.0], [1, 2]]}, "equal lists"),
    "histograms of nothing": ({"leaf_value": [[], [], []]}, "one column per cluster"),
    "too few histograms": ({"leaf_value": [[1.0], [1.0]]}, "one row per node"),
}


@pytest.mark.parametrize("name", sorted(BAD))
def test_bad_fields_are_refused(name):
    change, sentence = BAD[name]
    with pytest.raises(ValueError, match=sentence) as caught:
        Tree.from_dict({**OK, **change})
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("text", [None, 5, [], "", "[" * 100_000, "{" * 9, "\x80", "1" * 9999])
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ValueError, match="Not a tree: expected JSON"):
        Tree.from_json(text)


@pytest.mark.parametrize("n_features", [2.9, "7", True, -3, 0, None])
def test_trees_have_a_whole_number_of_features(n_features):
    with pytest.raises(ValueError, match="integer of at least 1"):
        Tree.single_leaf(0, n_features)
    assert Tree.single_leaf(0, np.int64(7)).n_features == 7


@pytest.mark.parametrize(
    "change",
    [
        {"children_left": [[1, -1, -1]]},
        {"children_left": 1},
        {"split_indices": [[0]]},
        {"split_indptr": 0},
        {"leaf_value": [[np.nan]] * 3},
        {"leaf_value": np.zeros((3, 0))},
        {"leaf_value": np.zeros(3)},
    ],
)
def test_arrays_of_another_shape_are_refused(change):
    arrays = {name: value for name, value in OK.items() if name not in ("format", "version")}
    with pytest.raises(ValueError, match=r"\w"):
        Tree(**{**arrays, **change})


@pytest.mark.parametrize("change", [change for change, _ in BAD.values()])
def test_refusing_takes_no_memory(change):
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"\w"):
        Tree.from_dict({**OK, **change})
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 100_000


@pytest.mark.slow
def test_the_largest_label_can_be_shown():
    tree = Tree.from_dict({**OK, "leaf_label": [-1, 0, 2**16 - 1]})
    assert tree.to_text().endswith("cluster 65535")


def test_trees_of_this_version_load_for_ever():
    """The file is of the release that introduced the version: it is never written anew."""
    data = json.loads(KEPT.read_text(encoding="utf-8"))
    for name, part in data.items():
        tree = Tree.from_dict(part["tree"])
        np.testing.assert_array_equal(tree.predict(part["rows"]), part["clusters"], err_msg=name)
        assert tree.to_dict() == part["tree"]


@pytest.mark.slow
def test_a_file_with_one_other_value_is_refused_or_usable(rng):
    odd = [None, -1, -5, 0, 3, 10**15, 1e308, 0.5, "x", "1", [], [1], {}, True, float("nan")]
    tree = random_tree(rng)
    tree = tree.with_leaves(tree.leaf_label, rng.random((tree.n_nodes, 4)))
    text, n_accepted = tree.to_json(), 0
    for _ in range(1500):
        data = json.loads(text)
        name = list(data)[rng.integers(len(data))]
        value, part = odd[rng.integers(len(odd))], data[name]
        if isinstance(part, list) and rng.random() < 0.9:
            part[rng.integers(len(part))] = value
        else:
            data[name] = value
        try:
            other = Tree.from_dict(data)
        except ValueError as error:
            assert str(error).endswith(".")  # noqa: PT017
            continue
        n_accepted += 1
        assert Tree.from_json(other.to_json()) == other
        X = np.zeros((2, other.n_features))
        np.testing.assert_array_equal(other.prune().predict(X), other.predict(X))
        other.to_rules()
    assert 20 < n_accepted < 1000
