"""ONNX models give every fitted row its cluster, whatever the size of its numbers."""

import warnings

import numpy as np
import pytest
from numeric_tables import MODELS, RESOLUTIONS, column, random_table, seeds

from tao_cluster import TAOClustering
from tao_cluster.export import to_onnx

runtime = pytest.importorskip("onnxruntime", reason="onnxruntime runs the models")
pytest.importorskip("onnx", reason="onnx is optional")


def labels_of(graph, table):
    """Return the type of the input of an ONNX model, and the labels that it gives."""
    options = {"providers": ["CPUExecutionProvider"]}
    session = runtime.InferenceSession(graph.SerializeToString(), **options)
    kind = {"tensor(float)": np.float32, "tensor(double)": np.float64}[session.get_inputs()[0].type]
    return kind, session.run(["label"], {"X": table.to_numpy(kind)})[0]


@pytest.mark.spaced(quick=0, slow=5)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("seed", seeds(2, 40))
def test_fitted_rows_have_their_labels(seed, kind):
    table = random_table(seed, n_columns=1 + seed % 5)
    model = MODELS[kind](seed).fit(table)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        chosen, labels = labels_of(to_onnx(model), table)
    np.testing.assert_array_equal(labels, model.predict(table))
    assert any("is float64" in str(each.message) for each in caught) == (chosen == np.float64)


@pytest.mark.spaced(quick=1)
@pytest.mark.parametrize("name", sorted({*RESOLUTIONS} - {"flag"}))
def test_float64_is_chosen_where_float32_does_not_separate(name):
    table = column(name)
    model = TAOClustering(3, split="axis", random_state=0).fit(table)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        labels = labels_of(to_onnx(model, dtype="float32"), table)[1]
        chosen = labels_of(to_onnx(model), table)[0]
    is_equal = np.array_equal(labels, model.labels_)
    assert is_equal == (chosen == np.float32) == (not caught)
    assert is_equal or name not in {"answer", "year", "price"}
    assert not is_equal or name not in {"halves", "serial"}
