"""The settings of a fit: what the parameters of the estimator stand for, resolved once."""

from dataclasses import dataclass

from ..core.options import name_of, resolve
from ..problem.objectives import KMeans, KMedians, KMedoids, Objective, SphericalKMeans
from ..problem.penalties import Penalty, SquaredError, ZeroOne
from ..solvers import Liblinear, Newton, NodeSolver, check_supported
from .descent.direct_form import DirectForm
from .descent.penalty_method import PenaltyMethod
from .goals import MaxCostIncrease, MaxParameters, goal_of
from .split_kinds import SPLIT_KINDS, SplitKind
from .starts.initial import InitialTree
from .starts.named import builder_of

OBJECTIVES = {
    "kmeans": KMeans(),
    "spherical": SphericalKMeans(),
    "kmedians": KMedians(),
    "kmedoids": KMedoids(),
}
PENALTIES = {"zero-one": ZeroOne(), "squared": SquaredError()}
NODE_SOLVERS = {"liblinear": Liblinear(), "newton": Newton()}
ALGORITHMS = {"direct": DirectForm(), "penalty": PenaltyMethod()}


@dataclass(frozen=True)
class Settings:
    """How a tree is searched for. `start` builds the initial trees; see TAOClustering for the rest.

    `can_be_direct` is whether the parts can do what the direct form asks of them; `refine` and
    `relax` are what the parameters of these names ask for and the parts can do.
    """

    objective: Objective
    penalty: Penalty
    split_kind: SplitKind
    solver: NodeSolver
    algorithm: DirectForm | PenaltyMethod
    start: InitialTree
    n_init: int
    max_rows: int | None
    lambda_: float
    can_be_direct: bool
    goal: MaxParameters | MaxCostIncrease | None
    refine: bool
    relax: bool
    trim: float
    n_jobs: int

    @classmethod
    def of(cls, parameters, n_jobs):
        """The settings that parameters of TAOClustering stand for.

        Parameters
        ----------
        parameters : dict, of the constructor
        n_jobs : int, threads

        Raises
        ------
        ValueError
            If a part is a class instead of an object, parts do not go together, or a parameter
            would be ignored.
        """
        kind = SPLIT_KINDS[parameters["split"]]
        objective = resolve(parameters["objective"], OBJECTIVES, Objective)
        penalty = resolve(parameters["penalty"], PENALTIES)
        solver = resolve(
            parameters["node_solver"], {"auto": kind.solver, **NODE_SOLVERS}, NodeSolver
        )
        # What the direct form asks of the parts.
        can_be_direct = solver.supports_weights and penalty.is_binary
        automatic = ALGORITHMS["direct" if can_be_direct else "penalty"]
        settings = cls(
            objective=objective,
            penalty=penalty,
            split_kind=kind,
            solver=solver,
            algorithm=resolve(parameters["algorithm"], {"auto": automatic, **ALGORITHMS}),
            start=_start(parameters, kind),
            n_init=parameters["n_init"],
            max_rows=parameters["max_rows"],
            lambda_=parameters["lambda_"],
            can_be_direct=can_be_direct,
            goal=goal_of(parameters["max_parameters"], parameters["max_cost_increase"]),
            refine=parameters["refine"] and can_be_direct,
            relax=parameters["relax"] and can_be_direct,
            trim=parameters["trim"],
            n_jobs=n_jobs,
        )
        _check_parts(settings)
        _check_nothing_is_ignored(settings, parameters)
        _check_sample(settings.max_rows, parameters["n_clusters"])
        return settings

    @property
    def needs_direct(self):
        """Whether the direct form is asked for, as by a goal."""
        return self.goal is not None or self.algorithm.is_direct

    def check_data(self, X, weight):
        """Fail at once if the parts do not go with the data.

        Parameters
        ----------
        X : array or CSR matrix
        weight : float64 array of shape (n,), positive

        Raises
        ------
        ValueError
            With a sentence that names what to use.
        """
        check_supported(self.solver, X, weight, self.penalty)


def _start(parameters, kind):
    init, depth = parameters["init"], parameters["depth"]
    if isinstance(init, str) and init == "auto":
        return kind.default_start(depth, parameters["n_clusters"])
    return resolve(builder_of(init, depth), {}, InitialTree)


def _check_parts(settings):
    """ValueError, with a sentence that names what to use, if the parts do not go together."""
    solver, name = settings.solver, name_of(settings.solver)
    if solver.split != settings.split_kind.name:
        raise ValueError(
            f"{name} solves nodes of split={solver.split!r}; for "
            f"split={settings.split_kind.name!r} use node_solver='auto'."
        )
    if settings.needs_direct and not settings.can_be_direct:
        raise ValueError(
            "The direct form, and with it a path or a goal, needs a node solver with instance "
            f"weights and leaves with labels; not {name} and {name_of(settings.penalty)}. "
            "Use node_solver='auto', penalty='zero-one' or, without a goal, "
            "algorithm='penalty'."
        )


def _check_nothing_is_ignored(settings, parameters):
    """ValueError if a parameter that was given has no say in what the others ask for."""
    if settings.goal is not None and not settings.algorithm.is_direct:
        raise ValueError(
            "max_parameters and max_cost_increase are searched for along a path of the direct "
            "form, so the penalty method would not be used: leave out algorithm, or the goal."
        )
    if settings.algorithm.is_direct and not parameters["refine"]:
        raise ValueError(
            "refine=False leaves out what ends the penalty method; the direct form has nothing to "
            "leave out. Use algorithm='penalty', or relax=False to leave out the refits."
        )


def _check_sample(max_rows, n_clusters):
    """ValueError if a sample would be too small for the clusters."""
    if max_rows is not None and max_rows < n_clusters:
        raise ValueError(
            f"max_rows={max_rows} should be >= n_clusters={n_clusters}: a sample of so few rows "
            "has none of some clusters. Some thousand rows a leaf lose little."
        )


def check_path(settings):
    """ValueError if settings ask for what a path along lambda does not do."""
    if not settings.can_be_direct or not settings.algorithm.is_direct:
        raise ValueError(
            "A path needs the direct form: algorithm='auto', penalty='zero-one' and a node solver "
            "with instance weights, as node_solver='auto' is."
        )
    if settings.goal is not None:
        raise ValueError("A path has no goal; choose from it by tao_cluster.knee.")
