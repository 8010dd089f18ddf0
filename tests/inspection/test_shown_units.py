"""Units of features are shown, and bounds of dates and times of day as dates and times."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from export_cases import chain
from reading import check_rules

from tao_cluster.columns.readers import Clock, Date, Written
from tao_cluster.explanations import explain, nearest_change
from tao_cluster.export import to_dataframe, to_dot, to_rules, to_text
from tao_cluster.page import to_html
from tao_cluster.plot import plot_tree


class Name(str):
    """The name of a feature with a reader."""

    def __new__(cls, name, reader):
        made = super().__new__(cls, name)
        made.reader = reader
        return made


FIRST = "2020-02-28"
NAMES = [
    Name("signup", Date(first=FIRST)),
    Name("open", Clock()),
    Name("weight", Written(suffix="kg")),
    Name("signup weekday", Date(first=FIRST, part="weekday")),
]


def read_back(rule):
    """Return a rule with numbers in place of dates and times of day."""
    date, time = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d(?::\d\d)?"
    rule = re.sub(
        f"{date}(?: {time})?",
        lambda found: repr((pd.Timestamp(found[0]) - pd.Timestamp(FIRST)) / pd.Timedelta(days=1)),
        rule,
    )
    return re.sub(
        time,
        lambda found: repr(Clock((), found[0].count(":") == 2).read(pd.Series([found[0]]))[0]),
        rule,
    )


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
        j, at = int(rng.integers(0, 4)), rng.random()
        a, b = np.quantile(X[:, j], [at, at], method=["lower", "higher"][0])[0], None
        above = X[X[:, j] > a, j]
        b = above.min() if len(above) else a + 1
        weight = float(rng.choice([-1.0, 1.0]))
        limit = rng.choice([a, (a + b) / 2, b])
        tests.append((j, weight, weight * limit, bool(rng.random() < 0.5)))
    tree = chain(*tests, n_features=4)
    rules = [read_back(rule) for rule in to_rules(tree, NAMES, 17, X=X)]
    columns = ["signup", "open", "weight (kg)", "signup weekday (0 = Monday)"]
    check_rules(rules, pd.DataFrame(X, columns=columns), tree.predict(X))
