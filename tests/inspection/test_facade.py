"""Methods of trees and estimators: those of their functions, and everywhere that lists them."""

import inspect
from pathlib import Path

import pytest
from conftest import random_tree

import tao_cluster
from greedy import IMM
from tao_cluster import explanations, export, page, plot
from tao_cluster.dask import DaskTreeClustering
from tao_cluster.facade import FORMATS, METHODS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", METHODS)
def test_methods_show_the_parameters_and_the_help_of_their_functions(name, rng):
    homes = (export, page, explanations, tao_cluster)
    found = [getattr(home, name) for home in homes if hasattr(home, name)]
    function = plot.plot_tree if name == "plot" else found[0]
    _, *expected = inspect.signature(function).parameters.values()
    for model in (random_tree(rng), IMM(3)):
        method = getattr(model, name)
        assert list(inspect.signature(method).parameters.values()) == expected
        assert inspect.getdoc(method) == inspect.getdoc(function)
    assert inspect.signature(getattr(IMM, name)) == inspect.signature(function)


def test_every_export_is_a_method_and_documented():
    """The command line, Dask models and shared tests take their lists from the facade."""
    functions = {name for name in export.__all__ if name.startswith("to_")} - {"to_dict"}
    assert {f"to_{name}" for name in FORMATS} == functions | {"to_html"}
    api, guide = (DOCS / name for name in ("api/inspection.rst", "guide/exports.md"))
    for name in functions:
        assert name in api.read_text("utf-8")
        assert f"`{name}`" in guide.read_text("utf-8")


def test_dask_models_have_every_method():
    model = DaskTreeClustering(IMM(2))
    model.estimator_ = IMM(2).fit([[0.0], [1.0]])
    assert set(METHODS) <= set(dir(model))
    assert model.to_query() == model.estimator_.to_query()
