"""Messy files: what is certain is read right without a question, and the rest is asked about."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from asking_files import CASES, LEFT_OUT

from tao_cluster import OpenQuestionsError, Schema, load, read_table, table_pipeline
from tao_cluster.cli import main
from tao_cluster.columns.readers import Level

NAMES = sorted(CASES)


@pytest.fixture(params=NAMES)
def made(request, tmp_path):
    """The case of a name, and its file."""
    case = CASES[request.param](np.random.default_rng(0))
    path = tmp_path / "table.csv"
    path.write_bytes(case.text if isinstance(case.text, bytes) else case.text.encode())
    return case, path


def contains(found, part):
    """Whether a part of a document is in it."""
    return all(key in found and found[key] == value for key, value in part.items())


def questions_in(text):
    """The answers of an error message: dict of lists of dicts, by column; "file" has the others."""
    found, where = {}, None
    for line in text.splitlines()[1:]:
        if line.startswith("    "):
            answer = json.loads(f"{{{line.strip()}}}")
            found[where].append(answer if where == "file" else answer[where])
        elif question := re.match(r"column '(.*?)': |(file): ", line):
            where = question[1] or question[2]
            found[where] = []
    return found


def answered(asked, asks):
    """The schema of the answers to `asks`, as a document; the same questions must be asked."""
    assert asked.keys() == asks.keys()
    columns, file = {}, {}
    for where, part in asks.items():
        fitting = [each for each in asked[where] if contains(each, part)]
        assert fitting, (asked[where], part)
        (file if where == "file" else columns).update(
            fitting[0] if where == "file" else {where: fitting[0]}
        )
    return {"columns": columns, "file": file}


def read(path, schema=None, doubts="ask"):
    """The table of a file and its pipeline; all open questions are collected."""
    table = (
        path
        if isinstance(path, pd.DataFrame)
        else read_table(path, on_note=str, schema=schema, doubts=doubts)
    )
    return table, table_pipeline(table, 2, schema=schema, doubts=doubts, random_state=0)


def answers_to(path, asks):
    """The schema that answers the questions about a file, as pasted from the messages."""
    if not asks:
        return None
    with pytest.raises(OpenQuestionsError) as found:
        read(path)
    assert [question.where for question in found.value.questions] == [*asks]
    return answered(questions_in(str(found.value)), asks)


def numbers_of(column, reader):
    """The numbers, levels or dates that a reader makes of cells."""
    values = reader.read(column)
    if isinstance(reader, Level):
        return values.map(lambda level: level, na_action="ignore")
    if getattr(reader, "first", None) and not reader.is_time:
        return pd.Series([pd.Timestamp(reader.text(v) or None) for v in values])
    return values


def check(case, table, pipeline):
    """Each column has its numbers, levels or dates."""
    readers = pipeline.schema_.readers
    for name, meant in case.truth.items():
        if isinstance(meant, str) and meant == LEFT_OUT:
            assert name not in readers
            continue
        reader = readers[name]
        is_time = getattr(reader, "is_time", False)
        found = numbers_of(table[name], reader)
        truth = pd.Series(meant).reset_index(drop=True)
        assert len(found) == len(truth)
        if isinstance(reader, Level):
            assert found.astype(str).tolist() == truth.astype(str).tolist()
        elif truth.dtype.kind == "M":
            assert found.tolist() == truth.tolist()
        else:
            np.testing.assert_allclose(
                found, truth.to_numpy(float), rtol=1e-15 if not is_time else 1e-14
            )


def test_what_is_certain_is_read_and_the_rest_is_asked(made, tmp_path):
    case, path = made
    schema = answers_to(path, case.asks)
    table, pipeline = read(path, schema)
    check(case, table, pipeline)
    # The schema of the fit, as a document, answers everything about a later file.
    pipeline.schema_.to_json(tmp_path / "schema.json")
    again = Schema.from_json(tmp_path / "schema.json")
    assert again == pipeline.schema_
    check(case, *read(path, tmp_path / "schema.json"))


def test_the_careful_answers_are_printed_and_never_wrong(made):
    case, path = made
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        notes = []
        table = read_table(path, on_note=notes.append, doubts="warn")
        pipeline = table_pipeline(table, 2, doubts="warn")
    told = " ".join([*notes, *(str(each.message) for each in caught)])
    for where, part in case.asks.items():
        assert (f"column {where!r}" if where != "file" else next(iter(part))) in told
    readers, wrong = pipeline.schema_.readers, []
    for name in case.truth:
        if name in readers and not isinstance(case.truth[name], str):
            try:
                check(type(case)(case.text, {name: case.truth[name]}), table, pipeline)
            except AssertionError:
                wrong.append(name)
    # Codes are levels, which the truth may know as numbers.
    assert all(isinstance(readers[name], Level) for name in wrong), wrong


@pytest.mark.spaced(quick=0, slow=4)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_command_line_asks_the_same(made, tmp_path, capsys, monkeypatch):
    case, path = made
    monkeypatch.chdir(tmp_path)
    command = ["fit", "table.csv", "-k", "2", "--lambda", "5", "--out", "out"]
    if case.asks:
        assert main(command) == 2
        told = capsys.readouterr().err
        assert "--schema" in told
        assert "--yes" in told
        schema = answered(questions_in(told), case.asks)
        (tmp_path / "answers.json").write_text(json.dumps(schema), encoding="utf-8")
        command += ["--schema", "answers.json"]
    assert main(command) == 0
    pipeline = load(tmp_path / "out" / "model.json")
    table = read_table(path, schema=pipeline.schema_, on_note=str)
    check(case, table, pipeline)
    assert main(["predict", "out", "table.csv", "--out", "labels.csv"]) == 0
    labels = pd.read_csv(tmp_path / "labels.csv")["cluster"]
    np.testing.assert_array_equal(labels, pipeline.predict(table))
    assert main([*command[:8], "--force", "--yes"]) == 0


@pytest.mark.parametrize(
    "form",
    ["2024010{}T140500", "{}.12.", "2024-12{}", "1{}h05", "2024-W3{}", "2024-01-0{}T10:00+0100"],
)
def test_what_may_be_a_date_is_asked_about(form):
    table = pd.DataFrame(
        {"x": np.arange(60.0), "when": [form.format(1 + i % 9) for i in range(60)]}
    )
    with pytest.raises(OpenQuestionsError, match="column 'when'"):
        table_pipeline(table, 2)


def test_an_offset_in_a_later_table_raises_if_the_fit_had_none():
    days = pd.date_range("2024-01-01", periods=60, freq="7h").strftime("%Y-%m-%dT%H:%M:%S")
    table = pd.DataFrame({"when": days})
    pipeline = table_pipeline(table, 2, random_state=0).fit(table)
    for offset in ("Z", "+01", "+0100", "+01:00"):
        with pytest.raises(ValueError, match="without a time zone"):
            pipeline.predict(pd.DataFrame({"when": days + offset}))
