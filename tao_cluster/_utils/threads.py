"""Thread pools, single-threaded BLAS and OpenMP, and postponed keyboard interrupts."""

import contextlib
import functools
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from threadpoolctl import ThreadpoolController

from .warnings import InterruptedWarning, numpy_errors, warn

# With fewer rows per thread, a further thread costs more time than it saves.
_MIN_ROWS_PER_THREAD = 16_384
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
    """Raise the KeyboardInterrupt that :func:`one_thread` has postponed, if any.

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
    with _ctrl_c.marked("is_held"):
        yield
    if not _ctrl_c.is_held and _take_pending():
        warn("Interrupted at the end of the fit; its result is complete.", InterruptedWarning)


@contextlib.contextmanager
def interruptible():
    """Return a context in which Ctrl-C raises at once, for long calls of other libraries.

    The calls inside this context must not modify objects that the caller uses later, so that an
    interrupt leaves no object half changed.
    """
    check_interrupted()
    with _ctrl_c.marked("is_immediate"):
        yield


def _take_pending():
    """Return whether the main thread has postponed a Ctrl-C, and forget it."""
    if not _ctrl_c.is_pending or not _is_main():
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
    helps_main = _own.helps_main or _is_main()
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

    @contextlib.contextmanager
    def postponed(self):
        """Return a context with this handler in the place of Python's, in the main thread.

        At its end, a KeyboardInterrupt that is still postponed is raised.
        """
        if not _is_main() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        self.is_pending = self.is_immediate = self.is_held = False
        signal.signal(signal.SIGINT, self._handle)
        try:
            yield
        finally:
            if signal.getsignal(signal.SIGINT) == self._handle:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            check_interrupted()

    @contextlib.contextmanager
    def marked(self, name):
        """Return a context in which an attribute is true, in the main thread."""
        if not _is_main():
            yield
            return
        before = getattr(self, name)
        setattr(self, name, True)
        try:
            yield
        finally:
            setattr(self, name, before)

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
            _own.contexts = contextlib.ExitStack()
            for context in (_ctrl_c.postponed(), _own_limited(), _shared, numpy_errors()):
                _own.contexts.enter_context(context)
        _own.depth += 1
        return self

    def __exit__(self, *error):
        _own.depth -= 1
        if _own.depth == 0:
            _own.contexts.close()
        return False


class _Own(threading.local):
    """State of one thread: how many :func:`one_thread` contexts it is in, and what they entered."""

    depth = 0
    helps_main = False  # whether the main thread waits for the results of this thread
    contexts = None


class _Shared:
    """Context manager that limits the libraries that have one limit per process.

    It counts the threads inside. The last one that leaves restores the limits.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._entered, self._limits = 0, {}

    def __enter__(self):
        with self._lock:
            self._entered += 1
            for path, get, set_ in _libraries(len(sys.modules))[1]:
                self._limits.setdefault(path, (set_, get()))
                set_(1)

    def __exit__(self, *error):
        with self._lock:
            self._entered -= 1
            if self._entered == 0:
                for set_, number in self._limits.values():
                    set_(number)
                self._limits.clear()


@contextlib.contextmanager
def _own_limited():
    """Return a context that limits the libraries with a limit per thread, for this thread."""
    before = [(set_, get()) for _, get, set_ in _libraries(len(sys.modules))[0]]
    _limit_own()
    try:
        yield
    finally:
        for set_, number in before:
            set_(number)


def _limit_own():
    for _, _, set_ in _libraries(len(sys.modules))[0]:
        set_(1)


@functools.lru_cache(maxsize=1)
def _libraries(n_modules):
    """Return the loaded libraries with a limit per thread, and those with one per process.

    A library is a tuple of its path and the functions that get and set its number of threads. The
    search takes milliseconds. It is repeated if the number of loaded Python modules has changed.
    """
    del n_modules
    own, shared = [], []
    for library in ThreadpoolController().lib_controllers:
        if library.num_threads is None:  # it has no such functions
            continue
        is_own = "openmp" in (library.user_api, getattr(library, "threading_layer", None))
        get, set_ = library.get_num_threads, library.set_num_threads
        if not is_own and library.internal_api == "openblas":
            # Those of threadpoolctl 3.8 and later work only in the thread that called them first.
            names = [n for n in library.check_symbols if hasattr(library.dynlib, n)]
            get, set_ = (
                getattr(library.dynlib, names[0].replace("get_num", verb))
                for verb in ("get_num", "set_num")
            )
        (own if is_own else shared).append((library.filepath, get, set_))
    return own, shared


def _is_main():
    return threading.current_thread() is threading.main_thread()


_CONTEXT, _own, _shared, _ctrl_c = _OneThread(), _Own(), _Shared(), _CtrlC()
