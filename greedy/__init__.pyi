from . import datasets
from .estimators.baselines import CART, CUBT, CLTree, KDTree
from .estimators.exkmc import ExKMC
from .estimators.extremes import ExKCenter, ExSingleLink
from .estimators.parting import EMN, IMM, DPTree, ExGreedy, ExShallow
from .estimators.random_cuts import RandomCuts
from .estimators.search import ExShallowSearch
from .methods.baselines.cltree import build_cltree
from .methods.baselines.cubt import build_cubt
from .methods.baselines.kdtree import build_kdtree
from .methods.dynamic import build_dptree
from .methods.expansion import build_exkmc
from .methods.kcenter import build_exkcenter
from .methods.parting import build_emn, build_exgreedy, build_exshallow, build_imm
from .methods.random_cuts import build_random_cuts
from .methods.single_link import build_exsinglelink

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
    "RandomCuts",
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
    "build_kdtree",
    "build_random_cuts",
    "datasets",
]
