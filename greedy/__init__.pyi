from .estimators.baselines import CART
from .estimators.exkmc import ExKMC
from .estimators.kauri import Kauri
from .estimators.mixture import MixtureTree
from .estimators.parting import IMM, ExGreedy, ExShallow
from .estimators.search import ExShallowSearch
from .estimators.spex import SpEx
from .methods.expansion import build_exkmc
from .methods.kauri import build_kauri
from .methods.mixture import build_mixture_tree
from .methods.parting import build_exgreedy, build_exshallow, build_imm
from .methods.spex import build_spex

__all__ = [
    "CART",
    "IMM",
    "ExGreedy",
    "ExKMC",
    "ExShallow",
    "ExShallowSearch",
    "Kauri",
    "MixtureTree",
    "SpEx",
    "build_exgreedy",
    "build_exkmc",
    "build_exshallow",
    "build_imm",
    "build_kauri",
    "build_mixture_tree",
    "build_spex",
]
