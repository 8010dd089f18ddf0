"""Files .npy and .npz that are damaged or claim too much end in one line that names them."""

import io
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from command_line import main

from tao_cluster.outofcore import blocks_of

ROWS = np.arange(12.0).reshape(6, 2)


def header(text, version=b"\x01\x00"):
    """The begin of a file .npy with this description."""
    size = struct.pack("<H" if version[0] == 1 else "<I", len(text))
    return b"\x93NUMPY" + version + size + text.encode("latin1")


def claims(shape, descr="<f8"):
    return header(f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}\n")


def bytes_of(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


ARRAYS = {
    "many_rows": claims("(1000000000000, 2)") + bytes(96),
    "cut": bytes_of(ROWS)[:-8],
    "empty": b"",
    "no_python": header("{'descr': '<f8', ((((\n") + bytes(96),
    "objects": b"".join([claims("(6, 2)", "|O"), bytes(96)]),
}


def packed(how=zipfile.ZIP_DEFLATED, **entries):
    """An archive of these entries, dots written as __."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", how) as archive:
        for name, content in entries.items():
            archive.writestr(name.replace("__", "."), content)
    return file.getvalue()


def sparse(**changes):
    file = io.BytesIO()
    sp.save_npz(file, sp.csc_matrix(ROWS))
    with np.load(io.BytesIO(file.getvalue())) as archive:
        parts = dict(archive) | changes
    file = io.BytesIO()
    np.savez(file, **{name: part for name, part in parts.items() if part is not None})
    return file.getvalue()


ARCHIVES = {
    "array_cut": lambda: packed(X__npy=ARRAYS["cut"]),
    "no_array": lambda: packed(readme__txt="nothing"),
    "nothing": packed,
    "cut": lambda: packed(X__npy=bytes_of(ROWS))[:-30],
    "without_data": lambda: sparse(data=None),
    "indices_far": lambda: sparse(indices=np.full(11, 10**6)),
    "indptr_falls": lambda: sparse(indptr=np.array([0, 11, 5])),
}
CASES = [(".npy", name) for name in ARRAYS] + [(".npz", name) for name in ARCHIVES]


@pytest.mark.parametrize(("kind", "name"), CASES, ids=lambda part: part)
def test_a_sentence_at_once(kind, name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = Path(f"{name}{kind}")
    path.write_bytes(ARRAYS[name] if kind == ".npy" else ARCHIVES[name]())
    assert main(["fit", path.name, "--n-clusters", "2", "--out", "run"]) == 2
    said = capsys.readouterr()
    assert len(said.err.splitlines()) == 1
    assert f"{path.name}: " in said.err
    assert len(said.err) < 400


@pytest.mark.parametrize("name", ARRAYS)
def test_files_that_are_mapped(name, tmp_path):
    path = tmp_path / "rows.npy"
    path.write_bytes(ARRAYS[name])
    with pytest.raises(ValueError, match=r"rows\.npy: cannot be read as \.npy"):
        blocks_of(path)
    path.write_bytes(packed(X__npy=bytes_of(ROWS)))
    with pytest.raises(ValueError, match=r"the content is an \.npz archive: rename the file"):
        blocks_of(path)
