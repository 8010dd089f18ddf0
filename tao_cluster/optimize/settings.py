"""The settings of a fit: what the parameters of the estimator stand for, resolved once."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .._utils.options import name_of, resolve
from ..initial_trees.initial import WITH_DEPTH, InitialTree, builder_of, leaves_at
from ..objectives import KMeans, KMedians, KMedoids, Labels, Objective, SphericalKMeans
from ..penalties import Penalty, SquaredError, ZeroOne
from ..solvers import Exact, Liblinear, Newton, NodeSolver, check_supported
from .direct_form import DirectForm
from .path import Knee, MaxCostIncrease, MaxParameters, goal_of
from .penalty_method import PenaltyMethod
from .split_kinds import SPLIT_KINDS, SplitKind


@dataclass(frozen=True)
class Effort:
    """How long trees are searched for.

    Parameters
    ----------
    n_rounds : int
        Of the search over the structure of an oblique tree.
    n_rounds_on_path : int
        Of each tree of a path.
    most_values : float
        Of X that all rounds of a tree together may look at in a pass: large data get fewer rounds.
    n_times : int
        Multiple of the passes that a search for an axis-aligned tree may take.
    n_copies : int
        Noisy copies of each of few rows, for which the true cost of an oblique tree counts, too.
    """

    n_rounds: int
    n_rounds_on_path: int
    most_values: float
    n_times: int
    n_copies: int

    def on_path(self):
        """The effort for each tree of a path."""
        return replace(self, n_rounds=self.n_rounds_on_path)

    def n_rounds_over(self, n_values):
        """Rounds of a search over so many values of X."""
        return int(min(self.n_rounds, self.most_values / max(1, n_values)))


OBJECTIVES = {
    "kmeans": KMeans(),
    "spherical": SphericalKMeans(),
    "kmedians": KMedians(),
    "kmedoids": KMedoids(),
    "labels": Labels(),
}
PENALTIES = {"zero-one": ZeroOne(), "squared": SquaredError()}
NODE_SOLVERS = {"liblinear": Liblinear(), "newton": Newton()}
EFFORTS = {"fast": Effort(4, 0, 4e6, 1, 3), "thorough": Effort(30, 30, np.inf, 3, 8)}
# Above so many rows, and so many a cluster, a sample finds the tree if max_rows="auto".
_MANY_ROWS, _MANY_A_CLUSTER = 100_000, 1000
_LEAST_DEPTH = 5  # of depth="auto"
ALGORITHMS = {"direct": DirectForm(), "penalty": PenaltyMethod()}


@dataclass(frozen=True)
class Settings:
    """How a tree is searched for. `start` builds the initial trees; see TAOClustering for the rest.

    `can_be_direct` is whether the parts can do what the direct form asks of them; `refine` and
    `relax` are what the parameters of these names ask for and the parts can do. `lambda_` is None
    where it follows from the data; `goal` is then the knee of a path, where there can be one.
    `most_leaves` and `most_depth` are None where the parameters set no limit.
    """

    objective: Objective
    penalty: Penalty
    split_kind: SplitKind
    solver: NodeSolver
    algorithm: DirectForm | PenaltyMethod
    start: InitialTree
    n_init: int
    max_rows: int | None
    max_leaves: int | None
    lambda_: float | None
    can_be_direct: bool
    goal: Knee | MaxParameters | MaxCostIncrease | None
    validation: Any
    most_leaves: int | None
    most_depth: int | None
    refine: bool
    relax: bool
    trim: float
    effort: Effort
    n_jobs: int
    exact: ClassVar[NodeSolver] = Exact()

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
        kind = resolve(parameters["split"], SPLIT_KINDS)
        objective = resolve(parameters["objective"], OBJECTIVES, Objective)
        penalty = resolve(parameters["penalty"], PENALTIES)
        parameters = {**parameters, "depth": _resolved_depth(parameters, objective)}
        solver = resolve(
            parameters["node_solver"], {"auto": kind.solver, **NODE_SOLVERS}, NodeSolver
        )
        # What the direct form asks of the parts.
        can_be_direct = solver.supports_weights and penalty.is_binary
        automatic = ALGORITHMS["direct" if can_be_direct else "penalty"]
        algorithm = resolve(parameters["algorithm"], {"auto": automatic, **ALGORITHMS})
        goal = goal_of(parameters["max_parameters"], parameters["max_cost_increase"])
        lambda_ = _lambda(parameters["lambda_"], goal, kind)
        if goal is None and lambda_ is None and algorithm.is_direct:
            goal = Knee()
        max_rows = parameters["max_rows"]
        if max_rows == "auto":  # axis-aligned trees are found in all rows
            most = max(_MANY_ROWS, _MANY_A_CLUSTER * parameters["n_clusters"])
            max_rows = most if kind.samples_rows else None
        settings = cls(
            objective=objective,
            penalty=penalty,
            split_kind=kind,
            solver=solver,
            algorithm=algorithm,
            start=_start(parameters, kind, objective),
            max_rows=max_rows,
            lambda_=lambda_,
            can_be_direct=can_be_direct,
            goal=goal,
            most_leaves=_most_leaves(parameters, kind, objective),
            most_depth=_depth(parameters, True),
            refine=parameters["refine"] and can_be_direct,
            relax=parameters["relax"] and can_be_direct,
            effort=EFFORTS[parameters["search"]],
            n_jobs=n_jobs,
            **{name: parameters[name] for name in ("n_init", "max_leaves", "validation", "trim")},
        )
        _check_parts(settings)
        _check_nothing_is_ignored(settings, parameters)
        _check_sample(max_rows, parameters["n_clusters"])
        return settings

    @property
    def searches(self):
        """Whether descents end on the true cost, and a search over structure follows."""
        return self.relax and (self.algorithm.is_direct or self.refine)

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


def default_depth(n_clusters):
    """What depth="auto" is: 5, or one level more than n_clusters leaves need."""
    return max(_LEAST_DEPTH, int(n_clusters - 1).bit_length() + 1)


def _resolved_depth(parameters, objective):
    """The depth as a number; how many labels there are to explain is not known yet."""
    if parameters["depth"] != "auto":
        return parameters["depth"]
    return _LEAST_DEPTH if objective.explains_labels else default_depth(parameters["n_clusters"])


def _lambda(lambda_, goal, kind):
    """Lambda as a number, or None where it follows from the data."""
    if lambda_ != "auto":
        if goal is not None:
            raise ValueError(
                "max_parameters and max_cost_increase search for lambda, so that lambda_="
                f"{lambda_!r} would not be used: leave out one of the two."
            )
        return lambda_
    return kind.lambda_without_goal if goal is None else None


def _start(parameters, kind, objective):
    init, depth, max_leaves = parameters["init"], parameters["depth"], parameters["max_leaves"]
    if isinstance(init, str) and init == "auto":
        builder = kind.default_start(depth, parameters["n_clusters"], max_leaves, objective)
    else:
        builder = builder_of(init, depth, max_leaves)
    return resolve(builder, {}, InitialTree)


def _most_leaves(parameters, kind, objective):
    """Most leaves that a tree of such parameters can have; None where that is open."""
    max_leaves = parameters["max_leaves"]
    # Without max_leaves, CART for given labels has the leaves of the depth; ExKMC one a cluster.
    is_limited = kind.depth_limits_leaves or (objective.explains_labels and max_leaves is None)
    depth = _depth(parameters, is_limited)
    limits = [] if depth is None else [leaves_at(depth)]
    return min(limits + ([] if max_leaves is None else [max_leaves]), default=None)


def _depth(parameters, is_limited):
    """Most depth of initial trees, if those of "auto" are so limited; None where that is open."""
    init = parameters["init"]
    if isinstance(init, str):
        has_depth = init in WITH_DEPTH or (init == "auto" and is_limited)
        return parameters["depth"] if has_depth else None
    return init.depth if type(init) in WITH_DEPTH.values() else None


def _check_parts(settings):
    """ValueError, with a sentence that names what to use, if the parts do not go together."""
    solver, name = settings.solver, name_of(settings.solver)
    if not settings.objective.is_sum:
        raise ValueError(
            f"{name_of(settings.objective)} is no sum over rows, which TAOClustering needs; use "
            "what is made for it, greedy.ExKCenter or greedy.ExSingleLink."
        )
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
    if settings.validation is not None and settings.goal is None:
        raise ValueError(
            "validation is for a choice along lambda: with lambda_='auto' of oblique trees in the "
            "direct form, max_parameters or max_cost_increase."
        )
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
    if settings.goal is not None and settings.goal.is_limit:
        raise ValueError("A path has no goal; choose from it by tao_cluster.knee.")
    if settings.validation is not None:
        raise ValueError("A path chooses nothing; give tao_cluster.knee the rows for validation.")
