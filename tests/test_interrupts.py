"""Ctrl-C at random moments: the best tree and a warning, or the old state; nothing is torn."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from tao_cluster._utils.threads import interrupts, map_in_threads, one_thread, uninterrupted

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


def after(function):
    """What a computation has done when Ctrl-C is pressed in a function of its, and what after."""
    done = []

    @one_thread()
    def compute():
        function(done)
        end = time.monotonic() + 10
        while time.monotonic() < end:
            done[-1] = "after"

    with pytest.raises(KeyboardInterrupt):
        compute()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    return done


def test_it_is_raised_at_once_where_nothing_is_torn():
    def plain(done):
        done.append("before")
        press()
        done.append("never")

    assert after(plain) == ["before"]


def test_it_is_raised_after_what_is_done_in_whole():
    @uninterrupted
    def whole(done):
        press()
        press()  # once more is not another exception
        done += ["whole", "a place"]

    assert after(whole)[:1] == ["whole"]


class Context:
    """A context that is left in whole, and lost in a finalizer."""

    def __init__(self, done, method):
        self.done, self.method = done, method

    def __enter__(self):
        self.work("enter")

    def __exit__(self, *error):
        self.work("exit")

    def __del__(self):
        self.work("del")

    def work(self, method):
        if method == self.method:
            press()
            self.done += [method, "a place"]


@pytest.mark.parametrize("method", ["enter", "exit", "del"])
def test_it_is_raised_after_contexts_and_finalizers(method):
    def use(done):
        with Context(done, method):
            pass

    assert after(use)[:1] == [method]


def test_it_is_raised_after_callbacks_whose_errors_are_lost():
    """As that of LIBLINEAR: Python tells of such an error, and goes on."""

    def use(done):
        @ctypes.CFUNCTYPE(None)
        def callback():
            press()
            done.append("never")

        done.append("before")
        callback()
        done.append("a place")

    assert after(use)[0] == "before"


def test_it_comes_at_the_end_at_the_latest():
    done = []

    @uninterrupted
    def whole():
        press()
        done.append("whole")

    with pytest.raises(KeyboardInterrupt), one_thread():
        whole()
    assert done == ["whole"]


def test_the_impatient_get_it_at_once(monkeypatch):
    monkeypatch.setattr(interrupts, "_PATIENCE", 0.05)

    @uninterrupted
    def hangs(done):
        done.append("before")
        press()
        time.sleep(0.2)
        press()
        done.append("never")

    assert after(hangs) == ["before"]


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
        return signal.getsignal(signal.SIGINT), sys.unraisablehook, threading.active_count()

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
