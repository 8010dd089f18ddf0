"""The choices of users: the direct form or the penalty method, oblique or axis-aligned splits."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from .._utils.options import Part
from ..problem.copies import Noise
from ..solvers import Axis, Liblinear, Newton, NodeSolver, WeightedLiblinear

__all__ = ["AxisAligned", "Oblique"]

# Regularization strength of the tree step as a function of lambda, mu and mu_0 (eq. 8).
STRENGTHS = {
    "lambda/mu": lambda lambda_, mu, start: lambda_ / mu,
    "constant": lambda lambda_, mu, start: lambda_,
    "lambda*mu_0/mu": lambda lambda_, mu, start: lambda_ * start / mu,
    "lambda/max(mu,1)": lambda lambda_, mu, start: lambda_ / max(mu, 1.0),
}
SUMMARIES = {"least": np.min, "median": np.median}


NODE_SOLVERS = {
    "liblinear": Liblinear(),
    "liblinear-weighted": WeightedLiblinear(),
    "newton": Newton(),
}


@dataclass(frozen=True, repr=False)
class DirectForm(Part):
    """Settings of the direct form: ``TAOClustering(algorithm=DirectForm(...))``.

    The direct form minimises eq. (4) of the KDD'22 paper itself, without the assignments Z and the
    penalty mu of its eq. (6). The defaults suit most data.

    Parameters
    ----------
    n_init : int, default=4
        Number of initial trees. Each one gets three passes; the tree with the least objective (4)
        is optimised further. With more than 4, `fit` makes a complete fit for each group of 4 and
        returns the best tree. So 8 takes about twice as long as 4 and never gives a worse tree.
        Initial trees that do not depend on random numbers are built once.
    relax : bool, default=True
        Refit each node on the features that it has kept, with less shrinkage (adaptive and relaxed
        lasso), and then optimise it for the clustering cost itself. For axis-aligned trees, regrow
        leaves where they reduce the cost most. ``relax=False`` also turns the search and the noisy
        copies off.
    search : {"auto", "none", "fast", "thorough"}, default="auto"
        How long `fit` searches for a better structure of the tree. For oblique trees, "fast" makes
        four rounds, and fewer for large data. "thorough" makes 30 rounds, also for each tree of a
        path. "auto" makes one round if the fit has a limit (`max_parameters` or
        `max_cost_increase`); otherwise it only compares the tree with small axis-aligned trees.
        For axis-aligned trees, "auto" is "fast", and "thorough" makes three times as many passes.
    copies : "auto" or int >= 0, default="auto"
        Noisy copies per row. If there are at most 10 000 rows, trees are fitted to the rows and to
        these copies, so that they hold on new rows. "auto" is 3, and 8 with search="thorough". With
        0 the fit minimises the cost of its own rows, as the tables of papers compare it. Costs
        that are reported are always those of the rows alone.
    trim : float in [0, 1], default=0.05
        At the end, remove a weight w_j of a node if the standard deviation of w_j x_j is less than
        this share of the largest one at the node and if no row then changes its side. 0 keeps all
        weights.
    max_rows : "auto", int or None, default="auto"
        If X has more distinct rows, a weighted sample of this size finds the tree. The free
        clustering, the centres and the cost are those of all rows. "auto" is 100 000, or 1000 per
        cluster if that is more; axis-aligned trees then use all rows. None always uses all rows.
    max_features_per_test : int, default=None
        Maximum number of features in each test of an oblique tree. With 2, each test can be drawn
        as a line in the plane (bivariate trees, Kairgeldin & Carreira-Perpiñán, KDD 2024). None
        sets no limit. Axis-aligned tests have one variable in any case.
    node_solver : "newton" or NodeSolver, default="newton"
        Solver of the logistic regression at an oblique node. It must support instance weights;
        LIBLINEAR does not (see :class:`PenaltyMethod`). Axis-aligned nodes are always solved by
        exact enumeration.

    Raises
    ------
    ValueError
        If a value is not allowed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import DirectForm, TAOClustering
    >>> model = TAOClustering(3, lambda_=1.0, algorithm=DirectForm(n_init=1), random_state=0)
    >>> model.fit(load_iris().data).tree_.n_leaves
    3
    """

    n_init: int = 4
    relax: bool = True
    search: str = "auto"
    copies: str | int = "auto"
    trim: float = 0.05
    max_rows: str | int | None = "auto"
    max_features_per_test: int | None = None
    node_solver: Any = "newton"

    is_direct: ClassVar[bool] = True
    _constraints: ClassVar[dict] = {
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "relax": ["boolean"],
        "search": [StrOptions({"auto", "none", "fast", "thorough"})],
        "copies": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "trim": [Interval(Real, 0, 1, closed="both")],
        "max_rows": [StrOptions({"auto"}), None, Interval(Integral, 1, None, closed="left")],
        "max_features_per_test": [None, Interval(Integral, 1, None, closed="left")],
        "node_solver": [StrOptions({"newton", "liblinear"}), HasMethods("bind")],
    }

    _named_parts: ClassVar[dict] = {"node_solver": {"newton": Newton()}}

    def __post_init__(self):
        super().__post_init__()
        if not self.relax and self.search in ("fast", "thorough"):
            raise ValueError(
                f"DirectForm(search={self.search!r}) needs relax=True: the search refits its trees."
            )

    @property
    def direct_form(self):
        """Settings of the passes of the direct form: this object itself."""
        return self


@dataclass(frozen=True, repr=False)
class PenaltyMethod(Part):
    """The algorithm of the KDD'22 paper: ``TAOClustering(algorithm=PenaltyMethod(...))``.

    It minimises E(Z, psi) + lambda sum_i ||w_i||_1 + mu P(Z, T(X)) (eq. 6) for mu_t = mu_0 a^t.
    The paper leaves some choices open. Each of them is a parameter here: `penalty`, `strength`,
    `accept`, `result`, `initial_mu` and `node_solver`. The defaults follow the equations of the
    paper. ``algorithm="published"`` is the interpretation that was chosen by its trees of letter
    and Fashion-MNIST (table 2 of the paper). It has the best of eight first trees.

    Parameters
    ----------
    mu_factor : float > 1, default=1.1
        Factor a by which mu grows per step.
    n_mu_steps : int >= 0, default=100
        Maximum number of steps along mu.
    tao_iter, init_tao_iter : int, default=5 and 20
        Maximum number of passes over the tree at each mu, and in the direct fit that the path
        starts from.
    max_iter : int, default=100
        Maximum number of iterations of the clustering step at each mu.
    tol : float >= 0, default=0
        The clustering step stops if no assignment changes, or if the relative decrease of its
        objective is at most `tol`.
    n_init : int, default=4
        Number of initial trees. The path starts from the one with the lowest objective (eq. 4)
        after a short direct fit. With more than 4, each group of 4 has a path of its own.
    penalty : {"zero-one", "squared"} or Penalty, default="zero-one"
        Penalty P for the disagreement of an assignment with the tree. Section 7 defines both. With
        "squared", each leaf has a histogram over the clusters, which `predict_proba` returns.
        Section 9.2 names the squared error ("the step over the tree will still be the minimization
        of squared error plus regularization").
    strength : {"lambda/mu", "constant", "lambda*mu_0/mu", "lambda/max(mu,1)"}, default="lambda/mu"
        Regularization strength of the tree step. "lambda/mu" is that of eq. 8. With "constant" it
        is lambda for all mu. This contradicts eq. 8, but gives trees that are nearer to those of
        table 2 than "lambda/mu". The direct fit has the strength lambda, except for "lambda/mu".
    accept : {"if better", "if loss falls", "always"}, default="if better"
        Which updates of nodes are accepted. With "if better", an update must lower the loss of the
        node plus strength * ||w||_1 ("we can guarantee a monotonic decrease in the objective by
        only accepting this update if it improves over the previous step", section 8). With "if
        loss falls", it must lower the loss of the node alone.
    result : {"best", "last"}, default="best"
        Which tree of the path is the result: the one of lowest objective (eq. 4), or the last one
        (figure 2, and "once we obtain the final tree", appendix A.2).
    initial_mu : {"least", "median"} or float > 0, default="least"
        First value mu_0. Each row whose leaf disagrees with its free cluster has a smallest mu that
        changes its assignment. "least" is the least of these values ("the smallest value of mu
        needed to change the assignment of points in the Z step", appendix A.2), "median" is their
        median.
    node_solver : {"newton", "liblinear", "liblinear-weighted"} or NodeSolver, default="newton"
        Solver of the logistic regression at an oblique node. The paper uses LIBLINEAR (section 8).
        "liblinear" has no instance weights, so it needs the zero-one penalty, and sample weights
        that are integer multiples of one number. "liblinear-weighted" is the LIBLINEAR of
        scikit-learn, which has instance weights and penalises the threshold. Axis-aligned nodes are
        always solved by exact enumeration.
    refine : bool or DirectForm, default=True
        Improve the result with passes of the direct form. True stands for ``DirectForm()``. With
        False the result is the tree of the path: no refits, no search, no trimming, and all rows
        of X are used.

    Raises
    ------
    ValueError
        If a parameter is outside of its range.

    Notes
    -----
    The paper's grid of lambda is {100, 10, 5, 1, 0.5, 0.1}, that of the depth {4, 5, 6}.

    For lambda > 0, figure 2 of the paper starts from a tree without weights, and section 9.1 from a
    direct fit to the free assignment. Here, the path starts from the direct fit. With the strength
    "lambda/mu", which needs a mu, the direct fit uses lambda divided by the mean cost of a
    mismatch: the difference between the dissimilarities of a row to its second nearest and its
    nearest free centre. Its first `tao_iter` passes accept all updates, because the scale of the
    initial weights is arbitrary; the best of these trees is kept.

    mu_0 is a minimum over all rows, and one row near the border of two clusters makes it tiny. With
    the strength "lambda/mu", the tree then collapses while mu is small, and clusters can be lost
    permanently. Nodes that no row reaches, and nodes with zero weights, keep their parameters until
    the end, so that they can return as mu grows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import PenaltyMethod, TAOClustering
    >>> steps = PenaltyMethod(mu_factor=1.5, n_mu_steps=20)
    >>> model = TAOClustering(3, lambda_=1.0, depth=2, algorithm=steps, random_state=0)
    >>> model.fit(load_iris().data).tree_.n_leaves
    3
    """

    mu_factor: float = 1.1
    n_mu_steps: int = 100
    tao_iter: int = 5
    init_tao_iter: int = 20
    max_iter: int = 100
    tol: float = 0.0
    n_init: int = 4
    penalty: Any = "zero-one"
    strength: str = "lambda/mu"
    accept: str = "if better"
    result: str = "best"
    initial_mu: str | float = "least"
    node_solver: Any = "newton"
    refine: bool | DirectForm = True

    is_direct: ClassVar[bool] = False
    _constraints: ClassVar[dict] = {
        "mu_factor": [Interval(Real, 1, None, closed="neither")],
        "n_mu_steps": [Interval(Integral, 0, None, closed="left")],
        "tao_iter": [Interval(Integral, 1, None, closed="left")],
        "init_tao_iter": [Interval(Integral, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "penalty": [StrOptions({"zero-one", "squared"}), HasMethods(["leaf", "table"])],
        "strength": [StrOptions(set(STRENGTHS))],
        "accept": [StrOptions({"always", "if better", "if loss falls"})],
        "result": [StrOptions({"last", "best"})],
        "initial_mu": [StrOptions(set(SUMMARIES)), Interval(Real, 0, None, closed="neither")],
        "node_solver": [StrOptions(set(NODE_SOLVERS)), HasMethods("bind")],
        "refine": ["boolean", DirectForm],
    }

    _named_parts: ClassVar[dict] = {"node_solver": NODE_SOLVERS, "refine": {True: DirectForm()}}

    def __post_init__(self):
        super().__post_init__()
        if isinstance(self.refine, DirectForm) and self.refine.n_init != DirectForm.n_init:
            raise ValueError(
                "n_init of the DirectForm that refines would not be used: the initial trees are "
                "those of PenaltyMethod(n_init=...)."
            )

    @property
    def direct_form(self):
        """Settings of the passes of the direct form after the path, or None without such passes."""
        return DirectForm() if self.refine is True else self.refine or None


@dataclass(frozen=True)
class Oblique(Part):
    """Splits by weighted sums of features.

    Attributes
    ----------
    name : str
        The value of the parameter `split` of the estimator.
    solver : NodeSolver
        The default node solver.
    samples_rows : bool
        Whether initial trees may be compared on a sample of the rows, and whether a sample finds
        the tree by default if there are very many rows.
    midpoints : bool
        Whether thresholds are halfway between values of rows. Otherwise they are the lower value.
    n_passes : int
        Maximum number of passes over the tree at each lambda.
    noise : Noise
        The noise of copies of the rows, if there are few rows.
    finds_with_copies : bool
        Whether all passes of the direct form count these copies. Otherwise only the last ones do.
    """

    name: ClassVar[str] = "oblique"
    solver: ClassVar[NodeSolver] = Newton()
    samples_rows: ClassVar[bool] = True
    midpoints: ClassVar[bool] = True
    n_passes: ClassVar[int] = 3
    noise: ClassVar[Noise] = Noise(0.699, 0.1)
    finds_with_copies: ClassVar[bool] = True


@dataclass(frozen=True)
class AxisAligned(Part):
    """Splits by single features, ``x_j <= threshold``. The attributes are those of `Oblique`.

    Parameters
    ----------
    midpoints : bool, default=True
        Place thresholds halfway between the values of rows on both sides. With False they are
        values of rows, as in the KDD'22 paper.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import TAOClustering
    >>> from tao_cluster.optimize.algorithms import AxisAligned
    >>> X = load_iris().data
    >>> for midpoints in (True, False):
    ...     kind = AxisAligned(midpoints=midpoints)
    ...     model = TAOClustering(2, lambda_=1, depth=1, split=kind, random_state=0).fit(X)
    ...     print(model.tree_.to_rules()[0])
    if x2 <= 3.4 then cluster 1
    if x2 <= 3.3 then cluster 1
    """

    midpoints: bool = True

    name: ClassVar[str] = "axis"
    solver: ClassVar[NodeSolver] = Axis()
    samples_rows: ClassVar[bool] = False  # the search is never worse than its start on all rows
    n_passes: ClassVar[int] = 100  # until nothing changes
    noise: ClassVar[Noise] = Noise(0.499, 0.3)
    finds_with_copies: ClassVar[bool] = False


SPLIT_KINDS = {kind.name: kind for kind in (Oblique(), AxisAligned())}
