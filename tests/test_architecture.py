"""Imports point down, files stay readable."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("tao_cluster", "greedy")
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

# A module may import modules of its package of a lower level only. Levels, from the top.
LEVELS = {
    "tao_cluster": [
        {"__main__"},
        {"demo"},
        {"cart", "comparison", "loading", "plot"},
        {"path"},
        {"estimator"},
        {"parts"},
        {"splits"},
        {"algorithms", "base", "goals"},
        {"alternation", "refinement", "regrowth", "trimming"},
        {"problem", "history", "tree_step"},
        {"criteria", "decisions", "reference", "schedules"},
        {"objectives", "penalties", "initial_trees", "exact_trees"},
        {"growing"},
        {"node_solvers", "measures", "explanations", "page"},
        {"export"},
        {"report"},
        {"tree"},
        {"repeats"},
        {"routing"},
        {"_jit", "_threads"},
    ],
    "greedy": [
        {"estimators"},
        {"builders", "tradeoff"},
        {"cutting"},
        {"rules"},
        {"growth", "nodes"},
        {"points"},
        {"cuts"},
    ],
}
LEVEL = {
    package: {name: number for number, names in enumerate(levels) for name in names}
    for package, levels in LEVELS.items()
}


def module_of(path):
    """First part of a file's name below its package: plot/tree.py is part of `plot`."""
    return path.relative_to(ROOT).parts[1].removesuffix(".py")


def imports_of(path):
    """(top-level module of tao_cluster or outside package, line is at module level)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    depth = len(path.relative_to(ROOT).parts) - 1
    for node in ast.walk(tree):
        at_top = node in tree.body
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.split(".")[0], at_top, False
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            parts = node.module.split(".")
            assert parts[0] != path.relative_to(ROOT).parts[0], "own modules by relative imports"
            yield parts[0], at_top, False
        elif isinstance(node, ast.ImportFrom) and node.level == depth:
            for name in [node.module] if node.module else [alias.name for alias in node.names]:
                yield name.split(".")[0], at_top, True


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path):
    package, module = path.relative_to(ROOT).parts[0], module_of(path)
    if module == "__init__":
        return
    level = LEVEL[package]
    for name, at_top, is_own in imports_of(path):
        if is_own and at_top and name != "__version__":
            assert level[name] > level[module], f"{module} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_outside_imports(path):
    package, module = path.relative_to(ROOT).parts[0], module_of(path)
    for name, at_top, is_own in imports_of(path):
        if name == "matplotlib" and not is_own:
            assert module == "plot"
        if name == "greedy" and package == "tao_cluster":
            assert not at_top, "greedy builds on tao_cluster, not the other way round"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_say_what_they_own_and_stay_short(path):
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text))
    assert len(text.splitlines()) <= 500
