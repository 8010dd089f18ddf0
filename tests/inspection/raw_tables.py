"""Random raw tables with gaps, dates, units and awkward levels, and pipelines for them."""

from functools import partial

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from greedy import ExKMC
from tao_cluster import TAOClustering

N = 200
NUMBERS = ['income ("€")', "it's hours"]
LEVELS = ["Plan A", "region`s", "vip", "code"]


def with_gaps(values, rng, share=0.15):
    """A Series of objects in which some values are None."""
    return pd.Series(values, dtype=object).mask(rng.random(len(values)) < share, None)


def random_table(seed, levels="abcdef"):
    """A table with gaps, dates, units, truth values, codes, and levels with awkward characters."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 3, N)
    shares = [*[0.9 / (len(levels) - 1)] * (len(levels) - 1), 0.1]
    days = pd.to_timedelta(300 * groups + rng.integers(0, 400, N), unit="D")
    times = pd.Timestamp("1969-11-30") + days + pd.to_timedelta(rng.integers(0, 86400, N), unit="s")
    table = pd.DataFrame(
        {
            NUMBERS[0]: with_gaps(rng.normal(30 + 9 * groups, 4), rng).astype(float),
            NUMBERS[1]: rng.gamma(2.0, 10.0, N),
            "Plan A": with_gaps(rng.choice(["it's", 'say "x"', "a, b", "-"], N), rng),
            "region`s": with_gaps(rng.choice(list(levels), N, p=shares), rng),
            "vip": with_gaps(rng.choice([True, False], N).tolist(), rng),
            "code": rng.choice([10, 20, 30, 31, 32], N, p=[0.4, 0.3, 0.2, 0.05, 0.05]),
            "weight": [f"{w:.2f} kg" for w in rng.normal(60 + 5 * groups, 3)],
            "born": times.strftime("%d.%m.%Y"),
            "seen": times,
            "opened": (times.floor("min") + pd.Timedelta(hours=3)).strftime("%H:%M"),
        }
    )
    table.loc[rng.random(N) < 0.1, "weight"] = "n/a"
    table.loc[rng.random(N) < 0.1, "seen"] = pd.NaT
    return table


def encoded(*steps, columns=LEVELS):
    """ColumnTransformer of standardised numbers with gaps, and of encoded levels."""
    numbers = make_pipeline(StandardScaler(), SimpleImputer(add_indicator=True))
    return make_column_transformer((numbers, NUMBERS), (make_pipeline(*steps), columns))


def weighted():
    """Like table_pipeline, but of numbers that are filled before they are scaled."""
    encoder = OneHotEncoder(
        max_categories=4, handle_unknown="infrequent_if_exist", sparse_output=False
    )
    steps = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler()), NUMBERS),
        (MissingIndicator(features="all"), NUMBERS),
        (encoder, LEVELS),
        verbose_feature_names_out=True,
    )
    weights = {"onehotencoder": 0.7, "missingindicator": -2.0}
    return steps.set_params(transformer_weights=weights).set_output(transform="pandas")


FILL = SimpleImputer(strategy="most_frequent", missing_values=None)
WAYS = {
    "missing is a level": partial(encoded, OneHotEncoder(handle_unknown="ignore")),
    "rare levels": partial(
        encoded, OneHotEncoder(min_frequency=25, handle_unknown="infrequent_if_exist")
    ),
    "rare levels are listed": partial(
        encoded, OneHotEncoder(max_categories=3, handle_unknown="ignore")
    ),
    "the most frequent level fills gaps": partial(
        encoded, FILL, OneHotEncoder(max_categories=3, handle_unknown="infrequent_if_exist")
    ),
    "a level is dropped": partial(
        encoded, OneHotEncoder(drop="first", min_frequency=25, handle_unknown="infrequent_if_exist")
    ),
    "a word fills gaps": partial(
        encoded,
        SimpleImputer(strategy="constant", fill_value="?", missing_values=None, add_indicator=True),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        StandardScaler(),
        columns=LEVELS[:2],
    ),
    "weighted": weighted,
}
MODELS = {
    "oblique": TAOClustering(5, lambda_=0.05, depth=4, random_state=0),
    "axis": TAOClustering(5, split="axis", max_leaves=9, random_state=0),
    "greedy": ExKMC(5, max_leaves=9, random_state=0),
}
BORN = {"born": {"kind": "date", "format": "%d.%m.%Y"}}
OPTIONS = {
    "table": {"date_parts": ["month", "weekday", "hour"], "max_levels": 4, "schema": BORN},
    "indicators": {
        "missing": "indicator",
        "category_weight": 2.0,
        "categorical": ["code"],
        "schema": BORN,
    },
}
