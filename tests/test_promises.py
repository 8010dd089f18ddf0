"""The tests that docs/guide/reliability.md names exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "guide" / "reliability.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(test_\w+)`", PAGE))))
def test_a_named_test_exists(name):
    files = (ROOT / "tests").rglob("test_*.py")
    assert any(f"def {name}(" in file.read_text(encoding="utf-8") for file in files)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(tests/[\w/]+\.py)", PAGE))))
def test_a_named_file_exists(path):
    assert (ROOT / path).is_file()
