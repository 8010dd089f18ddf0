"""One thread for the libraries below numpy and scikit-learn, in every thread that computes."""

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass

from threadpoolctl import ThreadpoolController

from .interrupts import Guard


def one_thread():
    """Context, or decorator, in which BLAS and OpenMP use a single thread.

    The last bits of a product or of a sum over rows depend on how many threads share it; one
    bit can turn a tie and so a tree. It is also the faster choice for small nodes.

    OpenMP's setting is one of each thread: every thread that enters sets its own. That of BLAS
    mostly belongs to the process, so contexts that overlap (fits in several threads) share it: the
    first one in sets it, the last one out restores it. A context is left by the thread that has
    entered it; generators do not hold one while they wait.

    In the main thread, unless Ctrl-C has a handler of its own, a KeyboardInterrupt inside is raised
    where nothing is torn: after a kernel is compiled, a training of LIBLINEAR, a context entered or
    left, a function marked as :func:`uninterrupted`.

    Notes
    -----
    A process that is forked while another thread computes may hang at its first fit: OpenMP, whose
    threads a fork does not copy, knows no fork; k-means of scikit-learn alone hangs so. Processes
    are to be spawned (``multiprocessing.set_start_method("spawn")``) or to be joblib's own (loky).
    """
    return _CONTEXT


class _OneThread(contextlib.ContextDecorator):
    """What :func:`one_thread` returns; all that it knows is of the thread that enters."""

    def __enter__(self):
        if _own.depth == 0:
            _own.guard = Guard.around(sys._getframe(1))
            try:
                _own.limits = limit_own()
                _shared.enter(_libraries().shared)
            except BaseException:
                _restore(_own.limits)
                self._end_guard()
                raise
        _own.depth += 1
        return self

    def __exit__(self, *error):
        _own.depth -= 1
        if _own.depth == 0:
            limits, _own.limits = _own.limits, ()
            _shared.leave()
            _restore(limits)
            if self._end_guard():
                raise KeyboardInterrupt
        return False

    def _end_guard(self):
        guard, _own.guard = _own.guard, None
        return guard is not None and guard.end()


class _Own(threading.local):
    """What a thread knows of itself: contexts that it is in, what it restores, its guard."""

    depth = 0
    limits = ()
    guard = None


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


@dataclass(frozen=True)
class _Library:
    """A loaded library: how many threads it may use, and how that is set."""

    path: str
    get: Callable
    set: Callable


@dataclass(frozen=True)
class _Libraries:
    """Those that are loaded.

    Parameters
    ----------
    n_modules : int, modules of Python when they were looked for
    own : list of _Library, with a limit of each thread
    shared : list of _Library, with one of the process
    """

    n_modules: int = 0
    own: tuple = ()
    shared: tuple = ()

    @classmethod
    def found(cls, n_modules):
        """A look through the libraries of the process, which takes milliseconds."""
        own, shared = [], []
        for library in ThreadpoolController().lib_controllers:
            is_openmp = "openmp" in (library.user_api, getattr(library, "threading_layer", None))
            get, set_ = (None, None) if is_openmp else _calls_of_openblas(library)
            terms = get or library.get_num_threads, set_ or library.set_num_threads
            (own if is_openmp else shared).append(_Library(library.filepath, *terms))
        return cls(n_modules, tuple(own), tuple(shared))


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


def limit_own():
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


def _libraries():
    """The loaded libraries, looked for again if more modules are loaded than at the last look."""
    global _known  # noqa: PLW0603
    n_modules = len(sys.modules)
    if _known.n_modules != n_modules:
        _known = _Libraries.found(n_modules)
    return _known


_CONTEXT, _own, _shared, _known = _OneThread(), _Own(), _Shared(), _Libraries()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared.after_fork)
