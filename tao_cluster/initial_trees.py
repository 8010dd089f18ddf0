"""Initial trees: the fixed structure and first parameters that the optimiser starts from."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from .node_solvers import Split
from .routing import kernel_view, project
from .tree import Tree


@runtime_checkable
class InitialTree(Protocol):
    """What builds the first tree of a fit."""

    def build(
        self,
        X: Any,
        labels: np.ndarray,
        centers: np.ndarray,
        sample_weight: np.ndarray,
        rng: np.random.RandomState,
    ) -> Tree:
        """Tree over the rows of X for the free clustering (labels, centers).

        `centers` (k, d) are in the space of X. A builder that draws no random numbers says so
        by an attribute ``deterministic = True``, and is asked once.
        """


# Builders of the package `greedy` that a name stands for: its classes.
BUILDERS = {"imm": "IMM", "exkmc": "ExKMC", "exgreedy": "ExGreedy", "exshallow": "ExShallow"}


def initial_tree(init, depth):
    """The builder that an `init` parameter stands for.

    Parameters
    ----------
    init : str, Tree or InitialTree
    depth : int, of "bisecting"

    Returns
    -------
    InitialTree
    """
    if isinstance(init, Tree):
        return Given(init)
    if init == "bisecting":
        return Bisecting(depth)
    if isinstance(init, str):
        import greedy  # it builds on this package

        return getattr(greedy, BUILDERS[init])()
    return init


@dataclass(frozen=True)
class Bisecting:
    """Complete tree by recursive 2-means bipartitioning of the rows (KDD'22 paper, section 9).

    A node's test is the bisector of the two centres. A node whose rows are all equal is not
    split, so a tree has at most as many leaves as X has distinct rows. Leaves get the
    majority label of the free clustering.

    Parameters
    ----------
    depth : int, default=5
        Number of levels of tests; 2 ** depth leaves.
    n_init : int, default=1
        Restarts of 2-means at a node. The best bipartition of the rows is not the best start
        for a tree: several trees of one restart each do better (`n_init` of TAOClustering).
    """

    depth: int = 5
    n_init: int = 1

    def build(self, X, labels, centers, sample_weight, rng):
        """See :class:`InitialTree`."""
        view = kernel_view(X)
        n_clusters = len(centers)
        left, right, splits, leaf_label = [-1], [-1], [None], [-1]
        level = [(0, np.arange(X.shape[0]))]
        for remaining in range(self.depth, -1, -1):
            below = []
            for node, rows in level:
                sides = self._bisect(X, view, rows, sample_weight, rng) if remaining else None
                if sides is None:
                    votes = np.bincount(labels[rows], sample_weight[rows], n_clusters)
                    leaf_label[node] = votes.argmax()
                    continue
                splits[node], goes_left = sides
                left[node], right[node] = len(left), len(left) + 1
                below += [(left[node], rows[goes_left]), (right[node], rows[~goes_left])]
                for column, blank in ((left, -1), (right, -1), (splits, None), (leaf_label, -1)):
                    column.extend([blank, blank])
            level = below
        return Tree.from_splits(
            left,
            right,
            [s and (s.indices, s.weights) for s in splits],
            [s.threshold if s else 0.0 for s in splits],
            leaf_label,
            X.shape[1],
        )

    def _bisect(self, X, view, rows, sample_weight, rng):
        """Bisector of 2-means on some rows and the mask of those on its left, or None."""
        if len(rows) < 2:
            return None
        everything = len(rows) == X.shape[0]  # then k-means may not shift the rows in place
        kmeans = KMeans(2, n_init=self.n_init, random_state=rng, copy_x=everything)
        with warnings.catch_warnings():  # all rows equal: handled below
            warnings.simplefilter("ignore", ConvergenceWarning)
            kmeans.fit(X if everything else X[rows], sample_weight=sample_weight[rows])
        a, b = kmeans.cluster_centers_.astype(np.float64)
        squared_distance = (b - a) @ (b - a)
        if squared_distance == 0:
            return None
        # The centres get margins -1 and +1, the scale of a logistic model: ||w||_1 of a node
        # that is revived late must compare with what the solver offers.
        direction = 2 * (b - a) / squared_distance
        split = Split.from_dense(direction, direction @ (a + b) / 2)
        goes_left = project(view, rows, split.indices, split.weights) <= split.threshold
        return None if goes_left.all() or not goes_left.any() else (split, goes_left)


@dataclass(frozen=True)
class Given:
    """A tree of the user's, as it is.

    Parameters
    ----------
    tree : Tree
    """

    tree: Tree
    deterministic: ClassVar[bool] = True

    def build(self, X, labels, centers, sample_weight, rng):
        """The given tree.

        Raises
        ------
        ValueError
            If it was built on another number of features or has labels beyond the clusters.
        """
        if self.tree.n_features != X.shape[1]:
            raise ValueError(
                f"The initial tree has {self.tree.n_features} features, X has {X.shape[1]}."
            )
        if self.tree.leaf_label.max() >= len(centers):
            raise ValueError(
                f"The initial tree has cluster {self.tree.leaf_label.max()}, but there are only "
                f"{len(centers)} clusters."
            )
        return self.tree
