"""The notebooks run without errors, and their files are small and free of machine paths."""

import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
FILES = sorted(FOLDER.glob("*.ipynb"))
LIMIT = 400_000  # bytes
SECONDS = 600  # a cell may take


def cells_of(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def test_there_are_seven():
    assert len(FILES) == 7


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
class TestFiles:
    def test_size(self, path):
        assert path.stat().st_size < LIMIT

    def test_committed_as_executed(self, path):
        code = [cell for cell in cells_of(path) if cell["cell_type"] == "code"]
        assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
        kinds = {output["output_type"] for cell in code for output in cell["outputs"]}
        assert "error" not in kinds
        names = {output.get("name") for cell in code for output in cell["outputs"]}
        assert "stderr" not in names

    def test_no_machine_paths(self, path):
        assert not re.search("/(home|root|tmp|work)/", path.read_text(encoding="utf-8"))

    def test_ends_with_conclusions(self, path):
        *_, words, numbers = cells_of(path)
        assert "".join(words["source"]).startswith("## What to conclude")
        assert "print(" in "".join(numbers["source"])


@pytest.mark.notebooks
@pytest.mark.filterwarnings("default")  # of the Jupyter libraries
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_runs(path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="needs the extra 'notebooks'")
    nbformat = pytest.importorskip("nbformat", reason="needs the extra 'notebooks'")
    pytest.importorskip("ipykernel", reason="needs the extra 'notebooks'")
    monkeypatch.delenv("MPLBACKEND", raising=False)  # pictures are drawn as in a browser
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(FOLDER)}}
    nbclient.NotebookClient(notebook, timeout=SECONDS, resources=resources).execute()
