"""Proven upper bounds of the cost of a tree relative to the clustering that it explains."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tao_cluster.tree import labels_of

from .baselines.random_cuts import DEFAULT_RULE

__all__ = [
    "Bound",
    "bound",
    "bound_of",
]


@dataclass(frozen=True)
class Bound:
    """A proven upper bound of the price of explainability, a ratio of costs; see :func:`bound`.

    Parameters
    ----------
    value : float or None
        The bound as a number. None if only an order of growth such as O(k log k) is proven.
    formula : str
        The bound as a formula, for k clusters, d features, n rows and H levels of tests.
    source : str
        Paper and theorem.
    is_mean : bool
        Whether the bound holds for the mean over random trees instead of every tree.
    """

    value: float | None
    formula: str
    source: str
    is_mean: bool = False

    @property
    def is_exact(self):
        """Whether the bound is a number, not only an order of growth such as O(k log k)."""
        return self.value is not None

    def __str__(self):
        number = self.formula if self.value is None else f"{self.value:.4g} = {self.formula}"
        return f"{number}{' in the mean' if self.is_mean else ''} ({self.source})"


def _known(formula, source, value=None, is_mean=False):
    """Return a bound whose value is a function of (k, d, n, depth), or None."""
    return Bound(value, formula, source, is_mean)


_IMM = "Dasgupta, Frost, Moshkovitz & Rashtchian 2020, theorem 3"
_GAMLATH = "Gamlath, Jia, Polak & Svensson 2021"
_MAKARYCHEV = "Makarychev & Shan 2021"
_LABER = "Laber & Murtinho 2021"

_HARMONIC = _known(
    "1 + H_{k-1}",
    "Gupta, Pittu, Svensson & Yuan 2023",
    lambda k, d, n, depth: 1.0 + float((1 / np.arange(1, k)).sum()),
    is_mean=True,
)
_KNOWN = {
    ("imm", "kmeans"): _known("8 H k + 2", _IMM, lambda k, d, n, depth: 8.0 * depth * k + 2.0),
    ("imm", "kmedians"): _known("2 H + 1", _IMM, lambda k, d, n, depth: 2.0 * depth + 1.0),
    ("emn", "kmeans"): _known("O(k log k)", "Esfandiari, Mirrokni & Narayanan 2022"),
    ("random-coordinate", "kmedians"): _HARMONIC,
    ("gamlath", "kmedians"): _HARMONIC,
    ("esfandiari", "kmedians"): _HARMONIC,
    ("gamlath", "kmeans"): _known("O(k log^2 k)", _GAMLATH, is_mean=True),
    ("makarychev-shan", "kmedians"): _known("O(log k log log k)", _MAKARYCHEV, is_mean=True),
    ("makarychev-shan", "kmeans"): _known("O(k log k log log k)", _MAKARYCHEV, is_mean=True),
    ("bicriteria", "kmeans"): _known(
        "O(log^2 k log log k / delta), with (1 + delta) k leaves",
        "Makarychev & Shan 2022",
        is_mean=True,
    ),
    ("dptree", "kmedians"): _known(
        "1 + 4 d log2 k",
        f"{_LABER}, theorem 3",
        lambda k, d, n, depth: 1.0 + 4.0 * d * float(np.log2(k)),
    ),
    ("dptree", "kmeans"): _known("O(d k log k)", f"{_LABER}, theorem 4"),
    ("exkcenter", "kcenter"): _known("O(sqrt(d) k^(1 - 1/d))", f"{_LABER}, theorem 2"),
    ("exsinglelink", "spacing"): _known(
        "n - k", f"{_LABER}, lemma 8", lambda k, d, n, depth: float(max(n - k, 1))
    ),
}
# ExKMC starts from IMM's tree and its surrogate cost never rises (Frost et al. 2020, theorem 3).
_KNOWN["exkmc", "kmeans"] = _KNOWN["imm", "kmeans"]


def bound(method, k, d, n=None, *, objective="kmeans", depth=None):
    """Return the proven upper bound of a method's price of explainability.

    The price of explainability is a ratio:

    - for k-means and k-medians, the cost of the tree (with the reference centres or better ones)
      divided by the cost of the reference;
    - for "spacing", the spacing of the optimal clustering divided by that of the tree;
    - for "kcenter", the largest distance in the tree's clusters divided by the optimal one.

    Parameters
    ----------
    method : str
        Name of an estimator, such as "IMM" (in upper or lower case), or of a rule of
        :class:`greedy.RandomCuts`. "RandomCuts" stands for its default rule.
    k, d : int
        Numbers of clusters and of features.
    n : int, optional
        Number of rows. Only "ExSingleLink" needs it.
    objective : {"kmeans", "kmedians", "kcenter", "spacing"}, default="kmeans"
    depth : int, optional
        Number of levels of tests, H. The default is k - 1, the maximum of IMM's trees.

    Returns
    -------
    Bound or None
        None if no bound is proven for this method and objective.

    Raises
    ------
    ValueError
        If the bound needs n and it is not given, or if k or d is below 1.

    Examples
    --------
    >>> from greedy.bounds import bound
    >>> bound("IMM", k=10, d=64, depth=6).value
    482.0
    >>> bound("random-coordinate", k=3, d=2, objective="kmedians").value
    2.5
    >>> print(bound("gamlath", k=10, d=64))
    O(k log^2 k) in the mean (Gamlath, Jia, Polak & Svensson 2021)
    >>> bound("CART", k=10, d=64) is None
    True
    """
    if k < 1 or d < 1:
        raise ValueError(f"k={k} and d={d} must be at least 1.")
    name = method.lower()
    if name == "randomcuts":
        name = DEFAULT_RULE.get(objective, name)
    known = _KNOWN.get((name, objective))
    if known is None:
        return None
    if n is None and known is _KNOWN["exsinglelink", "spacing"]:
        raise ValueError("The bound of ExSingleLink needs n, the number of rows; pass n=len(X).")
    if known.value is None:
        return known
    depth = max(k - 1, 0) if depth is None else depth
    return replace(known, value=known.value(k, d, n or 0, depth))


# Objectives of the estimators that have no parameter `objective` and do not minimise k-means.
_OWN = {"ExKCenter": "kcenter", "ExSingleLink": "spacing"}


def own_objective(model: Any):
    """Return the name of an estimator's objective, or the object that was given as objective."""
    parameters = model.get_params(deep=False)
    return parameters.get("objective", _OWN.get(type(model).__name__, "kmeans"))


def bound_of(model: Any, objective=None):
    """Return the bound of a fitted estimator, for its numbers of clusters, features and levels.

    Parameters
    ----------
    model : fitted estimator
    objective : str, optional
        As in :func:`bound`. The default is the objective of the model: its parameter `objective`,
        or "kcenter" for ExKCenter and "spacing" for ExSingleLink.

    Returns
    -------
    Bound or None
        None if no bound is proven, if `objective` differs from the parameter of the model, or if
        ``base="none"`` (of ExKMC). None also if the cuts and the costs are in different spaces:
        with an embedding or with ``standardize=True``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import IMM
    >>> from greedy.bounds import bound_of
    >>> bound_of(IMM(3, random_state=0).fit(load_iris().data)).formula
    '8 H k + 2'
    """
    objective = own_objective(model) if objective is None else objective
    parameters = model.get_params(deep=False)
    rule = parameters.get("rule", "auto")
    name = type(model).__name__ if rule == "auto" else rule
    is_other = parameters.get("objective", objective) != objective
    if is_other or parameters.get("base") == "none" or parameters.get("standardize", False):
        return None
    if model._space.has_embedding:
        return None
    return bound(
        name,
        len(model.cluster_centers_),
        model.n_features_in_,
        len(labels_of(model)),
        objective=objective,
        depth=model.tree_.max_depth,
    )
