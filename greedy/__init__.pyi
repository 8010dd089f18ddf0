from . import bounds, datasets
from .cart import CART
from .center_cuts import EMN, IMM, ExGreedy
from .cltree import CLTree
from .cubt import CUBT
from .divclust import DIVCLUST
from .dptree import DPTree
from .exkcenter import ExKCenter
from .exkmc import ExKMC
from .exshallow import ExShallow, ExShallowSearch
from .exsinglelink import ExSingleLink
from .kauri import Kauri
from .kdtree import KDTree
from .mixture_tree import MixtureTree
from .random_cuts import RandomCuts
from .spex import SpEx

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
    "datasets",
]
