"""scikit-learn's checks of further settings of TAOClustering; those that fail, with the reason."""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_clustering, parametrize_with_checks

from tao_cluster import DirectForm, PenaltyMethod, TAOClustering
from tao_cluster.objectives import KMedians, KMedoids, SphericalKMeans

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
FURTHER = [
    TAOClustering(3, lambda_=0.1, depth=2, algorithm=DirectForm(n_init=2)),
    TAOClustering(3, objective=KMedoids(n_init=2), **_SMALL),
    TAOClustering(3, objective=KMedians(n_init=2), **_SMALL),
    TAOClustering(3, split="axis", depth=2, algorithm=DirectForm(n_init=1)),
]


def expected_failures(estimator):
    """The checks that an estimator fails, with the reason of each."""
    objective = type(estimator.objective).__name__
    penalty = getattr(estimator.algorithm, "penalty", None)
    return EXPECTED_FAILURES.get(objective, EXPECTED_FAILURES.get(penalty, {}))


@pytest.mark.slow
@parametrize_with_checks(VARIANTS, expected_failed_checks=expected_failures)
def test_scikit_learn_conventions(estimator, check):
    run(estimator, check)


@pytest.mark.sweep
@parametrize_with_checks(FURTHER)
def test_scikit_learn_conventions_of_further_settings(estimator, check):
    run(estimator, check)


@pytest.mark.parametrize("objective", ["kmedoids", "kmedians", "spherical"])
def test_no_cluster_is_lost_to_noise(objective):
    check_clustering("TAOClustering", TAOClustering(3, objective=objective, **_SMALL))


def run(estimator, check):
    with warnings.catch_warnings():
        # Some checks have fewer distinct rows than clusters, or clusters that a tree loses.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        check(estimator)
