"""Text files and tables that are cut off or unusual raise one error message, no traceback."""

import gzip
from decimal import Decimal

import numpy as np
import pytest
from command_line import main

from tao_cluster import Tree, load, read_table, table_pipeline

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

LINES = "a,b\n" + "".join(f"{i},{i * i % 7}\n" for i in range(40))
PACKED = gzip.compress(LINES.encode())
NOISE = "a,b\n" + "".join(f"{i},{i * 7919 % 104729}\n" for i in range(20_000))


def refuse(arguments, capsys, sentence):
    """Run the command line, and check that it fails with one line that contains a sentence."""
    assert main([str(argument) for argument in arguments]) == 2
    told = capsys.readouterr().err.strip()
    assert sentence in told
    assert told.count("\n") == 0
    assert "Traceback" not in told


TEXTS = {
    "cut": ("x.csv.gz", PACKED[:-12], "x.csv.gz: cannot be read as"),
    "a wrong sum": ("x.csv.gz", PACKED[:-8] + bytes(8), "x.csv.gz: cannot be read as"),
    "no gzip": ("x.csv.gz", b"a,b\n1,2\n", "x.csv.gz: cannot be read as"),
    "cut late": ("x.csv.gz", gzip.compress(NOISE.encode())[:-12], "x.csv.gz: cannot be read as"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_that_are_cut_or_long(name, tmp_path, capsys):
    file, content, sentence = TEXTS[name]
    (tmp_path / file).write_bytes(content)
    refuse(["fit", tmp_path / file, "-k", 2, "--out", tmp_path / "out"], capsys, sentence)


@pytest.mark.parametrize("mark", ["ab", "", '"', "\n"])
def test_separators_are_one_character(mark, tmp_path, capsys):
    (tmp_path / "x.csv").write_text(LINES, encoding="utf-8")
    assert main(["fit", str(tmp_path / "x.csv"), "--sep", mark]) == 2
    assert "--sep: expected one character" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["fit", "path", "compare"])
def test_nothing_is_no_place_to_write_to(command, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text(LINES, encoding="utf-8")
    assert main([command, "x.csv", "--out", ""]) == 2
    assert "--out: expected a name" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["x.csv"]


def test_columns_of_values_with_parts_are_left_out(tmp_path, capsys):
    columns = {"a": np.arange(40.0) ** 2, "b": np.arange(40.0) % 7}
    pq.write_table(pa.table({**columns, "odd": [[1, 2], [3]] * 20}), tmp_path / "x.parquet")
    out = str(tmp_path / "out")
    assert main(["fit", str(tmp_path / "x.parquet"), "-k", "2", "--out", out]) == 0
    assert "has values of type " in capsys.readouterr().out
    assert list(load(tmp_path / "out" / "model.json")[0].readers) == ["a", "b"]


def test_decimals_are_numbers(tmp_path):
    values = [Decimal("1.50"), None, Decimal("2.25"), Decimal("9.75")] * 5
    table = pa.table({"a": pa.array(values, pa.decimal128(6, 2)), "b": np.arange(20.0) ** 2})
    pq.write_table(table, tmp_path / "x.parquet")
    frame = read_table(tmp_path / "x.parquet")
    found = table_pipeline(frame, missing="indicator")[0].fit_transform(frame)["a"]
    np.testing.assert_array_equal(found[:4], [1.5, np.nan, 2.25, 9.75])


def test_no_memory_is_one_sentence(tmp_path, capsys, monkeypatch):
    def fail(*_, **__):
        raise MemoryError("Unable to allocate 80. GiB for an array")

    Tree.single_leaf(0, 2).save(tmp_path / "tree.json")
    monkeypatch.setattr("tao_cluster.cli.folder.read_model", fail)
    command = ["export", tmp_path / "tree.json"]
    refuse(command, capsys, "error: there is not enough memory. Unable to allocate 80. GiB")
