from . import bounds
from .baselines.cart import CART
from .baselines.cltree import CLTree
from .baselines.cubt import CUBT
from .baselines.divclust import DIVCLUST
from .baselines.dptree import DPTree
from .baselines.exkcenter import ExKCenter
from .baselines.exsinglelink import ExSingleLink
from .baselines.kauri import Kauri
from .baselines.kdtree import KDTree
from .baselines.mixture_tree import MixtureTree
from .baselines.random_cuts import RandomCuts
from .baselines.spex import SpEx
from .center_cuts import EMN, IMM, ExGreedy
from .exkmc import ExKMC
from .exshallow import ExShallow, ExShallowSearch

__all__ = [
    "CART",
    "CUBT",
    "DIVCLUST",
    "EMN",
    "IMM",
    "CLTree",
    "DPTree",
    "ExGreedy",
    "ExKCenter",
    "ExKMC",
    "ExShallow",
    "ExShallowSearch",
    "ExSingleLink",
    "KDTree",
    "Kauri",
    "MixtureTree",
    "RandomCuts",
    "SpEx",
    "bounds",
]
