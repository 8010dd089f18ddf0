"""Axis-aligned trees that explain a clustering: IMM, ExKMC, ExGreedy, ExShallow."""

from .builders import build_exgreedy, build_exkmc, build_exshallow, build_imm
from .estimators import IMM, ExGreedy, ExKMC, ExShallow, ExShallowSearch

__all__ = [
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
