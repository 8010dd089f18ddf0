"""Rows in dask arrays and frames: the same sums and the same trees, whoever works."""

import pickle
import subprocess
import sys
from dataclasses import replace

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dask_sums import sums
from distributed import Client, LocalCluster
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.pipeline import Pipeline

from greedy import ExKMC
from tao_cluster import DirectForm, TAOClustering, load, outofcore
from tao_cluster.dask import DaskTreeClustering, dask_blocks
from tao_cluster.outofcore import Blocks, sum_over_blocks

ROWS = make_blobs(3000, 4, centers=5, cluster_std=1.5, random_state=0)[0]
WEIGHT = np.random.default_rng(0).integers(0, 4, 3000).astype(float)
CHUNKS = (700, 300, 1000, 600, 400)
FRAME = pd.DataFrame(ROWS, columns=list("abcd")).assign(w=WEIGHT)


def array(part=ROWS, chunks=CHUNKS):
    return da.from_array(part, chunks=(chunks, *part.shape[1:]))


def in_memory():
    """The same rows as a list of blocks."""
    return np.split(ROWS, np.cumsum(CHUNKS)[:-1])


def unfitted(**options):
    return TAOClustering(5, **{"depth": 3, "random_state": 0, **options})


def model(estimator=None, **options):
    estimator = unfitted() if estimator is None else estimator
    return DaskTreeClustering(estimator, **{"coreset_size": 500, "random_state": 0, **options})


@pytest.fixture(scope="module")
def threads():
    """A cluster in this process."""
    with LocalCluster(
        n_workers=2, threads_per_worker=2, processes=False, dashboard_address=":0"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(threads):
    with Client(threads) as client:
        yield client


def collections():
    """Names of kinds of X, weights and embedding, and what makes them."""
    X, w = array(), array(WEIGHT)
    frame = dd.from_pandas(FRAME, npartitions=4)
    unknown = X[X[:, 0] > -np.inf]
    return {
        "array": (X, None, None),
        "float32": (X.astype(np.float32), w, None),
        "columns": (X.rechunk((500, 2)), w.rechunk(600), X),
        "sparse": (X.map_blocks(sp.csr_matrix), w, X.map_blocks(sp.csr_matrix)),
        "own": (X, X[:, 0] ** 2, X[:, 1:]),
        "frame": (frame[list("abcd")], frame["w"], frame[["a", "c"]]),
        "mixed": (frame[list("abcd")], frame["w"].to_dask_array(lengths=True), None),
        "unknown": (unknown, unknown[:, 1] ** 2, None),
        "standardised": ((X - X.mean(axis=0)) / X.std(axis=0), w, None),
        "shifted": (X[100:], w[100:], None),
    }


@pytest.mark.spaced(quick=0, slow=3)
@pytest.mark.parametrize("kind", collections())
def test_sums_are_those_of_the_rows(client, kind):
    parts = collections()[kind]
    computed = [None if part is None else part.compute() for part in parts]
    expected = sums(outofcore.Block(0, *computed), 2.0)
    here = sum_over_blocks(sums, replace(dask_blocks(*parts), client=None), 2.0)
    np.testing.assert_allclose(here, expected, rtol=1e-5, atol=1e-6)
    persisted = [None if part is None else part.persist() for part in parts]
    for blocks in (dask_blocks(*parts), dask_blocks(*persisted)):
        assert isinstance(blocks, Blocks)
        assert blocks.client is client
        for _ in range(2):  # again and again, with the same bits
            np.testing.assert_array_equal(sum_over_blocks(sums, blocks, 2.0), here)


@pytest.mark.slow
def test_chunks_that_others_need_are_made_once_a_pass(client, tmp_path):
    """The mean of all chunks, of which every block is made, is not computed for each of them."""

    def counted(block):
        (tmp_path / f"{len(list(tmp_path.iterdir()))}-{id(block)}").touch()
        return block

    X = array(chunks=(100,) * 30).map_blocks(counted, meta=np.empty((0, 0)))
    for who in (client, None):
        blocks = replace(dask_blocks(X - X.mean(axis=0)), client=who)
        before = len(list(tmp_path.iterdir()))
        with dask.config.set(num_workers=2):  # one core would take fewer tasks at once
            np.testing.assert_allclose(sum_over_blocks(sums, blocks, 1.0), 0, atol=1e-9)
        assert len(list(tmp_path.iterdir())) - before <= 90


@pytest.mark.slow
@pytest.mark.parametrize(("n_workers", "n_threads"), [(1, 1), (3, 2)])
def test_the_tree_does_not_depend_on_workers(n_workers, n_threads):
    expected = outofcore.fit(unfitted(), in_memory(), coreset_size=500, random_state=0)
    options = {"n_workers": n_workers, "threads_per_worker": n_threads, "processes": False}
    with LocalCluster(**options, dashboard_address=":0") as cluster, Client(cluster) as client:
        fitted = model(client=client).fit(array())
    assert fitted.tree_ == expected.tree_
    assert fitted.inertia_ == expected.inertia_
    np.testing.assert_array_equal(fitted.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(fitted.free_centers_, expected.free_centers_)


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_without_a_cluster_threads_of_this_process_work(scheduler):
    expected = outofcore.fit(unfitted(), in_memory(), coreset_size=500, random_state=0)
    with dask.config.set(scheduler=scheduler, num_workers=3):
        fitted = model().fit(array())
    assert fitted.tree_ == expected.tree_
    assert fitted.inertia_ == expected.inertia_


@pytest.mark.slow
def test_lazy_results_are_those_of_the_local_estimator():
    fitted = model().fit(array())
    names = [f"name {k}" for k in range(len(fitted.cluster_centers_))]
    assert fitted.name_clusters(names) is fitted
    local = fitted.to_local()
    assert type(local) is TAOClustering
    assert local.cluster_names_ == names
    for name in ("predict", "apply", "transform"):
        lazy, expected = getattr(fitted, name)(array()), getattr(local, name)(ROWS)
        assert lazy.chunks[0] == CHUNKS
        assert lazy.dtype == expected.dtype
        assert lazy.shape == expected.shape
        np.testing.assert_array_equal(lazy.compute(), expected)
        np.testing.assert_array_equal(getattr(fitted, name)(ROWS), expected)
    np.testing.assert_array_equal(fitted.labels_.compute(), local.predict(ROWS))
    assert fitted.score(array()) == pytest.approx(local.score(ROWS))
    assert fitted.score(array()) == pytest.approx(-fitted.inertia_)
    none = array()[array()[:, 0] > np.inf]
    assert fitted.predict(none).compute().shape == (0,)


@pytest.mark.slow
def test_frames_keep_names_and_index():
    frame = dd.from_pandas(FRAME.set_index(np.arange(3000) * 2 + 1), npartitions=4)
    X = frame[list("abcd")]
    fitted = model(ExKMC(5, random_state=0)).fit(X, sample_weight=frame["w"])
    assert list(fitted.feature_names_in_) == list("abcd")
    plain = FRAME[list("abcd")]
    labels = fitted.labels_
    assert isinstance(labels, dd.Series)
    assert labels.dtype == labels.compute().dtype == np.int32
    np.testing.assert_array_equal(labels.compute(), fitted.to_local().predict(plain))
    np.testing.assert_array_equal(labels.compute().index, frame.index.compute())
    distances = fitted.transform(X)
    assert list(distances.columns) == list(fitted.to_local().get_feature_names_out())
    np.testing.assert_array_equal(distances.compute(), fitted.to_local().transform(plain))
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame)
    assert len(fitted.predict(X[X["a"] > np.inf]).compute()) == 0


@pytest.mark.slow
def test_weights_and_embedding_count():
    X, w, Z = array(), array(WEIGHT), array(ROWS[:, 1:] * 3)
    fitted = model().fit(X, sample_weight=w, embedding=Z)
    parts = [np.split(part, np.cumsum(CHUNKS)[:-1]) for part in (WEIGHT, ROWS[:, 1:] * 3)]
    expected = outofcore.fit(
        unfitted(),
        in_memory(),
        sample_weight=parts[0],
        embedding=parts[1],
        coreset_size=500,
        random_state=0,
    )
    assert fitted.tree_ == expected.tree_
    assert fitted.transform(Z).compute().shape == (3000, 5)
    assert fitted.score(X, sample_weight=w, embedding=Z) == pytest.approx(-fitted.inertia_)


@pytest.mark.slow
def test_sparse_chunks_stay_sparse():
    rows = sp.random(2000, 30, density=0.1, random_state=0)
    rows = sp.hstack([np.ones((2000, 1)), rows], format="csr")  # cosine: no row without values
    X = da.from_array(rows.toarray(), chunks=(500, 31)).map_blocks(sp.csr_matrix)
    estimator = unfitted(objective="spherical", split="axis")
    expected = outofcore.fit(estimator, [rows[i : i + 500] for i in range(0, 2000, 500)])
    fitted = DaskTreeClustering(estimator).fit(X)
    assert fitted.tree_ == expected.tree_
    np.testing.assert_array_equal(fitted.predict(X).compute(), expected.predict(rows))


@pytest.mark.slow
def test_facade_is_that_of_the_local_estimator(tmp_path):
    fitted = model().fit(array())
    local = fitted.to_local()
    assert fitted.to_text() == local.to_text()
    assert fitted.to_rules() == local.to_rules()
    assert str(fitted.explain(ROWS[0])) == str(local.explain(ROWS[0]))
    assert "<svg" in fitted._repr_html_() or "<iframe" in fitted._repr_html_()
    fitted.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").tree_ == fitted.tree_
    assert {"tree_", "cost_increase_", "to_text"} <= set(dir(fitted))
    local.tree_ = None
    assert fitted.tree_ is not None


@pytest.mark.slow
def test_it_is_an_estimator_of_scikit_learn(client):
    unfitted_model = model(client=client)
    twin = clone(unfitted_model)
    assert twin.client is client
    assert twin.estimator is not unfitted_model.estimator
    assert twin.get_params()["estimator__depth"] == 3
    twin.set_params(estimator__depth=1, estimator__n_clusters=2).fit(array())
    assert twin.tree_.n_leaves == 2
    assert not hasattr(twin.estimator, "tree_")
    again = pickle.loads(pickle.dumps(twin))  # noqa: S301
    assert again.client is None
    assert again.tree_ == twin.tree_
    with pytest.raises(AttributeError, match="labels_"):
        again.labels_  # noqa: B018
    with pytest.raises(AttributeError, match="not fitted"):
        unfitted_model.tree_  # noqa: B018
    for use in (lambda: unfitted_model.predict(array()), lambda: unfitted_model.to_text(0)):
        with pytest.raises(ValueError, match="not fitted"):
            use()


def test_labels_of_a_pipeline_are_no_weights():
    """Pipelines pass y by position, and weights by name."""
    X, y = array(), array(np.arange(3000) % 2)
    fitted = Pipeline([("tree", unfitted_small())]).fit(X, y)["tree"]
    expected = unfitted_small().fit(X)
    assert fitted.tree_ == expected.tree_
    assert fitted.node_counts_[0] == 3000
    assert fitted.score(X, y) == expected.score(X)
    np.testing.assert_array_equal(
        unfitted_small().fit_predict(X, y).compute(), expected.labels_.compute()
    )
    weighted = unfitted_small().fit(X, None, array(WEIGHT))
    assert weighted.node_counts_[0] == WEIGHT.sum()


def unfitted_small():
    return model(
        TAOClustering(2, depth=1, lambda_=1.0, algorithm=DirectForm(n_init=1), random_state=0),
    )


def test_wrong_arguments_name_a_remedy():
    X = array()
    for args, sentence in (
        ((ROWS,), "tao_cluster.outofcore.fit"),
        ((X, WEIGHT), r"dask\.array\.from_array\(sample_weight\)"),
        ((pd.DataFrame(ROWS),), r"dask\.dataframe\.from_pandas\(X, npartitions=8\)"),
        ((X, array(WEIGHT)[1:]), "2999 rows, but X has 3000"),
        ((X, X), "must have"),
        ((X[:, 0],), "must have rows and columns"),
        (
            (X[X[:, 0] > 0], array(WEIGHT).rechunk(500)),
            "sample_weight has 6 blocks of rows and X has 5",
        ),
    ):
        with pytest.raises((TypeError, ValueError), match=sentence):
            dask_blocks(*args)
    # The remedies that the messages name work.
    dask_blocks(X, da.from_array(WEIGHT))
    dask_blocks(dd.from_pandas(pd.DataFrame(ROWS), npartitions=8))
    filtered = X[X[:, 0] > 0]
    filtered.compute_chunk_sizes()
    weights = array(WEIGHT)[X[:, 0] > 0].compute_chunk_sizes().rechunk(500)
    blocks = dask_blocks(filtered, weights)
    assert sum_over_blocks(lambda block, _: len(block.weight), blocks) == len(filtered)
    with pytest.raises(outofcore.BlockError, match=r"Block 2: .*NaN"):
        model().fit(da.where(da.arange(3000, chunks=CHUNKS)[:, None] == 1500, np.nan, X))


@pytest.mark.slow
def test_asynchronous_clients_raise():
    code = (
        "import asyncio, dask.array as da\n"
        "from distributed import Client\n"
        "from tao_cluster.dask import dask_blocks\n"
        "async def main():\n"
        "    async with Client(processes=False, asynchronous=True, dashboard_address=':0') as c:\n"
        "        try: dask_blocks(da.ones((4, 2)), client=c)\n"
        "        except TypeError as error: assert 'synchronous' in str(error)\n"
        "        else: raise AssertionError\n"
        "asyncio.run(main())\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
