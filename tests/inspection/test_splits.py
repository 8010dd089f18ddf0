"""compare over splits: means and errors, equal sizes, LaTeX, pipelines and raw tables."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from greedy import IMM
from tao_cluster import compare, table_pipeline
from tao_cluster.comparison import Comparison
from tao_cluster.comparison.study import bootstraps, half_splits
from tao_cluster.problem.repeats import content_order

METHODS = ["exkmc", "imm", "cart"]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def X():
    X = np.random.default_rng(0).normal(size=(120, 3)) + np.repeat(np.eye(3) * 3, 40, axis=0)
    return X[content_order(X)]  # splits draw from this order


@pytest.mark.spaced(quick=0)
@pytest.mark.parametrize("resampling", ["halves", "bootstrap"])
def test_the_table_has_means_and_errors_of_the_splits(X, resampling):
    found = compare(X, 3, METHODS, budgets=[3, 5], splits=4, resampling=resampling, random_state=7)
    pairs = {"halves": half_splits, "bootstrap": bootstraps}[resampling](len(X), 4, 7)
    assert len(found.splits) == 4
    for name, model in found.models.items():
        assert model is found.splits[0].models[name]
        for each, (kept, new) in zip(found.splits, pairs, strict=True):
            fitted = each.models[name]
            assert len(fitted.labels_) == len(kept)
            np.testing.assert_array_equal(fitted.labels_, fitted.predict(X[kept]))
            assert each.table.at[name, "cost_increase_new"] == fitted.cost_increase(X[new])
            assert set(kept) | set(new) == set(range(len(X)))
            assert not set(kept) & set(new)
    for column in ("cost_increase", "cost_increase_new", "parameters", "WAES", "ARI", "seconds"):
        values = np.array([each.table[column].astype(float) for each in found.splits])
        np.testing.assert_allclose(found.table[column], values.mean(axis=0))
        errors = values.std(axis=0, ddof=1) / 2
        np.testing.assert_allclose(found.table[f"{column}_se"], errors, atol=1e-12)
    assert " ± " in repr(found)


@pytest.mark.slow
def test_splits_do_not_depend_on_n_jobs_and_one_split_is_as_before(X):
    a, b = (
        compare(X, 3, METHODS, splits=2, n_jobs=n).table.filter(regex="^(?!sec)") for n in (1, 2)
    )
    pd.testing.assert_frame_equal(a, b)
    found = compare(X, 3, METHODS, splits=1)
    assert found.splits == ()
    assert not any(column.endswith("_se") for column in found.table)


@pytest.mark.slow
def test_oblique_trees_have_the_parameters_of_axis_aligned_ones(X):
    found = compare(X, 3, ["tao", "cart"], budgets=[3, 5], splits=2)
    assert [name for name in found.table.index if "oblique" in name] == [
        *("TAO oblique, 7 parameters", "TAO oblique, 13 parameters")
    ]
    for each in found.splits:
        for limit in (7, 13):
            assert each.models[f"TAO oblique, {limit} parameters"].tree_.n_parameters <= limit
    blocks = found.to_latex().split("\\midrule")
    assert all(f"{n} parameters" in b and f"{(n + 2) // 3} leaves" in b
               for n, b in zip((7, 13), blocks[2:], strict=True))  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_the_best_and_those_within_one_standard_error_are_bold(seed):
    """Against a second computation, for random figures of five methods in three splits."""
    rng = np.random.default_rng(seed)
    model = IMM(3, random_state=0).fit(rng.normal(size=(30, 2)))
    names, scales = [f"m_{i}" for i in range(5)], rng.choice([0.1, 1.0, 8.0], 5)
    for n_splits in (1, 3):
        measured = [Comparison.from_models(dict.fromkeys(names, model)) for _ in range(n_splits)]
        for each in measured:
            costs = scales * rng.uniform(0, 2, 5) + [0, 0, 0, 2, 4]
            each.table["cost_increase"] = np.round(costs, 2)
            each.table["ARI"] = np.round(rng.uniform(0, 1, 5), 2)
        found = Comparison.from_splits(measured) if n_splits > 1 else measured[0]
        lines = found.to_latex(["cost_increase", "ARI"]).splitlines()
        lines = [line.split(" & ") for line in lines if line.startswith("m\\_")]
        for column, sign, at in (("cost_increase", 1, 1), ("ARI", -1, 2)):
            values = sign * np.array([each.table[column] for each in measured])
            best = values.mean(axis=0).argmin()
            gaps = values - values[:, [best]]
            error = gaps.std(axis=0, ddof=1) / np.sqrt(n_splits) if n_splits > 1 else np.zeros(5)
            is_close = gaps.mean(axis=0) <= np.maximum(error, 0.005)
            worst = max(values.mean(axis=0)[is_close])
            is_bold = np.array([bool(re.search("mathbf", line[at])) for line in lines])
            np.testing.assert_array_equal(is_bold, values.mean(axis=0) <= worst)
            shown = [float(re.search(r"-?\d+\.\d+", line[at])[0]) for line in lines]
            printed = sign * np.array(shown)
            assert max(printed[is_bold]) <= min(printed[~is_bold], default=np.inf)
    with pytest.raises(ValueError, match=r"must be some of cost_increase, .*; got 'cost'"):
        found.to_latex(["cost"])


@pytest.mark.slow
def test_pipelines_and_raw_tables(X):
    scaled = StandardScaler().fit_transform(X)
    found = compare(X, 3, {"mine": make_pipeline(StandardScaler(), IMM(3)), "cart": "cart"})
    plain = compare(scaled, 3, {"mine": IMM(3), "cart": "cart"})
    columns = [column for column in plain.table if column not in {"method", "seconds"}]
    pd.testing.assert_frame_equal(found.table[columns], plain.table[columns])
    for name, model in found.models.items():
        assert isinstance(model, Pipeline)
        np.testing.assert_array_equal(model.predict(X), plain.models[name].predict(scaled))
    table = pd.DataFrame(X, columns=list("abc")).assign(kind=np.tile(["u", "v", None], 40))
    raw = compare(table, 3, METHODS, splits=2)
    assert any("table_pipeline reads it" in note for note in raw.notes)
    assert raw.models["IMM"].predict(table).shape == (120,)
    given = compare(table, 3, {"mine": table_pipeline(table, 3, split="axis"), "IMM": "imm"})
    assert given.models["mine"].predict(table).shape == (120,)
    assert given.table.at["mine", "cost_increase"] == given.models["mine"][-1].cost_increase_
    for each in (found, raw):
        assert each.plot(width=3.3).get_ylabel()


@pytest.mark.slow
def test_pictures_have_error_bars(X):
    found = compare(X, 3, METHODS, budgets=[3, 5, 8], splits=3)
    ax = found.plot()
    (cart,) = [line for line in ax.lines if line.get_label() == "CART"]
    rows = found.table[found.table["method"] == "CART"]
    np.testing.assert_allclose(cart.get_xdata(), rows["parameters"])
    np.testing.assert_allclose(cart.get_ydata(), rows["cost_increase_new"])
    bars = [line for line in ax.lines if line.get_color() == cart.get_color() and line is not cart]
    ends = bars[0].get_ydata().reshape(-1, 3)[:, :2]
    np.testing.assert_allclose(np.diff(ends)[:, 0], 2 * rows["cost_increase_new_se"])
