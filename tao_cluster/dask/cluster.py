"""One pass over blocks on a cluster: a window of tasks, results in order, and what goes wrong."""

import contextlib
import time
import uuid
from collections import deque

import dask
from distributed import CancelledError, KilledWorker, wait
from distributed.scheduler import NoValidWorkerError, NoWorkerError

from .._utils.threads import one_thread
from ..outofcore.blocks import Block, BlockError, LostRowsError

# Tasks that are handed out and not yet taken, for each thread of the cluster, and at least: enough
# that no thread waits for this process, few enough that nobody holds many results.
_TASKS_A_THREAD, _LEAST_TASKS = 3, 8

# Seconds: between two looks at whether there are workers, and at how many; for an answer of the
# scheduler; for the way of a result to this process, at one try after the other: a result whose
# worker has died on the way is waited for, be there workers or not.
_LOOK, _COUNT, _ANSWER, _FETCH = 1.0, 5.0, 30.0, (5.0, 30.0, 120.0)

# Why the scheduler has dropped a task, in its words and in ours.
_REASONS = {
    "scheduler-connection-lost": "the connection to the scheduler is lost",
    "scheduler-restart": "the cluster was restarted",
}


class Work:
    """What is asked of every block; to dask a value without parts."""

    def __init__(self, function, state):
        self.function, self.state = function, state

    def __call__(self, block):
        """The result for a block."""
        return self.function(block, self.state)


def _same(work):
    """The argument: a task that returns it is done anew if its worker dies; a scattered is not."""
    return work


def _run(number, recipe, outer, work):
    """The task of one block."""
    with one_thread():
        return work(Block(number, *recipe.make(outer)))


class Pass:
    """One pass over the blocks of a plan.

    Parameters
    ----------
    client : distributed.Client
    plan : Plan
    work : Work
    patience : float
        Seconds that it waits for a worker when there is none.
    """

    def __init__(self, client, plan, work, patience):
        self._client, self._plan, self._work = client, plan, work
        self._watch = _Watch(client, patience)
        self._name = _new_name(work)
        self._sent = None
        self._outer = {}
        self._waiting = deque()

    def results(self):
        """Yield the result of each block, in their order."""
        try:
            for number in range(len(self._plan.recipes)):
                self._refill(number)
                try:
                    result = self._taken(number)
                except KilledWorker:
                    # Who is suspected was perhaps only beside the killer: alone, it can be told.
                    self._release()
                    result = self._alone(number)
                self._waiting.popleft()
                self._forget_outer(number)
                yield result
                del result
        finally:
            self._release()

    def _refill(self, first):
        """Submit blocks up to the end of the window."""
        stop = min(first + self._watch.window(), len(self._plan.recipes))
        start = first + len(self._waiting)
        if start < stop:
            self._submit(range(start, stop))

    def _submit(self, numbers):
        """Submit some blocks, and before them, once, what is asked of all of them."""
        recipes = [self._plan.recipes[number] for number in numbers]
        keys = [(self._name, number) for number in numbers]
        with _reaching_scheduler(self._client):
            if self._sent is None:
                with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
                    self._sent = self._client.submit(_same, self._work, pure=False)
            self._submit_outer(recipes)
            outer = [[self._outer[key] for key in recipe.outer] for recipe in recipes]
            self._waiting += self._client.map(
                _run, list(numbers), recipes, outer, work=self._sent, key=keys, pure=False
            )

    def _submit_outer(self, recipes):
        """Have the futures of all that some blocks need and others need too."""
        missing = {key for recipe in recipes for key in recipe.outer} - self._outer.keys()
        for key in missing & self._plan.futures.keys():
            self._outer[key] = self._plan.futures[key]
        shared = sorted(missing - self._plan.futures.keys(), key=str)
        if shared:
            made = self._client.get(self._plan.closure(shared), shared, sync=False)
            self._outer.update(zip(shared, made, strict=True))

    def _forget_outer(self, number):
        """Let go of what no later block needs."""
        for key in self._plan.recipes[number].outer:
            if self._plan.last_use[key] == number:
                self._outer.pop(key, None)

    def _taken(self, number):
        """The result of the first block that waits; KilledWorker if workers died with it."""
        future = self._waiting[0]
        while True:
            status = _settled(future)
            if status in {"pending", "lost"}:
                self._watch.look(number)
            elif status == "finished":
                self._watch.saw_work()
                with contextlib.suppress(_Unfetched):
                    return _fetched(number, future)
            else:
                _fail(number, future, bool(self._plan.futures))

    def _alone(self, number):
        """The result of a block while no other is worked on."""
        self._submit([number])
        try:
            return self._taken(number)
        except KilledWorker as error:
            deaths = error.allowed_failures + 1
            cause = MemoryError(
                f"it was worked on alone, and the worker died, {deaths} of them one after the "
                "other; it probably needs more memory than they have: make the chunks smaller, "
                "or give workers more memory or fewer threads."
            )
            raise BlockError(number, cause) from error

    def _release(self):
        """Let go of all tasks: those that wait are not begun, results are dropped."""
        held = [*self._waiting, *([] if self._sent is None else [self._sent])]
        self._waiting.clear()
        self._outer.clear()
        self._sent, self._name = None, _new_name(self._work)
        for future in held:
            with contextlib.suppress(Exception):
                future.release()


def _new_name(work):
    """A name for tasks that no others have; the part before the dash is what dask shows."""
    function = getattr(work.function, "__name__", "work").strip("_")
    return f"{function}-{uuid.uuid4().hex}"


class _Unfetched(Exception):  # noqa: N818
    """A result was lost with its worker on its way; it is made anew."""


def _settled(future):
    """The status of a future, after a while if it is pending."""
    with contextlib.suppress(TimeoutError, CancelledError), _reaching_scheduler(future.client):
        wait([future], timeout=_LOOK)
    return future.status


def _fetched(number, future):
    """The result of a future that is finished."""
    for seconds in _FETCH:
        try:
            return future.result(timeout=seconds)
        except Exception as error:
            if future.status != "finished":
                raise _Unfetched from error
            cause = error
            if not isinstance(error, TimeoutError):
                break
    why = f"{type(cause).__name__}: {cause}"
    raise LostRowsError(f"The result for block {number} did not arrive ({why}).") from cause


def _fail(number, future, is_held):
    """Raise what a future without a result stands for.

    Parameters
    ----------
    number : int, of the block
    future : Future
    is_held : bool
        Whether rows lay on the workers before: then the loss of a task may be that of its rows.
    """
    try:
        future.result(timeout=_ANSWER)
    except KilledWorker:
        raise
    except CancelledError as error:
        word = getattr(error, "reason", "unknown")
        reason = _REASONS.get(word, f"the cluster has dropped its task ({word})")
        if is_held and word not in _REASONS:
            reason += "; what was scattered is lost with its worker, as nobody can make it anew"
        raise LostRowsError(f"Block {number} cannot be read any more: {reason}.") from error
    except (NoValidWorkerError, NoWorkerError) as error:
        raise LostRowsError(f"Block {number} cannot be read any more: {error}") from error
    except Exception as error:
        raise BlockError(number, error) from error


@contextlib.contextmanager
def _reaching_scheduler(client):
    """Context in which errors of the connection say what is lost."""
    try:
        yield
    except TimeoutError:
        raise
    except Exception as error:
        if isinstance(error, OSError) or client.status == "closed":
            raise LostRowsError(f"The scheduler cannot be reached: {error}.") from error
        raise


class _Watch:
    """Who is there to work.

    Parameters
    ----------
    client : distributed.Client
    patience : float, seconds without anybody
    """

    def __init__(self, client, patience):
        self._client, self._patience = client, patience
        self._threads, self._counted, self._alone_since = 0, -float("inf"), None

    def window(self):
        """Tasks that may be handed out."""
        if time.monotonic() - self._counted > _COUNT:
            self._count()
        return max(_TASKS_A_THREAD * self._threads, _LEAST_TASKS)

    def saw_work(self):
        """Take note that somebody has worked: the time without anybody begins anew."""
        self._alone_since = None

    def look(self, number):
        """See that somebody can work on a block, or will soon.

        Raises
        ------
        LostRowsError
            If there was nobody for too long.
        """
        why = self._count()
        if self._threads:
            self.saw_work()
            return
        now = time.monotonic()
        self._alone_since = now if self._alone_since is None else self._alone_since
        if now - self._alone_since >= self._patience:
            raise LostRowsError(f"Block {number} cannot be read any more: {why}.")

    def _count(self):
        """Count threads that take work, and say why there are none."""
        self._counted = time.monotonic()
        try:
            ask = self._client.scheduler.ncores_running
            self._threads = sum(self._client.sync(ask, callback_timeout=_ANSWER).values())
        except Exception as error:
            self._threads = 0
            return f"the scheduler does not answer ({type(error).__name__})"
        return (
            f"for {self._patience:g} s no worker could take work, as there is none or as those "
            "that there are have paused, since their memory is full"
        )
