from .estimators.baselines import CART
from .estimators.dynamic import DPTree
from .estimators.exkmc import ExKMC
from .estimators.kcenter import ExKCenter
from .estimators.parting import IMM, ExGreedy, ExShallow
from .estimators.search import ExShallowSearch
from .estimators.single_link import ExSingleLink
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
]
