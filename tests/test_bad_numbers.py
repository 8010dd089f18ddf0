"""Values that are not numbers, or too large or small: every estimator raises one clear message."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import ESTIMATORS, rest_in_sweeps
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.mixture import GaussianMixture

from greedy import IMM, ExKMC, MixtureTree
from tao_cluster import (
    DirectForm,
    PenaltyMethod,
    TAOClustering,
    Tree,
    bisector_tree,
    choose_n_clusters,
    compare,
    measures,
    monitor,
    nested,
    outofcore,
    refit,
    stability,
    tao_path,
    voronoi_tree,
)
from tao_cluster.initial_trees import Bisecting
from tao_cluster.objectives import AlternatingClustering, FarthestFirst, KMedians
from tao_cluster.optimize.algorithms import AxisAligned
from tao_cluster.penalties import SquaredError
from tao_cluster.plot import plot_tradeoff
from tao_cluster.solvers import Newton

ROWS = (
    np.round(np.random.default_rng(0).normal(size=(30, 3)), 3) + np.repeat([5, 0, -5], 10)[:, None]
)
CENTERS = np.array([[5.0, 5, 5], [0, 0, 0], [-5, -5, -5]])

# What a conversion to floats takes for numbers.
NO_NUMBERS = {
    "dates": (lambda values: (1000 * values).astype(np.int64).astype("M8[D]"), "has dates"),
    "durations": (lambda values: (1000 * values).astype(np.int64).astype("m8[s]"), "has dates"),
    "masked": (lambda values: np.ma.masked_greater(values, 4.5), "has masked entries"),
    "texts": (lambda values: values.astype(str), "has strings"),
    "bytes": (lambda values: values.astype("S8"), "has strings"),
    "texts as objects": (lambda values: values.astype(str).astype(object), "has strings"),
    "complex": (lambda values: values + 0j, "has complex numbers"),
    "beyond floats": (
        lambda values: np.where(values > 4.5, 10**400, values.astype(object)),
        "has numbers larger than any float",
    ),
}
BAD_CENTERS = {
    "nan": (np.where(CENTERS > 4, np.nan, CENTERS), "contains NaN"),
    "infinite": (np.where(CENTERS > 4, np.inf, CENTERS), "contains infinity"),
    "huge": (CENTERS * 1e200, r"beyond 1e\+15[02]"),
    "largest": (np.full((3, 3), 1.7e308), r"beyond 1e\+15[02]"),
    "denormal": (CENTERS * 1e-310, "differ by less than 1e-150"),
    "a column": (CENTERS[:, :2], "n_clusters=3 centres with 3 features"),
    "a row": (CENTERS[:2], "n_clusters=3 centres with 3 features"),
    "a vector": (CENTERS[0], "Expected 2D array|one-dimensional, with 3 entries"),
    "masked": (np.ma.masked_greater(CENTERS, 4), "has masked entries"),
    "durations": (CENTERS.astype(np.int64).astype("m8[s]"), "has dates"),
    "sparse": (sp.csr_matrix(CENTERS), "is sparse"),
    "none": (None, "one-dimensional, with 3 entries|Expected 2D array"),
}

BAD_SIZES = {
    "denormal weights": (ROWS, np.full(30, 1e-310), "positive entries below 1e-200"),
    "a denormal weight": (ROWS, np.append(np.ones(29), 5e-324), "positive entries below 1e-200"),
    "weights and rows": (ROWS * 1e140, np.full(30, 1e90), "Weights times squared norms"),
    "large rows": (ROWS * 1e150, None, "squared norms of the rows of X overflow"),
    "denormal rows": (ROWS * 1e-310, None, "differ by less than 1e-150"),
    "small rows": (ROWS * 1e-200, None, "differ by less than 1e-150"),
}


@pytest.fixture(
    params=rest_in_sweeps(
        sorted(ESTIMATORS), "TAOClustering", "ExKMC", "ExSingleLink", "MixtureTree"
    )
)
def estimator(request):
    """An estimator of each kind, as a function of further parameters."""
    return lambda **options: ESTIMATORS[request.param](3, random_state=0, **options)


def fitted(centers):
    """A fitted reference with such centres."""
    model = KMeans(3, n_init=1, random_state=0).fit(ROWS)
    model.cluster_centers_ = centers
    return model


def refused(sentence):
    return pytest.raises(ValueError, match=sentence)


def no_number(message):
    """For objects that float() rejects, scikit-learn's conventions ask for a TypeError."""
    return pytest.raises((ValueError, TypeError), match=message)


# ---------------------------------------------------------------- references


def test_centres_of_a_reference_are_checked(estimator):
    """Those of a fitted estimator as those of an array."""
    if "reference" not in estimator().get_params():
        return  # ExSingleLink has a free clustering of its own
    for centers, sentence in BAD_CENTERS.values():
        with refused(sentence):
            estimator(reference=fitted(centers)).fit(ROWS)
        if isinstance(centers, np.ndarray):
            with refused(sentence):
                estimator(reference=centers).fit(ROWS)
    with refused("KMeans is a class"):
        estimator(reference=KMeans).fit(ROWS)


def test_means_of_a_mixture_are_checked():
    for name, value in (("means_", np.nan), ("covariances_", np.inf), ("weights_", np.nan)):
        mixture = GaussianMixture(3, random_state=0).fit(ROWS)
        getattr(mixture, name).flat[0] = value
        with refused("NaN|infinity|finite"):
            MixtureTree(3, mixture=mixture).fit(ROWS)
        with refused("NaN|infinity|finite"):
            MixtureTree(3, reference=mixture if name == "means_" else None, mixture=mixture).fit(
                ROWS
            )


# ---------------------------------------------------------------- other devices


class CupyArray:
    """An array on a GPU, which behaves as that of CuPy."""

    __cuda_array_interface__ = property(lambda self: {"shape": self.shape})
    ndim, shape = property(lambda self: self.values.ndim), property(lambda self: self.values.shape)
    dtype = property(lambda self: self.values.dtype)

    def __init__(self, values):
        self.values = np.asarray(values)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, rows):
        return CupyArray(self.values[rows])

    def reshape(self, *shape):
        return CupyArray(self.values.reshape(*shape))

    def get(self):
        return self.values

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")


class Tensor(CupyArray):
    """A tensor of torch. Only one in memory of the CPU without gradients becomes an array."""

    dtype = "torch.float64"

    def __init__(self, values, device="cpu", requires_grad=False):
        super().__init__(values)
        self.device = SimpleNamespace(type=device)
        self.requires_grad = requires_grad

    def __getitem__(self, rows):
        return Tensor(self.values[rows], self.device.type, self.requires_grad)

    def reshape(self, *shape):
        return Tensor(self.values.reshape(*shape), self.device.type, self.requires_grad)

    def detach(self):
        return Tensor(self.values, self.device.type)

    def tolist(self):
        return self.values.tolist()

    @property
    def __cuda_array_interface__(self):
        if self.requires_grad:
            raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad.")
        raise AttributeError

    def __array__(self, dtype=None, copy=None):
        if self.device.type != "cpu":
            raise TypeError("can't convert cuda:0 device type tensor to numpy.")
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        return self.values.astype(dtype)


CudfFrame = type("DataFrame", (), {"to_cupy": None, "columns": ["a"], "shape": (30, 1)})
ON_DEVICES = {
    "CuPy": (CupyArray, r"CupyArray on a GPU; convert it to a numpy array with \.get\(\)"),
    "CUDA": (lambda values: Tensor(values, "cuda"), r"with \.detach\(\)\.cpu\(\)\.numpy\(\)"),
    "Metal": (lambda values: Tensor(values, "mps"), r"with \.detach\(\)\.cpu\(\)\.numpy\(\)"),
    "gradients": (
        lambda values: Tensor(values, requires_grad=True),
        r"Tensor that records gradients; convert it to a numpy array with \.detach\(\)\.numpy\(\)",
    ),
}


INFINITE = {
    "infinity": np.asarray,
    "infinity, float16": lambda values: values.astype(np.float16),
    "infinity, frame": lambda values: (
        pd.DataFrame(values) if values.ndim == 2 else pd.Series(values)
    ),
    "infinity, objects": lambda values: values.astype(object),
    "infinity, list": np.ndarray.tolist,
}
UNUSABLE = {
    **{kind: (change, f".*{sentence}") for kind, (change, sentence) in NO_NUMBERS.items()},
    **{kind: (change, f" is of type .*{remedy}") for kind, (change, remedy) in ON_DEVICES.items()},
    **{
        kind: (
            lambda v, form=form: form(with_infinities(v)),
            ".*(infinity|finite numbers|inf is not a number)",
        )
        for kind, form in INFINITE.items()
    },
    "NaN": (lambda values: np.where(values == values[0], np.nan, values), ".*(NaN|finite numbers)"),
}


def with_infinities(values):
    """scikit-learn adds all values to find out whether they are finite: inf - inf warns."""
    bad = values.astype(float)
    bad.flat[[0, -1]] = np.inf, -np.inf
    return bad


MODEL = TAOClustering(3, lambda_=1.0, depth=2, random_state=0).fit(ROWS)
AXIS = IMM(3, random_state=0).fit(ROWS)
LABELS = TAOClustering(objective="labels", lambda_=1.0)
USES = {
    "X": [
        *(IMM(3).fit, TAOClustering(3, standardize=True).fit, MixtureTree(3).fit),
        *(AlternatingClustering(3).fit, FarthestFirst(3).fit, lambda X: outofcore.fit(IMM(3), [X])),
        *(MODEL.predict, MODEL.apply, MODEL.transform, MODEL.score, MODEL.cost_increase),
        *(MODEL.decision_path, MODEL.explain, MODEL.describe, MODEL.tree_.predict),
        *(MODEL.tree_.apply, AXIS.surrogate_score, lambda X: MODEL.plot(X=X)),
        *(lambda X: compare(X, 3), lambda X: tao_path(X, 3), lambda X: stability(MODEL, X, n=2)),
        *(lambda X: choose_n_clusters(X, [2, 3]), lambda X: refit(MODEL, X, verbose=0)),
        *(lambda X: monitor(MODEL, ROWS, X), lambda X: nested(MODEL, X)),
        *(lambda X: MODEL.nearest_change(X[0], 1), lambda X: measures.feature_usage(MODEL, X)),
    ],
    "embedding": [
        lambda rows: IMM(3).fit(ROWS, embedding=rows),
        lambda rows: outofcore.fit(TAOClustering(3), [ROWS], embedding=[rows]),
    ],
    "sample_weight": [
        *(lambda w, use=use: use(ROWS, sample_weight=w) for use in (IMM(3).fit, MODEL.score)),
        *(
            lambda w, use=use: use(ROWS, sample_weight=w)
            for use in (MODEL.cost_increase, AlternatingClustering(3).fit)
        ),
        lambda w: outofcore.fit(IMM(3), [ROWS], sample_weight=[w]),
        lambda w: MODEL.to_rules(X=ROWS, sample_weight=w),
        lambda w: stability(MODEL, ROWS, n=2, sample_weight=w),
    ],
    "y": [lambda y: clone(LABELS).fit(ROWS, y)],
    "reference": [
        lambda centers: IMM(3, reference=centers).fit(ROWS),
        lambda centers: IMM(3, reference=fitted(centers)).fit(ROWS),
        *(voronoi_tree, bisector_tree),
    ],
}
GOOD = {
    "X": ROWS,
    "embedding": ROWS,
    "sample_weight": np.ones(30) + ROWS[:, 0] ** 2,
    "y": np.arange(30) // 10 * 3,
}
GOOD["reference"] = CENTERS


LABELS_TOO = {"texts", "texts as objects", "bytes", "beyond floats", "NaN", *INFINITE}
CASES = [
    (kind, name)
    for kind in UNUSABLE
    for name in USES
    if not (name == "y" and kind in LABELS_TOO)
    and (kind == "beyond floats") <= (name in "X embedding")
]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_what_is_no_number_is_named_everywhere(kind, name):
    """Also by users who let scikit-learn assume that all is finite."""
    change, sentence = UNUSABLE[kind]
    for i, use in enumerate(USES[name]):
        with config_context(assume_finite=bool(i % 2)), refused(sentence):
            use(change(GOOD[name]))


def test_tensors_that_numpy_can_read_are_arrays():
    model = IMM(3, random_state=0).fit(Tensor(ROWS), sample_weight=Tensor(np.ones(30)))
    assert model.tree_ == IMM(3, random_state=0).fit(ROWS).tree_
    with refused(r"on a GPU; convert it to a numpy array with \.to_pandas\(\)"):
        model.predict(CudfFrame())


# ---------------------------------------------------------------- centres of functions


@pytest.mark.parametrize("case", ["huge", "denormal"])
def test_centres_of_functions_are_checked(case):
    centers, sentence = BAD_CENTERS[case]
    for build in (voronoi_tree, bisector_tree):
        with refused(sentence):
            build(centers)


def test_centres_that_no_float_parts():
    """Others are far away, so that the whole is of a common size."""
    centers = np.vstack([CENTERS, CENTERS[:1] * 1e-310])
    for build in (voronoi_tree, bisector_tree):
        with refused("no test can separate them"):
            build(centers)


# ---------------------------------------------------------------- kinds


def test_nothing_is_told_as_nothing(estimator):
    with refused("X is None"):
        estimator().fit(None)


FAULTS = {
    "NaN": (np.nan, "contains NaN in column 'b' \\(1 row\\); replace"),
    "infinity": (-np.inf, "contains infinity in column 'b' \\(1 row\\); replace"),
    "a string": ("x", "has strings in column 'b'"),
    "a category": (pd.Categorical(["x", "y"] * 15), "has strings in column 'b'"),
    "a date": (pd.Timestamp("2020-01-01"), "has dates, times or durations in column 'b'"),
    "an interval": (pd.cut(ROWS[:, 0], 3), "has values that are not numbers in column 'b'"),
    "lists": ([[1, 2]] * 30, "has values that are not numbers in column 'b'"),
    "None": ([True, None] * 15, "contains NaN in column 'b' \\(15 rows\\)"),
    "NA": (pd.array([1, None] * 15), "contains NaN in column 'b' \\(15 rows\\)"),
    "too large": (
        [10**400] * 30,
        "has numbers larger than any float, about 1.8e308, in column 'b'",
    ),
}


@pytest.mark.spaced(quick=6, slow=25)
@pytest.mark.parametrize("case", FAULTS)
def test_messages_name_the_column(estimator, case):
    values, message = FAULTS[case]
    good = pd.DataFrame(ROWS, columns=list("abc"))
    bad = good.astype(object) if case == "a string" else good.copy()
    if case in ("NaN", "infinity", "a string"):
        bad.iloc[3, 1] = values
    else:
        bad["b"] = values
    with no_number(f"X {message}"):
        estimator().fit(bad)
    model = estimator().fit(good)
    for use in (model.predict, model.transform, model.score, model.explain, model.tree_.apply):
        with no_number(f"X {message}"):
            use(bad)
    with no_number(f"embedding {message}"):
        estimator().fit(good, embedding=bad)


def test_messages_number_the_columns_of_arrays_and_matrices():
    bad = ROWS.copy()
    bad[[2, 5], 0], bad[7, 2] = np.nan, np.inf
    message = r"NaN in column 0 \(2 rows\) and infinity in column 2 \(1 row\)"
    for X in (bad, sp.csr_matrix(bad), bad.tolist()):
        with refused(message):
            IMM(3).fit(X)


LazyFrame = type("LazyFrame", (), {"columns": property(lambda self: ["a", "b"])})


@pytest.mark.spaced(quick=11)
@pytest.mark.parametrize(
    ("X", "remedy"),
    [
        (LazyFrame(), r"collect\(\) it first"),
        (pd.Series(ROWS[:, 0]), "to_frame"),
        (pd.DataFrame(ROWS).groupby(0), "aggregate it first"),
        ("rows.csv", "read the file first"),
        ({"a": [1, 2, 3]}, "pandas.DataFrame"),
        (iter(ROWS), "all rows at once"),
    ],
)
def test_containers_that_are_no_tables(estimator, X, remedy):
    for use in (estimator().fit, estimator().fit(ROWS).predict, Tree.single_leaf(0, 3).predict):
        with refused(remedy):
            use(X)


TABLE = pd.DataFrame(CENTERS[[0, 1, 2] * 9], columns=list("abc"))
PLAIN = Tree.from_splits(
    [1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None], [1.0, 0, 0], [-1, 0, 1], n_features=3
)


@pytest.mark.parametrize(
    ("call", "message"),
    {
        "embedding": (lambda: IMM(3).fit(TABLE, embedding=[0, 1, 2] * 9), "objective='labels'"),
        "series": (lambda: IMM(3).fit(TABLE, embedding=TABLE["a"]), "objective='labels'"),
        "vector": (lambda: IMM(3).fit(np.zeros(900)), r"2D array, got 1D.* shape \(900,\)"),
        "strings": (lambda: IMM(3).fit(TABLE, sample_weight=["a"] * 27), r"to_numeric\)\."),
        "counts": (lambda: PLAIN.to_rules(X=TABLE, sample_weight=["a"] * 27), r"to_numeric\)\."),
        "a name": (lambda: IMM(3).fit(TABLE, sample_weight="a"), "sample_weight is the string 'a'"),
        "y": (lambda: TAOClustering(3, objective="labels").fit(TABLE, "a"), "y is the string 'a'"),
        "leaves": (lambda: tao_path(TABLE, 3, split="axis", leaves=[]), "leaves is empty"),
        "lambdas": (lambda: tao_path(TABLE, 3, lambdas=[]), "lambdas is empty"),
        "words": (lambda: tao_path(TABLE, 3, lambdas=["a"]), r"positive numbers; got \['a'\]"),
        "classes": (
            lambda: PLAIN.plot(TABLE, y=[0, 1, 2] * 9, class_names="abc"),
            "class_names must be a list of names, got the string 'abc'",
        ),
        "series of models": (
            lambda: plot_tradeoff([IMM(3).fit(TABLE)] * 2, labels="ab"),
            "labels must be a list of names, got the string 'ab'",
        ),
        "names": (lambda: PLAIN.to_text("abc"), "must be a sequence of 3 strings, got 'abc'"),
    }.values(),
)
def test_arguments_of_the_wrong_form_have_a_short_message_with_a_remedy(call, message):
    with pytest.raises(ValueError, match=message) as error:
        call()
    assert len(str(error.value)) < 250


def test_a_mask_that_hides_nothing_changes_nothing():
    masked = np.ma.masked_greater(ROWS, 1000)
    for model in (IMM(3, random_state=0), ExKMC(3, random_state=0)):
        tree = model.fit(ROWS).tree_
        assert model.fit(masked).tree_ == tree
        np.testing.assert_array_equal(model.predict(masked), model.labels_)


def test_names_of_several_types_raise(estimator):
    with pytest.raises(TypeError, match="string names"):
        estimator().fit(pd.DataFrame(ROWS, columns=["a", 1, "b"]))


def test_a_name_twice_is_told_before_the_fit(estimator):
    table = pd.DataFrame(ROWS, columns=["a", "b", "a"])
    with refused("several columns of the name 'a'"):
        estimator().fit(table)
    with refused("several columns of the name 'a'"):
        estimator().fit(pd.DataFrame(ROWS, columns=list("abc"))).predict(table)
    with refused("embedding has several columns of the name 'a'"):
        estimator().fit(ROWS, embedding=table)


# ---------------------------------------------------------------- parameters


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.int8, np.uint64])
def test_whole_numbers_of_numpy_are_those_of_python(estimator, kind):
    """Which wrap around at no 128, and have all methods."""
    sizes = {"max_leaves": 9, "depth": 8, "n_trees": 3}
    sizes = {name: size for name, size in sizes.items() if name in estimator().get_params()}
    expected = estimator(**sizes).fit(ROWS)
    model = estimator(**{name: kind(size) for name, size in sizes.items()})
    assert model.set_params(n_clusters=kind(3)).fit(ROWS).tree_ == expected.tree_
    assert type(model.n_clusters) is kind


@pytest.mark.parametrize("number", [np.longdouble(1), Fraction(1)])
def test_real_numbers_of_any_kind_are_floats(number):
    options = {"depth": 2, "random_state": 0}
    expected = TAOClustering(3, lambda_=1.0, **options).fit(ROWS)
    assert TAOClustering(3, lambda_=number, **options).fit(ROWS).tree_ == expected.tree_


def test_a_truth_value_is_no_number(estimator):
    for value in (True, np.True_):
        with refused("n_clusters=True is a boolean"):
            estimator().set_params(n_clusters=value).fit(ROWS)


# ---------------------------------------------------------------- references and weights


@pytest.mark.parametrize("weight", [1e12, 1e-12])
def test_what_takes_no_weights_repeats_rows_within_bounds(weight):
    weights = np.append(np.ones(29), weight)
    for method in (MixtureTree(3), IMM(3, reference=AgglomerativeClustering(3))):
        with refused("takes no sample_weight, and rows repeated"):
            method.fit(ROWS, sample_weight=weights)


def test_a_reference_of_noise_alone():
    with refused("labels_ of DBSCAN puts no row into a cluster"):
        IMM(3, reference=DBSCAN(eps=1e-9, min_samples=5)).fit(ROWS)


# ---------------------------------------------------------------- sizes


@pytest.mark.parametrize("case", BAD_SIZES)
def test_sizes_that_cannot_be_squared(estimator, case):
    X, weight, sentence = BAD_SIZES[case]
    with refused(sentence):
        estimator().fit(X, sample_weight=weight)


def test_weights_of_blocks_are_checked_too():
    with refused("positive entries below 1e-200"):
        outofcore.fit(TAOClustering(3), [ROWS], sample_weight=[np.full(30, 1e-310)])


@pytest.mark.parametrize("name", ["depth", "max_leaves"])
def test_sizes_beyond_the_rows_are_as_many_as_rows(estimator, name):
    if name in estimator().get_params():
        most, all_rows = (estimator(**{name: size}).fit(ROWS) for size in (10**30, 30))
        assert most.tree_ == all_rows.tree_


@pytest.mark.parametrize(
    ("part", "options"),
    [
        (IMM, {"init": IMM}),
        (Bisecting, {"init": Bisecting}),
        (KMedians, {"objective": KMedians}),
        (AxisAligned, {"split": AxisAligned}),
        (Newton, {"algorithm": DirectForm(node_solver=Newton)}),
        (PenaltyMethod, {"algorithm": PenaltyMethod}),
        (SquaredError, {"algorithm": PenaltyMethod(penalty=SquaredError)}),
    ],
)
def test_a_class_is_no_object(part, options):
    with refused(f"{part.__name__} is a class; give an object"):
        TAOClustering(3, **options).fit(ROWS)


@pytest.mark.parametrize("weights", [(1.7e308, -1.7e308), (5e-324, 1.7e308)])
def test_weights_near_the_largest_float_are_told(weights):
    """Sums overflow; their texts say so."""
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0, 1], weights), None, None], [1.7e308, 0, 0], [-1, 0, 1], 2
    )
    assert "inf" in str(tree.explain([1.0, 2.0]))
    assert "cluster 0" in str(tree.describe([[1.0, 2.0], [-3.0, 4.0], [5.0, -9.0]]))
