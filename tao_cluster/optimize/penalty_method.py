"""The penalty method: clustering and tree steps alternate while mu grows (KDD'22, figure 2)."""

import numpy as np

from .._utils.matrices import row_blocks
from ..problem.problem import mismatch_prices
from .algorithms import STRENGTHS, SUMMARIES


def mu_path(search, trees, lambda_):
    """Follow the path along mu from a direct fit, and return the state that `result` names.

    Parameters
    ----------
    search : Evaluator
    trees : iterable of Tree, initial trees
    lambda_ : float

    Returns
    -------
    State
        The state with the lowest objective (eq. 4), or the last one of the path.
    """
    method = search.settings.algorithm
    if search.settings.solver.is_exact:
        start = min(map(search.evaluate, trees), key=lambda state: state.objective(lambda_))
    else:
        start = direct_fit(search, trees, lambda_)
    search.record("direct fit", start, lambda_, mu=0.0)
    states = [start]
    for state in alternate(search, start, lambda_):
        # If both objectives are equal, `min` returns the new state, its first argument.
        states = [min(state, states[0], key=lambda s: s.objective(lambda_)), state]
    return states[0] if method.result == "best" else states[-1]


def direct_fit(search, trees, lambda_):
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
    search : Evaluator
    trees : iterable of Tree
        Initial trees.
    lambda_ : float

    Returns
    -------
    State
    """
    method, problem, step = search.settings.algorithm, search.problem, search.penalty_step
    strength = _strength_of_direct_fit(search, lambda_)
    criterion = search.agreement(problem.free.labels)
    n_free, terms = min(method.tao_iter, method.init_tao_iter), (criterion, strength)
    starts = (
        search.evaluate(*run(step, step.routed(tree), *terms, n_free, "always", keeps_best=True))
        for tree in trees
    )
    best = min(starts, key=lambda state: state.objective(lambda_))
    n_left = method.init_tao_iter - n_free
    found = run(step, best.routed, *terms, n_left, method.accept)
    return best if found.tree is best.tree else search.evaluate(*found)


def _strength_of_direct_fit(search, lambda_):
    if search.settings.algorithm.strength != "lambda/mu":
        return lambda_
    problem = search.problem
    costs = mismatch_prices(search.distances(problem.free.centers))
    mean_cost = problem.weight @ costs / problem.weight.sum()
    return lambda_ / (mean_cost or np.inf)


def alternate(search, state, lambda_):
    """Follow the path of eq. (6) along mu from a direct fit until Z = T(X).

    Parameters
    ----------
    search : Evaluator
    state : State
        Start of the path; the structure of its tree does not change.
    lambda_ : float

    Yields
    ------
    State after each mu
    """
    method, problem, step = search.settings.algorithm, search.problem, search.penalty_step
    labels, centers, best = problem.free.labels, problem.free.centers, state.objective(lambda_)
    mu_start = _first_mu(search, state)
    for t in range(method.n_mu_steps + 1 if mu_start else 0):
        mu = mu_start * method.mu_factor**t
        terms = (_table(search, state), state.leaf_of_row, mu, method.max_iter, method.tol)
        labels, centers, _ = clustering_step(search, labels, centers, *terms)
        strength = STRENGTHS[method.strength](lambda_, mu, mu_start)
        terms = (search.agreement(labels), strength, method.tao_iter, method.accept)
        found = run(step, state.routed, *terms)
        unchanged = found.tree is state.tree
        if not unchanged:
            state = search.evaluate(*found)
        mismatch = float(problem.weight[labels != state.labels].sum())
        is_best = state.objective(lambda_) <= best
        best = min(best, state.objective(lambda_))
        search.record("penalty", state, lambda_, mu, mismatch, kept=is_best)
        yield state
        if unchanged and mismatch == 0:
            break


def _first_mu(search, state):
    """Return mu_0 for the tree of a direct fit; None if no mu changes an assignment."""
    initial_mu = search.settings.algorithm.initial_mu
    if not isinstance(initial_mu, str):
        return initial_mu
    free = search.problem.free
    terms = search.distances(free.centers), free.labels, _table(search, state)
    return smallest_effective_mu(*terms, state.leaf_of_row, SUMMARIES[initial_mu])


def clustering_step(search, labels, centers, table, leaf_of_row, mu, max_iter=100, tol=0.0):
    """Minimise E(Z, psi) + mu P(Z, T(X)) over Z and psi at fixed mu and tree (eq. 7).

    Parameters
    ----------
    search : Evaluator
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
    search : Evaluator
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


# ---------------------------------------------------------------- passes at one mu


def run(step, start, criterion, strength, n_passes, accept="if better", keeps_best=False):
    """Repeat passes until a pass changes nothing, at most `n_passes` times.

    Parameters
    ----------
    step : TreeStep
    start : Routed
    criterion : Criterion
    strength : float > 0
        Factor of sum_i ||w_i||_1 (lambda / mu in eq. 8).
    n_passes : int
    accept : {"if better", "if loss falls", "always"}, default="if better"
        Which updates of nodes are accepted. With "if better", an update must lower the loss of
        the node plus strength * ||w||_1, so that the `objective` of the tree never rises
        (section 8). With "if loss falls", it must lower the loss of the node.
    keeps_best : bool, default=False
        Return the best of the trees after each pass: that of the least `objective` (loss plus
        penalty). This is for initial trees, whose weights have an arbitrary scale: ||w||_1 depends
        on the scale and the loss does not, so that a comparison of a new split with such an old one
        is meaningless.

    Returns
    -------
    Routed
        The result of the last or of the best pass. It has the same tree if nothing changed.
    """
    best, least = start, np.inf
    if keeps_best:
        step.forget()  # it holds results of earlier calls, possibly for other trees
    for _ in range(n_passes):
        before = start.tree
        start = step.one_pass(start, criterion, strength, accept != "always", accept == "if better")
        value = _objective(start, criterion, strength) if keeps_best else -np.inf
        if value < least:
            best, least = start, value
        if start.tree is before:
            break
    return best if keeps_best else start


def _objective(routed, criterion, strength):
    """Return the loss of a whole tree plus strength * sum_i ||w_i||_1 (eq. 8)."""
    tree, leaf_of_row = routed
    loss = criterion.loss_at(tree)(np.arange(len(leaf_of_row)), leaf_of_row)
    return float(loss.sum() + strength * np.abs(tree.split_weights).sum())
