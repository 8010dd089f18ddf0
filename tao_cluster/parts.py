"""What the strings of the constructor stand for, and which parts go together."""

from dataclasses import dataclass

from .node_solvers import Liblinear, Newton, NodeSolver, check_supported
from .objectives import KMeans, KMedians, KMedoids, Objective, SphericalKMeans
from .penalties import Penalty, SquaredError, ZeroOne
from .splits import SPLITS

OBJECTIVES = {
    "kmeans": KMeans(),
    "spherical": SphericalKMeans(),
    "kmedians": KMedians(),
    "kmedoids": KMedoids(),
}
PENALTIES = {"zero-one": ZeroOne(), "squared": SquaredError()}
NODE_SOLVERS = {"liblinear": Liblinear(), "newton": Newton()}


@dataclass(frozen=True)
class Parts:
    """The parts of an estimator, as objects; `split` is the name of its kind of tests."""

    objective: Objective
    penalty: Penalty
    split: str
    solver: NodeSolver

    @property
    def kind(self):
        """The kind of tests: SplitKind."""
        return SPLITS[self.split]

    @classmethod
    def of(cls, objective, penalty, split, node_solver):
        """Parts that the parameters of an estimator stand for.

        Raises
        ------
        ValueError
            If one is a class instead of an object.
        """
        solvers = {"auto": SPLITS[split].solver, **NODE_SOLVERS}
        return cls(
            _resolve(objective, OBJECTIVES),
            _resolve(penalty, PENALTIES),
            split,
            _resolve(node_solver, solvers),
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


def _resolve(value, named):
    if isinstance(value, type):
        raise ValueError(f"{value.__name__} is a class; give an object, {value.__name__}().")
    return named[value] if isinstance(value, str) else value
