"""Where the rows of a fitted model are clustered, and how that reads in the user's own terms."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..objectives import Objective, cluster_means
from .inputs import check_embedding, label_column
from .scaling import Scaling


@dataclass(frozen=True, eq=False)
class Space:
    """The space of the centres: that of X, standardised or not, an embedding, or given labels.

    Parameters
    ----------
    objective : Objective
    has_embedding : bool
    scaling : Scaling, optional
        Of the columns of X, where rows are clustered by them.
    classes : array of shape (k,), optional
        The labels that the tree explains.
    """

    objective: Objective
    has_embedding: bool
    scaling: Scaling | None
    classes: np.ndarray | None

    @classmethod
    def of(cls, problem, inputs):
        """The space of a problem and of the arguments of the fit that it was made of."""
        is_scaled = problem.space is problem.X
        scaling = problem.scaling if is_scaled or inputs.classes is not None else None
        return cls(problem.objective, inputs.has_embedding, scaling, inputs.classes)

    def named(self, labels):
        """Clusters as `predict` gives them: numbers, or the labels that they stand for.

        Parameters
        ----------
        labels : int array of shape (n,); below 0 for no cluster, which is -1 or None
        """
        if self.classes is None:
            return labels
        names, is_noise = self.classes[labels], labels < 0
        if is_noise.any():
            is_number = names.dtype.kind in "if"
            names = names if is_number else names.astype(object)
            names[is_noise] = -1 if is_number else None
        return names

    def shown(self, centers, X, labels, weight):
        """Centres in the user's units; where the objective has none, the means of their rows.

        Parameters
        ----------
        centers : float64 array of shape (k, m)
        X : array or CSR matrix of shape (n, d)
        labels : int array of shape (n,)
        weight : float64 array of shape (n,)
        """
        if self.classes is not None:
            return cluster_means(X, labels, weight, len(centers))
        return centers.copy() if self.scaling is None else self.scaling.undo(centers)

    def clustered(self, X, y, embedding):
        """New rows as the objective takes them.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d), checked
        y : array-like of shape (n,), or None
        embedding : array-like or CSR matrix of shape (n, m), or None

        Raises
        ------
        ValueError
            If an embedding, or labels, are missing, or an embedding is not asked for.
        """
        if self.has_embedding == (embedding is None):
            raise ValueError(
                "A cost needs the embedding of the rows, since fit was given one."
                if self.has_embedding
                else "An embedding of new rows is taken only if fit was given one."
            )
        if self.classes is not None:
            return label_column(y, X.shape[0], self.classes)[0]
        return self.scaled(X) if embedding is None else check_embedding(embedding, X.shape[0])

    def scaled(self, rows):
        """Rows of X, or of the embedding, as distances are measured between them."""
        return rows if self.scaling is None else self.scaling.apply(rows)

    def scaled_centers(self, centers):
        """The same for centres that are shown; those of labels are their numbers."""
        if self.classes is not None:
            return np.arange(float(len(centers)))[:, None]
        return self._scaled_points(centers)

    def _scaled_points(self, points):
        return points if self.scaling is None else self.scaling.of_points(points)

    def distances(self, rows, centers) -> Any:
        """Distances of rows to shown centres, as `transform` gives them."""
        objective = self.objective if self.objective.geometry is None else self.objective.geometry
        data = objective.prepare(self.scaled(rows))
        return objective.as_distance(objective.distances(data, self._scaled_points(centers)))
