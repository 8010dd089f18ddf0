from . import bounds, datasets
from .estimators.baselines import CART, CUBT, CLTree, KDTree
from .estimators.exkmc import ExKMC
from .estimators.extremes import ExKCenter, ExSingleLink
from .estimators.kauri import Kauri
from .estimators.mixture import MixtureTree
from .estimators.parting import EMN, IMM, DPTree, ExGreedy, ExShallow
from .estimators.random_cuts import RandomCuts
from .estimators.search import ExShallowSearch
from .estimators.spex import SpEx
from .methods.baselines.cltree import build_cltree
from .methods.baselines.cubt import build_cubt
from .methods.baselines.kdtree import build_kdtree
from .methods.dynamic import build_dptree
from .methods.expansion import build_exkmc
from .methods.kauri import build_kauri
from .methods.kcenter import build_exkcenter
from .methods.mixture import build_mixture_tree
from .methods.parting import build_emn, build_exgreedy, build_exshallow, build_imm
from .methods.random_cuts import build_random_cuts
from .methods.single_link import build_exsinglelink
from .methods.spex import build_spex

__all__ = [
    "CART",
    "CUBT",
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
    "build_cltree",
    "build_cubt",
    "build_dptree",
    "build_emn",
    "build_exgreedy",
    "build_exkcenter",
    "build_exkmc",
    "build_exshallow",
    "build_exsinglelink",
    "build_imm",
    "build_kauri",
    "build_kdtree",
    "build_mixture_tree",
    "build_random_cuts",
    "build_spex",
    "datasets",
]
