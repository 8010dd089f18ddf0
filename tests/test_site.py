"""The pages: README stays short, every public name is in the reference."""

import importlib
import inspect
import re
import tomllib
from pathlib import Path

import pytest

import greedy
from tao_cluster import __version__, plot

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
RECIPE = (ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
MODULES = (
    "greedy",
    "greedy.bounds",
    "tao_cluster",
    "tao_cluster.columns",
    "tao_cluster.comparison",
    "tao_cluster.dask",
    "tao_cluster.dendrograms",
    "tao_cluster.explanations",
    "tao_cluster.export",
    "tao_cluster.initial_trees",
    "tao_cluster.initial_trees.cart",
    "tao_cluster.measures",
    "tao_cluster.n_clusters",
    "tao_cluster.objectives",
    "tao_cluster.optimize.algorithms",
    "tao_cluster.outofcore",
    "tao_cluster.page",
    "tao_cluster.penalties",
    "tao_cluster.plot",
    "tao_cluster.reference",
    "tao_cluster.report",
    "tao_cluster.solvers",
)
# Other modules use more of these than users need.
PUBLIC = {
    "tao_cluster.columns": {"Numeric", "RawView", "TableReader", "raw_view"},
    "tao_cluster.columns.readers": {
        *("Number", "Level", "Written", "Date"),
        "UnreadableCellError",
    },
    "tao_cluster.reading": {"Reading", "cell_errors"},
    "tao_cluster.comparison": {"Comparison", "explains_labels"},
    "tao_cluster.n_clusters": {"NClusters"},
}
# They are described in words, or where they are first found.
ELSEWHERE = {"__version__", "bounds", "datasets"}
MOST_WORDS = 1001


def reference():
    """(module, name) of everything that the pages of docs/api list."""
    found = set()
    for page in DOCS.glob("api/*.rst"):
        module, is_list = None, False
        for line in page.read_text(encoding="utf-8").splitlines():
            if match := re.match(r"\.\. (?:current)?module:: (\S+)", line):
                module = match[1]
            is_list = line.startswith(".. autosummary::") or (is_list and line[:1] in {"", " "})
            if is_list and re.fullmatch(r"   \w+", line):
                found.add((module, line.strip()))
    return found


def public(module):
    """Public names of a module."""
    if module in PUBLIC:
        return PUBLIC[module]
    package = importlib.import_module(module)
    names = set(package.__all__) - ELSEWHERE
    return {name for name in names if not inspect.ismodule(getattr(package, name))}


@pytest.mark.parametrize("module", MODULES)
def test_public_names_are_in_the_reference(module):
    assert {name for where, name in reference() if where == module} == public(module)


@pytest.mark.parametrize(("module", "name"), sorted(reference()))
def test_names_in_the_reference_say_what_they_are(module, name):
    assert inspect.getdoc(getattr(importlib.import_module(module), name))


def test_estimators_and_functions_have_an_example():
    things = {
        f"{module}.{name}": getattr(importlib.import_module(module), name)
        for module, name in reference()
    }
    without = {
        name
        for name, thing in things.items()
        if (inspect.isfunction(thing) or (inspect.isclass(thing) and name.count(".") == 1))
        and ">>> " not in inspect.getdoc(thing)
    }
    assert without == set()


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) < MOST_WORDS


def test_page_of_notebooks_lists_all_of_them():
    text = (DOCS / "notebooks.md").read_text(encoding="utf-8")
    names = {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert set(re.findall(r"\(\.\./notebooks/(\w+\.ipynb)\)", text)) == names


def test_files_beside_the_package_have_its_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^version: (\S+)$", citation, flags=re.MULTILINE)[1] == __version__
    assert re.search(r"^## (\S+)", changes, flags=re.MULTILINE)[1] == __version__
    assert f'version: "{__version__}"' in RECIPE


def test_conda_recipe_has_the_dependencies():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ours = {name.replace("matplotlib", "matplotlib-base") for name in project["dependencies"]}
    own_package = RECIPE.split("name: tao-cluster")[-1]
    listed = re.findall(r"^ +- (\S+ >=\S+)$", own_package.split("run:")[1], flags=re.MULTILINE)
    assert {name.replace(" ", "") for name in listed} == ours | {"python>=3.11"}


def test_files_that_are_named_exist():
    scripts = (".github/workflows/ci.yml", "tests/coverage.sh", "docs/guide/reliability.md")
    for text in [(ROOT / path).read_text(encoding="utf-8") for path in scripts]:
        names = re.sub(r"(\S+){(\S+)}(\S*)", _expanded, text)
        paths = re.findall(r"(?<![\w./])(?:tests|docs)/[\w/.]+\w", names)
        assert paths
        assert [path for path in paths if not (ROOT / path).exists()] == []


def test_tests_that_are_named_exist():
    page = (DOCS / "guide" / "reliability.md").read_text(encoding="utf-8")
    tests = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/test_*.py"))
    assert set(re.findall(r"`(test_\w+)`", page)) <= set(re.findall(r"def (test_\w+)", tests))


def _expanded(match):
    """What the shell makes of one list in braces."""
    return " ".join(match[1] + name + match[3] for name in match[2].split(","))


def test_gallery_shows_every_function_that_draws():
    examples = [path.read_text(encoding="utf-8") for path in DOCS.glob("examples/plot_*.py")]
    drawn = {name for name in plot.__all__ if inspect.isfunction(getattr(plot, name))}
    assert {name for name in drawn if any(f"{name}(" in text for text in examples)} == drawn


ESTIMATORS = sorted(name for name in greedy.__all__ if inspect.isclass(getattr(greedy, name)))
BASELINES = {"CLTree", "CUBT", "DIVCLUST", "KDTree"}  # no bound is proven for them


@pytest.mark.parametrize("name", ESTIMATORS)
def test_page_of_methods_has_bound_and_weakness_of_each(name):
    text = (DOCS / "guide" / "methods.md").read_text(encoding="utf-8")
    entries = re.split(r"^(?:### |- (?=`\w))", text, flags=re.MULTILINE)[1:]
    own = [part for part in entries if name in re.findall(r"\w+", part.splitlines()[0])]
    assert len(own) == 1
    asked = () if name in BASELINES else ("Bound", "Weakness")
    assert [words for words in asked if f"*{words}:*" not in own[0]] == []
