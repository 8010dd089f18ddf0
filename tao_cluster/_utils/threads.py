"""Thread pools, a single thread for BLAS and OpenMP, and a Ctrl-C that waits for a safe place."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from threadpoolctl import ThreadpoolController

# Below this many rows a second thread costs more than it saves.
_MIN_ROWS_PER_THREAD = 4096

# Sums over rows are made of the sums of so many parts, or of parts of so few rows.
_MOST_PARTS, _PART_ROWS = 64, 4096


def one_thread():
    """Return the context, or decorator, in which BLAS and OpenMP use a single thread.

    The last bits of a product or of a sum over rows depend on how many threads share it; one
    bit can turn a tie and so a tree. It is also the faster choice for small nodes.

    The setting of OpenMP belongs to each thread: every thread that enters sets its own. That of
    BLAS mostly belongs to the process, so contexts that overlap (fits in several threads) share
    it: the first one in sets it, the last one out restores it. A context is left by the thread
    that has entered it; generators do not hold one while they wait.

    In the main thread, unless SIGINT has a handler of its own, the first Ctrl-C inside the
    outermost context is postponed: :func:`check_interrupted` raises the KeyboardInterrupt, or the
    end of the context does. So nothing is left half changed. A second Ctrl-C raises at once.

    Notes
    -----
    A process that is forked while another thread computes may hang at its first fit: OpenMP, whose
    threads a fork does not copy, knows no fork; k-means of scikit-learn alone hangs so. Processes
    are to be spawned (``multiprocessing.set_start_method("spawn")``) or to be joblib's own (loky).
    """
    return _CONTEXT


def check_interrupted():
    """Raise the KeyboardInterrupt that :func:`one_thread` has postponed, in the main thread.

    Loops call this where nothing is half changed, at least once per call that may take long.
    """
    if _ctrl_c.is_pending and threading.current_thread() is threading.main_thread():
        _ctrl_c.is_pending = False
        raise KeyboardInterrupt


@contextlib.contextmanager
def interruptible():
    """Context in which Ctrl-C raises at once, for long calls of other libraries.

    Their result is lost, so only the limits of threads have to be restored, which
    :func:`one_thread` does.
    """
    check_interrupted()
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before, _ctrl_c.is_immediate = _ctrl_c.is_immediate, True
    try:
        yield
    finally:
        _ctrl_c.is_immediate = before


# ---------------------------------------------------------------------- pools


def n_threads(n_jobs, n_rows):
    """Threads for work on some rows, at least 1: few rows are not worth another."""
    return max(1, min(n_jobs, n_rows // _MIN_ROWS_PER_THREAD))


def fixed_parts(n_rows):
    """Slices of rows, the same for any number of threads: so are the sums of their sums."""
    step = max(_PART_ROWS, -(-n_rows // _MOST_PARTS))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def map_in_threads(function, items, most):
    """Results of a function for some items, in their order, by at most so many threads.

    A pool lives for one call: it costs a tenth of a millisecond, where joblib's threads, which
    are polled for results, cost ten. Each thread has one thread of OpenMP. Every item is a place
    where a postponed Ctrl-C is raised.
    """
    most, results = min(most, len(items)), []
    if most < 2:
        for item in items:
            check_interrupted()
            results.append(function(item))
        return results
    with ThreadPoolExecutor(most, initializer=_limit_own) as pool:
        tasks = [pool.submit(function, item) for item in items]
        try:
            for task in tasks:
                results.append(task.result())
                check_interrupted()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return results


# ---------------------------------------------------------------------- Ctrl-C


class _CtrlC:
    """The handler of Ctrl-C while the main thread computes.

    Python raises KeyboardInterrupt between any two instructions. Inside numba's compiler it
    becomes another error, in a callback of C code it is lost, and between the parts of a change
    it leaves half of it. Therefore the first Ctrl-C only sets a flag.
    """

    def __init__(self):
        self.is_pending = False  # there is a KeyboardInterrupt to be raised
        self.is_immediate = False  # another library computes

    def start(self):
        """Replace Python's own handler; returns whether it was there, in the main thread."""
        if (
            threading.current_thread() is not threading.main_thread()
            or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        ):
            return False
        self.is_pending = self.is_immediate = False
        signal.signal(signal.SIGINT, self._handle)
        return True

    def stop(self):
        """Restore Python's handler, and raise what is still postponed."""
        if signal.getsignal(signal.SIGINT) == self._handle:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        check_interrupted()

    def _handle(self, signum, frame):
        del signum, frame
        if self.is_pending or self.is_immediate:
            self.is_pending = False
            raise KeyboardInterrupt
        self.is_pending = True


# ---------------------------------------------------------------------- BLAS and OpenMP


class _OneThread(contextlib.ContextDecorator):
    """What :func:`one_thread` returns; all that it knows is of the thread that enters."""

    def __enter__(self):
        if _own.depth == 0:
            _own.handles_ctrl_c = _ctrl_c.start()
            _own.limits = _limit_own()
            _shared.enter(_libraries().shared)
        _own.depth += 1
        return self

    def __exit__(self, *error):
        _own.depth -= 1
        if _own.depth == 0:
            limits, _own.limits = _own.limits, ()
            _shared.leave()
            _restore(limits)
            if _own.handles_ctrl_c:
                _ctrl_c.stop()
        return False


class _Own(threading.local):
    """What a thread knows of itself: contexts that it is in, and what it restores."""

    depth = 0
    limits = ()
    handles_ctrl_c = False


class _Shared:
    """The setting of libraries that have one for the whole process, and who is inside."""

    def __init__(self):
        self._lock = threading.Lock()
        self._entered, self._limits = 0, {}

    def enter(self, libraries):
        """Set it, before which the first one in has saved it."""
        with self._lock:
            self._entered += 1
            for library in libraries:
                if library.path not in self._limits:
                    self._limits[library.path] = (library, library.get())
                library.set(1)

    def leave(self):
        """Restore it if this is the last one out."""
        with self._lock:
            self._entered -= 1
            if self._entered == 0:
                limits, self._limits = self._limits, {}
                _restore(limits.values())

    def after_fork(self):
        """In a child: other threads are gone, in whatever state they were."""
        self._lock = threading.Lock()
        self._entered = int(_own.depth > 0)


class _Library(NamedTuple):
    """A loaded library: how many threads it may use, and how that is set."""

    path: str
    get: Callable
    set: Callable


class _Libraries(NamedTuple):
    """The loaded libraries: those with a limit of each thread, and with one of the process."""

    n_modules: int = 0  # of Python when they were looked for
    own: tuple = ()
    shared: tuple = ()


def _libraries():
    """The loaded libraries, looked for again if more modules are loaded than at the last look."""
    global _known  # noqa: PLW0603
    n_modules = len(sys.modules)
    if _known.n_modules != n_modules:
        own, shared = [], []
        for library in ThreadpoolController().lib_controllers:  # which takes milliseconds
            is_openmp = "openmp" in (library.user_api, getattr(library, "threading_layer", None))
            get, set_ = (None, None) if is_openmp else _calls_of_openblas(library)
            terms = get or library.get_num_threads, set_ or library.set_num_threads
            (own if is_openmp else shared).append(_Library(library.filepath, *terms))
        _known = _Libraries(n_modules, tuple(own), tuple(shared))
    return _known


def _calls_of_openblas(library):
    """OpenBLAS' own functions for its number of threads; None for other libraries.

    threadpoolctl, from 3.8 on, lets nobody but the thread that was first set it.
    """
    if library.internal_api == "openblas":
        for name in getattr(library, "check_symbols", ()):
            if hasattr(library.dynlib, name):
                setter = name.replace("get_num_threads", "set_num_threads")
                return getattr(library.dynlib, name), getattr(library.dynlib, setter)
    return None, None


def _limit_own():
    """Limit the libraries in which each thread has a limit of its own, in this thread.

    Returns
    -------
    list of (_Library, int or None), what they were limited to
    """
    before = [(library, library.get()) for library in _libraries().own]
    for library, _ in before:
        library.set(1)
    return before


def _restore(limits):
    for library, number in limits:
        if number is not None:
            library.set(number)


_CONTEXT, _own, _shared, _known = _OneThread(), _Own(), _Shared(), _Libraries()
_ctrl_c = _CtrlC()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared.after_fork)
