from . import datasets
from .estimators.baselines import CART
from .estimators.exkmc import ExKMC
from .estimators.extremes import ExKCenter, ExSingleLink
from .estimators.parting import IMM, DPTree, ExGreedy, ExShallow
from .estimators.search import ExShallowSearch
from .methods.dynamic import build_dptree
from .methods.expansion import build_exkmc
from .methods.kcenter import build_exkcenter
from .methods.parting import build_exgreedy, build_exshallow, build_imm
from .methods.single_link import build_exsinglelink

__all__ = [
    "CART",
    "IMM",
    "DPTree",
    "ExGreedy",
    "ExKCenter",
    "ExKMC",
    "ExShallow",
    "ExShallowSearch",
    "ExSingleLink",
    "build_dptree",
    "build_exgreedy",
    "build_exkcenter",
    "build_exkmc",
    "build_exshallow",
    "build_exsinglelink",
    "build_imm",
    "datasets",
]
