from .builders import build_exgreedy, build_exkmc, build_exshallow, build_imm
from .cart import CART
from .estimators import IMM, ExGreedy, ExShallow
from .exkmc import ExKMC
from .exshallow_search import ExShallowSearch

__all__ = [
    "CART",
    "IMM",
    "ExGreedy",
    "ExKMC",
    "ExShallow",
    "ExShallowSearch",
    "build_exgreedy",
    "build_exkmc",
    "build_exshallow",
    "build_imm",
]
