"""ExShallow*: the search for a depth factor that meets goals."""

import numpy as np
import pytest
from building import interrupt_after
from sklearn.exceptions import ConvergenceWarning

from greedy import ExShallow, ExShallowSearch, exshallow
from tao_cluster import TAOClustering
from tao_cluster.measures import weighted_average_explanation_size


@pytest.mark.slow
def test_search_meets_goals(digits, digits_reference):
    options = {"reference": digits_reference}
    plain = ExShallow(10, **options).fit(digits)
    size = weighted_average_explanation_size(plain.tree_, digits)
    same = ExShallowSearch(10, **options).fit(digits)
    assert same.tree_ == plain.tree_
    assert same.depth_factor_ == 0.03
    short = ExShallowSearch(10, max_explanation_size=size - 0.3, **options).fit(digits)
    assert weighted_average_explanation_size(short.tree_, digits) <= size - 0.3
    assert short.depth_factor_ > 0.03
    limit = plain.cost_increase_ + 2
    both = ExShallowSearch(10, max_cost_increase=limit, **options).fit(digits)
    assert both.cost_increase_ <= limit
    assert weighted_average_explanation_size(both.tree_, digits) <= size
    assert len(both.history_) == 12
    for record in both.history_:
        fit = ExShallow(10, depth_factor=record["depth_factor"], **options).fit(digits)
        assert record["cost_increase"] == pytest.approx(fit.cost_increase_)


def test_search_says_when_a_goal_is_out_of_reach(digits, digits_reference):
    with pytest.warns(ConvergenceWarning, match="costs at most 1 % more"):
        model = ExShallowSearch(
            10, max_cost_increase=1, max_iter=4, reference=digits_reference
        ).fit(digits)
    assert model.cost_increase_ == min(record["cost_increase"] for record in model.history_)
    assert model.n_iter_ == len(model.history_) == 4
    assert model.history_[-1]["depth_factor"] == 0


@pytest.mark.slow
def test_the_search_is_an_initial_tree(digits, digits_reference):
    search = ExShallowSearch(10, max_explanation_size=3.5)
    options = {"lambda_": 0.1, "reference": digits_reference, "random_state": 0}
    assert TAOClustering(10, init=search, **options).fit(digits).tree_.n_leaves >= 2
    tree = ExShallowSearch(10, max_explanation_size=3.5, reference=digits_reference).fit(digits)
    centers, weight = digits_reference.cluster_centers_, np.ones(len(digits))
    built = search.build(digits, digits_reference.labels_, centers, weight)
    assert built == tree.tree_


def test_parameters_of_an_initial_tree_are_checked(digits):
    with pytest.raises(ValueError, match="'depth_factor' parameter of ExShallow"):
        TAOClustering(4, init=ExShallow(depth_factor=-1.0)).fit(digits)


def test_an_interrupted_search_keeps_its_best_tree(digits, digits_reference, monkeypatch):
    interrupt_after(monkeypatch, (exshallow, "separate_centers"), 3)
    model = ExShallowSearch(10, max_cost_increase=20, reference=digits_reference)
    with pytest.warns(ConvergenceWarning, match="Interrupted: the best of 3 trees is kept"):
        model.fit(digits)
    assert model.cost_increase_ <= 20
    interrupt_after(monkeypatch, (exshallow, "separate_centers"), 0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(digits)
