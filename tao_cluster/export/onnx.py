"""Trees as ONNX models."""

import numpy as np

from .._utils.optional import import_optional
from ..columns.names import Indicator, Numeric
from ..columns.view import shown
from ..tree import tree_of

_OPSET = 17
_IR_VERSION = 8  # file format of the first ONNX release with opset 17: old runtimes read it


def to_onnx(tree, *, dtype="float32"):
    """Return the tree as an ONNX model that predicts the clusters of batches of rows.

    Parameters
    ----------
    tree : Tree, fitted estimator with `tree_`, or fitted pipeline that ends in one
        For a pipeline, the input of the model has the raw columns that the steps use, in their
        order.
    dtype : {"float32", "float64"} or numpy dtype, default="float32"
        Type of the input. The model computes in float64 in either case, as `predict` does.

    Returns
    -------
    onnx.ModelProto
        The input is `X` of shape (n, n_features). The output `label`, int64 of shape (n,), is the
        number of the cluster; for a model with `classes_` it is the position in `classes_`. A tree
        with histograms has a second output, `probabilities`, float64 of shape (n, n_clusters).

    Raises
    ------
    ImportError
        If onnx is not installed (``pip install "tao-cluster[onnx]"``).
    ValueError
        If `dtype` is another type, or if a pipeline encodes categories or imputes missing values.

    Notes
    -----
    The model evaluates all tests as one matrix product in float64. The runtime chooses the order of
    summation, so a row within rounding error of an oblique threshold may get another label than
    from `predict`. Axis-aligned trees give the same labels for all rows. The model stores one
    number per test and feature, and one per test and leaf: a tree of 10 001 nodes takes 100 MB.

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
    """Raise a ValueError if a pipeline reads cells, encodes categories or imputes values."""
    for name in names:
        if isinstance(name, Indicator | Numeric):
            task = "encodes categories"
            if isinstance(name, Numeric):
                task = "reads strings or dates" if name.fill is None else "imputes values"
            raise ValueError(
                f"to_onnx needs numbers as input, but the pipeline {task} ({name}). Use to_sql, or "
                f"convert the last step of the pipeline alone."
            )


def _arrays(tree):
    """Return the constants of the graph by name.

    `turns` has one row per test and one column per leaf. An entry is +1 if the path to the leaf
    turns left at the test, -1 if it turns right, and 0 if the test is not on the path. For a row of
    the data, the entries of a leaf are added over the tests whose condition holds. This sum equals
    the number of left turns on the path to the leaf if the row reaches the leaf. It is smaller for
    all other leaves.
    """
    # Tensors must not be empty: a tree without weights reads one column with weight 0, and a tree
    # without tests has one test that is on no path.
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
