"""The house: rooms in one direction, no circles, no hidden imports, files that stay readable."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("tao_cluster", "greedy")
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

# From the ground up: a room imports itself and rooms before it.
ROOMS = (
    "core",
    "problem",
    "greedy",
    "solvers",
    "search",
    "estimators",
    "outofcore",
    "inspection",
    "saving",
    "cli",
)
# Files that stand at the top of a package.
ESTIMATORS = {
    "tao_cluster.base",
    "tao_cluster.estimator",
    "tao_cluster.paths",
}
FACES = {"tao_cluster", "tao_cluster.core.aliases", "greedy"}  # they hand names on

# The facade: methods of Tree and of estimators that only call what is above them.
FACADE = "tao_cluster.core.tree.readable"

MOST_LINES, MOST_LINES_OF_A_CLASS, MOST_ENTRIES = 400, 300, 12


def module_of(path):
    """Dotted name of a file; that of the package for an __init__.py."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


def room_of(module):
    """Name of the room of one of our modules; None for a face."""
    package, *rest = module.split(".")
    if module in ESTIMATORS or (package == "greedy" and rest[:1] == ["estimators"]):
        return "estimators"
    if module in FACES:
        return None
    return "greedy" if package == "greedy" else rest[0].replace("__main__", "cli")


def imports_of(path):
    """(imported module, whether it is ours, whether the line is at module level)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = module_of(path).split(".")
    package = package if path.name == "__init__.py" else package[:-1]
    for node in ast.walk(tree):
        at_top = node in tree.body
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            source = ".".join([*base, *(node.module.split(".") if node.module else [])])
            below = [f"{source}.{alias.name}" for alias in node.names]
            found = [name if name in MODULES else source for name in below]
        else:
            continue
        for name in found:
            yield name, name.split(".")[0] in PACKAGES, at_top


OURS = {
    module: sorted({name for name, is_ours, _ in imports_of(path) if is_ours})
    for module, path in MODULES.items()
    if module != FACADE
}


@pytest.mark.parametrize("module", sorted(OURS))
def test_rooms_import_rooms_below_them(module):
    room = room_of(module)
    if room is None:
        return
    for name in OURS[module]:
        other = room_of(name)
        if other is not None:
            assert ROOMS.index(other) <= ROOMS.index(room), f"{module} imports {name}"


@pytest.mark.parametrize("module", sorted(MODULES))
def test_no_import_hides_in_a_function(module):
    hidden = [
        name for name, is_ours, at_top in imports_of(MODULES[module]) if is_ours and not at_top
    ]
    assert not hidden or module == FACADE


def test_no_circles():
    order, state = [], {}

    def visit(module, path):
        if state.get(module) == "done" or module in FACES:
            return
        assert state.get(module) != "open", " -> ".join([*path, module])
        state[module] = "open"
        for name in OURS.get(module, ()):
            visit(name, [*path, module])
        state[module] = "done"
        order.append(module)

    for module in sorted(OURS):
        visit(module, [])
    assert len(order) >= 60


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_matplotlib_is_for_pictures(path):
    if any(name.split(".")[0] == "matplotlib" for name, *_ in imports_of(path)):
        assert ROOT / "tao_cluster" / "inspection" / "plot" in path.parents


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_dask_is_in_its_room(path):
    if any(name.split(".")[0] in {"dask", "distributed"} for name, *_ in imports_of(path)):
        assert ROOT / "tao_cluster" / "outofcore" / "dask" in path.parents


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_say_what_they_own_and_stay_short(path):
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert ast.get_docstring(tree)
    assert len(text.splitlines()) <= MOST_LINES
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            assert node.end_lineno - node.lineno < MOST_LINES_OF_A_CLASS, node.name


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("*.py")), ids=lambda path: path.name)
def test_tests_stay_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def test_rooms_hold_few_things():
    for folder in {path.parent for path in FILES}:
        entries = [
            entry
            for entry in folder.iterdir()
            if entry.name not in {"__init__.py", "__init__.pyi", "py.typed", "__pycache__"}
        ]
        assert len(entries) <= MOST_ENTRIES, folder


def in_new_process(code):
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)  # noqa: S603


@pytest.mark.slow
def test_names_are_loaded_at_first_use():
    """`import tao_cluster, greedy` loads neither numba nor scikit-learn, nor any room."""
    code = (
        "import sys, tao_cluster, greedy\n"
        "loaded = {name.split('.')[0] for name in sys.modules}\n"
        "assert not loaded & {'numba', 'sklearn', 'matplotlib', 'scipy'}, loaded\n"
        "assert {'TAOClustering', 'Tree', 'tao_path'} <= set(dir(tao_cluster))\n"
        "from greedy import build_imm\n"
        "assert 'tao_cluster.estimator' not in sys.modules\n"
        "assert 'tao_cluster.search.fit' not in sys.modules\n"
    )
    in_new_process(code)


@pytest.mark.slow
def test_without_dask_a_sentence_says_what_to_install():
    code = (
        "import sys; sys.modules['distributed'] = None\n"
        "import tao_cluster.outofcore\n"
        "assert 'dask' not in sys.modules\n"
        "try: import tao_cluster.dask\n"
        "except ImportError as error: assert 'pip install \"tao-cluster[dask]\"' in str(error)\n"
        "else: raise AssertionError\n"
    )
    in_new_process(code)


@pytest.mark.slow
def test_aliases_are_the_modules_themselves():
    code = (
        "import tao_cluster.measures, tao_cluster.export.text\n"
        "from tao_cluster.inspection import export, measures\n"
        "assert tao_cluster.measures is measures and tao_cluster.export is export\n"
        "assert measures.__spec__.name == 'tao_cluster.inspection.measures'\n"
        "from tao_cluster.inspection.export import text\n"
        "assert tao_cluster.export.text is text\n"
        "import importlib, tao_cluster.core.aliases as aliases\n"
        "for alias in aliases.ALIASES: importlib.import_module(f'tao_cluster.{alias}')\n"
    )
    in_new_process(code)
