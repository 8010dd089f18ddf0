"""Tables with units and categories, as people have them: their printed rules hold of the rows."""

import numpy as np
import pytest
from conftest import rest_in_sweeps
from reading import check_rules, holds
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from benchmarks.datasets import DATA_DIR
from greedy import ExKMC
from tao_cluster import TAOClustering, Tree
from tao_cluster.export import to_rules

pd = pytest.importorskip("pandas", reason="tables with names")


def check(table, categories, model, precision=3):
    """What is printed with few digits is what is checked."""
    numbers = [name for name in table if name not in categories]
    steps = make_column_transformer((OneHotEncoder(), categories), (StandardScaler(), numbers))
    pipeline = make_pipeline(steps, model).fit(table)
    rules = to_rules(pipeline, precision=precision)
    print(*rules, sep="\n")
    check_rules(rules, table, pipeline.predict(table))
    return " ".join(rules)


@pytest.mark.slow
@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()], ids=str)
def test_wine(scaler):
    table = load_wine(as_frame=True).data
    pipeline = make_pipeline(scaler, ExKMC(3, max_leaves=5, random_state=0)).fit(table)
    rules = to_rules(pipeline)
    check_rules(rules, table, pipeline.predict(table))
    assert "proline" in " ".join(rules)


@pytest.mark.slow
def test_penguins():
    penguins = pytest.importorskip("palmerpenguins", reason="the table is in that package")
    table = penguins.load_penguins().drop(columns=["species", "year"])
    table = table[table["body_mass_g"].notna()]
    text = check(table, ["island", "sex"], ExKMC(3, max_leaves=6, random_state=3))
    assert "flipper_length_mm" in text
    assert "sex is " in text


@pytest.mark.sweep
def test_adult():
    """The table before its one-hot encoding, from the columns of the encoded one."""
    if not (DATA_DIR / "adult.npz").is_file():
        pytest.skip(f"adult.npz is not in {DATA_DIR}")
    with np.load(DATA_DIR / "adult.npz", allow_pickle=True) as file:
        encoded = pd.DataFrame(file["X"], columns=[str(name) for name in file["feature_names"]])
    is_number = np.array(["=" not in name for name in encoded])
    table = encoded.loc[:, is_number].join(pd.from_dummies(encoded.loc[:, ~is_number], sep="="))
    table = table.sample(3000, random_state=0)
    categories = [name for name in table if table[name].dtype != encoded["age"].dtype]
    assert len(categories) == 8
    axis = check(table, categories, ExKMC(6, max_leaves=8, random_state=0))
    assert "relationship is " in axis
    model = TAOClustering(6, lambda_=30, depth=3, random_state=0)
    assert "[relationship is " in check(table, categories, model, precision=17)


def places(n=300):
    """Latitudes and longitudes of one quarter of a town: all alike to three digits."""
    rng = np.random.default_rng(0)
    return pd.DataFrame([52.5, 13.4] + rng.normal(size=(n, 2)) * 0.0005, columns=["lat", "lon"])


def far_away(n=300):
    values = np.random.default_rng(1).normal(size=(n, 3)) * 30 + 1e4
    return pd.DataFrame(values, columns=["first", "second", "third"])


TABLES = [
    places,
    far_away,
    lambda: load_wine(as_frame=True).data,
    lambda: load_breast_cancer(as_frame=True).data,
]


@pytest.mark.slow
@pytest.mark.parametrize("midpoints", rest_in_sweeps([True, False], True))
@pytest.mark.parametrize("make", TABLES, ids=["places", "far", "wine", "cancer"])
def test_printed_bounds_hold_of_every_row(make, midpoints):
    table = make()
    model = ExKMC(4, max_leaves=9, midpoints=midpoints, random_state=0).fit(table)
    rules = to_rules(model)
    assert len(set(rules)) == model.tree_.n_leaves
    check_rules(rules, table, model.predict(table))


@pytest.mark.parametrize("make", TABLES[:2], ids=["places", "far"])
def test_printed_sums_divide_rows_far_from_0(make):
    table = make()
    tree = Tree.from_splits(
        [1, -1, -1],
        [2, -1, -1],
        [([0, 1], [0.71234567, -0.61234567]), None, None],
        [float(np.median(table.to_numpy()[:, :2] @ [0.71234567, -0.61234567])), 0, 0],
        [-1, 0, 1],
        table.shape[1],
    )
    rules = tree.to_rules(list(table), X=table.to_numpy())
    left = [holds(rules[0][3:].split(" then")[0], row) for _, row in table.iterrows()]
    assert np.mean(left == (tree.predict(table.to_numpy()) == 0)) > 0.97
