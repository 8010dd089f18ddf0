"""What the strings of the constructor stand for, and which parts go together."""

from dataclasses import dataclass

from .node_solvers import Axis, Liblinear, Newton, NodeSolver, check_supported
from .objectives import KMeans, KMedians, KMedoids, Objective, SphericalKMeans
from .penalties import Penalty, SquaredError, ZeroOne

OBJECTIVES = {
    "kmeans": KMeans(),
    "spherical": SphericalKMeans(),
    "kmedians": KMedians(),
    "kmedoids": KMedoids(),
}
PENALTIES = {"zero-one": ZeroOne(), "squared": SquaredError()}
NODE_SOLVERS = {"liblinear": Liblinear(), "newton": Newton()}
# Splits, and the node solver that "auto" is for each.
SPLITS = {"oblique": Newton(), "axis": Axis()}


@dataclass(frozen=True)
class Parts:
    """The parts of an estimator, resolved: split is a str, the others are objects."""

    objective: Objective
    penalty: Penalty
    split: str
    solver: NodeSolver

    @classmethod
    def of(cls, objective, penalty, split, node_solver):
        """Parts that the parameters of an estimator stand for."""
        if isinstance(node_solver, str):
            solver = SPLITS[split] if node_solver == "auto" else NODE_SOLVERS[node_solver]
        else:
            solver = node_solver
        return cls(
            OBJECTIVES[objective] if isinstance(objective, str) else objective,
            PENALTIES[penalty] if isinstance(penalty, str) else penalty,
            split,
            solver,
        )

    @property
    def can_be_direct(self):
        """Whether the parts can do what the direct form asks of them."""
        return self.solver.supports_weights and self.penalty.is_binary

    def check(self, X, weight, needs_direct):
        """Fail at once if the parts do not go together, or not with the data.

        Parameters
        ----------
        X : array or CSR matrix
        weight : float64 array of shape (n,), positive
        needs_direct : bool
            Whether a direct form is asked for, as by a goal or a path.

        Raises
        ------
        ValueError
            With a sentence that names what to use.
        """
        name = type(self.solver).__name__
        split = getattr(self.solver, "split", "oblique")
        if split != self.split:
            raise ValueError(
                f"{name} solves nodes of split={split!r}; for split={self.split!r} use "
                "node_solver='auto'."
            )
        check_supported(self.solver, X, weight, self.penalty)
        if needs_direct and not self.can_be_direct:
            raise ValueError(
                "The direct form, and with it a path or a goal, needs a node solver with instance "
                f"weights and leaves with labels; not {name} and {type(self.penalty).__name__}. "
                "Use node_solver='auto', penalty='zero-one' or, without a goal, "
                "algorithm='penalty'."
            )
