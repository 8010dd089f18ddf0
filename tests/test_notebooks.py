"""The notebooks run without errors and give the stored results; their files are fit to be shown."""

import base64
import io
import json
import math
import platform
import re
from pathlib import Path

import pytest
from PIL import Image

FOLDER = Path(__file__).parents[1] / "notebooks"
FILES = sorted(FOLDER.glob("*.ipynb"))
LIMIT = 900_000  # bytes
LEAST_DPI = 120  # of pictures of trees
SECONDS = 600  # limit per cell
RELATIVE, ABSOLUTE = 0.05, 0.05  # tolerances of numbers
# Outputs that say that the data or an optional package are missing, or that the data are others:
# notebook 3 reads the docstrings of the installed packages.
SKIPPED = re.compile(r"^(Skipped|Not run):")
OF_VERSIONS = re.compile(r"^\d+ documents: ")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def cells_of(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def code_of(cells):
    return [cell for cell in cells if cell["cell_type"] == "code"]


def text_of(cell):
    """Return what a cell prints and the text of its results, without descriptions of figures."""
    parts = []
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            parts.append("".join(output["text"]))
        elif output["output_type"] == "execute_result":
            parts.append("".join(output["data"]["text/plain"]) + "\n")
    return "".join(parts)


def numbers_of(text):
    """Return the numbers of a text; the last column of a table is left out if it has seconds."""
    numbers, is_timed = [], False
    for line in map(str.rstrip, text.splitlines()):
        if line.endswith((" seconds", " time, s")):
            is_timed = True
        elif not line.strip():
            is_timed = False
        last = line.split()[-1] if is_timed else ""
        numbers += [float(found) for found in NUMBER.findall(line.removesuffix(last))]
    return numbers


def pictures_of(cell):
    found = (output.get("data", {}).get("image/png") for output in cell["outputs"])
    return [picture for picture in found if picture]


def difference(stored, new):
    """Return how the outputs of a cell differ from the stored ones, or None."""
    n_stored, n_new = len(pictures_of(stored)), len(pictures_of(new))
    if n_stored != n_new:
        return f"{n_new} pictures, stored are {n_stored}"
    before, now = numbers_of(text_of(stored)), numbers_of(text_of(new))
    if len(before) != len(now):
        return f"{len(now)} numbers, stored are {len(before)}:\n{text_of(new)}"
    for a, b in zip(before, now, strict=True):
        if not math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE):
            return f"{b:g}, stored is {a:g}:\n{text_of(new)}"
    return None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
class TestFiles:
    def test_size(self, path):
        assert path.stat().st_size < LIMIT

    def test_committed_as_executed(self, path):
        code = code_of(cells_of(path))
        assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
        kinds = {output["output_type"] for cell in code for output in cell["outputs"]}
        assert "error" not in kinds
        names = {output.get("name") for cell in code for output in cell["outputs"]}
        assert "stderr" not in names

    def test_no_machine_paths(self, path):
        assert not re.search("/(home|root|tmp|work)/", path.read_text(encoding="utf-8"))

    def test_trees_can_be_read(self, path):
        for cell in code_of(cells_of(path)):
            if "plot_tree(" not in "".join(cell["source"]):
                continue
            assert pictures_of(cell)
            for picture in pictures_of(cell):
                image = Image.open(io.BytesIO(base64.b64decode(picture)))
                assert round(min(image.info["dpi"])) >= LEAST_DPI

    def test_ends_with_conclusions(self, path):
        *_, words, numbers = cells_of(path)
        assert "".join(words["source"]).startswith("## What to conclude")
        assert "print(" in "".join(numbers["source"])


def cell(text="", n_pictures=0):
    picture = {"output_type": "display_data", "data": {"image/png": "x", "text/plain": "9"}}
    stream = {"output_type": "stream", "name": "stdout", "text": text}
    return {"outputs": [stream, *[picture] * n_pictures]}


TIMED = "   leaves fit time, s\nTAO    {}    {}\n"


@pytest.mark.parametrize(
    ("stored", "new", "is_equal"),
    [
        ("cost 2.00 %, 11 leaves", "cost 2.06 %, 11 leaves", True),
        (TIMED.format(5, 1.10), TIMED.format(5, 9.90), True),
        ("cost 2.00 %, 11 leaves", "cost 2.20 %, 11 leaves", False),
        ("cost 2.00 %, 11 leaves", "cost 2.00 %, 12 leaves", False),
        ("free 4.9644e+07", "free 4.9644e+06", False),
        ("11 leaves", "leaves", False),
        (TIMED.format(5, 1.10), TIMED.format(6, 1.10), False),
    ],
)
def test_other_numbers_are_found(stored, new, is_equal):
    assert (difference(cell(stored), cell(new)) is None) == is_equal


def test_missing_pictures_are_found():
    assert difference(cell(n_pictures=1), cell(n_pictures=1)) is None
    assert difference(cell(n_pictures=2), cell(n_pictures=1))


@pytest.mark.notebooks
@pytest.mark.filterwarnings("default")  # of the Jupyter libraries
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_runs_with_stored_results(path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="needs the extra 'notebooks'")
    nbformat = pytest.importorskip("nbformat", reason="needs the extra 'notebooks'")
    pytest.importorskip("ipykernel", reason="needs the extra 'notebooks'")
    monkeypatch.delenv("MPLBACKEND", raising=False)  # pictures are drawn as in a browser
    if platform.machine() in ("x86_64", "AMD64"):  # the last digits depend on the processor
        monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(FOLDER)}}
    nbclient.NotebookClient(notebook, timeout=SECONDS, resources=resources).execute()
    for stored, new in zip(code_of(cells_of(path)), code_of(notebook["cells"]), strict=True):
        text = text_of(new)
        if SKIPPED.match(text) and not SKIPPED.match(text_of(stored)):
            pytest.skip(text)
        if OF_VERSIONS.match(text) and text != text_of(stored):
            pytest.skip(f"other documents than the stored ones: {text}")
        found = difference(stored, new)
        assert found is None, f"cell {new['execution_count']}: {found}"
