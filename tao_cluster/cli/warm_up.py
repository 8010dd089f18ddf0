"""The command `warm-up`: compile the kernels in advance, for images of machines and clusters."""

import time
import warnings

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.datasets import make_blobs

import greedy

from .. import __version__
from ..estimator import TAOClustering
from .arguments import add_command


def add_parser(commands):
    """Add `warm-up` to the command line; see :func:`.using.add_parsers`."""
    text = "compile the numerical code in advance, so that first fits do not have to"
    add_command(commands, "warm-up", text, _run)


def _run(options):
    del options
    start = time.process_time()
    n_fits = warm_up()
    seconds = time.process_time() - start
    print(f"tao-cluster {__version__} is compiled: {n_fits} small fits, {seconds:.0f} CPU seconds.")


def warm_up():
    """Fit small data with each estimator in each form of rows; return the number of fits."""
    X, _ = make_blobs(150, 12, centers=4, cluster_std=6.0, random_state=0)
    X = np.round(X)
    forms = [X, X.astype(np.float32), csr_matrix(X), csr_matrix(X.astype(np.float32))]
    n_fits = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some methods do not take each form, or do not converge
        for rows in forms:
            for estimator in _estimators():
                try:
                    model = estimator.fit(rows)
                except (TypeError, ValueError):
                    continue
                model.predict(rows)
                n_fits += 1
    return n_fits


def _estimators():
    """Yield unfitted estimators that use all kernels of usual fits."""
    terms = {"n_clusters": 4, "random_state": 0}
    yield TAOClustering(**terms)
    yield TAOClustering(**terms, lambda_=1.0, objective="spherical")
    yield TAOClustering(**terms, max_parameters=20, min_samples_leaf=3, standardize=True)
    yield TAOClustering(**terms, split="axis")
    yield TAOClustering(**terms, split="axis", max_leaves=4, min_samples_leaf=3)
    for name in greedy.__all__:
        cls = getattr(greedy, name)
        if hasattr(cls, "fit") and "n_clusters" in cls().get_params():
            yield cls(**terms)
