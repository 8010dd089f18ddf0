"""A common factor of all weights changes no figure of any public function that takes weights."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris

from greedy import CART, IMM, ExKMC
from tao_cluster import compare, knee, measures, outofcore, stability
from tao_cluster.report import report

X = load_iris().data
WEIGHT = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
MODEL = ExKMC(3, max_leaves=5, random_state=0).fit(X, sample_weight=WEIGHT)
BLOCKS = [slice(0, 100), slice(100, 150)]
MODELS = [IMM(3, random_state=0).fit(X, sample_weight=WEIGHT), MODEL]


def of_compare(weight):
    found = compare(X, 3, ["imm", "cart"], validation=0.2, sample_weight=weight).table
    return found.drop(columns=["method", "seconds"]).astype(float).to_numpy()


def of_stability(weight):
    found = stability(IMM(3, random_state=0), X, n=2, sample_weight=weight)
    return [*found.summary.to_numpy().ravel(), *found.pairs.values(), *found.features.to_numpy()[0]]


def of_knee(weight):
    return [knee(MODELS, validation=X, sample_weight=weight).tree_.n_parameters]


def of_blocks(weight):
    parts = [weight[part] for part in BLOCKS]
    blocks = [X[part] for part in BLOCKS]
    return [outofcore.fit(CART(3), blocks, sample_weight=parts, random_state=0).cost_increase_]


def of_report(weight):
    nodes = report(MODEL.tree_, X, sample_weight=weight)["nodes"]
    return [node[name] for node in nodes for name in ("share", "rows") if node[name]]


FIGURES = {
    "accuracy": lambda w: measures.accuracy(MODEL.labels_, MODEL.free_labels_, w),
    "matched": lambda w: measures.accuracy(MODEL.labels_, MODEL.free_labels_, w, matched=True),
    "ARI": lambda w: measures.adjusted_rand_index(MODEL.labels_, MODEL.free_labels_, w),
    "NMI": lambda w: measures.normalized_mutual_information(MODEL.labels_, MODEL.free_labels_, w),
    "WAD": lambda w: measures.weighted_average_depth(MODEL, X, w),
    "WAES": lambda w: measures.weighted_average_explanation_size(MODEL, X, w),
    "usage": lambda w: measures.feature_usage(MODEL, X, w),
    "spacing": lambda w: measures.spacing(X, MODEL.labels_, w),
    "surrogate": lambda w: measures.surrogate_cost(MODEL, X, "kmeans", w) / w.sum(),
    "score": lambda w: MODEL.score(X, sample_weight=w) / w.sum(),
    "cost increase": lambda w: MODEL.cost_increase(X, sample_weight=w),
    "explainability": lambda w: list(measures.explainability(MODEL, X, None, w).values())[:-1],
    "report": of_report,
    "price": lambda w: measures.price_of_explainability(MODEL, X, None, w),
    "importances": lambda w: ExKMC(3, random_state=0).fit(X, None, w).feature_importances_,
    "knee": of_knee,
    "compare": of_compare,
    "stability": of_stability,
    "blocks": of_blocks,
}


@pytest.mark.spaced(quick=5)
@pytest.mark.parametrize("name", FIGURES)
def test_a_common_factor_changes_no_figure(name):
    figures = FIGURES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = np.asarray(figures(WEIGHT), dtype=float)
        for factor in (1 / 150, 1e-12, 3.7, 2.0**40, 1e9):
            found = np.asarray(figures(factor * WEIGHT), dtype=float)
            np.testing.assert_allclose(found, plain, rtol=1e-9, atol=1e-9)
