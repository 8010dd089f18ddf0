"""The attributes of fitted estimators: a closed table of them, which files are held to."""

import itertools

import numpy as np
from sklearn.mixture import GaussianMixture

from ..problem.scaling import Space
from ..tree import Tree
from ..tree.growth import Growth
from .forms import Instance, Labels, ListOf, Number, Numbers, OneOf, Records, Texts

_WHOLE, _COUNT = Number(0, is_whole=True), Number(1, is_whole=True)
_REAL, _ABOVE = Number(may_be_infinite=True), Number(0, may_be_infinite=True)
_TRUTH, _STRING = Instance(bool), Instance(str)
_ROUNDED = 1 + 1e-9  # counts are sums of weights

# Where the rows do not reach a node, spreads and gaps are NaN; a gap without next rows is infinite.
_ALL = {
    "tree_": Instance(Tree),
    "_space": Instance(Space),
    "n_features_in_": _COUNT,
    "cluster_centers_": Numbers("f", ("k", "m")),
    "free_centers_": Numbers("f", ("k", "m")),
    "node_counts_": Numbers("f", ("nodes",), least=0),
    "split_spreads_": Numbers("f", ("weights",), least=0, is_finite=False),
    "split_gaps_": Numbers("f", ("nodes",), least=0, is_finite=False),
    "inertia_": _REAL,
    "free_inertia_": _REAL,
    "cost_increase_": _REAL,
    "n_iter_": _WHOLE,
}
# What depends on the rows or on options: a fit to rows in blocks, say, has no labels_.
_SOMETIMES = {
    "feature_names_in_": Texts("d"),
    "labels_": Labels(),
    "free_labels_": Labels(has_noise=True),
    "_sklearn_output_config": OneOf(
        tuple({"transform": kind} for kind in ("default", "pandas", "polars"))
    ),
}
_PASS = {
    "stage": _STRING,
    "lambda": _ABOVE,
    "mu": _ABOVE,
    "cost_increase": _REAL,
    "leaves": _COUNT,
    "non_zeros": _WHOLE,
    "mismatch": _REAL,
    "kept": _TRUTH,
    "seconds": _ABOVE,
}
_CUT = {"node": _WHOLE, "threshold": Number(), "leaves": _COUNT}
_CUTS = Records(({**_CUT, "feature": _WHOLE}, {**_CUT, "features": ListOf(_WHOLE)}))
_TRIAL = {"depth_factor": _REAL, "cost_increase": _REAL, "explanation_size": _REAL}
_STEP = {"leaves": _COUNT, "surrogate": _REAL, "cost": _REAL, "cost_increase": _REAL}

# Of single estimators; "validation_cost_increase_" and "classes_" are for some of their options.
_CUTTING: tuple[str, ...]
_CUTTING = ("IMM", "ExGreedy", "ExShallow", "EMN", "DPTree", "RandomCuts", "Kauri", "SpEx")
_CUTTING += ("ExKCenter", "CUBT", "CLTree", "KDTree", "ExKMC", "ExSingleLink")
_OWN = {
    **{name: {"history_": _CUTS} for name in _CUTTING},
    "TAOClustering": {"history_": Records((_PASS,)), "best_lambda_": _ABOVE},
    "ExShallowSearch": {"history_": Records((_TRIAL,)), "depth_factor_": _REAL},
    "ExKMC": {
        "history_": _CUTS,
        "trace_": Records((_STEP,), least=1),
        "_growth": Instance(Growth),
        "_max_leaves": _COUNT,
    },
    "ExSingleLink": {"history_": _CUTS, "spacing_": _REAL, "free_spacing_": _REAL},
    "MixtureTree": {
        "mixture_": Instance(GaussianMixture),
        "component_labels_": Numbers("i", ("k",), least=0, below="k"),
        "agreement_": Number(0, 1),
        "error_bound_": _REAL,
    },
}
_OWN_SOMETIMES = {
    "TAOClustering": {"validation_cost_increase_": _REAL, "classes_": Instance(np.ndarray)}
}


def attributes_of(name):
    """Forms of what a fitted estimator has, and of what it may have: two dicts.

    Parameters
    ----------
    name : str, its class
    """
    return {**_ALL, **_OWN.get(name, {})}, {**_SOMETIMES, **_OWN_SOMETIMES.get(name, {})}


def check_fitted(name, attributes):
    """ValueError if fitted attributes are not such, or do not fit each other.

    Parameters
    ----------
    name : str, class of the estimator
    attributes : dict
    """
    needed, allowed = attributes_of(name)
    missing = sorted(set(needed) - set(attributes))
    if missing:
        raise ValueError(f"the attribute {missing[0]} is missing.")
    unknown = sorted(set(attributes) - set(needed) - set(allowed))
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no attribute of a fitted {name}.")
    for part in ("tree_", "_space"):  # the sizes are of these
        _check(part, needed[part], attributes, {})
    sizes = _sizes(attributes)
    for part, form in {**needed, **allowed}.items():
        if part in attributes:
            _check(part, form, attributes, sizes)
    for check in _TOGETHER:
        check(attributes, sizes)


def _check(name, form, attributes, sizes):
    if not form.fits(attributes[name], sizes):
        raise ValueError(f"{name} must be {form.told(sizes)}.")


def _sizes(attributes):
    """Sizes of a model, as its tree, space and centres have them."""
    tree, space = attributes["tree_"], attributes["_space"]
    centers = attributes["cluster_centers_"]
    if not (isinstance(centers, np.ndarray) and centers.ndim == 2 and centers.size):
        raise ValueError("cluster_centers_ must be an array of rows.")
    n_clusters = len(centers) if space.classes is None else len(space.classes)
    if tree.leaf_label.max() >= n_clusters:
        raise ValueError("the tree has a cluster without a centre.")
    labels = [attributes[name] for name in ("labels_", "free_labels_") if name in attributes]
    return {
        "d": tree.n_features,
        "m": centers.shape[1] if space.has_embedding else tree.n_features,
        "k": n_clusters,
        "n": len(labels[0]) if labels and np.ndim(labels[0]) == 1 else 0,
        "nodes": tree.n_nodes,
        "weights": tree.n_nonzero,
        "classes": None if space.classes is None else space.classes.tolist(),
    }


# ------------------------------------------------------------------ what fits each other


def _check_tree(attributes, sizes):
    tree = attributes["tree_"]
    if attributes["n_features_in_"] != sizes["d"]:
        raise ValueError("the tree has another number of features than n_features_in_.")
    if tree.leaf_value is not None and tree.leaf_value.shape[1] != sizes["k"]:
        raise ValueError("the histograms of the tree are of another number of clusters.")
    counts = attributes["node_counts_"]
    if not 0 < counts[0] * _ROUNDED >= counts.max():
        raise ValueError("node_counts_ must be largest at the root, where all rows are.")


def _check_space(attributes, sizes):
    space, classes = attributes["_space"], attributes.get("classes_")
    scaling = space.scaling
    if not space.objective.explains_labels == (space.classes is not None) == (classes is not None):
        raise ValueError("classes_ are those of an objective that explains labels.")
    if space.has_embedding and (scaling is not None or classes is not None):
        raise ValueError("an embedding has neither a scaling nor classes.")
    if classes is not None and not _are_classes(classes, space.classes, sizes["k"]):
        raise ValueError("classes_ must be sorted labels of one kind, those of _space.")
    if scaling is not None:
        _check_scaling(scaling, sizes)


def _are_classes(classes, others, k):
    labels = classes.tolist()
    kinds = {type(label) for label in labels}
    return (
        classes.shape == (k,)
        and (kinds <= {str} or kinds <= {int, float, bool})
        and all(a < b for a, b in itertools.pairwise(labels))
        and classes.dtype == others.dtype
        and labels == others.tolist()
    )


def _check_scaling(scaling, sizes):
    form = Numbers("f", ("d",))
    for name in ("offset", "scale"):
        _check(name, form, vars(scaling), sizes)
    if not (scaling.scale > 0).all():
        raise ValueError("the scales of columns must be above 0.")


def _check_growth(attributes, sizes):
    """The nodes of an expanded tree are pairs, as they were made, and end with the tree."""
    growth = attributes.get("_growth")
    if not isinstance(growth, Growth):
        return
    columns = (growth.left, growth.right, growth.splits, growth.label)
    if {len(column) for column in columns} != {sizes["nodes"]}:
        raise ValueError("_growth must have the nodes of the tree.")
    made = sorted(pair for pair in zip(*columns[:2], strict=True) if pair != (-1, -1))
    pairs = itertools.pairwise(range(1, sizes["nodes"] + 1))
    is_whole = all(type(label) is int and 0 <= label < sizes["k"] for label in growth.label)
    if (
        made != list(pairs)[::2]
        or not is_whole
        or growth.to_tree(sizes["d"]) != attributes["tree_"]
    ):
        raise ValueError("_growth must be that of the tree.")
    leaves = [step["leaves"] for step in attributes["trace_"]]
    if leaves != list(range(leaves[0], leaves[0] + len(leaves))) or leaves[-1] != growth.n_leaves:
        raise ValueError("trace_ must go leaf by leaf to those of the tree.")


_TOGETHER = (_check_tree, _check_space, _check_growth)
