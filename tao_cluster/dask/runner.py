"""Compute one delayed task per block, on a cluster or in threads, and yield results in order."""

import contextlib
import time

import dask
from dask.system import CPU_COUNT
from distributed import CancelledError, KilledWorker, wait
from distributed.scheduler import NoValidWorkerError, NoWorkerError

from .._utils.threads import check_interrupted
from ..outofcore.blocks import BlockError, LostRowsError, block_errors

# Seconds between two checks whether there are workers (_LOOK), and seconds after which a request to
# the scheduler fails (_ANSWER).
_LOOK, _ANSWER = 1.0, 30.0

# _ONE_THREAD has the names of Dask's schedulers that compute in the calling thread.
# _TASKS_PER_THREAD tasks per thread are computed together: a dependency that several of them share
# is then computed once.
_ONE_THREAD, _TASKS_PER_THREAD = ("sync", "synchronous", "single-threaded"), 8


def results_in_threads(tasks):
    """Yield the results of delayed tasks, one per block, computed by threads of this process.

    Raises
    ------
    BlockError
        If a task fails. The message names the block.
    """
    scheduler = dask.config.get("scheduler", None)
    scheduler = scheduler if scheduler in _ONE_THREAD else "threads"
    step = _TASKS_PER_THREAD * (dask.config.get("num_workers", None) or CPU_COUNT)
    for start in range(0, len(tasks), step):
        some = tasks[start : start + step]
        try:
            results = dask.compute(*some, scheduler=scheduler)
        except Exception:  # compute blocks one by one, so that the error can name the block
            results = _one_by_one(some, start, scheduler)
        yield from results


def _one_by_one(tasks, start, scheduler):
    for number, task in enumerate(tasks, start):
        with block_errors(number):
            (result,) = dask.compute(task, scheduler=scheduler)
        yield result


def results_on_cluster(client, tasks, patience):
    """Yield the results of delayed tasks, one per block, computed by the workers of a cluster.

    All tasks are submitted at once. The scheduler repeats tasks whose worker died.

    Parameters
    ----------
    client : distributed.Client
    tasks : list of Delayed
    patience : float
        Seconds to wait for a worker if there is none.

    Raises
    ------
    BlockError
        If a task fails or kills its workers. The message names the block.
    LostRowsError
        If the scheduler is lost, or if there are no workers for longer than `patience`.
    """
    try:
        # The argument `state` of the tasks may take several megabytes. Dask would warn about it.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            futures = client.compute(tasks)
    except Exception as error:
        if isinstance(error, OSError) or client.status == "closed":
            raise LostRowsError(
                f"The Dask scheduler cannot be reached ({error}): start a cluster and pass its "
                "client."
            ) from error
        raise
    try:
        for number, future in enumerate(futures):
            _wait(client, number, future, patience)
            yield _result(number, future)
            future.release()
    finally:
        for future in futures:  # if an error is raised, its traceback refers to the futures
            with contextlib.suppress(Exception):
                future.release()


def _wait(client, number, future, patience):
    """Wait for a future; raise LostRowsError if no worker accepts tasks for `patience` seconds."""
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
                f"Block {number} cannot be computed: for {patience:g} s no worker accepted tasks. "
                "There are no workers, their memory is full, or the scheduler does not answer. "
                "Start workers, use smaller chunks, or increase patience."
            )


def _has_workers(client):
    """Return whether at least one worker accepts tasks. Paused workers accept none."""
    try:
        count = client.sync(client.scheduler.ncores_running, callback_timeout=_ANSWER)
    except Exception:
        return False
    return sum(count.values()) > 0


def _result(number, future):
    """Return the result of a finished future; raise a BlockError or a LostRowsError."""
    try:
        return future.result()
    except KilledWorker as error:
        cause = MemoryError(
            f"{error.allowed_failures + 1} workers died while they computed it, or another block "
            "at the same time. It probably needs more memory than they have: use smaller chunks, "
            "workers with more memory, or fewer threads per worker."
        )
        raise BlockError(number, cause) from error
    except Exception as error:
        # Either the task failed, or its result or the rows that it needs are lost.
        if future.status == "error" and not isinstance(error, NoValidWorkerError | NoWorkerError):
            raise BlockError(number, error) from error
        raise LostRowsError(
            f"Block {number} cannot be read: the cluster lost its task or result "
            f"({getattr(error, 'reason', error)}). Rows that were scattered or persisted without "
            "their sources are lost with their worker, and everything is lost with the scheduler: "
            "load the rows again and fit again."
        ) from error
