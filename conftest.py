"""For tests and pages: figures are closed, and pages run in a folder with customers.csv."""

import shutil
import sys
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


@pytest.fixture(autouse=True)
def figures_are_closed():
    """Close the figures of each test and page, since matplotlib warns if more than 20 are open."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the pages whose code fits many trees as slow."""
    for item in items:
        if item.path.name in {"pictures.md", "stability.md"}:
            item.add_marker("slow")
