"""Random tables of numbers with a resolution, and a reader of printed rules who evaluates them."""

import operator
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, RobustScaler, StandardScaler

from greedy import IMM, ExKMC
from tao_cluster import TAOClustering

COMPARISONS = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt}

# Columns by name: the resolution of their values, and where and how far they lie.
RESOLUTIONS = {
    "answer": (1.0, 3, 1),
    "flag": (1.0, 0.5, 0.4),
    "year": (1.0, 2000, 12),
    "price": (0.01, 80, 30),
    "seconds": (1.0, 1.7e9, 4e7),
    "julian": (0.5, 2_460_000, 300),
    "northing": (0.5, 5_412_300, 900),
    "stamp": (1.0, 2_024_010_100, 4000),
    "halves": (0.5, 1e12, 90),
    "serial": (1.0, 1e15, 400),
}


MODELS = {
    "axis": lambda seed: TAOClustering(3, split="axis", standardize=True, random_state=seed),
    "oblique": lambda seed: TAOClustering(3, standardize=True, random_state=seed),
    "all weights": lambda seed: TAOClustering(
        3, standardize=True, lambda_=1e-3, max_leaves=5, random_state=seed
    ),
    "raw units": lambda seed: TAOClustering(3, random_state=seed),
    "IMM": lambda seed: IMM(3, standardize=True, random_state=seed),
    "midpoints": lambda seed: ExKMC(3, max_leaves=6, midpoints=True, random_state=seed),
    "scaled": lambda seed: make_pipeline(StandardScaler(), TAOClustering(3, random_state=seed)),
    "range": lambda seed: make_pipeline(MinMaxScaler((2, 5)), TAOClustering(3, random_state=seed)),
    "robust": lambda seed: make_pipeline(
        RobustScaler(), StandardScaler(), TAOClustering(3, split="axis", random_state=seed)
    ),
    "logarithm": lambda seed: make_pipeline(
        FunctionTransformer(np.log1p), TAOClustering(3, split="axis", random_state=seed)
    ),
}


def seeds(n, slow):
    marks = [pytest.mark.slow, pytest.mark.sweep]
    return [*range(n), *(pytest.param(seed, marks=marks) for seed in range(n, slow))]


def random_table(seed, n_rows=250, n_columns=3, n_groups=3):
    """Return a table of groups that overlap: columns of a resolution, and continuous ones."""
    rng = np.random.default_rng(seed)
    group = rng.integers(n_groups, size=n_rows)
    columns = {}
    for name in rng.permutation([*RESOLUTIONS, "share", "tiny"])[:n_columns]:
        values = rng.normal(size=n_rows) + rng.choice([1, 2, 4]) * rng.permutation(n_groups)[group]
        if name in RESOLUTIONS:
            unit, start, size = RESOLUTIONS[name]
            values = np.round((start + size * values) / unit) * unit
            values = np.clip(values, 0, 1 if name == "flag" else None)
            values = np.round(values, 2) if unit == 0.01 else values
        columns[str(name)] = np.abs(values) * (1e-9 if name == "tiny" else 1)
    return pd.DataFrame(columns)


def column(name, seed=0, n_rows=300):
    """Return a table of one column of a resolution, whose values are near each other."""
    unit, start, size = RESOLUTIONS[name]
    values = start + 4 * size * np.random.default_rng(seed).random(n_rows)
    return pd.DataFrame({name: np.round(values / unit) * unit})


def holds(condition, table):
    """Return for which rows a printed condition holds, with the numbers that it shows."""
    match = re.fullmatch(r"(?:(\S+) (<=?) )?(.*?) (<=|<|>=|>) (\S+)", condition)
    low, sign, total, compare, limit = match.groups()
    values = eval(total, {name: table[name].to_numpy(float) for name in table})  # noqa: S307
    found = COMPARISONS[compare](values, float(limit))
    return found & (COMPARISONS[sign](float(low), values) if low else True)


def read_rules(rules, table, holds=holds):
    """Return the cluster of each row by printed rules; every row meets exactly one of them.

    `holds` says for a condition and the table for which rows the condition holds.
    """
    labels, times = np.full(len(table), -1), np.zeros(len(table), int)
    for rule in rules:
        premise, cluster = re.fullmatch(r"(?:if )?(.*) then cluster (\d+).*", rule).groups()
        met = np.ones(len(table), bool)
        for condition in premise.split(" and ") if premise != "always" else ():
            met &= holds(condition, table)
        labels[met] = int(cluster)
        times += met
    assert (times == 1).all()
    return labels


def read_text(text, table):
    """Return the cluster of each row by the indented text of a tree."""
    labels, open_tests = np.full(len(table), -1), []
    for line in text.splitlines():
        depth, said = line.count("|    "), line.split("|--- ", 1)[1]
        if said.startswith("if "):
            open_tests[depth:] = [holds(said[3:], table)]
        elif said == "else":
            open_tests[depth] = ~open_tests[depth]
        else:
            here = np.logical_and.reduce([*open_tests[:depth], np.ones(len(table), bool)])
            labels[here] = int(said.split()[1])
    return labels


def limits_by_column(rules):
    """Return the limits that rules print, by the name of the column that is compared alone."""
    found = {}
    for rule in rules:
        for part in re.split(r" and | then |if ", rule):
            match = re.fullmatch(r"(?:(\S+) <=? )?([a-z]+) (?:<=|<|>=|>) (\S+)", part)
            if match:
                low, name, limit = match.groups()
                found.setdefault(name, []).extend(x for x in (low, limit) if x)
    return found
