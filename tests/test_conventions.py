"""scikit-learn's checks: of further settings of TAOClustering, and of frames as output.

Checks that fail are listed with the reason.
"""

import warnings
from unittest import SkipTest

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_clustering, parametrize_with_checks

import greedy
from tao_cluster import DirectForm, PenaltyMethod, TAOClustering
from tao_cluster.objectives import SphericalKMeans

_ZERO_ROWS = "a row of zeros, which its data have, has no direction: the cosine distance refuses it"
_CLASSIFIER = "what has predict_proba is asked for the tags of a classifier, which this is not"

# By the name of what sets the estimator apart; every other check is passed.
EXPECTED_FAILURES = {
    "SphericalKMeans": {
        "check_estimators_dtypes": _ZERO_ROWS,
        "check_estimator_sparse_tag": _ZERO_ROWS,
        "check_estimator_sparse_array": _ZERO_ROWS,
        "check_estimator_sparse_matrix": _ZERO_ROWS,
    },
    "squared": {
        "check_estimator_sparse_array": _CLASSIFIER,
        "check_estimator_sparse_matrix": _CLASSIFIER,
    },
}

_SMALL = {"lambda_": 0.1, "depth": 2, "algorithm": DirectForm(n_init=1, max_rows=None)}
_HISTOGRAMS = PenaltyMethod(n_init=1, penalty="squared", refine=False)
VARIANTS = [
    TAOClustering(3, objective=SphericalKMeans(n_init=2), **_SMALL),
    TAOClustering(3, lambda_=0.1, depth=2, algorithm=_HISTOGRAMS),
]

GREEDY = [greedy.ExKMC, greedy.MixtureTree]
OUTPUT_CHECKS = [
    estimator_checks.check_set_output_transform,
    estimator_checks.check_set_output_transform_pandas,
    estimator_checks.check_global_output_transform_pandas,
    estimator_checks.check_set_output_transform_polars,
    estimator_checks.check_global_set_output_transform_polars,
]


class Renamed(TAOClustering):
    """A subclass with a `transform` of its own."""

    def transform(self, X):
        """Return the distances, each divided by ten."""
        return super().transform(X) / 10


def expected_failures(estimator):
    """The checks that an estimator fails, with the reason of each."""
    objective = type(estimator.objective).__name__
    penalty = getattr(estimator.algorithm, "penalty", None)
    return EXPECTED_FAILURES.get(objective, EXPECTED_FAILURES.get(penalty, {}))


@pytest.mark.slow
@parametrize_with_checks(VARIANTS, expected_failed_checks=expected_failures)
def test_scikit_learn_conventions(estimator, check):
    run(estimator, check)


@pytest.mark.spaced(quick=1)
@pytest.mark.parametrize("objective", ["kmedoids", "kmedians", "spherical"])
def test_no_cluster_is_lost_to_noise(objective):
    check_clustering("TAOClustering", TAOClustering(3, objective=objective, **_SMALL))


@pytest.mark.slow
@pytest.mark.parametrize("check", OUTPUT_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("cls", [TAOClustering, Renamed, *GREEDY])
def test_set_output_and_the_global_configuration_choose_the_form_of_distances(cls, check):
    estimator = cls(2, **_SMALL) if issubclass(cls, TAOClustering) else cls(2)
    if hasattr(estimator, "n_init"):
        estimator.set_params(n_init=1)
    try:
        run(estimator, lambda estimator: check(cls.__name__, estimator))
    except SkipTest as error:  # polars is not installed
        pytest.skip(str(error))


def run(estimator, check):
    with warnings.catch_warnings():
        # Some checks have fewer distinct rows than clusters, or clusters that a tree loses.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        check(estimator)
