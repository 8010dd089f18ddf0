"""Ctrl-C at several moments: the best tree and a warning, or the old state; nothing is torn.

`tests/test_every_fit.py` sends it from functions of the packages, and this file at any moment.
"""

import signal
import threading
import time
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info

from greedy import IMM, ExKMC, ExShallow, Kauri, RandomCuts, SpEx
from tao_cluster import (
    DirectForm,
    PenaltyMethod,
    TAOClustering,
    compare,
    outofcore,
    stability,
    tao_path,
)
from tao_cluster._utils.warnings import InterruptedWarning, warn
from tao_cluster.objectives import KMeans

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals are sent to a thread"),
    pytest.mark.usefixtures("python_hears_ctrl_c"),
]

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(1500, 6)) + 4 * RNG.integers(0, 2, (1500, 6))
MANY = np.repeat(ROWS, 6, axis=0) + RNG.normal(size=(9000, 6))  # enough for two threads


def tao(**options):
    options = {"lambda_": 5.0, "depth": 3, "algorithm": DirectForm(n_init=1)} | options
    return TAOClustering(4, random_state=0, **options)


LIBLINEAR = PenaltyMethod(node_solver="liblinear", refine=False)
FITS = {
    "oblique": (tao(), ROWS[:500]),
    "threads": (tao(n_jobs=2), MANY),
    "liblinear": (tao(algorithm=LIBLINEAR, depth=2), ROWS[:400]),
    "kauri": (Kauri(4, max_leaves=30, random_state=0), ROWS),
    "exkmc": (ExKMC(4, max_leaves=60, random_state=0), ROWS),
    "axis": (tao(split="axis"), ROWS[:500]),
    "spherical": (tao(objective="spherical"), ROWS[:500]),
    "goal": (tao(lambda_="auto", depth=2), ROWS[:500]),
    "shallow": (ExShallow(4, random_state=0), ROWS),
    "spex": (SpEx(4, max_leaves=12, random_state=0), ROWS),
    "random cuts": (RandomCuts(4, n_trees=300, random_state=0, n_jobs=2), ROWS),
}
CALLS = {
    "path": lambda: tao_path(ROWS[:300], 3, depth=2, algorithm=DirectForm(n_init=1)),
    "blocks": lambda: outofcore.fit(tao(), [ROWS[:700], ROWS[700:]], random_state=0),
}


def settings():
    """What a fit must leave as it was."""
    libraries = [(library["filepath"], library["num_threads"]) for library in threadpool_info()]
    return libraries, signal.getsignal(signal.SIGINT), [repr(each) for each in warnings.filters]


def interrupted(call, seconds):
    """Return what a call returns that Ctrl-C reaches after some seconds, or None."""
    main, before, found = threading.main_thread().ident, settings(), None
    timer = threading.Timer(seconds, signal.pthread_kill, (main, signal.SIGINT))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            timer.start()
            found = call()
            timer.join()  # Ctrl-C after the end raises here
            time.sleep(0.02)
        except KeyboardInterrupt:
            pass
        else:
            assert any("nterrupted" in str(warning.message) for warning in caught)
    timer.join()
    assert settings() == before
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.spaced(quick=1, slow=5)
@pytest.mark.parametrize("name", [*FITS, *CALLS])
def test_it_leaves_the_best_result_or_the_old_state(name):
    """At some moments of a fit, whose seconds are those of its second run: the first compiles."""
    prototype, X = FITS.get(name, (None, ROWS[:300]))
    model = None if prototype is None else clone(prototype).fit(ROWS[:100, :4])
    call = CALLS.get(name, lambda: model.fit(X))
    for _ in range(2):
        start = time.perf_counter()
        call()
        seconds = time.perf_counter() - start
    for share in (0.1, 0.5, 0.9):
        if model is not None:
            model.fit(ROWS[:100, :4])
        before = dict(vars(model)) if model is not None else {}
        found = interrupted(call, share * seconds)
        if model is not None:
            is_old = all(value is before[key] for key, value in vars(model).items())
            found = [] if is_old else [model]
        for each in found if name != "blocks" and found else ():
            assert each.n_features_in_ == each.tree_.n_features == X.shape[1]
            np.testing.assert_array_equal(each.predict(X), each.labels_)
            assert -each.score(X) == pytest.approx(each.inertia_)


@dataclass(frozen=True)
class Pressed(KMeans):
    """k-means that presses Ctrl-C while it computes centres, and notes what it does."""

    times: int = 1

    def update_centers(self, *arguments):
        for _ in range(self.times):
            signal.raise_signal(signal.SIGINT)
            DONE.append("pressed")
        return super().update_centers(*arguments)


DONE = []


@pytest.mark.parametrize("times", [1, 2])
def test_the_first_is_postponed_and_the_second_raises_at_once(times):
    DONE.clear()
    model = tao(objective=Pressed(times=times))
    before = settings()
    with pytest.raises(KeyboardInterrupt):
        model.fit(ROWS[:100])
    assert DONE == ["pressed"]
    assert settings() == before
    assert not hasattr(model, "tree_")


def test_another_handler_stays():
    DONE.clear()
    signal.signal(signal.SIGINT, lambda *args: DONE.append("heard"))
    tao(objective=Pressed()).fit(ROWS[:100])
    assert DONE.count("heard") == DONE.count("pressed") > 1


# ---------------------------------------------------------------- functions that run several fits

IRIS = load_iris().data


class CutOff(ExKMC):
    """ExKMC that Ctrl-C cuts off in one of its fits: it keeps a smaller tree, and warns."""

    n_fits, cut_off = 0, 0

    def fit(self, *arguments, **options):
        CutOff.n_fits += 1
        if CutOff.n_fits == CutOff.cut_off:
            warn("Interrupted; the best so far is kept.", InterruptedWarning)
        return super().fit(*arguments, **options)


@pytest.fixture
def cut_off(monkeypatch):
    """Let Ctrl-C cut off the fit of this number."""
    monkeypatch.setattr(CutOff, "n_fits", 0)
    return lambda number: monkeypatch.setattr(CutOff, "cut_off", number)


@pytest.mark.slow
def test_stability_keeps_complete_refits_only(cut_off):
    cut_off(7)  # the first fit is that of the model to all rows
    with pytest.warns(ConvergenceWarning, match="Interrupted: 2 resamples and 2 seeds") as caught:
        found = stability(CutOff(3, random_state=0), IRIS, n=4)
    assert len(caught) == 1
    assert CutOff.n_fits == 7  # no further refit starts
    whole = stability(CutOff(3, random_state=0), IRIS, n=4).table
    kept = whole.groupby("kind").head(2).reset_index(drop=True)
    pd.testing.assert_frame_equal(found.table, kept)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_stability_raises_if_too_few_refits_are_complete(cut_off, number):
    cut_off(number)
    with pytest.raises(KeyboardInterrupt):
        stability(CutOff(3, random_state=0), IRIS, n=4)
    assert CutOff.n_fits == number


def test_compare_keeps_complete_models_only(cut_off):
    cut_off(2)  # the first fit compiles kernels
    with pytest.warns(ConvergenceWarning, match="Interrupted: the table has the 1 models"):
        found = compare(IRIS, 3, {"first": IMM(3), "cut off": CutOff(3), "never fitted": IMM(3)})
    assert found.table.index.tolist() == ["free clustering", "first"]


def test_compare_keeps_complete_splits_only(cut_off):
    cut_off(4)  # the first fit compiles kernels
    with pytest.warns(ConvergenceWarning, match="Interrupted: 2 splits were complete"):
        found = compare(IRIS, 3, {"cut off": CutOff(3)}, splits=5)
    assert len(found.splits) == 2
    assert CutOff.n_fits == 4
    cut_off(CutOff.n_fits + 3)
    with pytest.raises(KeyboardInterrupt):
        compare(IRIS, 3, {"cut off": CutOff(3)}, splits=5)


@pytest.mark.parametrize("number", [1, 2])
def test_compare_raises_if_no_model_is_complete(cut_off, number):
    cut_off(number)
    with pytest.raises(KeyboardInterrupt):
        compare(IRIS, 3, {"cut off": CutOff(3), "never fitted": IMM(3)})
