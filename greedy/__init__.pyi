from .estimators.baselines import CART
from .estimators.exkmc import ExKMC
from .estimators.parting import EMN, IMM, ExGreedy, ExShallow
from .estimators.random_cuts import RandomCuts
from .estimators.search import ExShallowSearch
from .methods.expansion import build_exkmc
from .methods.parting import build_emn, build_exgreedy, build_exshallow, build_imm
from .methods.random_cuts import build_random_cuts

__all__ = [
    "CART",
    "EMN",
    "IMM",
    "ExGreedy",
    "ExKMC",
    "ExShallow",
    "ExShallowSearch",
    "RandomCuts",
    "build_emn",
    "build_exgreedy",
    "build_exkmc",
    "build_exshallow",
    "build_imm",
    "build_random_cuts",
]
