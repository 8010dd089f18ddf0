"""The methods that `compare` knows by name."""

from collections.abc import Callable
from dataclasses import dataclass

from greedy import (
    CART,
    CUBT,
    EMN,
    IMM,
    CLTree,
    DPTree,
    ExGreedy,
    ExKMC,
    ExShallow,
    Kauri,
    KDTree,
    MixtureTree,
    RandomCuts,
    SpEx,
)

from ..estimator import TAOClustering

_KMEANS = frozenset({"kmeans"})
_BOTH = frozenset({"kmeans", "kmedians"})
_ANY: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Method:
    """A method that `compare` knows by name.

    Parameters
    ----------
    title : str
        What tables and pictures call it.
    make : callable
        The estimator, from a number of leaves where these are asked for.
    is_sized : bool
        Whether it has as many leaves as one wants; else it has a leaf a cluster.
    is_path : bool
        Whether one path gives trees of all sizes.
    objectives : frozenset of str
        Names of those that it knows; empty if it knows any.
    """

    title: str
    make: Callable
    is_sized: bool = False
    is_path: bool = False
    objectives: frozenset = _KMEANS

    def knows(self, objective):
        """Whether it knows an objective, given as its name or as an object."""
        return not self.objectives or (isinstance(objective, str) and objective in self.objectives)


METHODS = {
    "tao": Method("TAO oblique", TAOClustering, is_path=True, objectives=_ANY),
    "tao-axis": Method(
        "TAO axis",
        lambda n: TAOClustering(split="axis", max_leaves=n),
        is_sized=True,
        objectives=_ANY,
    ),
    "exkmc": Method("ExKMC", lambda n: ExKMC(max_leaves=n), is_sized=True),
    "imm": Method("IMM", IMM, objectives=_BOTH),
    "emn": Method("EMN", EMN, objectives=_BOTH),
    "random-cuts": Method("random cuts", RandomCuts, objectives=_BOTH),
    "dp": Method("DP tree", DPTree, objectives=_BOTH),
    "exgreedy": Method("ExGreedy", ExGreedy, objectives=_BOTH),
    "exshallow": Method("ExShallow", ExShallow, objectives=_BOTH),
    "kauri": Method("Kauri", lambda n: Kauri(max_leaves=n), is_sized=True),
    "spex": Method("SpEx", lambda n: SpEx(max_leaves=n), is_sized=True),
    "spex-oblique": Method(
        "SpEx oblique", lambda n: SpEx(split="oblique", max_leaves=n), is_sized=True
    ),
    "kdtree": Method("k-d tree", lambda n: KDTree(max_leaves=n), is_sized=True, objectives=_BOTH),
    "cubt": Method("CUBT", lambda n: CUBT(max_leaves=n), is_sized=True, objectives=_BOTH),
    "cltree": Method("CLTree", lambda n: CLTree(max_leaves=n), is_sized=True, objectives=_BOTH),
    "mixture": Method("mixture tree", MixtureTree),
    "cart": Method("CART", lambda n: CART(max_leaves=n), is_sized=True, objectives=_ANY),
}

# Those of a comparison that names none.
DEFAULT = ("tao", "tao-axis", "exkmc", "imm", "exgreedy", "exshallow", "cart")
