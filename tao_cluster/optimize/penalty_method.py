"""The penalty method: clustering and tree steps alternate while mu grows (KDD'22, figure 2)."""

import itertools
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from .._utils.matrices import row_blocks
from .._utils.options import check_fields, repr_of_changes
from ..problem.problem import mismatch_prices
from .direct_form import DirectForm, descend, finish

# Regularization strength of the tree step as a function of lambda, mu and mu_0 (eq. 8).
STRENGTHS = {
    "lambda/mu": lambda lambda_, mu, start: lambda_ / mu,
    "constant": lambda lambda_, mu, start: lambda_,
    "lambda*mu_0/mu": lambda lambda_, mu, start: lambda_ * start / mu,
    "lambda/max(mu,1)": lambda lambda_, mu, start: lambda_ / max(mu, 1.0),
}
_SUMMARIES = {"least": np.min, "median": np.median}


@dataclass(frozen=True, repr=False)
class PenaltyMethod:
    """The algorithm of the KDD'22 paper: ``TAOClustering(algorithm=PenaltyMethod(...))``.

    It minimises E(Z, psi) + lambda sum_i ||w_i||_1 + mu P(Z, T(X)) (eq. 6) for mu_t = mu_0 a^t.
    The paper leaves some choices open. Each of them is a parameter here: `penalty`, `strength`,
    `accept`, `result`, `initial_mu` and `node_solver`. The defaults follow the equations of the
    paper. ``algorithm="published"`` is the interpretation whose trees are nearest to table 2 of the
    paper on the data set letter.

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
        after a short direct fit.
    penalty : {"zero-one", "squared"} or Penalty, default="zero-one"
        Penalty P for the disagreement of an assignment with the tree. Section 7 defines both. With
        "squared", each leaf has a histogram over the clusters, which `predict_proba` returns.
        Section 9.2 names the squared error ("the step over the tree will still be the minimization
        of squared error plus regularization").
    strength : {"lambda/mu", "constant", "lambda*mu_0/mu", "lambda/max(mu,1)"}, default="lambda/mu"
        Regularization strength of the tree step. "lambda/mu" is that of eq. 8. With "constant" it
        is lambda for all mu. This contradicts eq. 8, but on the data set letter it agrees with the
        trees in table 2, and the cost falls along mu as in figure 3. The direct fit has the
        strength lambda, except for "lambda/mu".
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
        "initial_mu": [StrOptions(set(_SUMMARIES)), Interval(Real, 0, None, closed="neither")],
        "node_solver": [
            StrOptions({"newton", "liblinear", "liblinear-weighted"}),
            HasMethods("bind"),
        ],
        "refine": ["boolean", DirectForm],
    }

    __repr__ = repr_of_changes

    def __post_init__(self):
        check_fields(self)
        if isinstance(self.refine, DirectForm) and self.refine.n_init != DirectForm.n_init:
            raise ValueError(
                "n_init of the DirectForm that refines would not be used: the initial trees are "
                "those of PenaltyMethod(n_init=...)."
            )

    @property
    def direct_form(self):
        """Settings of the passes of the direct form after the path, or None without such passes."""
        return DirectForm() if self.refine is True else self.refine or None

    def mu_values(self, start):
        """Yield the increasing values of mu: `start`, then each one times `mu_factor`."""
        for t in range(self.n_mu_steps + 1):
            yield start * self.mu_factor**t

    def run(self, search, trees, lambda_, random_state=None):
        """Follow the path along mu, then run the passes of the direct form if `refine` is set.

        Yields
        ------
        State
            The best state so far.
        """
        first = next(trees)
        state = search.evaluate(first)
        yield state
        if search.settings.solver.is_exact:
            states = [state, *map(search.evaluate, trees)]
            state = min(states, key=lambda state: state.objective(lambda_))
        else:
            state = self.direct_fit(search, itertools.chain([first], trees), lambda_)
        search.record("direct fit", state, lambda_, mu=0.0)
        yield state
        for better in self.alternate(search, state, lambda_):
            state = better
            yield state
        if search.settings.has_direct_passes:
            yield from finish(search, descend(search, state, lambda_), lambda_)

    def direct_fit(self, search, trees, lambda_):
        """Fit a tree that predicts the free assignment, where the path starts (section 9.1).

        Every initial tree gets `tao_iter` passes that accept all updates. The tree with the lowest
        objective (eq. 4) gets the rest of the `init_tao_iter` passes. A short fit ranks the initial
        trees about as well as a complete run, at a fraction of its time.

        The paper gives no regularization strength for this fit. Here it is lambda. If `strength`
        is "lambda/mu", it is lambda divided by the mean cost of a mismatch: the difference between
        the dissimilarities to the second nearest and the nearest centre. So the fit neither
        collapses, as with lambda / mu_0, nor ignores lambda.

        Parameters
        ----------
        search : Search
        trees : iterable of Tree
            Initial trees.
        lambda_ : float

        Returns
        -------
        State
        """
        problem, step = search.problem, search.penalty_step
        strength = self._strength_of_direct_fit(search, lambda_)
        criterion = search.agreement(problem.free.labels)
        n_free = min(self.tao_iter, self.init_tao_iter)
        starts = (
            search.evaluate(*step.run_freely(step.routed(tree), criterion, strength, n_free))
            for tree in trees
        )
        best = min(starts, key=lambda state: state.objective(lambda_))
        n_left = self.init_tao_iter - n_free
        found = step.run(best.routed, criterion, strength, n_left, self.accept)
        return best if found.tree is best.tree else search.evaluate(*found)

    def _strength_of_direct_fit(self, search, lambda_):
        if self.strength != "lambda/mu":
            return lambda_
        problem = search.problem
        costs = mismatch_prices(search.distances(problem.free.centers))
        mean_cost = problem.weight @ costs / problem.weight.sum()
        return lambda_ / (mean_cost or np.inf)

    def alternate(self, search, state, lambda_):
        """Follow the path of eq. (6) along mu from a direct fit until Z = T(X).

        Parameters
        ----------
        search : Search
        state : State
            Start of the path; the structure of its tree does not change.
        lambda_ : float

        Yields
        ------
        State
            After each mu, the state with the lowest objective (eq. 4) so far, including the start,
            or the last one if `result` says so.
        """
        problem, step, best = search.problem, search.penalty_step, state
        labels, centers = problem.free.labels, problem.free.centers
        mu_start = self._first_mu(search, state)
        for mu in self.mu_values(mu_start) if mu_start else ():
            labels, centers, _ = clustering_step(
                search,
                labels,
                centers,
                _table(search, state),
                state.leaf_of_row,
                mu,
                self.max_iter,
                self.tol,
            )
            strength = STRENGTHS[self.strength](lambda_, mu, mu_start)
            criterion = search.agreement(labels)
            found = step.run(state.routed, criterion, strength, self.tao_iter, self.accept)
            unchanged = found.tree is state.tree
            if not unchanged:
                state = search.evaluate(*found)
                # If both objectives are equal, `min` returns the new state, its first argument.
                best = min(state, best, key=lambda s: s.objective(lambda_))
            mismatch = float(problem.weight[labels != state.labels].sum())
            search.record("penalty", state, lambda_, mu, mismatch, kept=best is state)
            yield best if self.result == "best" else state
            if unchanged and mismatch == 0:
                break

    def _first_mu(self, search, state):
        """Return mu_0 for the tree of a direct fit; None if no mu changes an assignment."""
        if not isinstance(self.initial_mu, str):
            return self.initial_mu
        free = search.problem.free
        terms = search.distances(free.centers), free.labels, _table(search, state)
        return smallest_effective_mu(*terms, state.leaf_of_row, _SUMMARIES[self.initial_mu])


def clustering_step(search, labels, centers, table, leaf_of_row, mu, max_iter=100, tol=0.0):
    """Minimise E(Z, psi) + mu P(Z, T(X)) over Z and psi at fixed mu and tree (eq. 7).

    Parameters
    ----------
    search : Search
    labels, centers : arrays of shape (n,) and (k, m)
        Initial values.
    table : float array of shape (n_nodes, k)
        P(e_k, output of node i); see Penalty.
    leaf_of_row : int array of shape (n,)
        Leaf of each row, so that P(e_k, T(x_n)) is table[leaf_of_row[n], k].
    mu : float
    max_iter : int
    tol : float

    Returns
    -------
    labels, centers : arrays of shape (n,) and (k, m)
    values : list of float
        Objective after each assignment; it never increases.
    """
    problem, values, table = search.problem, [], mu * table
    objective, data, weight = problem.objective, problem.data, problem.weight
    for _ in range(max_iter):
        total = search.take_distances(centers)
        for part in row_blocks(total):
            total[part] += table[leaf_of_row[part]]
        assigned = total.argmin(axis=1)
        values.append(float(weight @ total[np.arange(len(total)), assigned]))
        del total  # frees memory, so that only one array of this size exists
        unchanged = np.array_equal(assigned, labels)
        small = len(values) > 1 and values[-2] - values[-1] <= tol * abs(values[-2])
        labels = assigned
        if unchanged and len(values) > 1:
            break
        centers = objective.update_centers(data, labels, weight, centers)
        if small:
            break
    return labels, centers, values


def _table(search, state):
    return search.settings.penalty.table(state.tree, search.problem.n_clusters)


def smallest_effective_mu(distances, labels, table, leaf_of_row, summary=np.min):
    """Return the smallest mu that changes an assignment (mu_0; KDD'22 paper, appendix A.2).

    Row n changes from cluster z_n to cluster k if mu (p_zn - p_kn) > d_kn - d_zn, so the smallest
    mu that changes it is the least positive ratio of the two sides over the clusters k. Mu_0 is
    the least of these values over the rows, or another summary of them. If the tree reproduces
    every assignment, no mu changes one. The same summary of the lowest cost of a mismatch of each
    row, the least positive d_kn - d_zn, is then returned, so that the tree can become sparser.

    Parameters
    ----------
    distances : float array of shape (n, k)
        Dissimilarities d(x_n, psi_k).
    labels : int array of shape (n,)
        The free assignment z.
    table, leaf_of_row
        As for :func:`clustering_step`.
    summary : callable, default=numpy.min
        Function of a float array that returns a float.

    Returns
    -------
    float
        None if the dissimilarities of each row are all equal, for example with one cluster.
    """
    changing, cheapest = np.empty(len(labels)), np.empty(len(labels))
    for part in row_blocks(distances):
        own, penalty = labels[part, None], table[leaf_of_row[part]]
        needed = distances[part] - np.take_along_axis(distances[part], own, axis=1)
        needed[needed <= 0] = np.inf
        relief = np.take_along_axis(penalty, own, axis=1) - penalty
        relief[relief <= 0] = np.nan
        changing[part] = np.fmin.reduce(needed / relief, axis=1, initial=np.inf)
        cheapest[part] = needed.min(axis=1)
    for found in (changing, cheapest):
        if np.isfinite(found).any():
            return float(summary(found[np.isfinite(found)]))
    return None


def with_histograms(search, tree, leaf_of_row):
    """Return the tree with a histogram over the free clusters in every leaf; labels do not change.

    Parameters
    ----------
    search : Search
        Its penalty has histograms.
    tree : Tree
        Each leaf has rows.
    leaf_of_row : int array of shape (n,)
        Leaf of each row.

    Returns
    -------
    Tree
    """
    problem = search.problem
    agreement = search.agreement(problem.free.labels)
    value = np.zeros((tree.n_nodes, problem.n_clusters))
    for leaf in tree.leaves:
        value[leaf] = agreement.best_output(np.flatnonzero(leaf_of_row == leaf))[1]
    return tree.with_leaves(tree.leaf_label, value)
