"""Node solvers of one's own, whose answers a test gives, and passes over a tree with them."""

import numpy as np

from tao_cluster import PenaltyMethod, TAOClustering
from tao_cluster.solvers import Status
from tao_cluster.tree import Split


class Scripted:
    """A node solver that notes its problems, and answers with splits of a list.

    The last split answers all further problems. Without splits, every node keeps its test.
    """

    supports_weights, is_exact, split = True, False, "oblique"

    def __init__(self, *splits):
        self.splits, self.problems = list(splits), []

    def bind(self, X):
        self.X = X
        return self

    def solve(self, problem):
        self.problems.append(problem)
        if not self.splits:
            return problem.warm_start, Status()
        return self.splits.pop(0) if len(self.splits) > 1 else self.splits[0], Status()


def split_of(weights, threshold):
    """The test weights . x <= threshold."""
    return Split.from_dense(np.asarray(weights, float), float(threshold))


def pass_over(X, y, tree, solver, *, weight=None, lambda_=0.1, n_passes=1, **options):
    """A model of the labels y after passes over a tree of the penalty method.

    The assignments are y as long as mu is below 1, the cost of a wrong label. The strength is
    `lambda_`. Options are further ones of PenaltyMethod.
    """
    options = {"strength": "constant", "n_mu_steps": 0, "initial_mu": 0.5} | options
    algorithm = PenaltyMethod(
        n_init=1,
        init_tao_iter=0,  # the path starts from the initial tree as it is
        tao_iter=n_passes,
        result="last",
        refine=False,
        node_solver=solver,
        **options,
    )
    model = TAOClustering(
        objective="labels", lambda_=lambda_, init=tree, algorithm=algorithm, random_state=0
    )
    return model.fit(X, y, sample_weight=weight)
