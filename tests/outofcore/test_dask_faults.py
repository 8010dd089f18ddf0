"""What goes wrong on a cluster: workers that die, blocks that fail, nobody left; nothing hangs."""

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
from dask_sums import busy, die_once, dying, dying_once, failing, slow_sums, sums
from distributed import Client, LocalCluster
from sklearn.datasets import make_blobs

from tao_cluster import DirectForm, TAOClustering, outofcore
from tao_cluster.dask import DaskTreeClustering, dask_blocks
from tao_cluster.outofcore import BlockError, LostRowsError, sum_over_blocks

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals end the workers")

FOLDER = str(Path(__file__).parent)
ROWS = make_blobs(2000, 4, centers=4, cluster_std=1.5, random_state=0)[0]


def array(rows=ROWS):
    return da.from_array(rows, chunks=(100, 4))


def expected():
    return sum_over_blocks(sums, outofcore.blocks_of(np.split(ROWS, 20)), 1.0)


@pytest.fixture(scope="module", autouse=True)
def _no_scheduler_left():
    # A client that has lost its scheduler leaves itself behind as the scheduler of dask.
    with dask.config.set({"scheduler": None}):
        yield


@pytest.fixture(scope="module")
def nannies():
    """Two workers that are started again when they die."""
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", env={"PYTHONPATH": path()}
    ) as cluster:
        yield cluster


@pytest.fixture
def client(nannies):
    with Client(nannies) as client:
        client.wait_for_workers(1, timeout=60)  # a nanny whose worker dies as it starts gives up
        yield client


def path():
    """Where workers find this package and the functions that they are asked for."""
    return os.pathsep.join([FOLDER, *sys.path])


class Processes:
    """A scheduler and workers without nannies, each a process."""

    def __init__(self, folder, n_workers):
        self._file, self._running = folder / "scheduler.json", []
        self.scheduler = self._start("dask_scheduler", "--port", "0", "--no-dashboard")
        self.workers = [self._start("dask_worker", *_ALONE) for _ in range(n_workers)]

    def _start(self, command, *options):
        module = ["-m", f"distributed.cli.{command}", "--scheduler-file", str(self._file)]
        env = {**os.environ, "PYTHONPATH": path(), _DEATHS: "0"}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen([sys.executable, *module, *options], env=env, **quiet)  # noqa: S603
        self._running.append(process)
        return process

    def client(self):
        deadline = time.monotonic() + 60
        while not (self._file.exists() and self._file.stat().st_size):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        client = Client(scheduler_file=str(self._file), timeout=60)
        client.wait_for_workers(len(self.workers), timeout=60)
        return client

    def end(self):
        for process in self._running:
            process.kill()
            process.wait()


_DEATHS = "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"
_ALONE = ("--no-nanny", "--nthreads", "1", "--no-dashboard")


@pytest.fixture
def processes(tmp_path):
    """What starts a scheduler and so many workers without nannies."""
    started = []

    def start(n_workers):
        started.append(Processes(tmp_path, n_workers))
        return started[-1]

    yield start
    for one in started:
        one.end()


def later(seconds, function, *args):
    timer = threading.Timer(seconds, function, args)
    timer.daemon = True
    timer.start()


# ---------------------------------------------------------------------- workers that die


@pytest.mark.sweep
def test_deaths_change_nothing_but_time(client, tmp_path):
    found = sum_over_blocks(dying_once, dask_blocks(array()), (str(tmp_path), {3, 12}))
    assert len(list(tmp_path.iterdir())) == 2
    np.testing.assert_array_equal(found, expected())


@pytest.mark.sweep
def test_deaths_of_workers_without_nannies(processes, tmp_path):
    with processes(3).client() as client:
        blocks = dask_blocks(array(), client=client, patience=1.0)
        found = sum_over_blocks(dying_once, blocks, (str(tmp_path), {3, 12}))
        np.testing.assert_array_equal(found, expected())
        assert len(client.nthreads()) == 1
        with pytest.raises(LostRowsError, match=r"Block \d+ .*for 1 s no worker accepted tasks"):
            sum_over_blocks(dying, blocks, 10)


def dying_twice(block, folder, block_info=None):
    """The block; a worker dies at two of them, the first time that they are made."""
    number = block_info[0]["chunk-location"][0]
    if number in {5, 15}:
        die_once(Path(folder) / str(number))
    return block


@pytest.mark.slow
def test_deaths_in_a_fit_change_no_bit(client, tmp_path):
    estimator = TAOClustering(4, depth=2, algorithm=DirectForm(n_init=1), random_state=0)
    options = {"coreset_size": 300, "random_state": 0}
    plain = outofcore.fit(estimator, np.split(ROWS, 20), **options)
    made = partial(dying_twice, folder=str(tmp_path))
    X = array().map_blocks(made, dtype=float, meta=np.empty((0, 0)))
    fitted = DaskTreeClustering(estimator, **options).fit(X)
    assert len(list(tmp_path.iterdir())) == 2
    assert fitted.tree_ == plain.tree_
    assert fitted.inertia_ == plain.inertia_


@pytest.mark.sweep
def test_persisted_blocks_are_made_again(client, tmp_path):
    X = array().persist()
    found = sum_over_blocks(dying_once, dask_blocks(X), (str(tmp_path), {4}))
    np.testing.assert_array_equal(found, expected())


@pytest.mark.slow
def test_scattered_blocks_are_lost_with_their_worker(client):
    worker = next(iter(client.nthreads()))
    futures = client.scatter(np.split(ROWS, 20), workers=[worker])
    X = da.concatenate([da.from_delayed(part, (100, 4), float) for part in futures])
    np.testing.assert_array_equal(sum_over_blocks(sums, dask_blocks(X), 1.0), expected())
    with pytest.raises(LostRowsError, match=r"Block 0 .*scattered"):
        sum_over_blocks(dying, dask_blocks(X), 0)


@pytest.mark.slow
def test_a_block_that_kills_its_workers_is_an_error(processes):
    """The scheduler suspects all blocks of a worker that dies, so the message names one of them."""
    sentence = r"Block \d+: MemoryError: .*more memory"
    with processes(2).client() as client, pytest.raises(BlockError, match=sentence):
        sum_over_blocks(dying, dask_blocks(array(), client=client), 6)


# ---------------------------------------------------------------------- blocks that fail


def broken(block, block_info=None):
    if block_info[0]["chunk-location"][0] == 7:
        raise OSError("no such disk")
    return block


@pytest.mark.parametrize("has_client", [pytest.param(True, marks=pytest.mark.slow), False])
def test_a_block_that_fails_is_named(request, has_client):
    if has_client:
        request.getfixturevalue("client")
    with pytest.raises(BlockError, match="Block 4: KeyError: 'no such row'") as info:
        sum_over_blocks(failing, dask_blocks(array()), 4)
    assert isinstance(info.value.__cause__, KeyError)
    X = array().map_blocks(broken, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(BlockError, match="Block 7: OSError: no such disk") as info:
        sum_over_blocks(sums, dask_blocks(X), 1.0)
    assert isinstance(info.value.__cause__, OSError)


# ---------------------------------------------------------------------- nobody left


@pytest.mark.slow
def test_a_lost_scheduler_raises_a_short_error(processes):
    cluster = processes(1)
    with cluster.client() as client:
        blocks = dask_blocks(array(), client=client)
        results = blocks.results(slow_sums, 1.0)
        next(results)
        cluster.scheduler.send_signal(signal.SIGKILL)
        with pytest.raises(LostRowsError, match=r"Block 1 .*with the scheduler"):
            list(results)
        client.close(timeout=1)
        with pytest.raises(LostRowsError, match="scheduler cannot be reached"):
            sum_over_blocks(sums, blocks, 1.0)


@pytest.mark.slow
def test_workers_may_come_late():
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        with pytest.raises(LostRowsError, match="no worker"):
            sum_over_blocks(sums, dask_blocks(array(), patience=0.5), 1.0)
        later(1.5, cluster.scale, 1)
        np.testing.assert_array_equal(sum_over_blocks(sums, dask_blocks(array()), 1.0), expected())


@pytest.mark.slow
@pytest.mark.usefixtures("python_hears_ctrl_c")
def test_an_interruption_releases_all_tasks(client, tmp_path):
    def press():
        while not any(tmp_path.iterdir()):  # a task has begun
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    later(0.0, press)
    with pytest.raises(KeyboardInterrupt):
        sum_over_blocks(busy, dask_blocks(array()), str(tmp_path))
    time.sleep(0.5)
    n_begun = len(list(tmp_path.iterdir()))
    assert 0 < n_begun < 20
    time.sleep(0.5)
    assert len(list(tmp_path.iterdir())) == n_begun
    assert not any(client.processing().values())
