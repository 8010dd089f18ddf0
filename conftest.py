"""The code of the pages runs as readers run it: in a folder with customers.csv."""

import shutil
from pathlib import Path

import pytest

CUSTOMERS = Path(__file__).parent / "docs" / "customers.csv"


@pytest.fixture(autouse=True)
def folder_of_page(request, monkeypatch):
    """Change to a new folder with this table before the code of a page runs."""
    if request.path.suffix == ".md":
        folder = request.getfixturevalue("tmp_path")
        shutil.copy(CUSTOMERS, folder)
        monkeypatch.chdir(folder)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the pages whose code fits many trees as slow."""
    for item in items:
        if item.path.name in {"pictures.md", "stability.md"}:
            item.add_marker("slow")
