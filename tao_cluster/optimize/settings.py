"""The settings of a fit: what the parameters of the estimator stand for, resolved once."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .._utils.options import name_of, resolve
from ..initial_trees.builders import WITH_DEPTH, InitialTree, max_leaves_at, resolve_builder
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
ZERO_ONE = ZeroOne()
PENALTIES = {"zero-one": ZERO_ONE, "squared": SquaredError()}
NODE_SOLVERS = {"liblinear": Liblinear(), "newton": Newton()}
EFFORTS = {
    "none": Effort(0, 0, 0.0, 0, 3),
    "fast": Effort(4, 0, 4e6, 1, 3),
    "thorough": Effort(30, 30, np.inf, 3, 8),
}
EFFORTS["auto"] = EFFORTS["fast"]
# Above so many rows, and so many a cluster, a sample finds the tree if max_rows="auto".
_MANY_ROWS, _MANY_A_CLUSTER = 100_000, 1000
_LEAST_DEPTH = 5  # of depth="auto"
_PAPER = PenaltyMethod(n_init=1, node_solver="liblinear", refine=False)
ALGORITHMS = {"direct": DirectForm(), "penalty": PenaltyMethod(), "published": _PAPER}
_WITHOUT = DirectForm(relax=False, search="none", trim=0.0, max_rows=None)


@dataclass(frozen=True)
class Settings:
    """How a tree is searched for. `start` builds the initial trees; see TAOClustering for the rest.

    `solver` is the node solver of the algorithm, and `direct_solver` that of direct passes, which
    can end the penalty method. `has_direct_passes` is whether there are such passes. `lambda_` is
    None if it follows from the data; `goal` is then the knee of a path, if there can be one.
    `most_leaves` and `most_depth` are None if the parameters set no limit.
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
    direct_solver: NodeSolver
    has_direct_passes: bool
    goal: Knee | MaxParameters | MaxCostIncrease | None
    validation: Any
    most_leaves: int | None
    most_depth: int | None
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
        parameters = {**parameters, "depth": _resolved_depth(parameters, objective)}
        algorithm = resolve(parameters["algorithm"], ALGORITHMS)
        if parameters["algorithm"] == "published":
            algorithm, kind, parameters["init"] = _published(kind, parameters["init"])
        direct = algorithm.direct_form or _WITHOUT
        solver = _node_solver(algorithm, kind)
        has_direct_passes = algorithm.direct_form is not None
        goal = goal_of(parameters["max_parameters"], parameters["max_cost_increase"])
        lambda_ = _lambda(parameters["lambda_"], goal, kind)
        if goal is None and lambda_ is None and algorithm.is_direct:
            goal = Knee()
        max_rows = direct.max_rows
        if max_rows == "auto":  # axis-aligned trees are found in all rows
            most = max(_MANY_ROWS, _MANY_A_CLUSTER * parameters["n_clusters"])
            max_rows = most if kind.samples_rows else None
        settings = cls(
            objective=objective,
            penalty=ZERO_ONE if algorithm.is_direct else resolve(algorithm.penalty, PENALTIES),
            split_kind=kind,
            solver=solver,
            algorithm=algorithm,
            start=_start(parameters, kind, objective),
            max_rows=max_rows,
            lambda_=lambda_,
            direct_solver=_node_solver(direct, kind) if has_direct_passes else solver,
            has_direct_passes=has_direct_passes,
            goal=goal,
            most_leaves=_most_leaves(parameters, kind, objective),
            most_depth=_depth(parameters, True),
            relax=direct.relax,
            trim=direct.trim,
            effort=EFFORTS[direct.search],
            n_init=algorithm.n_init,
            n_jobs=n_jobs,
            max_leaves=parameters["max_leaves"],
            validation=parameters["validation"],
        )
        _check_parts(settings)
        _check_nothing_is_ignored(settings)
        _check_sample(max_rows, parameters["n_clusters"])
        return settings

    @property
    def searches(self):
        """Whether descents end on the true cost, and a search over structure follows."""
        return self.relax and self.effort is not EFFORTS["none"]

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


def _node_solver(algorithm, kind):
    """Return the node solver of an algorithm; axis-aligned nodes have one of their own."""
    named = {**NODE_SOLVERS, "newton": kind.solver}
    return resolve(algorithm.node_solver, named, NodeSolver)


def _published(kind, init):
    """Return the algorithm, the kind of splits and the initial tree of the KDD'22 paper.

    Its axis-aligned trees start from ExKMC and have values of rows as thresholds (section 9.3).
    """
    if kind.name == "axis":
        algorithm, kind = replace(_PAPER, node_solver="newton"), replace(kind, midpoints=False)
        return algorithm, kind, "exkmc" if init == "auto" else init
    return _PAPER, kind, "bisecting" if init == "auto" else init


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
        builder = resolve_builder(init, depth, max_leaves)
    return resolve(builder, {}, InitialTree)


def _most_leaves(parameters, kind, objective):
    """Most leaves that a tree of such parameters can have; None where that is open."""
    max_leaves = parameters["max_leaves"]
    # Without max_leaves, CART for given labels has the leaves of the depth; ExKMC one a cluster.
    is_limited = kind.depth_limits_leaves or (objective.explains_labels and max_leaves is None)
    depth = _depth(parameters, is_limited)
    limits = [] if depth is None else [max_leaves_at(depth)]
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
    if not settings.objective.is_sum:
        raise ValueError(
            f"{name_of(settings.objective)} is no sum over rows, which TAOClustering needs; use "
            "what is made for it, greedy.ExKCenter or greedy.ExSingleLink."
        )
    for solver in (settings.solver, settings.direct_solver):
        if solver.split != settings.split_kind.name:
            raise ValueError(
                f"{name_of(solver)} solves nodes of split={solver.split!r}; for "
                f"split={settings.split_kind.name!r} leave node_solver at its default, 'newton'."
            )
    if settings.has_direct_passes and not settings.direct_solver.supports_weights:
        raise ValueError(
            f"The direct form needs a node solver with instance weights, which "
            f"{name_of(settings.direct_solver)} does not support. Use "
            "DirectForm(node_solver='newton'), or the penalty method with this solver: "
            "algorithm=PenaltyMethod(node_solver=...)."
        )


def _check_nothing_is_ignored(settings):
    """Raise a ValueError if a parameter that was given would not be used."""
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


def _check_sample(max_rows, n_clusters):
    """ValueError if a sample would be too small for the clusters."""
    if max_rows is not None and max_rows < n_clusters:
        raise ValueError(
            f"max_rows={max_rows} should be >= n_clusters={n_clusters}: a sample of so few rows "
            "has none of some clusters. Some thousand rows a leaf lose little."
        )


def check_path(settings):
    """ValueError if settings ask for what a path along lambda does not do."""
    if not settings.algorithm.is_direct:
        raise ValueError("A path needs the direct form: algorithm='direct' or DirectForm(...).")
    if settings.goal is not None and settings.goal.is_limit:
        raise ValueError("A path has no goal; choose from it by tao_cluster.knee.")
    if settings.validation is not None:
        raise ValueError("A path chooses nothing; give tao_cluster.knee the rows for validation.")
