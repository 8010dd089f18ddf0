"""Units of features are shown, and bounds of dates and times of day as dates and times."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from export_cases import chain
from reading import check_rules

from tao_cluster import Tree
from tao_cluster.columns import Numeric
from tao_cluster.columns.dates import Date
from tao_cluster.columns.readers import Written
from tao_cluster.explanations import explain, nearest_change
from tao_cluster.export import to_dataframe, to_dot, to_rules, to_text
from tao_cluster.page import to_html
from tao_cluster.plot import plot_tree

FIRST = "2020-02-28"
NAMES = [
    Numeric("signup", reader=Date(first=FIRST)),
    Numeric("open", reader=Date(form="%H:%M")),
    Numeric("weight", reader=Written(suffix="kg")),
    Numeric("signup weekday", reader=Date(first=FIRST, part="weekday")),
]


def read_back(rule):
    """Return a rule with numbers in place of dates and times of day."""
    date, time = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d(?::\d\d)?"
    rule = re.sub(f"{date}(?: {time})?", lambda found: number_of(found[0], NAMES[0].reader), rule)
    forms = {1: "%H:%M", 2: "%H:%M:%S"}
    return re.sub(
        time, lambda found: number_of(found[0], Date(form=forms[found[0].count(":")])), rule
    )


def number_of(text, reader):
    return repr(float(reader.read(pd.Series([text]))[0]))


@pytest.mark.spaced(quick=4)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("per_day", [1, 24, 86_400])
def test_shown_bounds_separate_the_rows(seed, per_day):
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.integers(0, 400 * per_day, 60) / per_day,
            rng.integers(0, 24 * 60, 60) / 60,
            rng.normal(70, 9, 60),
            rng.integers(0, 7, 60),
        ]
    )
    tests = []
    for _ in range(7):
        j = int(rng.integers(0, 4))
        values = np.unique(X[:, j])
        i = int(rng.integers(0, len(values) - 1))
        # A threshold may be the value of a row, or lie in the middle between two of them.
        limit = values[i] + rng.choice([0.0, 0.5, 1.0]) * (values[i + 1] - values[i])
        weight = float(rng.choice([-1.0, 1.0]))
        tests.append((j, weight, weight * limit, bool(rng.random() < 0.5)))
    tree = chain(*tests, n_features=4)
    rules = [read_back(rule) for rule in to_rules(tree, NAMES, 17, X=X)]
    columns = ["signup", "open", "weight (kg)", "signup weekday (0 = Monday)"]
    check_rules(rules, pd.DataFrame(X, columns=columns), tree.predict(X))


@pytest.mark.parametrize("toward", [-np.inf, np.inf])
def test_a_row_with_the_printed_date_is_on_its_side(toward):
    """The threshold is a date but for a rounding error."""
    tree = chain((0, 1.0, np.nextafter(5.0, toward), True), n_features=1)
    X = np.array([[3.0], [5.0], [7.0]])
    rules = [read_back(rule) for rule in to_rules(tree, NAMES[:1], X=X)]
    check_rules(rules, pd.DataFrame(X, columns=["signup"]), tree.predict(X))


def test_dates_and_units_are_shown_alike_everywhere():
    tree = chain((0, 1.0, 431.5, True), (2, -1.0, -70.5, True), (3, 1.0, 3.5, True), n_features=4)
    X = np.array([[431.0, 8.0, 60.0, 3.0], [432.0, 9.0, 80.0, 4.0], [10.0, 9.5, 80.0, 4.0]])
    text = to_text(tree, NAMES)
    assert "if signup < 2021-05-05\n" in text
    assert "if weight (kg) >= 70.5\n" in text
    assert "if signup weekday (0 = Monday) <= 3.5\n" in text
    assert "signup < 2021-05-05" in to_dot(tree, NAMES)
    assert to_dataframe(tree, NAMES)["test"][0] == "signup < 2021-05-05"
    page = to_html(tree, X=X, feature_names=NAMES)
    assert '"lines":["signup","\\u003c 2021-05-05"]' in page
    assert '"lines":["weight (kg)","\\u2265 70.5"]' in page
    ax = plot_tree(tree, X, feature_names=NAMES, nodes="bars", highlight=0)
    texts = {text.get_text() for text in ax.texts}
    assert {"signup < 2021-05-05", "value 2021-05-04", "weight (kg) ≥ 70.5"} <= texts
    plt.close(ax.figure)
    why = explain(tree, X[0], NAMES)
    assert str(why).splitlines()[:2] == [
        "signup = 2021-05-04 < 2021-05-05 -> left",
        "weight (kg) = 60 < 70.5 -> right",
    ]
    axes = why.plot().axes
    assert next(label.get_text()[:4] for label in axes[0].get_xticklabels()) == "2021"
    plt.close(axes[0].figure)
    change = nearest_change(tree, X[1], 1, feature_names=NAMES)
    assert "signup 2021-05-05 -> 2021-05-04 12:00:00 (-0.5 days)" in str(change)
    total = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0, 2], [0.5, -1]), None, None], [3, 0, 0], [-1, 0, 1], 4
    )
    assert "weight (kg) + 0.5*signup (days since 2020-02-28) <= 3" in to_text(total, NAMES)
