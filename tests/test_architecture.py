"""The import graph: layers in one direction, no cycles, no hidden imports, readable files."""

import ast
import functools
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("tao_cluster", "greedy")
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

# From the lowest layer to the highest: a module imports its own layer and layers below it.
LAYERS = (
    {"_utils", "facade", "tree"},
    {"constraints", "dendrograms", "objectives", "penalties", "problem", "reference"},
    {"base"},
    {"greedy"},
    {"solvers"},
    {"initial_trees", "optimize", "outofcore"},
    # two methods use solvers and initial trees
    {"estimator", "greedy.baselines.cart", "greedy.baselines.spex"},
    {"dask"},
    {"columns", "description", "explanations", "export", "inspection"}
    | {"measures", "page", "plot", "report", "separation"},
    {"chance", "table", "reading", "refitting", "monitoring"},
    {"comparison", "n_clusters", "nesting"},
    {"saving"},
    {"cli"},
)
FACES = {"tao_cluster", "greedy"}  # their __init__.py loads names and submodules at first use

MOST_LINES, MOST_LINES_OF_A_CLASS = 700, 300


def module_of(path):
    """Dotted name of a file; that of the package for an __init__.py."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


def layer_of(module):
    """Number of the layer of one of our modules; None for the __init__.py of a package."""
    package, *rest = module.split(".")
    if module in FACES:
        return None
    part = rest[0].replace("__main__", "cli")
    if package == "greedy":
        part = module if module in {"greedy.baselines.cart", "greedy.baselines.spex"} else "greedy"
    return next(number for number, layer in enumerate(LAYERS) if part in layer)


@functools.cache
def imports_of(path):
    """(imported module, whether it is ours, whether the line is at module level)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = module_of(path).split(".")
    package = package if path.name == "__init__.py" else package[:-1]
    top, result = set(map(id, tree.body)), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            source = ".".join([*base, *(node.module.split(".") if node.module else [])])
            below = [f"{source}.{alias.name}" for alias in node.names]
            found = [name if name in MODULES else source for name in below]
        else:
            continue
        result += [(name, name.split(".")[0] in PACKAGES, id(node) in top) for name in found]
    return result


@functools.cache
def ours():
    """Modules of ours that each module imports."""
    return {
        module: sorted({name for name, is_ours, _ in imports_of(path) if is_ours})
        for module, path in MODULES.items()
    }


def test_modules_import_layers_below_them():
    above = {
        (module, name)
        for module, names in ours().items()
        for name in names
        if None not in (layer_of(module), layer_of(name)) and layer_of(name) > layer_of(module)
    }
    assert above == set()


def test_no_import_hides_in_a_function():
    hidden = {
        (module, name)
        for module in ours()
        for name, is_ours, at_top in imports_of(MODULES[module])
        if is_ours and not at_top
    }
    assert hidden == set()


def test_the_import_graph_has_no_cycles():
    order, state = [], {}

    def visit(module, path):
        if state.get(module) == "done" or module in FACES:
            return
        assert state.get(module) != "open", " -> ".join([*path, module])
        state[module] = "open"
        for name in ours().get(module, ()):
            visit(name, [*path, module])
        state[module] = "done"
        order.append(module)

    for module in sorted(ours()):
        visit(module, [])
    assert len(order) >= 60


@pytest.mark.parametrize(
    ("package", "names"), [("plot", {"matplotlib"}), ("dask", {"dask", "distributed"})]
)
def test_only_one_package_imports_what_is_large(package, names):
    home = ROOT / "tao_cluster" / package
    assert not [
        (path, name)
        for path in FILES
        for name, *_ in imports_of(path)
        if name.split(".")[0] in names and home not in path.parents
    ]


def test_files_say_what_they_own_and_stay_short():
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        assert ast.get_docstring(tree), path
        assert len(text.splitlines()) <= MOST_LINES, path
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                assert node.end_lineno - node.lineno < MOST_LINES_OF_A_CLASS, (path, node.name)


def test_tests_stay_short():
    for path in (ROOT / "tests").rglob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES, path


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
        "from greedy import IMM\n"
        "assert 'tao_cluster.estimator' not in sys.modules\n"
        "assert 'tao_cluster.optimize.fit' not in sys.modules\n"
    )
    in_new_process(code)


@pytest.mark.slow
def test_a_quiet_fit_does_not_import_the_bar_of_notebooks():
    """`tqdm.auto` warns at import where ipywidgets is missing."""
    in_new_process(
        "import sys; sys.modules['tqdm.auto'] = None\n"
        "from tao_cluster import TAOClustering, outofcore\n"
        "X = [[0.0], [1.0], [8.0], [9.0]]\n"
        "TAOClustering(2, random_state=0).fit(X)\n"
        "outofcore.fit(TAOClustering(2, random_state=0), [X])\n"
    )


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
def test_submodules_are_attributes_after_a_plain_import():
    code = (
        "import tao_cluster\n"
        "assert tao_cluster.plot.__name__ == 'tao_cluster.plot'\n"
        "assert tao_cluster.measures.__spec__.origin.endswith('measures.py')\n"
        "assert callable(tao_cluster.stability)\n"
    )
    in_new_process(code)


def test_every_module_lies_where_its_name_says():
    found = {module: Path(importlib.util.find_spec(module).origin) for module in MODULES}
    assert found == MODULES
