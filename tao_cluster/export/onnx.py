"""Trees as ONNX models."""

from dataclasses import replace

import numpy as np

from .._utils.imports import import_optional
from .._utils.warnings import warn
from ..columns.names import Indicator, Numeric
from ..columns.view import shown
from ..report import cluster_values
from ..tree import tree_of
from ..tree.conditions import Bound

_OPSET = 17
_FLOAT32 = 2.0**-24  # largest relative error of a number that is rounded to float32
_IR_VERSION = 8  # file format of the first ONNX release with opset 17: old runtimes read it


def to_onnx(tree, *, dtype="auto"):
    """Return the tree as an ONNX model that predicts the clusters of batches of rows.

    Parameters
    ----------
    tree : Tree, fitted estimator with `tree_`, or fitted pipeline that ends in one
        For a pipeline, the input of the model has the raw columns that the steps use, in their
        order.
    dtype : {"auto", "float32", "float64"} or numpy dtype, default="auto"
        Type of the input. "auto" is float32 if the fitted rows reach the same leaves after their
        values are rounded to float32, or if no fitted rows are known. Otherwise it is float64. The
        model computes in float64 in either case, as `predict` does.

    Returns
    -------
    onnx.ModelProto
        The input is `X` of shape (n, n_features). The output `label` of shape (n,) has the values
        of `predict`, also if the clusters are named: int64 numbers of clusters, or the labels that
        the model explains, of their own type. A tree with histograms has a second output,
        `probabilities`, float64 of shape (n, n_clusters).

    Raises
    ------
    ImportError
        If onnx is not installed (``pip install "tao-cluster[onnx]"``).
    ValueError
        If `dtype` is another type, or if a pipeline encodes categories or imputes missing values.

    Warns
    -----
    UserWarning
        If "auto" chooses float64, or if `dtype` is float32 although float32 values do not separate
        the fitted rows. Examples are columns of seconds since 1970, Julian dates, and coordinates
        in metres.

    Notes
    -----
    The model evaluates all tests as one matrix product in float64. With float64 input, the labels
    of an axis-aligned tree are those of `predict` for all rows. In an oblique tree, a row within
    rounding error of a threshold may get another label, because the runtime chooses the order of
    summation. With float32 input and `dtype="auto"`, the fitted rows get their labels; another row
    may get another label if rounding its values to float32 moves it across a threshold. The model
    stores one number per test and feature, and one per test and leaf: a tree of 10 001 nodes takes
    100 MB.

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
    model, names = shown(tree)
    helper, tree = onnx.helper, tree_of(model)
    _check_numbers(names)
    dtype, threshold = _input_type(dtype, model, tree)
    arrays = _arrays(replace(tree, threshold=threshold))
    labels = np.array(cluster_values(model, names=False))
    labels = labels.astype(object) if labels.dtype.kind == "U" else labels  # strings of ONNX
    arrays["leaf_labels"] = labels[tree.leaf_label[tree.leaves]]
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
    kind = helper.np_dtype_to_tensor_dtype(labels.dtype)
    outputs = [helper.make_tensor_value_info("label", kind, ["n"])]
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


def _input_type(dtype, model, tree):
    """Return the type of the input, and the thresholds of the nodes for this type."""
    is_auto = isinstance(dtype, str) and dtype == "auto"
    kind = np.dtype("float32" if is_auto else dtype)
    if kind not in (np.float32, np.float64):
        raise ValueError(f'dtype must be "auto", float32 or float64, got {kind}.')
    if kind == np.float64:
        return kind, tree.threshold
    threshold = _float32_thresholds(model, tree)
    if threshold is not None:
        return kind, threshold
    reason = "values rounded to float32 do not separate the fitted rows"
    if is_auto:
        warn(f"The input X of the ONNX model is float64, because {reason}.")
        return np.dtype(np.float64), tree.threshold
    warn(f'The ONNX model gives other labels than predict: {reason}. Use dtype="float64".')
    return kind, tree.threshold


@np.errstate(all="ignore")  # large values become infinite, and small ones 0
def _float32_thresholds(model, tree):
    """Return thresholds that separate the fitted rows after their values are rounded to float32.

    Returns
    -------
    float64 array of shape (n_nodes,), or None
        Those of the tree where they do. The result is None if other thresholds do not, either.
    """
    threshold = tree.threshold.copy()
    sides, observed = (getattr(model, name, None) for name in ("split_sides_", "_column_range"))
    if sides is None or observed is None:
        return threshold
    rounded_sides = np.asarray(sides).astype(np.float32).astype(np.float64)
    for node in tree.decision_nodes:
        indices, weights = tree.split(node)
        low, high = rounded_sides[node] if len(indices) == 1 else sides[node]
        low, high = -np.inf if np.isnan(low) else low, np.inf if np.isnan(high) else high
        if len(indices) == 1:
            bound = Bound.from_test(indices[0], weights[0], threshold[node])
            limits = bound.value, float(np.float32(bound.value))
            fitting = [
                x for x in limits if (low <= x < high if bound.is_upper else low < x <= high)
            ]
            if not fitting:
                return None
            if fitting[0] != bound.value:
                threshold[node] = weights[0] * fitting[0]
        elif len(indices):
            size = np.abs(observed[:, indices]).max(axis=0)
            change = _FLOAT32 * (np.abs(weights) @ size)
            if not low + change <= threshold[node] < high - change:
                return None
    return threshold


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
    }
