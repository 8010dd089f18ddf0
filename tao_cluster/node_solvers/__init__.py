"""Solvers of the binary problem at a decision node, one file each."""

from .axis import Axis, is_axis_aligned, upright
from .base import BoundSolver, NodeSolver, Split, check_supported, variances
from .liblinear import Liblinear
from .newton import Newton
from .refit import Refit

__all__ = [
    "Axis",
    "BoundSolver",
    "Liblinear",
    "Newton",
    "NodeSolver",
    "Refit",
    "Split",
    "check_supported",
    "is_axis_aligned",
    "upright",
    "variances",
]
