"""The table of nodes, and the plain values, hold the tree."""

import json
import sys

import numpy as np
import pytest
from conftest import tree_of
from export_cases import every_case, stump

from tao_cluster import Tree
from tao_cluster.export import from_dict, to_dataframe, to_dict


@every_case
def test_dict_and_json(case):
    model, X, labels = case()
    for tree in (
        from_dict(json.loads(json.dumps(to_dict(model)))),
        Tree.from_json(tree_of(model).to_json()),
    ):
        np.testing.assert_array_equal(tree.predict(X), labels)


@every_case
def test_rows_can_be_routed_by_the_table(case):
    model, X, labels = case()
    frame, tree = to_dataframe(model, X=X), tree_of(model)
    assert ("histogram" in frame) == (tree.leaf_value is not None)
    nodes = frame.to_dict("index")
    for row, label in zip(X.tolist(), labels, strict=True):
        node = nodes[0]
        while not node["is_leaf"]:
            total = 0.0
            for j, weight in zip(node["features"], node["weights"], strict=True):
                total += weight * row[j]
            node = nodes[node["left"] if total <= node["threshold"] else node["right"]]
        assert node["cluster"] == label
    np.testing.assert_array_equal(frame["count"], tree.node_counts(tree.apply(X)))
    np.testing.assert_array_equal(frame["rows"], frame["count"])
    weighted = to_dataframe(model, X=X, sample_weight=np.full(len(X), 2.5))
    np.testing.assert_array_equal(weighted["rows"], frame["rows"])
    np.testing.assert_allclose(weighted["count"], 2.5 * frame["count"])


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_dataframe needs the package pandas: pip install"):
        to_dataframe(stump())
