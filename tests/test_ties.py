"""Tests of one feature that divide the rows of a node alike: the widest relative margin wins.

One cluster is a single row that is far from the others in one column and barely outside of them in
two more columns. Every method must isolate the row by the column in which it is far.
"""

import numpy as np
import pytest
import scipy.sparse as sp

import greedy
from tao_cluster import DirectForm, TAOClustering
from tao_cluster.solvers import Axis, Exact, NodeProblem
from tao_cluster.tree import Split

FAR, ROW = 3, 7
BUILDERS = (
    *("IMM", "EMN", "ExGreedy", "ExShallow", "ExShallowSearch", "ExKMC", "DPTree", "RandomCuts"),
    *("Kauri", "SpEx", "CUBT", "DIVCLUST", "CART", "ExKCenter", "MixtureTree"),
)


pytestmark = pytest.mark.filterwarnings("ignore:Clusters of a few rows")


def table(seed, n_rows=120, n_columns=5):
    """Rows of three clusters with one far row, and further rows of the three clusters."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(0, 4, (3, n_columns))
    X, new = (
        centers[rng.integers(3, size=n)] + rng.normal(size=(n, n_columns)) for n in (n_rows, 2000)
    )
    X[ROW] = (X.min(axis=0) + X.max(axis=0)) / 2
    X[ROW, 0] = X[:, 0].max() + 0.01
    X[ROW, 2] = X[:, 2].min() - 0.01
    X[ROW, FAR] = 300.0 * (-1) ** seed
    return X, new


def check_isolated(model, X, new):
    """The leaf of the far row has no other rows, and its last test is that of the far column."""
    leaf = model.apply(X)[ROW]
    assert (model.apply(X) == leaf).sum() == 1
    assert model.tree_.split(model.tree_.parent[leaf])[0].tolist() == [FAR]
    assert not (model.apply(new) == leaf).any()


@pytest.mark.spaced(quick=7, slow=18)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", BUILDERS)
def test_every_builder_isolates_a_far_row_by_its_column(name, seed):
    X, new = table(seed)
    model = getattr(greedy, name)(4, random_state=0).fit(X)
    check_isolated(model, X, new)
    sparse = np.where(np.abs(X) < 0.5, 0.0, X)
    if name != "MixtureTree":
        model = getattr(greedy, name)(4, random_state=0).fit(sp.csr_matrix(sparse))
        check_isolated(model, sparse, new)


@pytest.mark.parametrize("split", ["axis", "oblique"])
@pytest.mark.parametrize("seed", range(2))
def test_tao_isolates_a_far_row_by_its_column(seed, split):
    X, new = table(seed)
    algorithm = DirectForm(search="none")
    model = TAOClustering(
        4, split=split, max_leaves=6, lambda_=1.0, algorithm=algorithm, random_state=0
    )
    check_isolated(model.fit(X), X, new)


@pytest.mark.parametrize("name", ["IMM", "ExKMC", "ExGreedy", "ExShallow"])
def test_first_takes_the_lowest_feature_and_changes_no_fitted_row(name):
    X, new = table(0)
    widest = getattr(greedy, name)(4, random_state=0).fit(X)
    first = getattr(greedy, name)(4, ties="first", random_state=0).fit(X)
    np.testing.assert_array_equal(first.labels_, widest.labels_)
    assert first.inertia_ == widest.inertia_
    leaf = first.apply(X)[ROW]
    assert first.tree_.split(first.tree_.parent[leaf])[0][0] < FAR
    assert first.cost_increase(new) > 100 > widest.cost_increase(new)
    for model in (first, widest):  # the history names the tests of the tree
        for record in model.history_:
            features, _ = model.tree_.split(record["node"])
            assert features.tolist() == [record["feature"]]
            assert model.tree_.threshold[record["node"]] == record["threshold"]


def test_smaller_trees_of_exkmc_have_the_same_tests():
    X, _ = table(1)
    model = greedy.ExKMC(4, max_leaves=9, random_state=0).fit(X)
    for record in model.trace_:
        tree = model.tree_at(record["leaves"])
        cost = model._cost(X, None, None, None, model.free_centers_)
        assert tree.n_leaves == record["leaves"]
        for node in tree.decision_nodes:
            assert tree.split(node)[0].tolist() == model.tree_.split(node)[0].tolist()
    assert cost == pytest.approx(model.trace_[-1]["surrogate"])


@pytest.mark.parametrize("solver", [Axis(), Exact()])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_node_solvers_take_the_widest_margin(solver, is_sparse):
    X, _ = table(0)
    X = np.where(np.abs(X) < 0.2, 0.0, X)
    goes_right = np.arange(len(X)) == ROW
    bound = solver.bind(sp.csr_matrix(X) if is_sparse else X)
    terms = (np.arange(len(X)), goes_right, np.ones(len(X)), 0.01)
    split, _ = bound.solve(NodeProblem(*terms, Split.constant(True), freed=(1, 1)))
    assert split.indices.tolist() == [FAR]
    np.testing.assert_array_equal(X[:, FAR] * split.weights[0] > split.threshold, goes_right)
