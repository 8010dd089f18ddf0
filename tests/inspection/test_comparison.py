"""compare: one reference, one way of measuring, budgets, new rows, and its picture."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from greedy import CART, IMM, ExKMC
from tao_cluster import TAOClustering, compare
from tao_cluster.comparison import DEFAULT_METHODS, FREE, METHODS, Comparison
from tao_cluster.problem.repeats import content_order


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def wine():
    found = load_wine(as_frame=True)
    X, y = pd.DataFrame(scale(found.data), columns=found.data.columns), found.target.to_numpy()
    order = content_order(X, y)  # splits draw from this order
    return X.iloc[order], y[order]


@pytest.fixture(scope="module")
def found(wine):
    """All methods with defaults, half the rows new."""
    X, y = wine
    return compare(X, 3, y=y, validation=0.5)


@pytest.mark.slow
def test_every_method_explains_the_same_clustering(found, wine):
    X, _ = wine
    models = list(found.models.values())
    assert {type(model) for model in models} >= {TAOClustering, ExKMC, IMM, CART}
    assert found.table["method"].nunique() == 1 + len(DEFAULT_METHODS)
    for model in models:
        np.testing.assert_array_equal(model.free_centers_, models[0].free_centers_)
        assert list(model.feature_names_in_) == list(X.columns)
    n_rows = {len(model.labels_) for model in models}
    assert n_rows == {89}  # the reference, too, has seen half the rows only


@pytest.mark.slow
def test_rows_of_the_table_match_the_models(found, wine):
    X, y = wine
    kept, held = map(np.sort, train_test_split(np.arange(len(X)), test_size=0.5, random_state=0))
    assert list(found.table.index) == [FREE, *found.models]
    for name, model in found.models.items():
        row, tree = found.table.loc[name], model.tree_
        assert row["cost_increase"] == model.cost_increase_
        assert row["cost_increase_new"] == model.cost_increase(X.iloc[held])
        assert (row["leaves"], row["depth"]) == (tree.n_leaves, tree.max_depth)
        assert row["parameters"] == tree.n_parameters
        assert row["NMI"] == pytest.approx(normalized_mutual_info_score(y[kept], model.labels_))
        assert row["ARI"] == pytest.approx(adjusted_rand_score(y[kept], model.labels_))
        assert row["seconds"] > 0
    free = next(iter(found.models.values())).free_labels_
    assert found.table.loc[FREE, "ARI"] == pytest.approx(adjusted_rand_score(y[kept], free))
    assert found.table.loc[FREE, "cost_increase"] == 0


@pytest.mark.slow
def test_budgets(wine):
    X, _ = wine
    budgets = {"leaves": [5, 4], "parameters": [9, 30]}
    found = compare(X, 3, ["tao", "exkmc", "tao-axis", "cart"], budgets=budgets)
    table = found.table
    assert [name for name in table.index if name.startswith("ExKMC")] == [
        "ExKMC, 4 leaves",
        "ExKMC, 5 leaves",
    ]
    assert table.loc["ExKMC, 4 leaves", "leaves"] == 4
    assert table.loc["CART, 5 leaves", "leaves"] == 5
    assert table.loc["TAO oblique, 9 parameters", "parameters"] <= 9
    assert 9 < table.loc["TAO oblique, 30 parameters", "parameters"] <= 30
    costs = table["cost_increase"]
    assert costs["TAO oblique, 30 parameters"] < costs["TAO oblique, 9 parameters"]
    assert costs["TAO axis, 5 leaves"] <= costs["ExKMC, 5 leaves"] + 1e-9


@pytest.mark.slow
def test_leaves_follow_from_parameters(wine):
    X, _ = wine
    found = compare(X, 3, ["exkmc"], budgets={"parameters": [10, 16]})
    assert found.table["parameters"].dropna().tolist() == [10, 16]
    with pytest.warns(UserWarning, match="which are 7 parameters; smaller budgets"):
        found = compare(X, 3, ["exkmc"], budgets={"parameters": [5, 10]})
    assert len(found.models) == 1
    assert compare(X, 3, ["exkmc"], budgets=[4]).table["leaves"].dropna().tolist() == [4]


@pytest.mark.slow
def test_a_small_budget_is_searched_for_beyond_the_path(wine):
    X, _ = wine
    found = compare(X, 3, ["tao"], budgets={"parameters": [8]}, lambdas=[1e-3])
    assert found.table["parameters"].dropna().tolist()[0] <= 8
    assert compare(X, 3, ["tao"], lambdas=[1e-3]).table["parameters"].min() > 8


@pytest.mark.slow
def test_estimators_and_lists_of_estimators(wine):
    X, _ = wine
    reference = KMeans(3, n_init=1, random_state=5).fit(X)
    methods = {
        "mine": TAOClustering(lambda_=5, depth=2, random_state=7),
        "leaves": [ExKMC(max_leaves=n) for n in (4, 6)],
        "built in": "imm",
    }
    found = compare(X, 3, methods, reference=reference, random_state=1)
    assert [model.max_leaves for model in found.series["leaves"]] == [4, 6]
    assert list(found.series) == list(methods)
    assert found.table["method"].tolist() == [FREE, "mine", "leaves", "leaves", "built in"]
    assert found.models["mine"].random_state == 7
    assert found.models["built in"].random_state == 1
    alone = TAOClustering(3, lambda_=5, depth=2, random_state=7, reference=reference).fit(X)
    assert found.models["mine"].tree_ == alone.tree_
    assert methods["mine"].n_clusters == 8  # copies are fitted
    assert not hasattr(methods["mine"], "tree_")


@pytest.mark.slow
def test_weights_are_repeats(wine):
    X, y = wine
    weight = np.arange(len(X)) % 3
    options = {"methods": ["imm", "cart", "tao-axis"], "budgets": [4], "random_state": 0}
    reference = KMeans(3, n_init=1, random_state=0).fit(X).cluster_centers_
    a = compare(X, 3, sample_weight=weight, y=y, reference=reference, **options)
    rows = np.repeat(np.arange(len(X)), weight)
    b = compare(X.iloc[rows], 3, y=y[rows], reference=reference, **options)
    # Pairs of equal rows count in the ARI of repeated rows only.
    columns = [name for name in a.table if name not in {"method", "seconds", "ARI"}]
    np.testing.assert_allclose(
        a.table[columns].astype(float), b.table[columns].astype(float), rtol=1e-9
    )


def test_validation_by_rows(wine):
    X, _ = wine
    mask = np.arange(len(X)) % 4 == 0
    options = {"methods": ["imm"]}
    a = compare(X, 3, validation=mask, **options)
    b = compare(X, 3, validation=np.flatnonzero(mask), **options)
    cost = a.models["IMM"].cost_increase(X[mask])
    assert a.table.loc["IMM", "cost_increase_new"] == cost
    assert b.table.loc["IMM", "cost_increase_new"] == cost
    assert compare(X, 3, **options).table["cost_increase_new"].isna().all()
    for wrong in (np.ones(len(X), dtype=bool), [], [10_000], 1.5):
        with pytest.raises(ValueError, match="validation"):
            compare(X, 3, validation=wrong, **options)


@pytest.mark.slow
def test_sparse_embedding_objectives_and_units(wine):
    X, y = wine
    sparse = sp.csr_matrix(np.maximum(X.to_numpy(), 0))
    found = compare(sparse, 3, ["tao", "exkmc"], budgets=[4], embedding=X.to_numpy()[:, :4])
    assert found.models["ExKMC, 4 leaves"].cluster_centers_.shape == (3, 4)
    found = compare(X, 3, objective="kmedians", budgets=[4], lambdas=[1.0])
    any_ = {"TAO oblique", "TAO axis", "CART"}
    assert set(found.table["method"]) == {FREE, "IMM", "ExGreedy", "ExShallow", *any_}
    scaled = X * np.geomspace(1e-3, 1e3, X.shape[1])
    plain = compare(X, 3, ["imm", "tao"], budgets={"parameters": [12]}, standardize=True)
    raw = compare(scaled, 3, ["imm", "tao"], budgets={"parameters": [12]}, standardize=True)
    for name, model in raw.models.items():
        assert model.cost_increase_ == pytest.approx(plain.models[name].cost_increase_, rel=1e-3)
    labels = compare(X, objective="labels", y=y, budgets=[3, 6], validation=0.3)
    assert set(labels.table["method"]) == any_
    assert "rows with another label, %" in repr(labels)
    assert labels.plot(new=False).get_ylabel() == "rows with another label, %"
    assert labels.plot().get_ylabel() == "held-out rows with another label, %"
    cart = labels.models["CART, 6 leaves"]
    assert labels.table.loc["CART, 6 leaves", "cost_increase"] == cart.cost_increase_
    assert labels.table["cost_increase_new"].dropna().between(0, 100).all()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"methods": ["kd-tree"]}, "Unknown method 'kd-tree'; the names are tao, "),
        (
            {"methods": ["imm"], "objective": "spherical"},
            "Method 'imm' does not support objective='spherical', only kmeans and kmedians",
        ),
        (
            {"methods": {"a": TAOClustering(4)}},
            "Method 'a' has n_clusters=4, but .* n_clusters=3 for all",
        ),
        (
            {"methods": {"a": TAOClustering(objective="kmedians")}},
            "Method 'a' has objective='kmedians', but",
        ),
        (
            {"methods": {"a": IMM(reference=np.zeros((3, 13)))}},
            "Method 'a' has reference=<ndarray>, but",
        ),
        ({"methods": {"a": KMeans(3)}}, "Method 'a' is a KMeans; compare takes names and est"),
        (
            {"methods": {"a": make_pipeline(StandardScaler(), IMM(3)), "b": make_pipeline(IMM(3))}},
            "the Pipelines have different first steps",
        ),
        ({"methods": [IMM(3), "cart"]}, "Estimators need titles: methods={'title': IMM"),
        ({"splits": 0}, "splits=0 must be a number of splits"),
        ({"splits": 2, "validation": 0.2}, "validation is not used with splits=2"),
        ({"splits": 2, "resampling": "thirds"}, "'halves' or 'bootstrap'; got 'thirds'"),
        ({"objective": "labels"}, "explains given labels: pass them as y"),
        ({"validation": [True, False]}, "a mask of 178 booleans"),
        ({"validation": 1.5}, "a share between 0 and 1, positions of rows of X, or a mask of 178"),
        (
            {"validation": np.ones(178, bool)},
            "holds out 178 of 178 rows; .* leave some for the fits",
        ),
        ({"budgets": {"nodes": [3]}}, "the keys 'leaves' and 'parameters'; got 'nodes'"),
        ({"budgets": [2.5]}, r"budgets of leaves must be positive integers; got \[2\.5\]"),
        ({"methods": ["exkmc"], "budgets": [2]}, "max_leaves"),
        ({"y": [1, 2]}, "y has 2 entries, but X has 178"),
    ],
)
def test_wrong_arguments_raise(wine, arguments, sentence):
    X, _ = wine
    with pytest.raises(ValueError, match=sentence):
        compare(X, 3, **arguments)


@pytest.mark.slow
def test_warnings_of_fits_are_listed_below_the_table(wine):
    X, _ = wine
    methods = {"shallow <1>": TAOClustering(lambda_=1.0, depth=1), "built in": "imm"}
    found = compare(X, 3, methods)
    assert found.notes
    assert all(note.startswith("shallow <1>: ") for note in found.notes)
    assert any("depth" in note for note in found.notes)
    assert repr(found).splitlines()[-len(found.notes) :] == list(found.notes)
    assert "shallow &lt;1&gt;: " in found._repr_html_()
    assert compare(X, 3, ["imm"]).notes == ()


@pytest.mark.slow
def test_picture_has_one_series_per_method(found):
    for size in ("parameters", "leaves", "WAD", "WAES"):
        ax = found.plot(size, new=False)
        named = [line for line in ax.lines if not line.get_label().startswith("_child")]
        names = [line.get_label() for line in named]
        assert names == list(found.table["method"].unique())[1:]
        assert len({line.get_color() for line in named}) == len(names)
    ax = found.plot("leaves", new=False)
    trace = max((m.trace_ for n, m in found.models.items() if n.startswith("ExKMC")), key=len)
    drawn = [line.get_xydata().tolist() for line in ax.lines]
    assert [[step["leaves"], step["cost_increase"]] for step in trace] in drawn
    lines = [line for line in ax.lines if line.get_linestyle() != "None" and len(line.get_xdata())]
    assert len(lines) == len(names)  # the points of a curve are not joined once more
    for new in (found.plot(new=True), found.plot()):  # held-out rows come first if there are any
        assert new.get_ylabel().startswith("cost of held-out rows above the free")
        drawn = np.concatenate([line.get_ydata() for line in new.lines])
        assert set(found.table["cost_increase_new"].dropna()) == set(drawn)


@pytest.mark.slow
def test_known_methods_have_looks_of_their_own(wine):
    X, _ = wine
    model = IMM(3, random_state=0).fit(X)
    known = [method.title for method in METHODS.values()]
    looks = []
    for titles in (known, ["mine", "other", *reversed(known)]):
        lines = Comparison.from_models(dict.fromkeys(titles, model)).plot().lines
        named = {line.get_label(): line for line in lines}
        looks.append({name: (named[name].get_color(), named[name].get_marker()) for name in known})
    assert looks[0] == looks[1]  # others do not change them
    assert len(set(looks[0].values())) == len(known)
    assert len({color for color, _ in looks[0].values()}) == len(known)


@pytest.mark.slow
def test_a_trace_lies_on_the_parameters_of_its_trees(found):
    ax = found.plot("parameters", new=False)
    models = [model for name, model in found.models.items() if name.startswith("ExKMC")]
    n_steps = max(len(model.trace_) for model in models)
    curves = [line.get_xydata() for line in ax.lines if line.get_marker() == "None"]
    (curve,) = [each for each in curves if len(each) == n_steps]
    at = dict(curve.tolist())
    for model in models:
        assert at[model.tree_.n_parameters] == pytest.approx(model.cost_increase_)


@pytest.mark.slow
def test_wrong_arguments_of_the_picture_raise(wine, found):
    X, _ = wine
    with pytest.raises(ValueError, match="size must be one of parameters, leaves"):
        found.plot("nodes")
    with pytest.raises(ValueError, match=r"compare\(\.\.\., validation=0\.2\)"):
        compare(X, 3, ["imm"]).plot(new=True)


def test_printed_form_is_the_table_with_headings(wine):
    X, _ = wine
    measured = Comparison.from_models(
        {"IMM": IMM(3, random_state=0).fit(X)}, X, seconds={"IMM": 1.25}
    )
    head, row = repr(measured).splitlines()
    headings = [
        *("cost increase, %", "leaves", "depth", "parameters", "features per test"),
        *("tests per row", "conditions per row", "NMI", "ARI", "fit time, s"),
    ]
    assert head.split() == " ".join(headings).split()  # no column for held-out rows
    shown = dict(zip(headings, row.split()[1:], strict=True))
    assert shown["leaves"] == "3"
    assert shown["fit time, s"] == "1.25"
    assert shown["cost increase, %"] == f"{measured.models['IMM'].cost_increase_:.2f}"
    assert "<table" in measured._repr_html_()
    assert "-" in repr(compare(X, 3, ["imm"])).splitlines()[1].split()  # the free clustering


@pytest.mark.slow
def test_a_single_cluster_and_single_leaves():
    X = np.arange(12.0).reshape(6, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compare(X, 1, ["tao", "exkmc", "imm", "cart", "tao-axis"], lambdas=[1.0])
    assert (found.table["leaves"].dropna() == 1).all()
    assert (found.table["cost_increase"] == 0).all()
    found.plot()


def test_rows_without_a_class_are_left_out(wine):
    X, _ = wine
    y = np.array(["u", "v", "w"], dtype=object)[load_wine().target]
    y[::3] = None
    y[1] = np.nan
    known = np.array([isinstance(value, str) for value in y])
    found = compare(X, 3, ["imm"], y=y)
    labels = found.models["IMM"].labels_[known]
    assert found.table.at["IMM", "ARI"] == pytest.approx(
        adjusted_rand_score(labels, y[known].astype(str))
    )


def test_unused_arguments_are_listed(wine):
    X, y = wine
    sized = [name for name, method in METHODS.items() if method.is_sized]
    assert {"tao-axis", "exkmc", "cart"} <= set(sized)
    found = compare(X, 3, ["imm"], budgets={"leaves": [4], "parameters": [9]}, depth=3)
    assert found.notes == (
        f"Budgets of leaves are not used: they are for {', '.join(sized)}.",
        "Budgets of parameters are not used: they are for tao.",
        "depth is not used: the setting is for tao.",
    )
    assert compare(X, 3, ["exkmc"], budgets={"parameters": [10]}).notes == ()
    found = compare(X, 5, ["cart"], objective="labels", y=y, budgets=[3])
    assert found.notes == ("n_clusters=5 is not used: y has 3 labels.",)


@pytest.mark.slow
def test_equal_trees_of_a_path_are_shown_once(wine):
    X, _ = wine
    found = compare(X, 3, ["tao"], lambdas=[1.0, 1.0 + 1e-9, 1.0 + 2e-9])
    assert len(found.models) == 1
    axes = found.plot()
    legend = axes.get_legend() or axes.figure.legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["TAO oblique"]
