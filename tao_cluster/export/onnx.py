"""The tree as an ONNX model."""

import numpy as np

from .._utils.optional import import_optional
from ..columns.names import Filled, Indicator
from ..columns.view import shown
from ..tree import tree_of

_OPSET = 17
_IR_VERSION = 8  # of the release that brought this opset: older runtimes read it too


def to_onnx(tree, *, dtype=np.float32):
    """The tree as an ONNX model that predicts clusters of batches of rows.

    Parameters
    ----------
    tree : Tree, fitted estimator with `tree_`, or fitted pipeline that ends in one
        Of a pipeline the columns of X are the raw columns that its steps use, in their order.
    dtype : float32 or float64, default=float32
        Type of the input. The tree computes in float64 with either, as `predict` does.

    Returns
    -------
    onnx.ModelProto
        Input `X` of shape (n, n_features). Output `label`, int64 of shape (n,): the number of the
        cluster, of a model with `classes_` the position in these. And of a tree with
        histograms `probabilities`, float64 of shape (n, n_clusters).

    Raises
    ------
    ImportError
        If onnx is not installed (``pip install "tao-cluster[onnx]"``).
    ValueError
        For another `dtype`, or a pipeline that encodes categories.

    Notes
    -----
    All tests are one matrix product in float64, whose order of summation is the runtime's, so that
    a row within rounding of an oblique threshold may take the other side than in `predict`.
    Axis-aligned trees give the same labels for all rows. The model has a number for each test and
    feature, and one for each test and leaf: a tree of 10 001 nodes takes 100 MB.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.export import to_onnx
    >>> tree = Tree.from_splits([1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None],
    ...                         [2.5, 0, 0], [-1, 0, 1], n_features=1)
    >>> [output.name for output in to_onnx(tree).graph.output]
    ['label']
    """
    onnx = import_optional("onnx", "to_onnx", 'pip install "tao-cluster[onnx]"')
    tree, names = shown(tree)
    helper, tree = onnx.helper, tree_of(tree)
    _check_numbers(names)
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype}.")
    arrays = _arrays(tree)
    double = onnx.TensorProto.DOUBLE
    steps = [
        ("Gather", ["X", "features"], "used", {"axis": 1}),
        ("Cast", ["used"], "values", {"to": double}),
        ("MatMul", ["values", "weights"], "sums", {}),
        ("LessOrEqual", ["sums", "thresholds"], "goes_left", {}),
        ("Cast", ["goes_left"], "left", {"to": onnx.TensorProto.FLOAT}),
        ("MatMul", ["left", "turns"], "matches", {}),
        ("Sub", ["matches", "left_turns"], "mistakes", {}),
        ("ArgMax", ["mistakes"], "leaf", {"axis": 1, "keepdims": 0}),
        ("Gather", ["leaf_labels", "leaf"], "label", {"axis": 0}),
    ]
    outputs = [helper.make_tensor_value_info("label", onnx.TensorProto.INT64, ["n"])]
    if tree.leaf_value is not None:
        arrays["leaf_values"] = tree.leaf_value[tree.leaves]
        steps.append(("Gather", ["leaf_values", "leaf"], "probabilities", {"axis": 0}))
        shape = ["n", tree.leaf_value.shape[1]]
        outputs.append(helper.make_tensor_value_info("probabilities", double, shape))
    kind = helper.np_dtype_to_tensor_dtype(dtype)
    graph = helper.make_graph(
        [helper.make_node(op, given, [result], **how) for op, given, result, how in steps],
        "tree",
        [helper.make_tensor_value_info("X", kind, ["n", tree.n_features])],
        outputs,
        [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    model = helper.make_model(
        graph,
        producer_name="tao-cluster",
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
    )
    onnx.checker.check_model(model)
    return model


def _check_numbers(names):
    """Refuse what is more than a column of numbers."""
    for name in names:
        if isinstance(name, Indicator | Filled):
            task = "encodes categories" if isinstance(name, Indicator) else "fills gaps"
            raise ValueError(
                f"to_onnx takes rows of numbers, but the pipeline {task} ({name}): use to_sql, or "
                f"convert the last step of the pipeline alone."
            )


def _arrays(tree):
    """The constants of the graph.

    A row of `turns` is a test, a column a leaf: +1 where the path to the leaf turns left, -1
    where it turns right. Summed over the nodes that a row would leave to the left, that is the
    number of left turns at the leaf that the row reaches, and less at every other. A tree without
    tests has one without weights that is on no path.
    """
    # A tree without weights reads one column, with weight 0: no tensor is empty.
    features = tree.used_features if tree.n_nonzero else np.zeros(1, dtype=np.int64)
    tests = tree.decision_nodes if tree.n_leaves > 1 else np.zeros(1, dtype=np.int64)
    weights = np.zeros((len(features), len(tests)))
    place = np.repeat(np.arange(len(tests)), np.diff(tree.split_indptr)[tests])
    weights[np.searchsorted(features, tree.split_indices), place] = tree.split_weights
    on_path = tree.paths(tree.leaves).toarray().T
    turns = on_path[tree.children_left[tests]].astype(np.float32)
    turns -= on_path[tree.children_right[tests]]
    return {
        "features": features.astype(np.int64),
        "weights": weights,
        "thresholds": tree.threshold[tests],
        "turns": turns,
        "left_turns": (turns > 0).sum(axis=0, dtype=np.float32),
        "leaf_labels": tree.leaf_label[tree.leaves].astype(np.int64),
    }
