"""Ctrl-C at random moments: the best tree and a warning, or the old state; nothing is torn."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from greedy import IMM, ExKMC
from tao_cluster import compare, stability
from tao_cluster._utils.threads import (
    check_interrupted,
    interruptible,
    map_in_threads,
    one_thread,
)
from tao_cluster._utils.warnings import InterruptedWarning, warn

ROOT = Path(__file__).parents[1]

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals are sent to a thread"),
    pytest.mark.usefixtures("python_hears_ctrl_c"),
]


def press():
    """What Ctrl-C does, from within."""
    signal.raise_signal(signal.SIGINT)


def endings(*arguments, **environment):
    """How the interrupts of tests/interrupted.py ended, in a process of their own."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "ignore", ROOT / "tests" / "interrupted.py", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert not found["bad"]
    return found["endings"]


@pytest.mark.slow
def test_interrupted_fits_leave_the_best_tree_or_the_old_state():
    found = endings(15, 0, "few")
    assert found.get("best", 0) + found.get("old", 0) >= 5


@pytest.mark.sweep
def test_two_hundred_interrupted_fits():
    found = endings(200, 1)
    assert min(found["best"], found["old"]) >= 20


@pytest.mark.sweep
def test_interrupted_compilation(tmp_path):
    found = endings(20, 2, "few", "cold", NUMBA_CACHE_DIR=str(tmp_path))
    assert found["old"] >= 5
    endings(10, 3, "few", NUMBA_CACHE_DIR=str(tmp_path))  # with what was kept


def steps_of(function):
    """What a computation has done before it ends with the KeyboardInterrupt."""
    done = []
    with pytest.raises(KeyboardInterrupt):
        one_thread()(function)(done)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    check_interrupted()  # it is raised once
    return done


def test_it_is_postponed_to_the_next_check():
    def compute(done):
        press()
        done.append("whole")
        check_interrupted()
        done.append("never")

    assert steps_of(compute) == ["whole"]


def test_it_comes_at_the_end_of_the_computation_at_the_latest():
    def compute(done):
        with one_thread():
            press()
        done.append("whole")

    assert steps_of(compute) == ["whole"]


def test_a_second_one_is_raised_at_once():
    def compute(done):
        press()
        done.append("before")
        press()
        done.append("never")

    assert steps_of(compute) == ["before"]


def test_one_in_another_library_is_raised_at_once():
    def compute(done):
        with interruptible():
            done.append("before")
            press()
        done.append("never")

    assert steps_of(compute) == ["before"]
    assert steps_of(lambda done: [press(), done.append("whole")]) == ["whole"]


def test_another_handler_stays_and_other_threads_have_none():
    pressed = []
    before = signal.signal(signal.SIGINT, lambda *args: pressed.append(args))
    try:
        with one_thread():
            press()
        assert len(pressed) == 1
    finally:
        signal.signal(signal.SIGINT, before)
    found = map_in_threads(lambda _: one_thread()(signal.getsignal)(signal.SIGINT), range(2), 2)
    assert found == [signal.default_int_handler] * 2


def test_settings_are_those_of_before():
    def found():
        return signal.getsignal(signal.SIGINT), threading.active_count()

    before = found()
    with one_thread():
        assert signal.getsignal(signal.SIGINT) != before[0]
        with one_thread(), warnings.catch_warnings():
            pass
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert found() == before


def test_threads_that_have_not_begun_are_let_go():
    begun = []

    def work(i):
        begun.append(i)
        if i == 0:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        time.sleep(0.05)

    with pytest.raises(KeyboardInterrupt), one_thread():
        map_in_threads(work, range(200), 2)
    n_begun = len(begun)
    assert n_begun < 100
    time.sleep(0.1)
    assert len(begun) == n_begun


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
