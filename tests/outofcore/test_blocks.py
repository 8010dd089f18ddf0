"""Rows in blocks: every source gives the same rows, in order, some at a time."""

import threading
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from tao_cluster.outofcore import BlockError, Blocks, blocks_of, sum_over_blocks
from tao_cluster.outofcore import blocks as seam

N, D = 1000, 5


@pytest.fixture
def table(monkeypatch):
    """Rows, weights and embedding, cut into blocks of few rows."""
    monkeypatch.setattr(seam, "MOST_ROWS", 130)
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 5, (N, D)).astype(np.float32) * (rng.random((N, D)) < 0.6)
    return X, rng.integers(0, 4, N).astype(float), rng.normal(size=(N, 2))


def dense(part):
    """A part of a block as an array; None of None."""
    return np.asarray(part.toarray() if sp.issparse(part) else part)


def read(blocks):
    """All rows, weights and embeddings of blocks, and the sizes of these."""
    found = list(blocks.results(lambda block, _: block, None))
    assert [block.number for block in found] == list(range(len(found)))
    parts = [
        None if part[0] is None else np.concatenate([dense(each) for each in part])
        for part in zip(*((b.X, b.weight, b.embedding) for b in found), strict=True)
    ]
    return *parts, [block.X.shape[0] for block in found]


class DataIter:
    """Hands over parts as one of XGBoost does."""

    def __init__(self, parts):
        self.parts, self.place = parts, 0

    def reset(self):
        self.place = 0

    def next(self, input_data):
        if self.place == len(self.parts):
            return 0
        data, weight = self.parts[self.place]
        input_data(data=data, weight=weight, label=None)
        self.place += 1
        return 1


class Sliced:
    """Slices of an array and its shape, as a data set of HDF5 has them; iterated it gives rows."""

    def __init__(self, X):
        self.X, self.shape = X, X.shape

    def __getitem__(self, rows):
        return self.X[rows]

    def __iter__(self):
        return iter(self.X)


class Again:
    """An iterable that is no list."""

    def __init__(self, parts):
        self.parts = parts

    def __iter__(self):
        return iter(self.parts)


def cut(part):
    return [part[start : start + 130] for start in range(0, N, 130)]


def as_memmap(X, w, E, folder):
    stored = np.memmap(folder / "X.bin", X.dtype, "w+", shape=X.shape)
    stored[:] = X
    return stored, w, E


def as_npy(X, w, E, folder):
    paths = [folder / f"{name}.npy" for name in ("X", "w", "E")]
    for path, part in zip(paths, (X, w, E), strict=True):
        np.save(path, part)
    return str(paths[0]), paths[1], paths[2]


def as_frame(X, w, E, folder):
    del folder
    index = np.arange(N)[::-1]  # rows are taken by place
    return pd.DataFrame(X, index=index), pd.Series(w, index=index), pd.DataFrame(E, index=index)


SOURCES = {
    "array": lambda X, w, E, _: (X, w, E),
    "by columns": lambda X, w, E, _: (np.asfortranarray(X), list(w), E),
    "slices": lambda X, w, E, _: (Sliced(X), Sliced(w), Sliced(E)),
    "memmap": as_memmap,
    "npy": as_npy,
    "csr_matrix": lambda X, w, E, _: (sp.csr_matrix(X), w, sp.csr_matrix(E)),
    "csc_array": lambda X, w, E, _: (sp.csc_array(X), w, E),
    "frame": as_frame,
    "list": lambda X, w, E, _: (cut(X), cut(w), cut(E)),
    "tuple of CSR": lambda X, w, E, _: (tuple(cut(sp.csr_array(X))), cut(w), cut(E)),
    "frames": lambda X, w, E, _: (cut(pd.DataFrame(X)), cut(pd.Series(w)), cut(E)),
    "iterable": lambda X, w, E, _: (Again(cut(X)), Again(cut(w)), Again(cut(E))),
    "function": lambda X, w, E, _: (lambda: iter(cut(X)), lambda: cut(w), cut(E)),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_source_gives_the_rows_again_and_again(table, tmp_path, source, n_jobs):
    given = SOURCES[source](*table, tmp_path)
    blocks = blocks_of(*given, n_jobs=n_jobs)
    assert isinstance(blocks, Blocks)
    assert blocks.has_embedding
    for _ in range(2):
        *parts, sizes = read(blocks)
        assert sizes == [130] * 7 + [90]
        for part, expected in zip(parts, table, strict=True):
            assert part.dtype == expected.dtype
            assert np.array_equal(part, expected)
    alone = blocks_of(given[0], n_jobs=n_jobs)
    assert not alone.has_embedding
    assert read(alone)[1:3] == (None, None)


def test_sums_are_the_same_to_the_bit_for_any_number_of_threads(table):
    X = np.random.default_rng(1).normal(size=(N, D))

    def moments(block, power):
        return (block.X**power).sum(axis=0)

    sums = [sum_over_blocks(moments, blocks_of(X, n_jobs=n_jobs), 3) for n_jobs in (1, 2, 3, -1)]
    assert all(np.array_equal(found, sums[0]) for found in sums)
    assert np.allclose(sums[0], (X**3).sum(axis=0), rtol=1e-12)
    assert sum_over_blocks(moments, blocks_of(X[:0]), 3) is None


@pytest.mark.parametrize("with_weight", [True, False])
def test_an_iterator_of_xgboost(table, with_weight):
    weights = cut(table[1]) if with_weight else [None] * 8
    blocks = blocks_of(DataIter(list(zip(cut(table[0]), weights, strict=True))))
    for _ in range(2):
        X, weight, embedding, sizes = read(blocks)
        assert np.array_equal(X, table[0])
        assert np.array_equal(weight, table[1]) if with_weight else weight is None
        assert embedding is None
        assert len(sizes) == 8
    with pytest.raises(ValueError, match="do not pass them"):
        blocks_of(DataIter([]), table[1])


def test_blocks_are_blocks_already(table):
    blocks = blocks_of(table[0])
    assert blocks_of(blocks) is blocks
    with pytest.raises(ValueError, match="do not pass them"):
        blocks_of(blocks, embedding=table[2])


def test_names_of_columns(table):
    frame = pd.DataFrame(table[0], columns=list("abcde"))
    assert blocks_of(frame).names == list("abcde")
    assert blocks_of(cut(frame)).names == list("abcde")
    assert blocks_of(pd.DataFrame(table[0])).names is None
    assert blocks_of(pd.DataFrame(table[0], columns=[1, 4, 7, 10, 12])).names == [1, 4, 7, 10, 12]
    assert blocks_of(table[0]).names is None
    assert blocks_of([]).names is None
    with pytest.raises(TypeError, match="all names of columns must be strings, or none"):
        blocks_of(frame.rename(columns={"b": 1}))
    parts = cut(frame)
    parts[3] = parts[3][list("abced")]
    with pytest.raises(BlockError, match="Block 3: its columns are a, b, c, e, d, but those of"):
        read(blocks_of(parts))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_block_that_raises_names_itself(table, n_jobs):
    def fails(block, _):
        if block.number == 4:
            raise MemoryError("no room")
        return 0

    with pytest.raises(BlockError, match=r"^Block 4: MemoryError: no room$") as caught:
        sum_over_blocks(fails, blocks_of(table[0], n_jobs=n_jobs))
    assert caught.value.number == 4
    assert isinstance(caught.value.__cause__, MemoryError)

    def parts():
        yield from cut(table[0])[:2]
        raise OSError("the disk is gone")

    with pytest.raises(BlockError, match=r"^Block 2: OSError: the disk is gone$"):
        read(blocks_of(parts, n_jobs=n_jobs))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_passes_through(table, n_jobs):
    def interrupted(block, _):
        if block.number == 3:
            raise KeyboardInterrupt
        return 1

    blocks = blocks_of(table[0], n_jobs=n_jobs)
    with pytest.raises(KeyboardInterrupt):
        sum_over_blocks(interrupted, blocks)
    assert sum_over_blocks(lambda *_: 1, blocks) == 8


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_few_blocks_are_held_at_a_time(n_jobs):
    held, most, lock = 0, 0, threading.Lock()

    class Counted(np.ndarray):
        def __del__(self):
            nonlocal held
            with lock:
                held -= 1

    def parts():
        nonlocal held, most
        for _ in range(20):
            with lock:
                held += 1
                most = max(most, held)
            yield np.empty((10, 2)).view(Counted)

    blocks = seam.LocalBlocks(lambda: ((X, None, None) for X in parts()), None, False, n_jobs)
    assert sum_over_blocks(lambda *_: 1, blocks) == 20
    assert 1 <= most <= n_jobs + 3
    assert held == 0


def test_a_memory_map_is_never_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(seam, "BLOCK_VALUES", 2**18)
    path, n, d = tmp_path / "X.npy", 60_000, 50  # 24 MB
    stored = np.lib.format.open_memmap(path, "w+", np.float64, (n, d))
    for start in range(0, n, 6000):
        stored[start : start + 6000] = start
    del stored

    def copied(block, _):
        return np.array(block.X).sum()

    tracemalloc.start()
    found = sum_over_blocks(copied, blocks_of(path, n_jobs=2))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == d * 6000 * sum(range(0, n, 6000))
    assert peak < 4 * 8 * seam.BLOCK_VALUES


WRONG = {
    "a generator": (iter([np.ones((2, 2))]), "can be read more than once"),
    "a number": (3, "can be read more than once"),
    "rows of numbers": ([[1.0, 2.0], [3.0, 4.0]], "if X is a list of rows, pass np.asarray"),
    "a vector": (np.ones(3), "must have rows and columns"),
    "no folder": ("/no/such/folder", "no such file or folder"),
}


@pytest.mark.parametrize("name", WRONG)
def test_unsupported_inputs_raise(name):
    X, sentence = WRONG[name]
    with pytest.raises((TypeError, ValueError), match=sentence):
        blocks_of(X)


def test_weights_and_embedding_must_match_the_rows(table):
    X, w, E = table
    with pytest.raises(ValueError, match="sample_weight has the shape"):
        blocks_of(X, w[:-1])
    with pytest.raises(ValueError, match="embedding has the shape"):
        blocks_of(X, embedding=E[:-1])
    with pytest.raises(TypeError, match="sample_weight must be an array"):
        blocks_of(cut(X), iter(cut(w)))
    for beside in (cut(w)[:-1], [*cut(w), w]):
        with pytest.raises(BlockError, match="as many blocks as X"):
            read(blocks_of(cut(X), beside))
