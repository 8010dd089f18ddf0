"""ExKMC: the curve of one fit, leaves that no cut improves, and Ctrl-C."""

import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from greedy import IMM, ExKMC


@pytest.mark.slow
def test_one_fit_gives_the_whole_curve(digits, digits_reference):
    options = {"reference": digits_reference}
    model = ExKMC(10, max_leaves=40, **options).fit(digits)
    assert [record["leaves"] for record in model.trace_] == list(range(10, 41))
    for record in model.trace_[::12]:
        smaller = ExKMC(10, max_leaves=record["leaves"], **options).fit(digits)
        assert model.tree_at(record["leaves"]) == smaller.tree_
        assert record["cost"] == pytest.approx(smaller.inertia_)
        assert record["cost_increase"] == pytest.approx(smaller.cost_increase_)
        assert record["surrogate"] == pytest.approx(-smaller.surrogate_score(digits))
    assert model.tree_at(40) == model.tree_
    assert model.tree_at(10) == IMM(10, **options).fit(digits).tree_
    with pytest.raises(ValueError, match="must be an integer"):
        model.tree_at(20.0)
    for leaves in (9, 41):
        with pytest.raises(ValueError, match=rf"n_leaves={leaves} must lie in 10\.\.40"):
            model.tree_at(leaves)


def test_midpoints_hold_along_the_curve(digits, digits_reference):
    model = ExKMC(10, max_leaves=30, reference=digits_reference).fit(digits)
    small = ExKMC(10, max_leaves=20, reference=digits_reference).fit(digits)
    assert model.tree_at(20) == small.tree_
    assert model.trace_[-11]["cost"] == pytest.approx(small.inertia_)
    cuts = {(cut["feature"], cut["threshold"]) for cut in model.history_}
    nodes = model.tree_.decision_nodes
    assert cuts == {(model.tree_.split(i)[0][0], model.tree_.threshold[i]) for i in nodes}
    values = ExKMC(10, max_leaves=30, midpoints=False, reference=digits_reference).fit(digits)
    assert [r["cost"] for r in values.trace_] == [r["cost"] for r in model.trace_]
    assert values.tree_ != model.tree_


def test_leaves_that_no_cut_improves_stay():
    """Iris: 7 leaves have no row of another cluster."""
    model = ExKMC(3, max_leaves=12, random_state=0).fit(load_iris().data)
    assert (model.tree_.n_leaves, model.cost_increase_) == (7, 0.0)
    assert model.tree_at(12) == model.tree_


def test_there_are_no_trees_before_a_fit():
    with pytest.raises(NotFittedError):
        ExKMC().tree_at(9)
