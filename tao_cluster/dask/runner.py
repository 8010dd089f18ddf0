"""One pass over blocks that are delayed: results in order, by a cluster or by threads."""

import contextlib
import time

import dask
from dask.system import CPU_COUNT
from distributed import CancelledError, KilledWorker, wait
from distributed.scheduler import NoValidWorkerError, NoWorkerError

from .._utils.threads import check_interrupted
from ..outofcore.blocks import BlockError, LostRowsError, block_errors

# Seconds between two looks at whether there are workers, and for an answer of the scheduler.
_LOOK, _ANSWER = 1.0, 30.0

# Names that dask has for computing in the thread that asks, and the tasks of each thread that are
# computed together: what several of them need is made once.
_ONE_THREAD, _TASKS_PER_THREAD = ("sync", "synchronous", "single-threaded"), 8


def results_in_threads(tasks):
    """Yield the results of delayed tasks, one per block, by the threads that dask would take.

    Raises
    ------
    BlockError
        If a block cannot be made or worked on; it names the block.
    """
    scheduler = dask.config.get("scheduler", None)
    scheduler = scheduler if scheduler in _ONE_THREAD else "threads"
    step = _TASKS_PER_THREAD * (dask.config.get("num_workers", None) or CPU_COUNT)
    for start in range(0, len(tasks), step):
        some = tasks[start : start + step]
        try:
            results = dask.compute(*some, scheduler=scheduler)
        except Exception:  # of which block, the same one by one tells
            results = _one_by_one(some, start, scheduler)
        yield from results


def _one_by_one(tasks, start, scheduler):
    for number, task in enumerate(tasks, start):
        with block_errors(number):
            (result,) = dask.compute(task, scheduler=scheduler)
        yield result


def results_on_cluster(client, tasks, patience):
    """Yield the results of delayed tasks, one per block, by the workers of a cluster.

    All tasks are submitted at once. Tasks whose worker dies are done again by the scheduler.

    Parameters
    ----------
    client : distributed.Client
    tasks : list of Delayed
    patience : float
        Seconds to wait for a worker when there is none.

    Raises
    ------
    BlockError
        If a block cannot be made or worked on, or kills its workers; it names the block.
    LostRowsError
        If the scheduler is gone, or workers are for too long.
    """
    try:
        # The state of a pass may be some megabytes, which is no mistake.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            futures = client.compute(tasks)
    except Exception as error:
        if isinstance(error, OSError) or client.status == "closed":
            raise LostRowsError(f"The scheduler cannot be reached: {error}.") from error
        raise
    try:
        for number, future in enumerate(futures):
            _wait(client, number, future, patience)
            yield _result(number, future)
            future.release()
    finally:
        for future in futures:  # a traceback may hold them longer
            with contextlib.suppress(Exception):
                future.release()


def _wait(client, number, future, patience):
    """Wait until a future is settled; LostRowsError if nobody works for too long."""
    last_seen = time.monotonic()
    while future.status == "pending":
        check_interrupted()
        with contextlib.suppress(TimeoutError, CancelledError, OSError):
            wait([future], timeout=_LOOK)
            return
        if _has_workers(client):
            last_seen = time.monotonic()
        elif time.monotonic() - last_seen >= patience:
            raise LostRowsError(
                f"Block {number} cannot be read any more: for {patience:g} s no worker could take "
                "work, as there is none, their memory is full, or the scheduler does not answer."
            )


def _has_workers(client):
    """Whether some workers take work: those that have paused do not."""
    try:
        count = client.sync(client.scheduler.ncores_running, callback_timeout=_ANSWER)
    except Exception:
        return False
    return sum(count.values()) > 0


def _result(number, future):
    """The result of a settled future, or the error that says what is lost."""
    try:
        return future.result()
    except KilledWorker as error:
        cause = MemoryError(
            f"{error.allowed_failures + 1} workers died while they worked on it, or on another "
            "block beside it; it probably needs more memory than they have: make the chunks "
            "smaller, or give workers more memory or fewer threads."
        )
        raise BlockError(number, cause) from error
    except Exception as error:
        # The task has failed, or its result, or the rows that it needs, cannot be reached.
        if future.status == "error" and not isinstance(error, NoValidWorkerError | NoWorkerError):
            raise BlockError(number, error) from error
        raise LostRowsError(
            f"Block {number} cannot be read any more: the cluster has dropped its task or result "
            f"({getattr(error, 'reason', error)}). Rows that were scattered to a worker are lost "
            "with it, and everything with the scheduler."
        ) from error
