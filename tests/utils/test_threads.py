"""One thread of the libraries below in every thread that fits, and limits as they were after it."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice

import numpy as np
import pytest
from conftest import assert_same_fit
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_info, threadpool_limits

from greedy import ExKMC, Kauri
from tao_cluster import DirectForm, PenaltyMethod, TAOClustering
from tao_cluster._utils.threads import map_in_threads, one_thread
from tao_cluster.solvers import Liblinear


def tao(**options):
    options = {
        "depth": 2,
        "lambda_": 5.0,
        "algorithm": DirectForm(n_init=1),
        "random_state": 0,
    } | options
    return TAOClustering(4, **options)


MODELS = {
    "oblique": tao(algorithm=DirectForm(relax=False)),
    "axis": tao(split="axis", init="imm"),
    "spherical": tao(objective="spherical", algorithm=DirectForm(relax=False)),
    "kauri": Kauri(4, random_state=0),
    "exkmc": ExKMC(4, max_leaves=6, random_state=0),
    "liblinear": tao(algorithm=PenaltyMethod(node_solver=Liblinear(tol=0.1), refine=False)),
}


@pytest.fixture(scope="module")
def rows():
    """Rows in several of the parts that scikit-learn's k-means gives to its threads."""
    return np.random.default_rng(0).normal(size=(1000, 5))


def limits():
    """Threads that each library may use, as this thread sees it."""
    return {library["filepath"]: library["num_threads"] for library in threadpool_info()}


@pytest.fixture
def two():
    """More than one thread for every library, whatever the machine has; their limits."""
    with threadpool_limits(limits=2):
        yield limits()


def check_fits_alike(rows, number, run):
    """Fits of all models in turn, by `run`, are those of the same models alone."""
    alone = {name: clone(model).fit(rows) for name, model in MODELS.items()}
    names = list(islice(cycle(MODELS), number))
    for name, model in zip(names, run([clone(MODELS[name]) for name in names]), strict=True):
        assert_same_fit(model, alone[name])


def in_pool(rows):
    def run(models):
        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(lambda model: model.fit(rows), models))

    return run


def by_joblib(rows, backend):
    def run(models):
        return Parallel(2, backend=backend)(delayed(model.fit)(rows) for model in models)

    return run


@pytest.mark.slow
def test_fits_in_threads_are_those_alone(rows):
    before = limits()
    check_fits_alike(rows, 12, in_pool(rows))
    assert limits() == before


@pytest.mark.slow
def test_fits_by_joblib_are_those_alone(rows):
    before = limits()
    check_fits_alike(rows, 6, by_joblib(rows, "loky"))
    assert limits() == before


@pytest.mark.slow
def test_the_reference_of_a_second_thread_is_that_of_the_first(rows, two):
    """k-means adds the sums of OpenMP's threads as they end: there must be one of them."""
    del two
    alone = tao().fit(rows).free_centers_
    with one_thread(), ThreadPoolExecutor(1) as pool:
        for _ in range(5):
            model = pool.submit(tao().fit, rows).result()
            np.testing.assert_array_equal(model.free_centers_, alone)


def test_every_thread_has_one_and_then_what_it_had(two):
    inside, seen = threading.Barrier(3), []

    def work(_):
        # The setting of OpenMP is one of each thread: `two` was set in another one.
        before = openmp(limits())
        with one_thread():
            inside.wait()
            within = limits()
            inside.wait()
        seen.append((before, openmp(limits())))
        return within

    with ThreadPoolExecutor(3) as pool:
        for within in pool.map(work, range(3)):
            assert set(within.values()) == {1}
    assert all(before == after for before, after in seen)
    assert limits() == two


def openmp(found):
    return {path: number for path, number in found.items() if "omp" in path}


def test_the_last_one_out_restores_what_is_of_the_process(two):
    first_out, is_in = threading.Event(), threading.Event()

    def stay():
        with one_thread():
            is_in.set()
            first_out.wait()
            return limits()

    with ThreadPoolExecutor(1) as pool:
        with one_thread():
            other = pool.submit(stay)
            is_in.wait()
        within = limits()  # the other one is in: BLAS has one thread, this thread's OpenMP two
        first_out.set()
        assert set(other.result().values()) == {1}
    assert openmp(within) == openmp(two)
    assert {within[path] for path in within.keys() - openmp(within)} == {1}
    assert limits() == two


def test_limits_are_restored_after_errors_and_inner_contexts(two):
    seen = []

    @one_thread()
    def fail():
        with one_thread():
            seen.append(limits())
        seen.append(limits())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert [set(found.values()) for found in seen] == [{1}, {1}]
    assert limits() == two
    with pytest.raises(ValueError, match="n_samples"):
        tao(reference=KMeans(4, n_init=0)).fit(np.eye(3))
    assert limits() == two


def test_limits_that_another_thread_controls_are_set_all_the_same(two):
    """threadpoolctl lets only the first thread set BLAS, which may be one of the user's."""
    with ThreadPoolExecutor(1) as pool:
        within = pool.submit(one_thread()(limits)).result()
    assert set(within.values()) == {1}
    assert limits() == two


def test_threads_of_our_own_have_one_of_openmp(two):
    def look(_):
        return openmp(limits())

    for found in map_in_threads(look, range(3), 3):
        assert set(found.values()) == {1}
    assert limits() == two


def test_results_of_threads_come_in_order_and_so_does_the_first_error():
    assert map_in_threads(lambda i: i * i, range(20), 4) == [i * i for i in range(20)]
    begun = []

    def fail(i):
        begun.append(i)
        time.sleep(0.001)  # while it lasts, others are called off
        raise ValueError(f"item {i}")

    with pytest.raises(ValueError, match="item 0"):
        map_in_threads(fail, range(1000), 2)
    assert len(begun) < 1000
