"""From a block to rows that a fit works on: checked, weighed, where they are clustered."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from .._utils.matrices import FLOATS, canonical, check_kind, numbers_that_fit, stored_by_rows
from ..problem.inputs import check_least_weight
from ..problem.scaling import Space
from ..tree.routing import kernel_view


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of positive weight of one block.

    Parameters
    ----------
    X : array or CSR matrix of shape (m, d), what trees test
    space : array or CSR matrix of shape (m, q), where the rows are clustered
    weight : float64 array of shape (m,), positive
    numbers : int64 array of shape (m,), of the rows among all
    objective : Objective
    """

    X: Any
    space: Any
    weight: np.ndarray
    numbers: np.ndarray
    objective: Any

    @cached_property
    def data(self):
        """What the objective has prepared."""
        return self.objective.prepare(self.space)

    @cached_property
    def view(self):
        """X as the kernels read it."""
        return kernel_view(self.X)

    def nearest(self, centers):
        """Distance to the nearest of some centres, and which it is, ties to the lowest."""
        distances = self.objective.distances(self.data, centers)
        nearest = distances.argmin(axis=1)
        return distances[np.arange(len(nearest)), nearest], nearest

    def __len__(self):
        """Number of rows."""
        return len(self.weight)


@dataclass(frozen=True, eq=False)
class Reader:
    """What makes rows of blocks, the same every time.

    Parameters
    ----------
    space : Space, whose scaling, where there is one, is that of the rows
    n_features : int
    first : int64 array, number of the first row of each block; one entry more, the number of rows
    """

    space: Space
    n_features: int
    first: np.ndarray

    def rows(self, block):
        """The rows of a block whose values were checked before; None without any.

        Raises
        ------
        ValueError
            If the block has other rows than it had.
        """
        X = stored_by_rows(_floats(block.X))
        start, stop = self.first[block.number : block.number + 2]
        if X.shape != (stop - start, self.n_features):
            raise ValueError(
                f"it had {stop - start} rows of {self.n_features} columns when it was first read, "
                f"and has the shape {X.shape} now; blocks must be the same every time."
            )
        weight, numbers = _weights(block.weight, X.shape[0]), np.arange(start, stop)
        embedding = None if block.embedding is None else stored_by_rows(_floats(block.embedding))
        present = weight > 0
        if not present.all():
            X, weight, numbers = X[present], weight[present], numbers[present]
            embedding = None if embedding is None else embedding[present]
        if not len(weight):
            return None
        space = self.space.scaled(X) if embedding is None else embedding
        return Rows(X, space, weight, numbers, self.space.objective)


def first_look(block):
    """X, weight and embedding of a block, all checked.

    Raises
    ------
    ValueError
        If they have NaN or infinite values, or do not go with each other.
    """
    X = _floats(block.X, is_finite=True)
    weight, embedding = _weights(block.weight, X.shape[0]), block.embedding
    if embedding is not None:
        embedding = _floats(embedding, "embedding", is_finite=True)
        if embedding.shape[0] != X.shape[0]:
            raise ValueError(f"embedding has {embedding.shape[0]} rows, X has {X.shape[0]}.")
    return X, weight, embedding


def _weights(weight, n_rows):
    """Weights of rows, at least 0; all of a block may be 0, as of a whole table they may not."""
    if weight is None:
        return np.ones(n_rows)
    check_kind(weight, "sample_weight")
    options = {"dtype": np.float64, "ensure_min_samples": 0, "input_name": "sample_weight"}
    with numbers_that_fit("sample_weight"):
        weight = check_array(weight, ensure_2d=False, **options)
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has the shape {weight.shape}, X has {n_rows} rows.")
    if weight.min(initial=0.0) < 0:
        raise ValueError("sample_weight must be at least 0.")
    check_least_weight(weight)
    return weight


def _floats(X, name="X", is_finite=False):
    """A block as an array or canonical CSR matrix of floats, looked through where that is asked."""
    check_kind(X, name)
    options = {"accept_sparse": "csr", "dtype": FLOATS, "input_name": name}
    with numbers_that_fit(name):
        return canonical(
            check_array(X, ensure_all_finite=is_finite, ensure_min_samples=0, **options)
        )
