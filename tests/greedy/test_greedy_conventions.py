"""scikit-learn's checks of every estimator of greedy, once each."""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from greedy import CART, DPTree, ExKCenter, MixtureTree, SpEx
from tao_cluster.saving.parts import ESTIMATORS

METHODS = [
    method()
    for method in ESTIMATORS.values()
    if method.__module__.startswith("greedy") and method not in (CART, MixtureTree)
]
VARIANTS = [
    DPTree(objective="kmedians"),
    ExKCenter(rest="halves"),
    SpEx(graph="knn", split="oblique"),
]


def run(estimator, check):
    with warnings.catch_warnings():
        # Some checks have fewer distinct rows than clusters.
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.mark.slow
@parametrize_with_checks([*METHODS, CART(random_state=0), MixtureTree()])
def test_scikit_learn_conventions(estimator, check):
    run(estimator, check)


@pytest.mark.sweep
@parametrize_with_checks(VARIANTS)
def test_scikit_learn_conventions_of_variants(estimator, check):
    run(estimator, check)
