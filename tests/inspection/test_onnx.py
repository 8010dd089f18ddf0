"""The ONNX model gives the labels of `predict`, in both precisions."""

import sys

import numpy as np
import pytest
from conftest import tree_of
from export_cases import every_case, iris, stump

from tao_cluster import TAOClustering
from tao_cluster.export import to_onnx
from tao_cluster.objectives import Labels


@every_case
def test_labels_are_those_of_predict(case):
    pytest.importorskip("onnx", reason="onnx is optional")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime runs the models")
    model, X, _ = case()
    tree = tree_of(model)
    for dtype in (np.float32, np.float64):
        rows = X.astype(dtype)
        # A fitted row keeps its label, although float32 may move it across a threshold.
        known = X if hasattr(model, "split_sides_") else rows
        graph = to_onnx(model, dtype=dtype).SerializeToString()
        session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
        label, *rest = session.run(None, {"X": rows})
        assert label.dtype == np.int64
        np.testing.assert_array_equal(label, model.predict(known))
        assert len(rest) == (tree.leaf_value is not None)
        for probabilities in rest:
            np.testing.assert_array_equal(probabilities, tree.leaf_value[tree.apply(known)])
        np.testing.assert_array_equal(session.run(None, {"X": rows[:1]})[0], label[:1])


LABELS = {
    "positions": [0, 1, 2],
    "numbers": [5, 7, 9],
    "noise": [-1, 0, 1],
    "small integers": np.array([-3, 100, 7], np.int16),
    "large integers": np.array([2**63, 1, 2], np.uint64),
    "fractions": [0.5, -1.25, 1e300],
    "truth values": [True, False, True],
    "strings": ["low", "", "größe μ\n"],
    "one label": ["all", "all", "all"],
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_that_a_model_explains_have_their_own_type(name, rng):
    pytest.importorskip("onnx", reason="onnx is optional")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime runs the models")
    X = rng.normal(size=(90, 2)).astype(np.float32)
    y = np.array(LABELS[name])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0)]
    model = TAOClustering(objective=Labels(noise="explain"), split="axis", random_state=0).fit(X, y)
    if name != "truth values":
        model.name_clusters([f"name {k}" for k in range(len(model.classes_))])
    graph = to_onnx(model).SerializeToString()
    (label,) = runtime.InferenceSession(graph).run(None, {"X": X})
    expected = model.predict(X)
    np.testing.assert_array_equal(label, expected)
    assert label.dtype == expected.dtype or isinstance(label[0], str)


def test_iris_has_no_row_on_a_threshold():
    """The test above compares rounded sums: no row may be within rounding of a threshold."""
    model, X = iris()
    tree = model.tree_
    assert tree.n_nonzero > len(tree.decision_nodes)
    for dtype in (np.float32, np.float64):
        for node in tree.decision_nodes:
            indices, weights = tree.split(node)
            values = X.astype(dtype).astype(float)[:, indices] @ weights
            assert np.abs(values - tree.threshold[node]).min() > 1e-9


def test_input_types():
    pytest.importorskip("onnx", reason="onnx is optional")
    with pytest.raises(ValueError, match="float32 or float64, got int64"):
        to_onnx(stump(), dtype=np.int64)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'pip install "tao-cluster\[onnx\]"'):
        to_onnx(stump())
