from .estimators.baselines import CART, CUBT, CLTree, KDTree
from .estimators.exkmc import ExKMC
from .estimators.parting import EMN, IMM, ExGreedy, ExShallow
from .estimators.random_cuts import RandomCuts
from .estimators.search import ExShallowSearch
from .methods.baselines.cltree import build_cltree
from .methods.baselines.cubt import build_cubt
from .methods.baselines.kdtree import build_kdtree
from .methods.expansion import build_exkmc
from .methods.parting import build_emn, build_exgreedy, build_exshallow, build_imm
from .methods.random_cuts import build_random_cuts

__all__ = [
    "CART",
    "CUBT",
    "EMN",
    "IMM",
    "CLTree",
    "ExGreedy",
    "ExKMC",
    "ExShallow",
    "ExShallowSearch",
    "KDTree",
    "RandomCuts",
    "build_cltree",
    "build_cubt",
    "build_emn",
    "build_exgreedy",
    "build_exkmc",
    "build_exshallow",
    "build_imm",
    "build_kdtree",
    "build_random_cuts",
]
