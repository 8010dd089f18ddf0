"""What is chosen for the user: lambda, rows to judge by, leaves; and what is said about it."""

import re
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.preprocessing import StandardScaler

from greedy import ExKMC
from tao_cluster import DirectForm, PenaltyMethod, TAOClustering, knee, tao_path

IRIS = load_iris().data
DIGITS = load_digits().data
FEW = DIGITS[::3]


# ---------------------------------------------------------------- lambda


def value_at_knee(model):
    """Return the sum of cost and squared size that is least at the knee."""
    size, k = model.tree_.n_parameters, model.tree_.n_clusters
    return model.cost_increase_ + (size / (6 * k - 4)) ** 2


@pytest.mark.slow
def test_auto_is_near_the_knee_of_a_path():
    # A fit finishes only the trees that seem to be nearest to the knee, tao_path finishes all.
    options = {"algorithm": DirectForm(search="none"), "random_state": 0, "depth": 3}
    model = TAOClustering(3, **options).fit(IRIS)
    path = tao_path(IRIS, 3, **options)
    assert value_at_knee(model) <= value_at_knee(knee(path)) + 0.2
    assert model.best_lambda_ in [other.lambda_ for other in path]
    assert len({record["lambda"] for record in model.history_}) > 4


@pytest.mark.slow
def test_a_knee_of_many_rows_is_chosen_before_the_last_passes(rng):
    X = np.repeat(rng.normal(size=(12, 5)), 900, axis=0) + 0.3 * rng.normal(size=(10_800, 5))
    model = TAOClustering(4, random_state=0, depth=3).fit(X)
    assert len({record["lambda"] for record in model.history_ if record["stage"] == "direct"}) > 4
    prices = {record["lambda"] for record in model.history_ if record["stage"] == "exact"}
    assert len(prices) == 1  # that of the chosen tree
    assert model.cost_increase_ < 3


def fake(cost, size, n_clusters=3):
    tree = SimpleNamespace(n_parameters=size, n_clusters=n_clusters)
    return SimpleNamespace(cost_increase_=cost, tree_=tree)


def test_knee_prefers_trees_that_keep_clusters():
    models = [fake(3.0, 37, 4), fake(3.0, 19, 4), fake(0.0, 9, 3)]
    assert knee(models) is models[1]
    assert knee([*models, fake(0.0, 9, 4)]) is not models[1]
    assert knee(models, max_parameters=9) is models[2]


def test_knee_is_the_least_sum_of_cost_and_squared_size():
    rng = np.random.default_rng(0)
    for k in (2, 3, 10, 100):
        costs, sizes = rng.lognormal(0, 2, 7), rng.integers(3, 30 * k, 7)
        models = [fake(*pair, k) for pair in zip(costs, sizes, strict=True)]
        value = np.array([value_at_knee(model) for model in models])
        assert knee(models) is models[value.argmin()]
        # Neither the order nor a tree that is worse than another one changes the choice.
        worse = fake(models[value.argmin()].cost_increase_ + 0.1, sizes.max(), k)
        assert knee([worse, *models[::-1]]) is models[value.argmin()]


def test_least_cost_within_a_size_and_least_size_within_a_cost():
    """Equal costs: the smaller tree. Equal sizes: the cheaper one."""
    models = [
        fake(0.5, 90),
        fake(1.0, 70),
        fake(1.0, 60),
        fake(2.0, 50),
        fake(3.0, 50),
        fake(4.0, 20),
    ]
    for order in (models, models[::-1]):
        for limit, best in ((100, 0), (75, 2), (60, 2), (59, 3), (20, 5)):
            assert knee(order, max_parameters=limit) is models[best]
        for limit, best in ((0.5, 0), (1.9, 2), (3.5, 3), (9.0, 5)):
            assert knee(order, max_cost_increase=limit) is models[best]
        with pytest.warns(UserWarning, match="smallest has 20"):
            assert knee(order, max_parameters=10) is models[5]
        with pytest.warns(UserWarning, match="best one costs 0.5 %"):
            assert knee(order, max_cost_increase=0.1) is models[0]
    assert knee([fake(1e-10, 5), fake(0.0, 9)], max_cost_increase=0).tree_.n_parameters == 5
    assert knee([fake(0.0, 100), fake(np.inf, 50)]).cost_increase_ == 0
    with pytest.raises(ValueError, match="no models"):
        knee([])


@pytest.mark.filterwarnings("ignore:Clusters of a few rows")
@pytest.mark.slow
def test_a_goal_in_cost_looks_along_the_whole_path():
    """The first tree of this path costs too much, a later one does not."""
    X = StandardScaler().fit_transform(np.random.default_rng(0).lognormal(size=(300, 6), sigma=2))
    options = {"algorithm": DirectForm(relax=False), "random_state": 4}
    costs = [model.cost_increase_ for model in tao_path(X, 8, **options)]
    limit = (costs[0] + min(costs)) / 2
    assert costs[0] > limit
    model = TAOClustering(8, max_cost_increase=limit, **options).fit(X)
    assert model.cost_increase_ <= limit


# ---------------------------------------------------------------- warnings


@pytest.mark.slow
def test_lost_clusters_are_told():
    X = make_blobs(200, centers=8, random_state=0)[0]
    with pytest.warns(UserWarning, match=r"lost \d of 8 clusters. A smaller lambda_"):
        TAOClustering(8, lambda_=3000, random_state=0).fit(X)
    with pytest.warns(UserWarning, match=r"at most 4 leaves cannot have all 8.*a depth of 3"):
        TAOClustering(8, depth=2, random_state=0).fit(X)
    with pytest.warns(UserWarning, match=r"at most 5 leaves .* Use max_leaves of 8"):
        TAOClustering(8, max_leaves=5, random_state=0).fit(X)
    with pytest.warns(UserWarning, match=r"at most 4 leaves .* Use a depth of 3"):
        TAOClustering(depth=2, split="axis", objective="labels").fit(X, np.arange(200) % 8)
    with pytest.warns(UserWarning, match="lost .* larger max_parameters"):
        TAOClustering(8, max_parameters=15, random_state=0).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TAOClustering(8, depth=3, random_state=3).fit(X)
        TAOClustering(8, depth=2, split="axis", random_state=0).fit(X)


@pytest.mark.slow
def test_a_lambda_far_from_the_path_of_the_data_warns():
    lambdas = [model.lambda_ for model in tao_path(IRIS, 3, random_state=0)]
    with pytest.warns(UserWarning, match="small for these data.*hardly any weight"):
        TAOClustering(3, lambda_=lambdas[0] / 1e4, random_state=0).fit(IRIS)
    with pytest.warns(UserWarning, match=r"lost|large for these data"):
        TAOClustering(3, lambda_=lambdas[-1] * 30, random_state=0).fit(IRIS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for lambda_ in (0, lambdas[0], lambdas[4]):
            TAOClustering(3, lambda_=lambda_, random_state=0).fit(IRIS)


def test_lambda_and_a_limit_cannot_be_given_together():
    with pytest.raises(ValueError, match="would not be used"):
        TAOClustering(3, lambda_=3.0, max_parameters=20).fit(IRIS)
    with pytest.raises(ValueError, match="not both"):
        TAOClustering(3, max_cost_increase=1, max_parameters=20).fit(IRIS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"lambda_": 3.0},
        {"split": "axis", "init": "exgreedy", "lambda_": 0.0, "max_leaves": 5},
        {"split": "axis", "algorithm": "published"},
        {"algorithm": PenaltyMethod(n_mu_steps=1)},
    ],
    ids=str,
)
def test_both_remedies_for_an_unused_validation_work(options):
    def fit(**changed):
        model = TAOClustering(3, validation=0.2, depth=2, random_state=0)
        model.set_params(**{"algorithm": DirectForm(n_init=1), **options, **changed}).fit(IRIS)

    with pytest.raises(ValueError, match="validation chooses") as error:
        fit()
    first, *second = str(error.value).lower().partition("leave out ")[2].split(", or ")
    default = TAOClustering(3).get_params()
    names = set(re.findall(r"\w+", first)) & default.keys()
    assert names
    fit(**{name: default[name] for name in names})
    for remedy in second:
        if "beside" in remedy:
            left_out = {"lambda_": "auto"} if "leave out lambda_" in remedy else {}
            fit(**left_out, max_parameters=30)
        else:
            assert remedy == "validation."


@pytest.mark.parametrize("has_reference", [False, True])
def test_warnings_of_a_high_cost_name_remedies_and_keep_other_settings(has_reference):
    turn = np.array([[0.88, -0.48], [0.48, 0.88]])
    centers = np.array([(a, b) for a in range(5) for b in range(5)]) @ turn
    X = np.repeat(centers, 20, axis=0) + np.random.default_rng(1).normal(0, 0.15, (500, 2))
    algorithm = DirectForm(n_init=1, max_rows=250, search="none", relax=False)
    model = TAOClustering(25, depth=5, random_state=0, algorithm=algorithm)
    model.set_params(reference=centers if has_reference else None)
    with pytest.warns(UserWarning, match="costs .* larger depth, or more initial trees") as caught:
        model.fit(X)
    text = str(caught[0].message)
    assert model.cost_increase_ > 10
    assert "max_cost_increase=5" in text
    assert ("objective='labels'" in text) == has_reference
    code = re.search(r"algorithm=(DirectForm\(.*?\)),", text)[1]
    assert eval(code) == replace(algorithm, n_init=2)  # noqa: S307


# ---------------------------------------------------------------- rows that a fit has not seen


@pytest.mark.slow
def test_rows_held_out_choose_the_size_and_all_rows_the_tree():
    """The tree is that of all rows at the lambda that the path of the other rows suggests."""
    rows, algorithm = np.arange(0, len(DIGITS), 2), DirectForm(n_init=1)
    options = {"random_state": 0, "algorithm": algorithm}
    model = TAOClustering(10, validation=rows, **options).fit(DIGITS)
    path = tao_path(np.delete(DIGITS, rows, axis=0), 10, **options)
    lambdas = np.array([other.lambda_ for other in path])
    ratio = len(DIGITS) / (len(DIGITS) - len(rows))
    assert np.isclose(model.best_lambda_ / lambdas, ratio).any()
    assert model.cost_increase_ < model.validation_cost_increase_
    assert len(model.labels_) == len(DIGITS)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The tree costs")
def test_held_out_rows_by_share_number_and_mask():
    options = {"random_state": 0, "algorithm": DirectForm(n_init=1), "depth": 3}
    rows = np.arange(0, 150, 3)
    by_number = TAOClustering(3, validation=rows, **options).fit(IRIS)
    mask = np.zeros(150, dtype=bool)
    mask[rows] = True
    assert TAOClustering(3, validation=mask, **options).fit(IRIS).tree_ == by_number.tree_
    shares = [TAOClustering(3, validation=0.3, **options).fit(IRIS) for _ in range(2)]
    assert shares[0].tree_ == shares[1].tree_
    for wrong in (np.arange(150), [200], [0.5, 0.2], np.zeros(150, dtype=bool)):
        with pytest.raises(ValueError, match="validation"):
            TAOClustering(3, validation=wrong, **options).fit(IRIS)


@pytest.mark.slow
def test_knee_on_other_rows():
    train, test = DIGITS[::2], DIGITS[1::2]
    models = tao_path(train, 10, random_state=0, algorithm=DirectForm(n_init=1))
    costs = [model.cost_increase(test) for model in models]
    best = knee(models, validation=test, max_parameters=120)
    allowed = [i for i, model in enumerate(models) if model.tree_.n_parameters <= 120]
    assert best is models[min(allowed, key=costs.__getitem__)]
    with pytest.raises(ValueError, match="must be rows"):
        knee(models, validation=0.2)
    with pytest.raises(ValueError, match="sample_weight belong to rows"):
        knee(models, sample_weight=np.ones(3))


@pytest.mark.slow
def test_cost_on_new_rows_is_that_of_the_definition(rng):
    train, test = FEW[::2], FEW[1::2]
    weight = rng.random(len(test))
    model = TAOClustering(10, lambda_=3, random_state=0).fit(train)

    def cost(centers):
        return ((test - centers) ** 2).sum(axis=1) @ weight

    free = ((test[:, None] - model.free_centers_) ** 2).sum(axis=2).min(axis=1) @ weight
    expected = 100 * (cost(model.cluster_centers_[model.predict(test)]) / free - 1)
    assert model.cost_increase(test, sample_weight=weight) == pytest.approx(expected)
    embedded = TAOClustering(10, lambda_=3, random_state=0).fit(train, embedding=train[:, :20])
    assert embedded.cost_increase(test, embedding=test[:, :20]) > 0
    with pytest.raises(ValueError, match="fit was given an embedding"):
        embedded.cost_increase(test)


# ---------------------------------------------------------------- leaves


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The tree has lost")
def test_oblique_trees_have_no_more_leaves_than_allowed():
    """From random trees, and one of them may lose a cluster: which one depends on the processor."""
    model = TAOClustering(10, max_leaves=12, init="random")
    trees = [clone(model).set_params(random_state=seed).fit(FEW) for seed in (1, 3, 5)]
    assert all(each.tree_.n_leaves <= 12 for each in trees)
    assert max(each.tree_.n_clusters for each in trees) == 10
    assert min(each.cost_increase_ for each in trees) < 20


@pytest.mark.slow
@pytest.mark.parametrize("init", ["imm", ExKMC(10, max_leaves=60)])
def test_axis_aligned_trees_have_the_leaves_asked_for_whatever_the_start(init):
    model = TAOClustering(10, split="axis", max_leaves=30, init=init, random_state=0).fit(FEW)
    assert 28 <= model.tree_.n_leaves <= 30


@pytest.mark.spaced(quick=0, slow=1)
@pytest.mark.parametrize("limit", ["max_parameters", "max_cost_increase"])
@pytest.mark.parametrize("seed", [0, 1])
def test_within_a_limit_oblique_trees_are_no_worse_than_axis_aligned_ones(limit, seed):
    """An oblique tree may test single features."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(3, 6))
    X = rng.normal(size=(70, 4)) + 3 * rng.normal(size=(k, 4))[rng.integers(k, size=70)]
    terms = {"reference": KMeans(k, n_init=3, random_state=seed).fit(X), "random_state": seed}
    value = 3 * k - 2 + int(rng.integers(k)) if limit == "max_parameters" else 8.0
    oblique, axis = (
        TAOClustering(k, split=split, **{limit: value}, **terms).fit(X)
        for split in ("oblique", "axis")
    )
    if limit == "max_parameters":
        assert oblique.tree_.n_parameters <= value
        assert oblique.cost_increase_ <= axis.cost_increase_ + 1e-9
    else:
        assert oblique.cost_increase_ <= value
        assert oblique.tree_.n_parameters <= axis.tree_.n_parameters


@pytest.mark.spaced(quick=0, slow=1)
@pytest.mark.parametrize("split", ["oblique", "axis"])
def test_for_labels_the_size_does_not_depend_on_the_number_of_clusters(split):
    X, labels = FEW[::3], load_digits().target[::9]
    terms = {"objective": "labels", "split": split, "random_state": 0}
    trees = [TAOClustering(k, **terms).fit(X, labels).tree_ for k in (2, 40)]
    assert trees[0] == trees[1]


@pytest.mark.slow
def test_the_default_of_axis_aligned_trees_has_no_largest_number_of_leaves():
    X = np.random.default_rng(0).normal(size=(200, 5))
    model = TAOClustering(20, split="axis", random_state=0).fit(X)
    assert model.tree_.n_leaves > 32
    limited = TAOClustering(20, split="axis", depth=5, random_state=0).fit(X)
    assert limited.tree_.n_leaves <= 32
