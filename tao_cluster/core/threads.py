"""Threads of our own, and one thread for the libraries below numpy and scikit-learn."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

from threadpoolctl import threadpool_limits

# Below this many rows a second thread costs more than it saves.
_MIN_ROWS_PER_THREAD = 4096

# Sums over rows are made of the sums of so many parts, or of parts of so few rows.
_MOST_PARTS, _PART_ROWS = 64, 4096

_lock = threading.Lock()
_entered = 0
_limits = None


@contextlib.contextmanager
def one_thread():
    """Context in which BLAS and OpenMP use a single thread.

    The last bits of a product or of a sum over rows depend on how many threads share it; one
    bit can turn a tie and so a tree. It is also the faster choice for small nodes. The setting
    belongs to the whole process, so contexts that overlap (fits in several threads) share it:
    the first one in sets it, the last one out restores it.
    """
    global _entered, _limits  # noqa: PLW0603
    with _lock:
        if _entered == 0:
            _limits = threadpool_limits(limits=1)
        _entered += 1
    try:
        yield
    finally:
        with _lock:
            _entered -= 1
            if _entered == 0:
                _limits.restore_original_limits()


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
    are polled for results, cost ten.
    """
    most = min(most, len(items))
    if most < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(most) as pool:
        return list(pool.map(function, items))
