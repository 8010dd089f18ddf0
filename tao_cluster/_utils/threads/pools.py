"""Pools of threads of our own, and how rows are shared among them."""

from concurrent.futures import ThreadPoolExecutor

from .interrupts import uninterrupted
from .limits import limit_own

# Below this many rows a second thread costs more than it saves.
_MIN_ROWS_PER_THREAD = 4096

# Sums over rows are made of the sums of so many parts, or of parts of so few rows.
_MOST_PARTS, _PART_ROWS = 64, 4096


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
    are polled for results, cost ten. Each thread has one thread of OpenMP.
    """
    most = min(most, len(items))
    if most < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(most, initializer=limit_own) as pool:
        tasks = []
        try:
            _submit(pool, function, items, tasks)
            return [task.result() for task in tasks]
        except BaseException:  # what has not begun is in vain
            for task in tasks:
                task.cancel()
            raise


@uninterrupted
def _submit(pool, function, items, tasks):
    """Hand out all items: a thread whose start is interrupted is one that nobody waits for."""
    tasks += [pool.submit(function, item) for item in items]
