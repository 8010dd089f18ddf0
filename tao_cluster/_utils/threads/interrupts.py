"""Ctrl-C while a computation runs: held back where it would tear something, raised after that.

Python raises KeyboardInterrupt between any two steps of the main thread. Inside the compiler of the
kernels it comes out as another error, or out of a kernel as SystemError; in a callback that C code
calls and in a finalizer it is lost; between the parts of a change it leaves half of it.
"""

import _thread
import contextlib
import signal
import sys
import threading
import time
import types

# Modules whose functions are done in whole: the compiler, callbacks of C code, changes of settings
# of the process, imports (which would have to start again with half of them done).
_WHOLE_PACKAGES = {
    *("liblinear", "llvmlite", "numba"),
    *("_weakrefset", "importlib", "warnings", "weakref"),
}
# Named tuples are made by kernels, too, which do not look for an exception then.
_WHOLE_PREFIX = "namedtuple_"
# Contexts are entered or not, and left; nobody sees what a finalizer raises.
_WHOLE_METHODS = {"__del__", "__enter__", "__exit__"}
_whole_code: set[types.CodeType] = set()

# Seconds between two looks at whether an interrupt that was held back may be raised, and after how
# many of them another Ctrl-C is raised wherever it comes.
_TICK, _PATIENCE = 0.005, 30.0


def uninterrupted(function):
    """Mark a short function that is to be done in whole: the decorator returns it as it is.

    A Ctrl-C that comes while it runs is raised after it, if the computation is one of
    :func:`one_thread`.
    """
    _whole_code.add(function.__code__)
    return function


class Guard:
    """The handler of Ctrl-C for one computation in the main thread.

    However often Ctrl-C is pressed while one is held back, one KeyboardInterrupt is raised; but who
    presses it when one was held for half a minute gets it at once.

    Parameters
    ----------
    frame : frame of the computation; what called it is none of ours
    """

    def __init__(self, frame):
        self._frame = frame  # None once it is over
        self._is_held = False  # there is a KeyboardInterrupt to be raised
        self._is_quiet = False  # nobody is to remind of it
        self._is_reminder = False
        self._since = 0.0

    @classmethod
    def around(cls, frame):
        """The guard of a frame, which is on; None in other threads, or with another handler."""
        if (
            threading.current_thread() is not threading.main_thread()
            or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        ):
            return None
        guard = cls(frame)
        guard._hook = sys.unraisablehook
        signal.signal(signal.SIGINT, guard._handle)
        sys.unraisablehook = guard._unraisable
        return guard

    def end(self):
        """Restore what was; returns whether there is still a KeyboardInterrupt to be raised."""
        self._is_quiet, self._frame = True, None
        if sys.unraisablehook == self._unraisable:
            sys.unraisablehook = self._hook
        if signal.getsignal(signal.SIGINT) == self._handle:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        is_held, self._is_held = self._is_held, False
        return is_held

    def _handle(self, signum, frame):
        # From here on no reminder is sent; one that is on its way comes at the next call, so that
        # none is left over when the exception is under way.
        self._is_quiet = True
        is_reminder, self._is_reminder = self._is_reminder, False
        if self._frame is None:
            self._is_held = True
            return
        if self._is_torn_at(frame) and (is_reminder or not self._is_impatient()):
            self._hold()
            self._is_quiet = False
            return
        self._is_held = self._is_quiet = False
        raise KeyboardInterrupt

    def _is_torn_at(self, frame):
        """Whether an exception at a frame would tear something of ours."""
        while frame is not None and frame is not self._frame:
            name = frame.f_globals.get("__name__") or ""
            if (
                frame.f_code.co_name in _WHOLE_METHODS
                or frame.f_code in _whole_code
                or name.partition(".")[0] in _WHOLE_PACKAGES
                or name.startswith(_WHOLE_PREFIX)
            ):
                return True
            frame = frame.f_back
        return False

    def _is_impatient(self):
        return self._is_held and time.monotonic() - self._since > _PATIENCE

    def _hold(self):
        if not self._is_held:
            self._is_held, self._since = True, time.monotonic()
            # Not threading.Thread: its locks may be those that the interrupted code holds. Without
            # room for a thread it is raised at the end.
            with contextlib.suppress(RuntimeError):
                _thread.start_new_thread(self._remind, ())

    def _remind(self):
        """Send the signal again until the exception is raised, from another thread."""
        main = threading.main_thread().ident
        kill = getattr(signal, "pthread_kill", None) or _interrupt_main
        while self._is_held and self._frame is not None:
            time.sleep(_TICK)
            # No call between the question and the signal: no other thread runs meanwhile.
            if self._is_held and not self._is_quiet:
                self._is_reminder = True
                kill(main, signal.SIGINT)

    def _unraisable(self, lost):
        """What Python calls with an exception that it cannot raise: ours is raised later."""
        is_ours = threading.current_thread() is threading.main_thread()
        if is_ours and issubclass(lost.exc_type, KeyboardInterrupt):
            self._hold()
        else:
            self._hook(lost)


def _interrupt_main(_thread_id, signum):
    _thread.interrupt_main(signum)
