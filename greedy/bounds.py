"""What is proven of the methods: by how much a tree costs more than the clustering it explains."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tao_cluster.tree import labels_of

from .random_cuts import DEFAULT_RULE

__all__ = [
    "Bound",
    "bound",
    "bound_of",
]


@dataclass(frozen=True)
class Bound:
    """A proven upper bound of the price of explainability.

    Parameters
    ----------
    value : float or None
        The factor; None where only the order is proven, without its constant.
    formula : str
        With k clusters, d features, n rows, H levels of tests.
    source : str
    is_mean : bool
        Whether it bounds the mean over the random trees instead of every tree.
    """

    value: float | None
    formula: str
    source: str
    is_mean: bool = False

    @property
    def is_exact(self):
        """Whether it is a number: not an order alone."""
        return self.value is not None

    def __str__(self):
        number = self.formula if self.value is None else f"{self.value:.4g} = {self.formula}"
        return f"{number}{' in the mean' if self.is_mean else ''} ({self.source})"


@dataclass(frozen=True)
class _Size:
    k: int
    d: int
    n: int  # 0 if unknown
    depth: int


@dataclass(frozen=True)
class _Known:
    formula: str
    source: str
    value: Callable[[_Size], float] | None = None
    is_mean: bool = False


_IMM = "Dasgupta, Frost, Moshkovitz & Rashtchian 2020, theorem 3"
_GAMLATH = "Gamlath, Jia, Polak & Svensson 2021"
_MAKARYCHEV = "Makarychev & Shan 2021"
_LABER = "Laber & Murtinho 2021"

_HARMONIC = _Known(
    "1 + H_{k-1}",
    "Gupta, Pittu, Svensson & Yuan 2023",
    lambda size: 1.0 + float((1 / np.arange(1, size.k)).sum()),
    is_mean=True,
)
_KNOWN = {
    ("imm", "kmeans"): _Known("8 H k + 2", _IMM, lambda size: 8.0 * size.depth * size.k + 2.0),
    ("imm", "kmedians"): _Known("2 H + 1", _IMM, lambda size: 2.0 * size.depth + 1.0),
    ("emn", "kmeans"): _Known("O(k log k)", "Esfandiari, Mirrokni & Narayanan 2022"),
    ("random-coordinate", "kmedians"): _HARMONIC,
    ("gamlath", "kmedians"): _HARMONIC,
    ("esfandiari", "kmedians"): _HARMONIC,
    ("gamlath", "kmeans"): _Known("O(k log^2 k)", _GAMLATH, is_mean=True),
    ("makarychev-shan", "kmedians"): _Known("O(log k log log k)", _MAKARYCHEV, is_mean=True),
    ("makarychev-shan", "kmeans"): _Known("O(k log k log log k)", _MAKARYCHEV, is_mean=True),
    ("bicriteria", "kmeans"): _Known(
        "O(log^2 k log log k / delta), with (1 + delta) k leaves",
        "Makarychev & Shan 2022",
        is_mean=True,
    ),
    ("dptree", "kmedians"): _Known(
        "1 + 4 d log2 k",
        f"{_LABER}, theorem 3",
        lambda size: 1.0 + 4.0 * size.d * float(np.log2(size.k)),
    ),
    ("dptree", "kmeans"): _Known("O(d k log k)", f"{_LABER}, theorem 4"),
    ("exkcenter", "kcenter"): _Known("O(sqrt(d) k^(1 - 1/d))", f"{_LABER}, theorem 2"),
    ("exsinglelink", "spacing"): _Known(
        "n - k", f"{_LABER}, lemma 8", lambda size: float(max(size.n - size.k, 1))
    ),
}
# ExKMC starts from IMM's tree and its surrogate cost never rises (Frost et al. 2020, theorem 3).
_KNOWN["exkmc", "kmeans"] = _KNOWN["imm", "kmeans"]


def bound(method, k, d, n=None, *, objective="kmeans", depth=None):
    """Proven upper bound of a method's price of explainability.

    That is the cost of a tree, with the reference's centres or better ones, over the cost of the
    reference; for "spacing" the spacing of the optimal clustering over that of the tree's, for
    "kcenter" the largest distance over the optimal one.

    Parameters
    ----------
    method : str
        Name of an estimator, as "IMM", in any case, or of a rule of :class:`greedy.RandomCuts`.
        "RandomCuts" is its default rule.
    k, d : int, clusters and features
    n : int, optional
        Rows; "ExSingleLink" needs it.
    objective : {"kmeans", "kmedians", "kcenter", "spacing"}, default="kmeans"
    depth : int, default k - 1
        H, levels of tests of the tree; IMM's never has more than k - 1.

    Returns
    -------
    Bound, or None if nothing is proven of the method for the objective

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
        raise ValueError("The bound of ExSingleLink needs n, the number of rows.")
    if known.value is None:
        return Bound(None, known.formula, known.source, known.is_mean)
    size = _Size(k, d, n or 0, max(k - 1, 0) if depth is None else depth)
    return Bound(known.value(size), known.formula, known.source, known.is_mean)


# What the methods without a parameter `objective` minimise, where it is not k-means.
_OWN = {"ExKCenter": "kcenter", "ExSingleLink": "spacing"}


def own_objective(model: Any):
    """Name of the objective of an estimator, or the object that was given for it."""
    parameters = model.get_params(deep=False)
    return parameters.get("objective", _OWN.get(type(model).__name__, "kmeans"))


def bound_of(model: Any, objective=None):
    """The bound of a fitted estimator's method, for its own numbers; None if there is none.

    There is none where the tree does not cut the space in which costs are measured: with an
    embedding, or with ``standardize=True``, whose costs are those of other units.

    Parameters
    ----------
    model : fitted estimator
    objective : str, as for :func:`bound`
        None is the model's own: of IMM its parameter, "kcenter" of ExKCenter, "spacing" of
        ExSingleLink.

    Returns
    -------
    Bound or None

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
