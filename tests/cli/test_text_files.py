"""Text files as people have them: separators, decimal commas, encodings, headers, long cells."""

import gzip
import json

import pandas as pd
import pytest

from tao_cluster import OpenQuestionsError, read_table, table_pipeline
from tao_cluster.columns.readers import UnreadableCellError
from tao_cluster.reading import Reading, cell_errors


@pytest.fixture
def read(tmp_path):
    """Write a text to a file, read it, and return the table."""

    def run(text, name="table.csv", written="utf-8", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode(written))
        return read_table(path, Reading(**options), on_note=print)

    return run


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1.5,x\n2.5,y\n",
        "a;b\n1,5;x\n2,5;y\n",
        "a;b\n1.5;x\n2.5;y\n",
        "a\tb\n1.5\tx\n2.5\ty\n",
        "sep=;\na;b\n1,5;x\n2,5;y\n",
        '"sep=|"\r\na|b\r\n1.5|x\r\n2.5|y\r\n',
        "\na , b\n\n1.5, x\n  \n2.5, y\n",
    ],
)
def test_separators_and_decimal_marks_are_detected(read, text):
    expected = pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]})
    pd.testing.assert_frame_equal(
        read(text).reset_index(drop=True), expected, check_dtype=False, check_names=False
    )
    for name in ("table.tsv", "table.txt"):
        assert read(text, name)["a"].tolist() == [1.5, 2.5]
    path = "table.csv.gz"
    assert read(gzip.compress(text.encode()), path)["b"].tolist() == ["x", "y"]


def test_options_replace_what_is_detected(read):
    text = "title\na;b\n1,5;2\n2,5;3\n"
    frame = read(text, separator=";", decimal=",", header=True, skip_lines=1)
    assert frame["a"].tolist() == [1.5, 2.5]
    assert list(read("a,b\nc,d\n", header=False)) == ["x0", "x1"]
    assert list(read("1,2\n3,4\n", header=True)) == ["1", "2"]
    assert read("a;b,c\n1;2,5\n", separator=",").columns.tolist() == ["a;b", "c"]


@pytest.mark.parametrize(
    ("encoding", "found"),
    [("utf-8", None), ("utf-16", None), ("cp1252", "cp1252")],
)
def test_encodings_are_detected_and_reported(read, capsys, encoding, found):
    frame = read("Straße,Höhe\nÄcker,1\nÖl,2\n", written=encoding)
    assert list(frame) == ["Straße", "Höhe"]
    assert frame["Straße"].tolist() == ["Äcker", "Öl"]
    error = capsys.readouterr().out
    assert ("read as cp1252" in error) == (found is not None)
    # A wrong byte after the first lines, and an encoding that the user chooses.
    late = b"a,b\n" + b"x,1\n" * 500 + b"\xe4,2\n"
    assert read(late)["a"].iloc[-1] == "ä"
    assert read(late, encoding="latin-1")["a"].iloc[-1] == "ä"
    with pytest.raises(ValueError, match=r"table\.csv: cannot be read as \.csv \('ascii' codec"):
        read(late, encoding="ascii")
    with pytest.raises(ValueError, match=r"table\.csv: cannot be read as \.csv \(unknown encoding"):
        read(late, encoding="utf-7b")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1,2\n3,4\n", ["x0", "x1"]),
        ("a,2020\n1,2\n3,4\n", ["a", "2020"]),  # a word above a number
        ("red,1\nred,2\nblue,3\nblue,5\n", ["x0", "x1"]),  # no word above a number
        ("5.5,NA,2\n1,2,3\n2,3,3\n", ["x0", "x1", "x2"]),
        ("u,400,410,420\nu,3,1,2\nv,2,2,2\n", ["x0", "x1", "x2", "x3"]),  # u is a value
        ('"a,b",c\n1,2\n3,4\n', ["a,b", "c"]),
        ("name\nAnn\nBob\n", ["name"]),
    ],
)
def test_headers_are_found(read, capsys, text, names):
    assert list(read(text)) == names
    assert ("no header was found" in capsys.readouterr().out) == (names[0] == "x0")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("country,2000,2001\nFR,1.5,2.5\nDE,3.5,2.5\n", ["country", "2000", "2001"]),
        (",1990,2000\nFR,1,2\nDE,3,4\n", ["Unnamed: 0", "1990", "2000"]),
        ("s;1,5;2,5;3,5\nu;1,1;0,5;2\nv;3;2;2\n", ["s", "1,5", "2,5", "3,5"]),
        ("Ann,4,1,9\nBob,3,1,2\nEve,2,2,2\n", ["Ann", "4", "1", "9"]),
    ],
)
def test_a_first_line_with_numbers_beside_new_words_is_asked_about(read, text, names):
    with pytest.raises(OpenQuestionsError, match="name the columns") as found:
        read(text)
    (question,) = found.value.questions
    assert question.answers == ({"header": True}, {"header": False})
    assert list(read(text, header=True)) == names
    assert list(read(text, header=False)) == [f"x{j}" for j in range(len(names))]


def test_only_a_total_is_left_out_of_a_later_file(read, tmp_path):
    """The schema of a file with a total reads files without one, and with more of them."""
    rows = "u,1\nv,3\n" * 4
    layout = {"skip_last": 1}
    for end, n_rows in (("Total,16\n", 8), ("", 8), ("v,7\n", 9), ("Source: the bank\n", 8)):
        frame = read("a,b\n" + rows + end, **layout)
        assert len(frame) == n_rows
        assert frame["b"].dtype.kind == "i"


def test_long_cells_and_line_breaks_in_cells(read):
    long = "y" * 200_000
    frame = read(f'a,b\n1,{long}\n2,"two\nlines"\n3,z\n')
    assert frame["b"].tolist() == [long, "two\nlines", "z"]


def test_words_for_missing_values_stay_in_string_columns(read):
    text = "a,b,c,d\n1,NA,True,\nNA,x,,None\n?,,False,z\n4,y,True,z\n"
    frame = read(text)
    assert frame["a"].isna().tolist() == [False, True, True, False]
    assert frame["b"].tolist() == ["NA", "x", "", "y"]
    assert frame["c"].isna().tolist() == [False, True, False, False]
    assert frame["d"].tolist() == ["", "None", "z", "z"]
    frame = read("a,b\n1,NA\n-99,None\n3,x\n", na_values=("", "-99"))
    assert frame["a"].isna().tolist() == [False, True, False]
    assert "" in Reading().na_values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("a,b\n", "the file has column names but no rows"),
        ("1,2\n3\n", "line 2 has 1 values, expected 2"),
        ("a,b\n1,2\n\n3,4\n5,6,7\n", "line 5 has 3 values, expected 2"),
        ('a,b\n"1\n",2\n3\n', "line 4 has 1 values, expected 2"),
    ],
)
def test_files_of_another_form_get_a_message_with_the_line(read, text, message):
    with pytest.raises(ValueError, match=rf"table\.csv: .*{message}"):
        read(text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Report\n\n2020\na,b\n1,2\n3,4\n", {"skip_lines": 3}),
        ("Source,bank\nUpdated,2024-02-01\na,b\n1,2\n3,4\n5,6\n7,8\n", {"skip_lines": 2}),
        ("n,mass,size\n,kg,cm\nu,1,2\nv,3,4\n", {"skip_units": True}),
        ("a,b\n" + "u,1\nv,3\n" * 4 + "Summe,16\n", {"skip_last": 1}),
        ("a,b\n" + "1,u\n3,v\n" * 4 + "Source: the bank\n", {"skip_last": 1}),
        ("a,b\n" + "1,u\n3,v\n" * 4 + "16,Total\nSource: the bank\n", {"skip_last": 2}),
    ],
)
def test_lines_that_are_no_rows_are_asked_about(read, tmp_path, capsys, text, answer):
    with pytest.raises(OpenQuestionsError) as found:
        read(text)
    (question,) = found.value.questions
    assert question.is_file
    assert answer in question.answers
    first = "mass" if "mass" in text else "a"
    path = tmp_path / "table.csv"
    frame = read_table(path, schema={"file": answer}, on_note=print)
    assert len(frame) == {"Re": 2, "So": 4, "n,": 2}.get(text[:2], 8)
    assert first in frame
    assert frame.select_dtypes("number").shape[1] >= 1
    capsys.readouterr()
    careful = read_table(path, on_note=print, doubts="warn")
    assert next(iter(question.careful)) in capsys.readouterr().out
    assert len(careful) == len(frame)


@pytest.mark.parametrize("encoding", [None, "cp1252"])
def test_a_byte_order_mark_tells_the_encoding_whatever_is_named(read, encoding):
    for written in ("utf-8-sig", "utf-16", "utf-32"):
        frame = read("größe,b\n1,2\n3,4\n", written=written, encoding=encoding)
        assert list(frame) == ["größe", "b"]


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ('a,b\n1,"say \\"hi\\""\n2,x\n', 'say "hi"'),
        ('a,b\n1,"the \\"cold\\", wet"\n2,x\n', 'the "cold", wet'),
        ('a,b\n1,"say ""hi"""\n2,x\n', 'say "hi"'),
        ('a,b\n1,"C:\\dir\\"\n2,"D:\\"\n3,x\n', "C:\\dir\\"),
    ],
)
def test_quotes_inside_of_quotes(read, text, cells):
    assert read(text)["b"][0] == cells


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\ninf,3\n4,5\n", "line 2, column x0: inf is not a number"),
        ("a,b,a\n1,2,3\n", "Several columns are named 'a'"),
    ],
)
def test_wrong_cells_are_named_by_file_line_and_column(read, tmp_path, text, message):
    frame = read(text)
    path = tmp_path / "table.csv"
    with pytest.raises(ValueError, match=rf"table\.csv: {message}"), cell_errors(path, frame):
        table_pipeline(frame)


@pytest.mark.parametrize("form", ["json", "parquet", "feather"])
def test_a_table_that_was_read_can_be_stored(read, tmp_path, form):
    """The file that it comes from is known afterwards, too."""
    frame = read("a;b\n1,5;x\n2;y\n2;7\n4;z\n")
    if form == "json":
        frame.attrs = json.loads(json.dumps(frame.attrs))
        again = frame
    else:
        getattr(frame, f"to_{form}")(tmp_path / "table")
        again = getattr(pd, f"read_{form}")(tmp_path / "table")
        assert again.attrs == json.loads(json.dumps(frame.attrs))
    pd.testing.assert_frame_equal(again, frame)
    with (
        pytest.raises(ValueError, match="line 4, column b"),
        cell_errors(tmp_path / "table.csv", again),
    ):
        raise UnreadableCellError("b", 2, "7", "a word")
