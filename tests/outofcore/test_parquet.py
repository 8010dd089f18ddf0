"""Parquet files: the same rows as in memory, with memory for some, and sentences about columns."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tao_cluster.outofcore import BlockError, blocks_of, parquet_blocks
from tao_cluster.outofcore import blocks as seam

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
ds = pytest.importorskip("pyarrow.dataset")

N = 1000


@pytest.fixture
def frame(monkeypatch):
    monkeypatch.setattr(seam, "MOST_ROWS", 130)
    rng = np.random.default_rng(0)
    columns = {f"x{j}": rng.normal(size=N).astype(np.float32) for j in range(4)}
    return pd.DataFrame(columns | {"w": rng.integers(0, 3, N), "e": rng.normal(size=N)})


@pytest.fixture
def folder(frame, tmp_path):
    """Three files, one in a folder below; names in another order than rows were written."""
    (tmp_path / "data" / "more").mkdir(parents=True)
    places = {"b.parquet": (300, 700), "more/a.parquet": (700, N), "a.parquet": (0, 300)}
    for name, (start, stop) in places.items():
        part = frame.iloc[start:stop].set_index(np.arange(stop, start, -1))  # pandas stores it
        part.to_parquet(tmp_path / "data" / name, row_group_size=90)
    for other in ("_metadata.parquet", ".a.parquet", "README.txt"):
        (tmp_path / "data" / other).write_text("no rows", encoding="utf-8")
    return tmp_path / "data"


def read(blocks):
    found = list(blocks.results(lambda block, _: (block.X, block.weight, block.embedding), None))
    parts = zip(*found, strict=True)
    return [None if part[0] is None else np.concatenate(part) for part in parts]


def sizes(blocks):
    return list(blocks.results(lambda block, _: len(block.X), None))


@pytest.mark.parametrize("kind", [str, Path, lambda f: ds.dataset(f, exclude_invalid_files=True)])
def test_a_folder_is_its_files_by_name(folder, frame, kind):
    blocks = blocks_of(kind(folder), "w", ["e"])
    X, weight, embedding = read(blocks)
    assert blocks.names == ["x0", "x1", "x2", "x3"]
    assert blocks.has_embedding
    assert X.dtype == np.float32
    assert X.flags.c_contiguous
    assert np.array_equal(X, frame[blocks.names])
    assert np.array_equal(weight, frame["w"])
    assert np.array_equal(embedding, frame[["e"]])
    assert sizes(blocks) == [130, 130, 40, 130, 130, 130, 10, 130, 130, 40]


def test_a_list_of_files_keeps_its_order(folder, frame):
    names = ("b.parquet", "a.parquet")
    X = read(parquet_blocks([folder / name for name in names], ["x3", "x0"]))[0]
    expected = pd.concat([frame[300:700], frame[:300]])[["x3", "x0"]]
    assert np.array_equal(X, expected)
    assert np.array_equal(read(blocks_of([str(folder / name) for name in names]))[0][:, 3], X[:, 0])


def test_blocks_are_cut_in_row_groups_and_put_together(frame, tmp_path):
    for size in (7, 130, 1000):
        frame.to_parquet(tmp_path / f"{size}.parquet", row_group_size=size, index=False)
        blocks = blocks_of(tmp_path / f"{size}.parquet")
        assert sizes(blocks) == [130] * 7 + [90]
        assert np.array_equal(read(blocks)[0], frame)


TYPES = {
    "float32": (["float32", "int8", "bool_"], np.float32),
    "whole numbers": (["float32", "int32"], np.float64),
    "float64": (["float32", "float64"], np.float64),
    "decimals": (["float32", "decimal"], np.float64),
}


@pytest.mark.parametrize("name", TYPES)
def test_numbers_and_truth_become_floats(name, tmp_path):
    kinds, expected = TYPES[name]
    columns = {
        f"{kind}{i}": pa.array([0, 1, 1, 0]).cast(
            pa.decimal128(25, 2) if kind == "decimal" else getattr(pa, kind)()
        )
        for i, kind in enumerate(kinds)
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    X = read(blocks_of(tmp_path / "a.parquet"))[0]
    assert X.dtype == expected
    assert np.array_equal(X, np.tile([[0], [1], [1], [0]], len(kinds)))


def test_types_are_those_of_all_files(tmp_path):
    for name, kind in (("a", np.float32), ("b", np.float64)):
        pd.DataFrame({"x": np.array([0.1], kind)}).to_parquet(tmp_path / f"{name}.parquet")
    X = read(blocks_of(tmp_path))[0]
    assert np.array_equal(X, [[np.float32(0.1)], [0.1]])


@pytest.mark.parametrize("value", [None, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", ["x2", "w", "e"])
def test_a_missing_value_is_named(folder, frame, value, column):
    part = frame.iloc[:300].astype({"w": float})
    values = [*part[column][:211], value, *part[column][212:]]
    table = pa.Table.from_pandas(part, preserve_index=False)
    table = table.set_column(list(frame).index(column), column, pa.array(values))
    pq.write_table(table, folder / "b.parquet", row_group_size=90)
    sentence = (
        rf"Block 4: .*b.parquet: row 211 has a missing or infinite value in column '{column}'"
    )
    with pytest.raises(BlockError, match=sentence) as caught:
        read(blocks_of(folder, "w", ["e"]))
    assert caught.value.number == 4


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a", "b"], "string"),
        (pd.Categorical(["a", "b"]), "dictionary"),
        (pd.to_datetime(["2020-01-01", "2021-01-01"]), "timestamp"),
        ([[1], [2]], "list"),
        ([None, None], "null"),
    ],
)
def test_a_column_without_numbers_is_named(tmp_path, values, kind):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"x": [1.0, 2.0], "it": values}).to_parquet(path)
    with pytest.raises(
        ValueError, match=f"a.parquet: column 'it' has the type .*{kind}.*not numeric.*col"
    ):
        blocks_of(path)
    assert read(parquet_blocks(path, columns=["x"]))[0].tolist() == [[1.0], [2.0]]


def test_files_with_different_columns_raise(folder, frame):
    frame[:5].drop(columns="x1").to_parquet(folder / "c.parquet")
    with pytest.raises(
        ValueError, match=r"c.parquet .*have different columns: only one of them has 'x1'"
    ):
        blocks_of(folder)
    with pytest.raises(ValueError, match=r"c.parquet: there is no column 'x1'"):
        parquet_blocks(folder, ["x1"])
    assert len(read(parquet_blocks(folder, ["x2", "x0"]))[0]) == N + 5


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"columns": ["x0", "y"]}, "no column 'y'"),
        ({"columns": ["x0", "x0"]}, "columns contains column 'x0' twice"),
        ({"columns": []}, "columns is empty"),
        ({"columns": "x0"}, "must be a list of names"),
        ({"sample_weight": "y"}, "no column 'y'"),
        ({"sample_weight": np.ones(N)}, "must be the name of a column"),
        ({"embedding": "e"}, "embedding must be a list of names"),
        ({"embedding": np.ones((N, 2))}, "embedding must be a list of names"),
    ],
)
def test_wrong_columns_raise(folder, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        parquet_blocks(folder, **arguments)


def test_bad_files(folder, tmp_path):
    (tmp_path / "none").mkdir()
    with pytest.raises(ValueError, match="the folder has no files named"):
        blocks_of(tmp_path / "none")
    (folder / "c.parquet").write_text("no rows", encoding="utf-8")
    with pytest.raises(ValueError, match=r"c.parquet: "):
        blocks_of(folder)
    with pytest.raises(ValueError, match="filter"):
        blocks_of(ds.dataset(folder / "a.parquet").filter(ds.field("x0") > 0))


def test_a_damaged_file_is_a_block_that_names_it(folder):
    blocks = blocks_of(folder)
    content = bytearray((folder / "b.parquet").read_bytes())
    content[4:3000] = bytes(2996)
    (folder / "b.parquet").write_bytes(content)
    with pytest.raises(BlockError, match=r"^Block 3: .*b.parquet: "):
        read(blocks)


def test_without_pyarrow(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"needs the package pyarrow.parquet: pip install"):
        blocks_of(folder)


def printed(*command):
    """What a program in Python prints."""
    command = [sys.executable, "-c", *command]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    return done.stdout


_MEMORY = """
import json, sys
import pyarrow as pa
from tao_cluster.outofcore import blocks, parquet_blocks
blocks.BLOCK_VALUES = 2**20
n_rows, most = 0, 0
for size, held in parquet_blocks(sys.argv[1]).results(
    lambda block, _: (len(block.X), pa.total_allocated_bytes()), None
):
    n_rows, most = n_rows + size, max(most, held)
print(json.dumps([n_rows, most]))
"""


@pytest.mark.slow
def test_memory_is_that_of_some_rows(tmp_path):
    n_rows, rng = 2_000_000, np.random.default_rng(0)
    table = pa.table({f"x{j}": rng.random(n_rows, np.float32) for j in range(10)})  # 80 MB
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=n_rows)
    n_read, most = json.loads(printed(_MEMORY, str(tmp_path)))
    assert n_read == n_rows
    assert most < 40e6
