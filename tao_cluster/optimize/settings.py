"""The settings of a fit: the parameters of the estimator, resolved and checked once."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .._utils.options import name_of, resolve
from ..initial_trees.builders import (
    InitialTree,
    axis_aligned,
    in_turn,
    max_leaves_at,
    resolve_builder,
)
from ..initial_trees.cart import Cart
from ..objectives import Labels, Objective
from ..objectives.trimmed import WITH_CENTERS, Trimmed
from ..penalties import Penalty, SquaredError, ZeroOne
from ..solvers import Exact, NodeSolver, check_supported
from .algorithms import (
    NODE_SOLVERS,
    SPLIT_KINDS,
    AxisAligned,
    DirectForm,
    Oblique,
    PenaltyMethod,
)
from .choose import Goal
from .limits import Limits, starts_at_any_size


@dataclass(frozen=True)
class Effort:
    """Limits on the time that the search for a better tree takes (the parameter `search`).

    Parameters
    ----------
    n_rounds : int
        Rounds of the search over the structure of an oblique tree.
    n_rounds_on_path : int
        Rounds for each tree of a path.
    most_values : float
        Maximum number of values of X that all rounds of a tree together read per pass, so that
        large data get fewer rounds.
    n_times : float
        The search for an axis-aligned tree runs this multiple of its default number of passes.
    """

    n_rounds: int
    n_rounds_on_path: int
    most_values: float
    n_times: float

    def on_path(self):
        """Return a copy for the trees of a path, with `n_rounds_on_path` as number of rounds."""
        return replace(self, n_rounds=self.n_rounds_on_path)

    def n_rounds_over(self, n_values):
        """Return the number of rounds of a search over `n_values` values of X."""
        return int(min(self.n_rounds, self.most_values / max(1, n_values)))


OBJECTIVES = {**WITH_CENTERS, "trimmed": Trimmed(share="auto"), "labels": Labels()}
ZERO_ONE = ZeroOne()
PENALTIES = {"zero-one": ZERO_ONE, "squared": SquaredError()}
EFFORTS = {
    "none": Effort(0, 0, 0.0, 0),
    "auto": Effort(0, 0, 4e6, 1),
    "fast": Effort(4, 0, 4e6, 1),
    "thorough": Effort(30, 30, np.inf, 3),
}
_N_COPIES, _N_COPIES_IF_THOROUGH = 3, 8  # noisy copies per row with copies="auto"
# With a limit of size or cost, "auto" makes this number of rounds for oblique trees. Without a
# limit it makes none: rounds lower the cost of the fitted rows, but not that of new rows.
_ROUNDS_TO_LIMIT = 1
# With max_rows="auto", a fit uses a sample of the rows if there are more than 100 000 rows and more
# than 1000 rows per cluster.
_MANY_ROWS, _MANY_A_CLUSTER = 100_000, 1000
_LEAST_DEPTH = 5  # the smallest depth that depth="auto" can stand for
# The interpretation of the KDD'22 paper whose trees are nearest to its table 2 on letter; see
# docs/guide/paper.md. The paper starts from one tree of bisecting 2-means. On letter, the cost of
# the result depends more on the seed of that tree than on how well 2-means divides the rows.
# Therefore eight such trees are built: in groups of four, the best of which starts a path.
_PAPER = PenaltyMethod(
    n_init=8, penalty="squared", strength="constant", accept="always", result="last", refine=False
)
ALGORITHMS = {"direct": DirectForm(), "penalty": PenaltyMethod(), "published": _PAPER}
_WITHOUT = DirectForm(relax=False, search="none", trim=0.0, max_rows=None)


@dataclass(frozen=True)
class Settings:
    """How a tree is fitted. `start` builds the initial trees; see TAOClustering for the rest.

    `solver` is the node solver of the algorithm. `direct_solver` is that of passes of the direct
    form, which can follow the penalty method; `has_direct_passes` is whether there are such passes.
    `lambda_` is None if it is chosen from the data. If the user then gives no limit, `goal` is the
    knee of a path, or None if the algorithm follows no path.
    `limits` are those of the size of trees; `goal` has a limit of cost or of parameters. The limits
    of a problem, such as the size of leaves, depend on the data. `start_of_size` returns the
    builder of initial trees for a number of leaves. `parameters` are those of the estimator, with
    a number as `depth`.
    """

    objective: Objective
    penalty: Penalty
    split_kind: Oblique | AxisAligned
    solver: NodeSolver
    algorithm: DirectForm | PenaltyMethod
    start: InitialTree
    n_init: int
    max_rows: int | None
    lambda_: float | None
    direct_solver: NodeSolver
    has_direct_passes: bool
    goal: Goal | None
    limits: Limits
    validation: Any
    start_of_size: Callable[[int], InitialTree]
    relax: bool
    trim: float
    effort: Effort
    n_copies: int
    n_jobs: int
    parameters: dict
    exact: ClassVar[NodeSolver] = Exact()

    @classmethod
    def of(cls, parameters, n_jobs):
        """Return the settings for parameters of TAOClustering.

        Parameters
        ----------
        parameters : dict of the parameters of the constructor
        n_jobs : int, number of threads

        Raises
        ------
        ValueError
            If a class was given instead of an object, if parameters cannot be combined, or if a
            parameter would not be used.
        """
        kind = resolve(parameters["split"], SPLIT_KINDS)
        objective = resolve(parameters["objective"], OBJECTIVES, Objective)
        max_depth = getattr(parameters["constraints"], "max_depth", None)
        depth_is_given = parameters["depth"] != "auto"
        if objective.explains_labels:  # their number is not known before `fit`
            parameters = {**parameters, "n_clusters": 1}
        elif objective.trims:  # rows without a cluster need a leaf, too
            parameters = {**parameters, "n_clusters": parameters["n_clusters"] + 1}
        parameters = {**parameters, "depth": _resolved_depth(parameters)}
        if max_depth is not None and max_depth < parameters["depth"]:
            parameters["depth"], depth_is_given = max_depth, True
        algorithm = resolve(parameters["algorithm"], ALGORITHMS)
        if parameters["algorithm"] == "published":
            algorithm, kind, parameters["init"] = _published(kind, parameters["init"])
        direct = algorithm.direct_form or _WITHOUT
        solver = _node_solver(algorithm, kind)
        has_direct_passes = algorithm.direct_form is not None
        goal = Goal(parameters["max_parameters"], parameters["max_cost_increase"])
        lambda_ = _lambda(parameters, goal, kind, algorithm)
        if not goal.is_limit and (lambda_ is not None or not algorithm.is_direct):
            goal = None
        max_rows = direct.max_rows
        if max_rows == "auto":  # axis-aligned trees use all rows
            most = max(_MANY_ROWS, _MANY_A_CLUSTER * parameters["n_clusters"])
            max_rows = most if kind.samples_rows else None
        max_features = direct.max_features_per_test if kind.name == "oblique" else None
        is_capped = max_features is not None
        terms = (parameters, kind, objective, goal, depth_is_given, max_features)
        limits = Limits.from_parameters(*terms)
        settings = cls(
            objective=objective,
            penalty=ZERO_ONE if algorithm.is_direct else resolve(algorithm.penalty, PENALTIES),
            split_kind=kind,
            solver=solver,
            algorithm=algorithm,
            start=_start(parameters, kind, objective, is_capped, parameters["max_leaves"]),
            max_rows=max_rows,
            lambda_=lambda_,
            direct_solver=_node_solver(direct, kind) if has_direct_passes else solver,
            has_direct_passes=has_direct_passes,
            goal=goal,
            limits=limits,
            relax=direct.relax,
            trim=direct.trim,
            effort=_effort(direct.search, goal),
            n_copies=_n_copies(direct),
            n_init=algorithm.n_init,
            n_jobs=n_jobs,
            parameters=parameters,
            start_of_size=partial(_start, parameters, kind, objective, is_capped),
            validation=parameters["validation"],
        )
        _check_parts(settings)
        if parameters["constraints"] is not None:
            terms = (parameters["n_clusters"], kind.name, algorithm)
            parameters["constraints"].check_parameters(*terms)
        _check_nothing_is_ignored(settings, parameters)
        _check_sample(max_rows, parameters["n_clusters"])
        return settings

    @property
    def is_oblique(self):
        """Whether tests are weighted sums of features; otherwise they are axis-aligned."""
        return self.split_kind.name == "oblique"

    @property
    def searches(self):
        """Whether a fit searches for better structures of the tree."""
        return self.relax and self.effort is not EFFORTS["none"]

    def with_axis(self, max_parameters, search, share):
        """Return the settings of a fit of axis-aligned trees to the same rows, with a limit.

        `search` is the parameter of :class:`DirectForm`. The search for a better tree makes the
        share `share` of its passes.
        """
        parameters = self.parameters | {"split": "axis", "init": "auto", "depth": "auto"}
        parameters["max_cost_increase"], parameters["validation"] = None, None
        parameters["max_parameters"] = max_parameters
        direct = DirectForm(search=search, copies=self.algorithm.direct_form.copies)
        found = Settings.of(parameters | {"algorithm": direct}, self.n_jobs)
        effort = replace(found.effort, n_times=share * found.effort.n_times)
        return replace(found, effort=effort)

    def limited(self, n_leaves):
        """Return the settings of a fit of an axis-aligned tree of at most `n_leaves` leaves."""
        limits = replace(self.limits, max_leaves=n_leaves, most_leaves=n_leaves)
        start = self.start_of_size(n_leaves)
        return replace(self, start=start, limits=limits, goal=None, lambda_=0.0)

    def check_data(self, X, weight):
        """Raise an error before the fit if the node solver or the penalty does not support X.

        Parameters
        ----------
        X : array or CSR matrix
        weight : float64 array of shape (n,), positive

        Raises
        ------
        ValueError
            The message names what to use instead.
        """
        check_supported(self.solver, X, weight, self.penalty)


def _node_solver(algorithm, kind):
    """Return the node solver of an algorithm for a kind of splits.

    "newton", the default, stands for the default solver of the kind of splits.
    """
    named = {**NODE_SOLVERS, "newton": kind.solver}
    return resolve(algorithm.node_solver, named, NodeSolver)


def _published(kind, init):
    """Return the algorithm, the kind of splits and the initial trees that the KDD'22 paper uses.

    The paper's axis-aligned trees start from ExKMC (section 9.2), and their thresholds are values
    of rows. The initial trees of the direct form are those of `_start`.
    """
    algorithm, own = _PAPER, "bisecting"
    if kind.name == "axis":
        algorithm, kind, own = replace(_PAPER, n_init=1), replace(kind, midpoints=False), "exkmc"
    return algorithm, kind, own if init == "auto" else init


def default_depth(n_clusters):
    """Return the depth for depth="auto": 5, or one more than `n_clusters` leaves need if larger."""
    return max(_LEAST_DEPTH, int(n_clusters - 1).bit_length() + 1)


def _resolved_depth(parameters):
    """Return the parameter `depth` as a number."""
    if parameters["depth"] != "auto":
        return parameters["depth"]
    return default_depth(parameters["n_clusters"])


def _lambda(parameters, goal, kind, algorithm):
    """Return lambda as a number, or None if a path is followed to choose a tree."""
    lambda_ = parameters["lambda_"]
    if lambda_ != "auto":
        if goal.is_limit:
            raise ValueError(
                f"lambda_={lambda_!r} would not be used: max_parameters and max_cost_increase "
                "choose it. Leave out lambda_, or the limit."
            )
        return lambda_
    if goal.is_limit or kind.name == "oblique":
        return None
    # The knee of axis-aligned trees is over the number of leaves, unless a parameter sets their
    # size.
    has_knee = algorithm.is_direct and parameters["max_leaves"] is None
    has_knee &= starts_at_any_size(parameters["init"])
    return None if has_knee else 0.0


def _effort(search, goal):
    """Return the effort for the parameter `search`; "auto" depends on whether there is a limit."""
    if search == "auto" and goal is not None and goal.is_limit:
        return replace(EFFORTS["auto"], n_rounds=_ROUNDS_TO_LIMIT)
    return EFFORTS[search]


def _n_copies(direct):
    """Return the number of noisy copies per row for the parameter `copies`."""
    if direct.copies != "auto":
        return direct.copies
    return _N_COPIES_IF_THOROUGH if direct.search == "thorough" else _N_COPIES


def _start(parameters, kind, objective, is_capped, max_leaves):
    init, depth, n_clusters = (parameters[name] for name in ("init", "depth", "n_clusters"))
    if max_leaves is not None and kind.name == "axis":
        max_leaves = max(max_leaves, n_clusters)  # leaves beyond the user's limit are pruned later
    if isinstance(init, str) and init == "auto":
        most_leaves = max_leaves or max_leaves_at(depth)
        if kind.name == "axis":
            most_leaves = max_leaves or max(n_clusters, most_leaves)
            max_depth = getattr(parameters["constraints"], "max_depth", None)
            builder = axis_aligned(most_leaves, max_depth)
            if objective.explains_labels:
                builder = Cart(max_leaves or max_leaves_at(depth), max_depth)
        else:
            # Other trees than those of CART lose more when their tests lose features.
            has_cart = objective.explains_labels or is_capped
            builder = in_turn(depth, [Cart(most_leaves, depth)] if has_cart else [])
    else:
        builder = resolve_builder(init, depth, max_leaves)
    return resolve(builder, {}, InitialTree)


def _check_parts(settings):
    """Raise a ValueError if the algorithm, solver, penalty or splits cannot be combined.

    The message names what to use instead.
    """
    if not settings.objective.is_sum:
        raise ValueError(
            f"TAOClustering needs a cost that is a sum over rows, which "
            f"{name_of(settings.objective)} is not: use greedy.ExKCenter or greedy.ExSingleLink."
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
            f"algorithm={_with_newton(settings.algorithm)!r}, or this solver for the penalty "
            "method: algorithm=PenaltyMethod(node_solver=...)."
        )


def _with_newton(algorithm):
    """Return the algorithm whose passes of the direct form use the default node solver."""
    if algorithm.is_direct:
        return replace(algorithm, node_solver="newton")
    return replace(algorithm, refine=replace(algorithm.refine, node_solver="newton"))


def _check_nothing_is_ignored(settings, parameters):
    """Raise a ValueError if a parameter that was given would not be used."""
    if settings.validation is not None and not settings.algorithm.is_direct:
        raise ValueError(
            "validation chooses a tree of the direct form, so the penalty method would not use it: "
            "leave out algorithm, or validation."
        )
    if settings.validation is not None and settings.goal is None:
        raise ValueError(_unused_validation(settings, parameters))
    if settings.goal is not None and not settings.algorithm.is_direct:
        raise ValueError(
            "max_parameters and max_cost_increase choose a tree of the direct form, so the penalty "
            "method would not be used: leave out algorithm, or the limit."
        )


def _unused_validation(settings, parameters):
    """Return an error message: `validation` is unused because other parameters set the size."""
    given = [] if parameters["lambda_"] == "auto" else ["lambda_"]
    if not settings.is_oblique:
        given += [] if parameters["max_leaves"] is None else ["max_leaves"]
        given += [] if starts_at_any_size(parameters["init"]) else ["init"]
    rest = [name for name in given if name != "lambda_"]
    remedy = f"Leave out {' and '.join(given)}"
    if rest:
        first = "leave out lambda_ and " if "lambda_" in given else ""
        remedy += (
            f", or {first}give max_parameters or max_cost_increase beside {' and '.join(rest)}"
        )
    return (
        f"validation chooses the size of a tree, which {' and '.join(given)} "
        f"{'sets' if len(given) == 1 else 'set'} here. {remedy}."
    )


def _check_sample(max_rows, n_clusters):
    """Raise a ValueError if a sample would have fewer rows than there are clusters."""
    if max_rows is not None and max_rows < n_clusters:
        raise ValueError(
            f"max_rows={max_rows} should be >= n_clusters={n_clusters}, because each cluster needs "
            "rows in the sample. About a thousand rows per leaf lose little quality."
        )


def check_path(settings):
    """Raise a ValueError if the settings have no path of trees, or choose one tree from a path."""
    if not settings.algorithm.is_direct:
        raise ValueError("A path needs the direct form: algorithm='direct' or DirectForm(...).")
    if settings.goal is not None and settings.goal.is_limit:
        raise ValueError(
            "A path has no goal: leave out max_parameters and max_cost_increase, and choose a tree "
            "with tao_cluster.knee(models, max_parameters=...)."
        )
    if settings.validation is not None:
        raise ValueError(
            "A path chooses no tree, so validation would not be used: give the rows to "
            "tao_cluster.knee(models, validation=X_new)."
        )
