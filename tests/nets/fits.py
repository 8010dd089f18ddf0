"""Fits of every kind, for tests of what does not change them: rows in, facts about the fit out."""

from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from conftest import ESTIMATORS

from tao_cluster import DirectForm, TAOClustering
from tao_cluster.objectives import Trimmed

QUICK = {"algorithm": DirectForm(n_init=1, search="none"), "random_state": 0}


@dataclass(frozen=True)
class Rows:
    """Rows of a table and all that belongs to them."""

    X: Any
    y: Any
    weight: Any
    embedding: Any
    ids: Any

    def take(self, positions):
        """Some rows, by position, with all that belongs to them."""
        return Rows(*(None if v is None else v.iloc[positions] for v in vars(self).values()))

    def weighted(self, weight):
        return replace(self, weight=pd.Series(weight, self.X.index, dtype=float))


class PerRow(list):
    """Values of the rows, in their order."""


def facts_of_fit(model, X):
    tree = model.tree_
    return {
        "tree": [tree.children_left, tree.split_indices, tree.split_weights, tree.threshold],
        "labels": PerRow(model.labels_.tolist()),
        "predicted": PerRow(model.predict(X).tolist()),
        "free": PerRow(model.free_labels_.tolist()),
        "centers": model.cluster_centers_.ravel(),
        "cost": model.cost_increase_,
        "sizes": model.node_counts_ / model.node_counts_[0],
        "spread": model.split_stds_,
    }


def fitted(make, **options):
    def fit(rows):
        given = {name: getattr(rows, known) for name, known in options.items()}
        weight = {} if rows.weight is None else {"sample_weight": rows.weight}
        return facts_of_fit(make().fit(rows.X, **given, **weight), rows.X)

    return fit


KINDS = {
    "oblique": {},
    "axis": {"split": "axis", "max_leaves": 5},
    "standardized": {"standardize": True, "max_parameters": 20},
    "validation": {"validation": 0.3},
    "large leaves": {"min_samples_leaf": 0.1},
    "kmedians": {"objective": "kmedians"},
    "kmedoids": {"objective": "kmedoids"},
    "spherical": {"objective": "spherical"},
    "trimmed": {"objective": Trimmed("kmeans", share=0.1)},
    "penalty": {"algorithm": "penalty", "depth": 2},
    "search": {"algorithm": DirectForm(n_init=2), "depth": 3},
}
FITS = {
    name: fitted(lambda options=options: TAOClustering(3, **QUICK | options))
    for name, options in KINDS.items()
}
FITS["labels"] = fitted(lambda: TAOClustering(objective="labels", **QUICK), y="y")
FITS["embedding"] = fitted(lambda: TAOClustering(3, **QUICK), embedding="embedding")
FITS |= {
    name: fitted(lambda cls=cls: cls(3, random_state=0))
    for name, cls in ESTIMATORS.items()
    if cls is not TAOClustering
}
