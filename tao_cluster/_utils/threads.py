"""Thread pools, single-threaded BLAS and OpenMP, and postponed keyboard interrupts."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from threadpoolctl import ThreadpoolController

from .warnings import InterruptedWarning, numpy_errors, warn

# With fewer rows per thread, a further thread costs more time than it saves.
_MIN_ROWS_PER_THREAD = 4096
# Solvers of small nodes hold the interpreter's lock for most of their time, so that threads would
# wait for each other. Each thread therefore gets at least this many values of X.
_MIN_VALUES_PER_THREAD = 2**19

# Sums over rows are computed in parts: at most _MOST_PARTS, of at least _PART_ROWS rows each (the
# last part may be smaller).
_MOST_PARTS, _PART_ROWS = 64, 4096


def one_thread():
    """Return a context manager, also a decorator, in which BLAS and OpenMP use one thread.

    The last bits of a product or of a sum over rows depend on the number of threads. One bit can
    decide a tie and so change the tree. One thread is also faster for small nodes.

    The limit of OpenMP belongs to each thread, so every thread that enters the context sets its
    own. The limit of BLAS usually belongs to the process, so overlapping contexts (fits in several
    threads) share it: the first one that enters sets it and the last one that exits restores it.
    The thread that has entered a context must exit it; generators must not hold one while they are
    suspended.

    In the main thread, the first Ctrl-C inside the outermost context is postponed, unless SIGINT
    has a custom handler: the KeyboardInterrupt is raised by :func:`check_interrupted` or at the end
    of the context. So no object is left half changed. A second Ctrl-C raises at once.

    Notes
    -----
    A process that is forked while another thread computes may hang at its first fit, because the
    threads of OpenMP are not copied by a fork. The k-means of scikit-learn has the same problem.
    Spawn processes (``multiprocessing.set_start_method("spawn")``) or use those of joblib (loky).
    """
    return _CONTEXT


def check_interrupted():
    """Raise the KeyboardInterrupt that :func:`one_thread` has postponed, if there is one.

    In a thread of :func:`map_in_threads`, it is raised if the caller of that function would raise
    it; in other threads the function has no effect. Loops call this function before each long step,
    at points where no object is half changed.
    """
    if _own.helps_main:
        if _ctrl_c.is_pending and not _ctrl_c.is_held:
            raise KeyboardInterrupt
        return
    if not _ctrl_c.is_held and _take_pending():
        raise KeyboardInterrupt


@contextlib.contextmanager
def interrupt_warns():
    """Return a context for fast steps after which a result is complete: Ctrl-C only warns then."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before, _ctrl_c.is_held = _ctrl_c.is_held, True
    try:
        yield
    finally:
        _ctrl_c.is_held = before
    if not before and _take_pending():
        warn("Interrupted at the end of the fit; its result is complete.", InterruptedWarning)


@contextlib.contextmanager
def interruptible():
    """Return a context in which Ctrl-C raises at once, for long calls of other libraries.

    The calls inside this context must not modify objects that the caller uses later, so that an
    interrupt leaves no object half changed.
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


def _take_pending():
    """Return whether the main thread has postponed a Ctrl-C, and forget it."""
    if not _ctrl_c.is_pending or threading.current_thread() is not threading.main_thread():
        return False
    _ctrl_c.is_pending = False
    return True


# ---------------------------------------------------------------------- pools


def n_threads(n_jobs, n_rows, row_size=None):
    """Return the number of threads to use for `n_rows` rows: at least 1 and at most `n_jobs`.

    `row_size` is the number of values of a row. It is given if the threads also need the
    interpreter's lock, and limits their number further.
    """
    most = n_rows // _MIN_ROWS_PER_THREAD
    if row_size is not None:
        most = min(most, int(n_rows * row_size) // _MIN_VALUES_PER_THREAD)
    return max(1, min(n_jobs, most))


def fixed_parts(n_rows):
    """Yield consecutive slices of rows that depend only on the number of rows.

    Since they do not depend on the number of threads, sums over the slices are reproducible.
    """
    step = max(_PART_ROWS, -(-n_rows // _MOST_PARTS))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def map_in_threads(function, items, most):
    """Call a function for each item in at most `most` threads; return the results in input order.

    A pool is created for each call. This takes 0.1 ms; joblib's threads would take 10 ms, because
    they are polled for results. Each thread uses one OpenMP thread. A postponed Ctrl-C is raised
    between two items.
    """
    most, results = min(most, len(items)), []
    if most < 2:
        for item in items:
            check_interrupted()
            results.append(function(item))
        return results
    helps_main = _own.helps_main or threading.current_thread() is threading.main_thread()
    with ThreadPoolExecutor(most, initializer=_start_helper, initargs=(helps_main,)) as pool:
        tasks = [pool.submit(function, item) for item in items]
        try:
            for task in tasks:
                results.append(task.result())
                check_interrupted()
        except BaseException as error:
            pool.shutdown(wait=True, cancel_futures=True)
            if isinstance(error, KeyboardInterrupt):
                _take_pending()  # the one that helpers have raised is not raised again
            raise
    return results


def _start_helper(helps_main):
    _own.helps_main = helps_main
    _limit_own()


# ---------------------------------------------------------------------- Ctrl-C


class _CtrlC:
    """The handler of Ctrl-C while the main thread computes.

    Python raises a KeyboardInterrupt between any two instructions. Inside numba's compiler it
    becomes another error, in a callback from C it is lost, and between two related assignments it
    leaves an inconsistent object. Therefore the first Ctrl-C only sets a flag.
    """

    def __init__(self):
        self.is_pending = False  # whether a KeyboardInterrupt is postponed
        self.is_immediate = False  # whether the main thread is inside `interruptible`
        self.is_held = False  # whether the main thread is inside `interrupt_warns`

    def start(self):
        """Replace Python's default handler, in the main thread; return whether it was replaced."""
        if (
            threading.current_thread() is not threading.main_thread()
            or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        ):
            return False
        self.is_pending = self.is_immediate = self.is_held = False
        signal.signal(signal.SIGINT, self._handle)
        return True

    def stop(self):
        """Restore Python's handler, and raise a KeyboardInterrupt that is still postponed."""
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
    """Context manager that :func:`one_thread` returns: BLAS and OpenMP use one thread inside."""

    def __enter__(self):
        if _own.depth == 0:
            _own.handles_ctrl_c = _ctrl_c.start()
            _own.limits = _limit_own()
            _shared.enter(_libraries().shared)
            _own.errors = numpy_errors()
            _own.errors.__enter__()
        _own.depth += 1
        return self

    def __exit__(self, *error):
        _own.depth -= 1
        if _own.depth == 0:
            _own.errors.__exit__(None, None, None)
            limits, _own.limits = _own.limits, ()
            _shared.leave()
            _restore(limits)
            if _own.handles_ctrl_c:
                _ctrl_c.stop()
        return False


class _Own(threading.local):
    """State of one thread: how many :func:`one_thread` contexts it is in, and limits to restore."""

    depth = 0
    helps_main = False  # whether the main thread waits for the results of this thread
    limits = ()
    handles_ctrl_c = False


class _Shared:
    """Thread limits of the libraries that have one limit per process.

    The object counts the threads inside :func:`one_thread`. The last one restores the limits.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._entered, self._limits = 0, {}

    def enter(self, libraries):
        """Limit the libraries to one thread, and save their old limits if not saved yet."""
        with self._lock:
            self._entered += 1
            for library in libraries:
                if library.path not in self._limits:
                    self._limits[library.path] = (library, library.get())
                library.set(1)

    def leave(self):
        """Restore the old limits if this is the last thread to leave."""
        with self._lock:
            self._entered -= 1
            if self._entered == 0:
                limits, self._limits = self._limits, {}
                _restore(limits.values())

    def after_fork(self):
        """Reset the state in a forked child, where the other threads do not exist."""
        self._lock = threading.Lock()
        self._entered = int(_own.depth > 0)


class _Library(NamedTuple):
    """A loaded library, and the functions that get and set its number of threads."""

    path: str
    get: Callable
    set: Callable


class _Libraries(NamedTuple):
    """The loaded libraries, grouped by whether a limit applies per thread or per process.

    The limits of the libraries in `own` apply per thread, and those in `shared` per process.
    """

    n_modules: int = 0  # number of Python modules that were loaded at the time of the search
    own: tuple = ()
    shared: tuple = ()


def _libraries():
    """Return the loaded BLAS and OpenMP libraries.

    The search is repeated if Python modules were loaded since the previous search.
    """
    global _known  # noqa: PLW0603
    n_modules = len(sys.modules)
    if _known.n_modules != n_modules:
        own, shared = [], []
        for library in ThreadpoolController().lib_controllers:  # the search takes milliseconds
            is_openmp = "openmp" in (library.user_api, getattr(library, "threading_layer", None))
            get, set_ = (None, None) if is_openmp else _calls_of_openblas(library)
            terms = get or library.get_num_threads, set_ or library.set_num_threads
            (own if is_openmp else shared).append(_Library(library.filepath, *terms))
        _known = _Libraries(n_modules, tuple(own), tuple(shared))
    return _known


def _calls_of_openblas(library):
    """Return OpenBLAS' functions that get and set its number of threads, else (None, None).

    The functions of threadpoolctl 3.8 and later work only in the thread that called them first.
    """
    if library.internal_api == "openblas":
        for name in getattr(library, "check_symbols", ()):
            if hasattr(library.dynlib, name):
                setter = name.replace("get_num_threads", "set_num_threads")
                return getattr(library.dynlib, name), getattr(library.dynlib, setter)
    return None, None


def _limit_own():
    """Limit the libraries whose limit applies per thread to one thread, for the calling thread.

    Returns
    -------
    list of (_Library, int or None)
        Each of these libraries and its previous limit.
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
