"""The ONNX model gives the labels of `predict`, in both precisions."""

import sys

import numpy as np
import pytest
from conftest import tree_of
from export_cases import every_case, iris, stump

from tao_cluster.export import to_onnx


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
