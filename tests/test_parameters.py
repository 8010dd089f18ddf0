"""Parameters of TAOClustering: their forms, own parts, what is refused."""

from dataclasses import dataclass

import numpy as np
import pytest
from conftest import assert_same_fit, small
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering, KMeans, MiniBatchKMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

import greedy
from tao_cluster import Constraints, DirectForm, PenaltyMethod, TAOClustering, Tree
from tao_cluster import objectives as objectives_module
from tao_cluster.initial_trees import Bisecting, Centroids, Random
from tao_cluster.initial_trees.cart import Cart
from tao_cluster.optimize.algorithms import AxisAligned, Oblique
from tao_cluster.penalties import SquaredError as SquaredErrorPenalty
from tao_cluster.penalties import ZeroOne
from tao_cluster.problem.repeats import content_order
from tao_cluster.saving import values
from tao_cluster.solvers import Axis, Exact, Liblinear, Newton, Status, WeightedLiblinear
from tao_cluster.tree import Split

# ---------------------------------------------------------------- parameters

# small() has trees of few leaves.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{sentence}")
    for sentence in ("The tree has lost", "A tree of at most")
]


@pytest.mark.slow
def test_reference_forms(X):
    X = X[content_order(X)]  # k-means draws rows by position
    fitted = KMeans(3, n_init=10, random_state=0).fit(X)
    default = small().fit(X)
    for reference in (
        fitted,
        fitted.cluster_centers_,
        fitted.cluster_centers_.tolist(),
        KMeans(3, n_init=10, random_state=0),
        KMeans(3, n_init=10),  # takes the seed of the estimator
    ):
        free = small(reference=reference).fit(X)
        np.testing.assert_allclose(free.free_centers_, fitted.cluster_centers_)
        np.testing.assert_array_equal(free.labels_, default.labels_)
    small(reference=MiniBatchKMeans(3, n_init=1, random_state=0)).fit(X)


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        (KMeans(4, n_init=1), "n_clusters=3 centres with 5 features"),
        (np.zeros((3, 4)), "n_clusters=3 centres with 5 features"),
        (np.full((3, 5), np.nan), "reference contains NaN"),
        (AgglomerativeClustering(4), "n_clusters=3 centres with 5 features"),
        (PCA(3), "no cluster_centers_, means_ or labels_"),
    ],
)
def test_bad_references(X, reference, sentence):
    with pytest.raises(ValueError, match=sentence):
        small(reference=reference).fit(X)


@pytest.mark.slow
def test_initial_tree_forms(X):
    stump = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None], [0.0, 0, 0], [-1, 0, 1], 5
    )
    assert small(init=stump).fit(X).tree_.n_leaves == 2  # the structure of a given tree stays
    assert small().fit(X).tree_.n_leaves >= 3
    assert_same_fit(small(init=Bisecting(3)).fit(X), small(init="bisecting").fit(X))
    assert_same_fit(small(init=Centroids(3)).fit(X), small(init="centroids").fit(X))
    with pytest.raises(ValueError, match="initial tree has 2 features"):
        small(init=Tree.single_leaf(0, 2)).fit(X)


@pytest.mark.parametrize(
    "options",
    [
        {"n_clusters": 0},
        {"lambda_": -1},
        {"depth": -1},
        {"objective": "k-means"},
        {"objective": object()},
        {"split": "diagonal"},
        {"init": "zero"},
        {"algorithm": "mu"},
        {"reference": "kmeans"},
    ],
)
def test_bad_parameters(X, options):
    with pytest.raises(ValueError, match=f"'{next(iter(options))}' parameter of TAOClustering"):
        small(**options).fit(X)


def test_own_objective_plugs_in(X):
    """An objective is any object with the methods of the protocol."""

    class Doubled:
        def __getattr__(self, name):
            return getattr(objectives_module.KMeans(), name)

        def reference(self, n_clusters, random_state):
            return KMeans(n_clusters, n_init=10, random_state=random_state)

        def prepare(self, rows):
            return objectives_module.KMeans().prepare(rows)

        def distances(self, data, centers):
            return 2 * objectives_module.KMeans().distances(data, centers)

        def update_centers(self, *args):
            return objectives_module.KMeans().update_centers(*args)

        def value(self, *args):
            return 2 * objectives_module.KMeans().value(*args)

        def as_distance(self, dissimilarities):
            return dissimilarities

    doubled, plain = small(objective=Doubled(), lambda_=2.0).fit(X), small().fit(X)
    np.testing.assert_array_equal(doubled.labels_, plain.labels_)
    assert doubled.inertia_ == pytest.approx(2 * plain.inertia_)


@dataclass(frozen=True)
class OwnPenalty(SquaredErrorPenalty):
    """A penalty of the user, with histogram leaves."""


@dataclass(frozen=True)
class Weighted:
    """A node solver with instance weights: scikit-learn's, with a nearly free threshold."""

    supports_weights = True
    supports_sparse = True
    deterministic = True

    def bind(self, X):
        class Bound:
            def solve(self, problem):
                model = LogisticRegression(
                    C=1 / max(problem.strength, 1e-4), l1_ratio=1, solver="liblinear",
                    intercept_scaling=1000, random_state=0,
                ).fit(X[problem.rows], problem.goes_right, problem.weight)  # fmt: skip
                return Split.from_dense(model.coef_[0], -model.intercept_[0]), Status()

        return Bound()


@pytest.mark.slow
def test_own_penalty_and_solver_plug_in(X):
    """Histogram leaves and real-valued weights need no change of the loop."""
    model = small(
        algorithm=PenaltyMethod(
            n_mu_steps=30, penalty=OwnPenalty(), node_solver=Weighted(), refine=False
        )
    ).fit(X)
    tree = model.tree_
    assert tree.leaf_value.shape == (tree.n_nodes, 3)
    np.testing.assert_allclose(tree.leaf_value[tree.leaves].sum(axis=1), 1)
    assert Tree.from_json(tree.to_json()) == tree
    assert model.cost_increase_ < 20
    again = small(init=tree).fit(X)  # labels again: the histograms go
    assert again.tree_.leaf_value is None
    with pytest.raises(ValueError, match="which OwnPenalty needs"):
        small(
            algorithm=PenaltyMethod(penalty=OwnPenalty(), node_solver="liblinear", refine=False)
        ).fit(X)


@pytest.mark.parametrize(
    ("cls", "option"),
    [
        (DirectForm, {"n_init": 0}),
        (DirectForm, {"search": "long"}),
        (DirectForm, {"trim": 2}),
        (DirectForm, {"max_features_per_test": 1.5}),
        (DirectForm, {"node_solver": "saga"}),
        (PenaltyMethod, {"penalty": "hinge"}),
        (PenaltyMethod, {"result": "first"}),
        (PenaltyMethod, {"initial_mu": 0}),
        (PenaltyMethod, {"refine": "yes"}),
    ],
)
def test_bad_settings_of_an_algorithm(cls, option):
    with pytest.raises(ValueError, match=f"'{next(iter(option))}' parameter of {cls.__name__}"):
        cls(**option)


def test_settings_that_would_not_be_used_raise():
    with pytest.raises(ValueError, match=r"n_init of the DirectForm .* PenaltyMethod\(n_init"):
        PenaltyMethod(refine=DirectForm(n_init=2))
    with pytest.raises(ValueError, match="needs relax=True"):
        DirectForm(search="thorough", relax=False)
    with pytest.raises(ValueError, match="n_init=True is a boolean"):
        DirectForm(n_init=True)


# ---------------------------------------------------------------- nested parameters

PARTS = [
    *(DirectForm(), PenaltyMethod(), PenaltyMethod(penalty=SquaredErrorPenalty())),
    *(part() for part in values.PARTS.values() if "objectives" in part.__module__),
    *(Newton(), Liblinear(), WeightedLiblinear(), Axis(), Exact(), ZeroOne()),
    *(Oblique(), AxisAligned(), Bisecting(), Random(), Centroids(), Cart(4)),
]
HOLDERS = [
    TAOClustering(algorithm=DirectForm(node_solver=Newton()), objective="kmedians"),
    TAOClustering(algorithm=PenaltyMethod(node_solver="liblinear"), init=Bisecting(3)),
    TAOClustering(init=greedy.ExKMC(max_leaves=9), reference=KMeans(3)),
    greedy.CART(objective=objectives_module.KMedians()),
    objectives_module.AlternatingClustering(3, objectives_module.KMedoids()),
]
_CHANGED = {
    bool: lambda value: not value,
    int: lambda value: value + 1,
    float: lambda value: value + 0.25,
}


def changeable(holder):
    """The nested parameters of numbers, each with another value."""
    for name, value in holder.get_params().items():
        # A DirectForm that refines has no initial trees of its own.
        if "__" in name and not name.endswith("refine__n_init") and type(value) in _CHANGED:
            yield name, _CHANGED[type(value)](value)


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_parts_have_parameters_and_never_change(part):
    before = repr(part)
    assert clone(part) == part
    assert type(part)(**part.get_params(deep=False)) == part
    assert values.from_json(values.to_json(part)) == part
    assert part.set_params(**part.get_params()) == part
    for name, value in part.get_params(deep=False).items():
        if type(value) in _CHANGED:
            other = part.set_params(**{name: _CHANGED[type(value)](value)})
            assert other.get_params()[name] == _CHANGED[type(value)](value) != value
    with pytest.raises(ValueError, match=f"'colour' for {type(part).__name__}. Valid"):
        part.set_params(colour=1)
    assert repr(part) == before


@pytest.mark.parametrize("holder", HOLDERS, ids=repr)
def test_nested_parameters_change_alone(holder):
    assert list(changeable(holder))
    for name, value in changeable(holder):
        model, before = clone(holder), holder.get_params()
        assert model.set_params(**{name: value}) is model
        after = {key: repr(v) for key, v in model.get_params().items()}
        assert after.pop(name) == repr(value)
        inside = [key for key in after if name.startswith(f"{key}__")]  # these have the setting
        assert all(after.pop(key) != repr(before[key]) for key in inside)
        assert after == {key: repr(v) for key, v in before.items() if key in after}
        assert {key: repr(v) for key, v in holder.get_params().items()} == {
            key: repr(v) for key, v in before.items()
        }
        assert repr(clone(model).get_params()) == repr(model.get_params())


def test_strings_stand_for_objects_with_parameters(X):
    model = small().set_params(
        algorithm__n_init=2, algorithm__node_solver__tol=0.01, objective__n_init=3
    )
    algorithm = DirectForm(n_init=2, node_solver=Newton(tol=0.01))
    assert (model.algorithm, model.objective) == (algorithm, objectives_module.KMeans(3))
    given = small(algorithm=algorithm, objective=objectives_module.KMeans(n_init=3))
    assert_same_fit(model.fit(X), given.fit(X))
    model.set_params(objective="kmedoids", objective__metric="cosine")
    assert model.objective == objectives_module.KMedoids("cosine")
    model.set_params(split="axis", split__midpoints=False)
    assert model.split == AxisAligned(midpoints=False)
    model.set_params(algorithm="penalty", algorithm__refine__relax=False)
    assert model.algorithm == PenaltyMethod(refine=DirectForm(relax=False))
    same = TAOClustering(algorithm="direct")
    assert same.set_params(**same.get_params()).algorithm == "direct"
    assert TAOClustering().get_params()["algorithm__n_init"] == DirectForm().n_init


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"algorithm__n_inits": 2}, "Invalid parameter 'n_inits' for DirectForm. Valid parameters"),
        ({"objective__metric": "l1"}, r"'metric' for KMeans. .* are: \['n_init'\]"),
        ({"n_clusters__n_init": 2}, "n_clusters=8 has no parameters, so n_clusters__n_init"),
        ({"init": "bisecting", "init__depth": 2}, "init='bisecting' has no parameters"),
        ({"algorithm__n_init": 0}, "'n_init' parameter of DirectForm must be an int"),
        ({"depth": 2, "algorithm__relax": False, "algorithm__search": "fast"}, "needs relax=True"),
    ],
)
def test_bad_nested_parameters_change_nothing(parameters, sentence):
    model = TAOClustering()
    with pytest.raises(ValueError, match=sentence):
        model.set_params(**parameters)
    assert model.get_params() == TAOClustering().get_params()


@pytest.mark.slow
def test_searches_and_pipelines_set_nested_parameters(X):
    search = GridSearchCV(small(), {"algorithm__n_init": [1, 3]}, cv=2).fit(X)
    assert [each["algorithm__n_init"] for each in search.cv_results_["params"]] == [1, 3]
    n_init = search.best_params_["algorithm__n_init"]
    assert search.best_estimator_.algorithm == DirectForm(n_init=n_init)
    pipeline = Pipeline([("scale", PCA()), ("tree", TAOClustering())])
    pipeline.set_params(tree__algorithm__n_init=2, tree__objective__n_init=1)
    assert pipeline["tree"].algorithm == DirectForm(n_init=2)
    assert pipeline.get_params()["tree__objective__n_init"] == 1


def test_verbose_shows_a_bar(X, capsys):
    small(verbose=1).fit(X)
    shown = capsys.readouterr().err
    for word in ("mu", "cost_increase", "leaves", "non_zeros"):
        assert word in shown
    small().fit(X)
    assert capsys.readouterr() == ("", "")


# ---------------------------------------------------------------- equal by value


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_parts_are_equal_by_value_and_keys_of_dicts(part):
    other = clone(TAOClustering(init=part)).init  # also after the copies of scikit-learn
    same = clone(part)
    assert part == same == other
    assert {part: 1}[same] == {part: 1}[other] == 1
    assert part not in [each for each in PARTS if type(each) is not type(part)]


def test_equal_constraints_have_one_hash():
    """Whatever containers and types of numbers the user takes."""
    rules = [
        Constraints(columns=form(["a", "b"]), steps=steps)
        for form in (list, tuple, np.array)
        for steps in ({"a": 5, "b": 0.5}, {"b": np.float64(0.5), "a": 5.0})
    ]
    assert len({*rules}) == 1
    assert len({*rules, Constraints(columns=["b", "a"]), Constraints(steps={"a": 5})}) == 3
