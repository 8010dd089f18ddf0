"""What a fit to blocks has found: a sample, the free clustering, a tree, and its model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._utils.options import name_of, with_plain_numbers
from ..problem.scaling import Space
from ..reference import (
    centers_of,
    cost_increase,
    fit_reference,
    given_centers,
    is_to_be_fitted,
    nearest_center,
    to_fit,
    used_clusters,
)
from ..tree.spreads import first_values
from . import free
from .coreset import all_rows, coreset
from .look import Look
from .rounds.improve import improved
from .rounds.trees import Described, describe, weigh
from .rows import Reader, Rows

# Rows of a sample, and rows a cluster: as many as find a tree where all rows are at hand.
_SAMPLE_ROWS, _ROWS_A_CLUSTER = 100_000, 1000

# When Lloyd's algorithm has settled: shifts of centres, as a share of the mean variance of columns
# (scikit-learn's `tol`), or what a pass gains, as a share of the cost.
_SETTLED, _LEAST_GAIN = 1e-4, 1e-5

# Rounds end when one lowers the cost by no more than this share.
_SMALL = 1e-4

_ROUNDING = 1e-12

_OF_ROWS = ("labels_", "free_labels_")  # attributes with an entry a row


@dataclass(frozen=True, eq=False)
class State:
    """A tree, its centres, and what all rows say of them.

    Parameters
    ----------
    tree : Tree
    centers : float64 array of shape (k, m)
    told : Described
    """

    tree: Any
    centers: np.ndarray
    told: Described

    @property
    def cost(self):
        """Cost of all rows."""
        return self.told.cost


@dataclass(frozen=True, eq=False)
class Found:
    """What the rows and a sample of them have given.

    Parameters
    ----------
    estimator : as the user gave it
    method : result of its ``_method()``
    model : fitted to the sample
    blocks : Blocks
    reader : Reader
    sample : Rows, which stand for all
    centers, cost : float64 array of shape (k, m) and float, the free clustering of all rows
    total : float, weight of all rows
    rng : RandomState
    """

    estimator: Any
    method: Any
    model: Any
    blocks: Any
    reader: Reader
    sample: Rows
    centers: np.ndarray
    cost: float
    total: float
    rng: Any

    @classmethod
    def of(cls, estimator, blocks, coreset_size, random_state):
        """The free clustering of all rows, and the tree of a sample.

        Parameters as for :func:`.fit.fit`.
        """
        plain = with_plain_numbers(estimator)
        method, k = plain._method(), plain.n_clusters
        _check_method(method)
        rng, look = check_random_state(random_state), Look.at(blocks, k)
        scaling = look.scaling() if estimator.standardize else None
        space = Space(
            method.objective,
            blocks.has_embedding,
            None if blocks.has_embedding else scaling,
            None,
        )
        reader, size = look.reader(space), coreset_size
        if size == "auto":
            size = max(_SAMPLE_ROWS, _ROWS_A_CLUSTER * k)
        mean = space.scaled_centers(look.of_embedding.mean[None])[0]
        if look.n_present <= size:
            X, embedding, weight = all_rows(blocks, reader)
        else:
            X, embedding, weight = coreset(blocks, reader, mean, k, size, rng)
        if len(weight) < k:
            raise ValueError(
                f"The sample has {len(weight)} rows for {k} clusters; coreset_size={size} must be "
                "larger."
            )
        clustered = space.scaled(X) if embedding is None else embedding
        sample = Rows(X, clustered, weight, np.arange(len(weight)), method.objective)
        centers = _free_centers(plain, blocks, reader, sample, look)
        cost, mass = free.value(blocks, reader, centers)
        used = used_clusters(mass)
        if is_to_be_fitted(estimator.reference):  # numbers of our own choosing: empty ones last
            centers = centers[np.argsort(~used, kind="stable")]
        model = clone(estimator).set_params(reference=_shown(space, centers))
        model._fit(X, None, weight, embedding, scaling)
        terms = (blocks, reader, sample, centers, cost, look.moments.weight, rng)
        return cls(estimator, method, model, *terms)

    def states(self, n_passes):
        """Yield better and better states, the first of them that of the sample's tree.

        Parameters
        ----------
        n_passes : int, most rounds
        """
        start = self.reader.space.scaled_centers(self.model.cluster_centers_)
        improves = self.method.improves
        state = self._described(self._weighed([self.model.tree_], start, relabels=improves))
        yield state
        for _ in range(n_passes if improves else 0):
            args = (self.blocks, self.reader, state, self.sample, self.rng)
            found = improved(*args, self.method.midpoints)
            if found is None:
                return
            before, state = state, self._described(found)
            if state.cost > before.cost * (1 + _ROUNDING):  # equal: thresholds moved between rows
                return
            yield state
            if before.cost - state.cost <= _SMALL * before.cost:
                return

    def _weighed(self, trees, centers, relabels):
        return weigh(self.blocks, self.reader, trees, centers, relabels)

    def _described(self, weighed):
        """The state of a tree and its centres."""
        tree, view = weighed.tree, self.sample.view
        share = self.sample.weight / self.total
        origin = np.nan_to_num(first_values(tree, view, tree.route(view), share))
        terms = (tree, weighed.centers, origin, self.centers, self.total)
        told = describe(self.blocks, self.reader, *terms)
        return State(tree, weighed.centers, told)

    def stored(self, state):
        """The fitted estimator of a state."""
        model, space, tree, told = self.model, self.reader.space, state.tree, state.told
        if tree.leaf_value is not None:
            tree = tree.with_leaves(tree.leaf_label, told.histograms())
        fitted = {
            "tree_": tree,
            "node_counts_": told.counts(tree),
            "split_spreads_": told.spreads(tree),
            "split_gaps_": told.gaps(tree),
            "cluster_centers_": _shown(space, state.centers),
            "inertia_": told.cost,
            "free_centers_": _shown(space, self.centers),
            "free_inertia_": self.cost,
            "cost_increase_": cost_increase(told.cost, self.cost),
        }
        vars(model).update(fitted)
        for name in _OF_ROWS:
            delattr(model, name)
        if self.blocks.names is not None:
            model.feature_names_in_ = np.asarray(self.blocks.names, dtype=object)
        return model.set_params(reference=self.estimator.reference)


def _check_method(method):
    """ValueError for a method whose fit is no sum over rows."""
    objective = method.objective
    if objective.explains_labels or objective.cluster_sums is None or not objective.is_sum:
        raise ValueError(
            f"Rows in blocks need centres that are sums over rows, as k-means and spherical "
            f"k-means have; {name_of(objective)} has none: fit a sample of the rows."
        )
    if np.ndim(method.validation):
        raise ValueError(
            "validation by numbers of rows is for rows in memory; give a share of the sample."
        )


def _free_centers(estimator, blocks, reader, sample, look):
    """Free centres (k, m): those given, or found in the sample and then by Lloyd's algorithm.

    What a reference of the user's finds in the sample stays as it is.
    """
    space, objective, reference = reader.space, sample.objective, estimator.reference
    k, seed = estimator.n_clusters, estimator.random_state
    if not is_to_be_fitted(reference):
        shown = given_centers(reference, sample.space, sample.weight, objective)
        expected = (k, sample.space.shape[1])
        if shown.shape != expected:
            raise ValueError(
                f"The reference must have n_clusters={k} centres with {expected[1]} features; it "
                f"has centres of shape {shown.shape}."
            )
        return space.scaled_centers(shown)
    found = to_fit(reference, objective, sample.space, k, seed)
    centers = centers_of(*fit_reference(found, sample.space, sample.weight, seed), objective)
    if reference is not None:
        return centers
    moments = look.of_embedding
    spread = moments.squares / moments.weight
    if space.scaling is not None:
        spread = spread / space.scaling.scale**2
    labels = nearest_center(objective, sample.data, centers)
    cost = objective.value(sample.data, labels, sample.weight, centers)
    ends = _SETTLED * float(spread.mean()), _LEAST_GAIN * cost
    return free.lloyd(blocks, reader, centers, *ends)[0]


def _shown(space, centers):
    """Centres in the user's units."""
    return centers.copy() if space.scaling is None else space.scaling.undo(centers)
