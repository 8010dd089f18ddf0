"""The data sets of the KDD 2022 paper, whole: minutes each (pytest -m slow)."""

import re
import subprocess
import sys

import pytest

from benchmarks.datasets import DATA_DIR
from benchmarks.evidence.catalogue import TABLES
from benchmarks.evidence.free import Workshop
from benchmarks.evidence.runs import Results, execute
from benchmarks.evidence.tables.plan import Plan

pytestmark = pytest.mark.sweep


def output_of(module, name, *arguments):
    """Lines that a benchmark prints."""
    if not (DATA_DIR / f"{name}.npz").is_file():
        pytest.skip(f"{name}.npz is not in {DATA_DIR}")
    command = [sys.executable, "-m", f"benchmarks.{module}", name, *arguments]
    return subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, check=True
    ).stdout.splitlines()


def measured(folder, table, name, *methods):
    """Rows of a table of the evidence: those of a data set and some methods, one seed."""
    if not (DATA_DIR / f"{name}.npz").is_file():
        pytest.skip(f"{name}.npz is not in {DATA_DIR}")
    runs = [r for r in TABLES[table](Plan(1)) if r.data == name and r.method in methods]
    execute(runs, folder, Workshop(DATA_DIR, folder / "cache"))
    return Results(folder / f"{table}.csv").frame()


def run_published(*arguments):
    """Numbers of each fit that benchmarks.tao prints, and the peak memory in GB."""
    lines = output_of("tao", *arguments)
    names = ("lambda", "seed", "cost", "non_zeros", "parameters", "leaves", "steps")
    fits = [dict(zip(names, map(float, line.split()), strict=False)) for line in lines[2:-1]]
    return fits, float(lines[-1].split()[2])


def run_path(*arguments):
    """(cost, parameters) of each tree of benchmarks.path; multiples of reference time and X."""
    lines = output_of("path", *arguments)
    numbers = [line.split() for line in lines[3:-1]]
    multiples = re.search(r"= ([\d.]+) of the reference, peak ([\d.]+) X", lines[-1])
    return [(float(row[1]), int(row[3])) for row in numbers], *map(float, multiples.groups())


def on_front(trees, cost, parameters):
    return any(c <= cost and p <= parameters for c, p in trees)


def test_path_of_mnist():
    """Half of the parameters of the KDD'22 table at each of its costs, and more."""
    lambdas = ("30", "70", "150", "300", "600", "1200", "2400", "5000")
    trees, seconds, memory = run_path(
        "mnist", "--depth", "5", "--n-jobs", "2", "--lambdas", *lambdas
    )
    for cost, parameters in ((7.9, 99), (1.7, 320), (1.5, 376), (1.2, 560), (0.94, 686)):
        assert on_front(trees, cost, parameters)
    assert seconds <= 2
    assert memory <= 3


def test_path_of_fashion_mnist():
    trees, _, _ = run_path("fashion_mnist", "--depth", "5", "--n-jobs", "2")
    for cost, parameters in ((5.22, 226), (1.74, 412), (1.7, 500)):
        assert on_front(trees, cost, parameters)


def test_path_of_letter():
    trees, _, _ = run_path("letter", "--depth", "7", "--n-init", "10")
    for cost, parameters in ((9.94, 261), (3.9, 420)):
        assert on_front(trees, cost, parameters)


def test_letter():
    """A plain implementation of the paper: 5.59 % with 444 weights; the paper: 4.06 % with 516.

    Seeds of the one start differ much, see docs/results: one of two is to be good.
    """
    fits, _ = run_published("letter", "--lambdas", "0.3", "--seeds", "0", "1")
    assert any(fit["cost"] <= 6.5 and fit["parameters"] <= 600 for fit in fits)


def test_mnist():
    """The paper, from other lambdas: 1.50 % with 753 parameters, 0.94 % with 1372."""
    fits, memory = run_published("mnist", "--lambdas", "10")
    assert fits[0]["cost"] <= 1.5
    assert fits[0]["parameters"] <= 1372
    assert memory < 4


def test_text(tmp_path):
    """Spherical k-means of newsgroups: a few words a node beat CART with 1024 leaves."""
    found = measured(tmp_path, "kdd22-table3", "newsgroups_a1", "CART", "TAO, path")
    cart = found[found["method"] == "CART"].set_index("leaves")["cost"]
    trees = found[found["method"] == "TAO, path"]
    assert cart[1024] < cart[256] < cart[64] < cart[20]
    assert (trees[trees["features"] < 15]["cost"] < cart[1024]).any()


def test_pixels_explain_principal_components():
    lines = output_of("embedding", "mnist", "--lambdas", "300")
    start = next(i for i, line in enumerate(lines) if line.startswith("method"))
    rows = [re.split(r"  +", line) for line in lines[start + 1 :] if re.search(r"\d", line)]
    cost = {row[0]: float(row[1]) for row in rows}
    assert cost["TAO, lambda=300"] < 5 < cost["ExKMC, 80 leaves"]


@pytest.mark.parametrize("name", ["fifa19", "adult", "letter"])
def test_axis_aligned(name, tmp_path):
    """Never worse than ExKMC; at least a tenth of its excess is gone where there is some."""
    found = measured(tmp_path, "kdd22-table1", name, "ExKMC", "TAO")
    exkmc, tao = (found[found["method"] == method] for method in ("ExKMC", "TAO"))
    assert len(exkmc) == len(tao) == 3
    saved = []
    for before, after in zip(exkmc.itertuples(), tao.itertuples(), strict=True):
        assert after.cost <= before.cost
        assert after.leaves <= before.leaves
        saved.append(1 - after.cost / before.cost)
    assert sum(share >= 0.1 for share in saved) >= 2
