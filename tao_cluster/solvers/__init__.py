"""Solvers of the binary problem at a decision node, one file each."""

from .axis import Axis, is_axis_aligned, upright
from .base import BoundSolver, NodeProblem, NodeSolver, Status, check_supported
from .exact import Exact
from .liblinear import Liblinear
from .newton import Newton
from .thresholds import Refit

__all__ = [
    "Axis",
    "BoundSolver",
    "Exact",
    "Liblinear",
    "Newton",
    "NodeProblem",
    "NodeSolver",
    "Refit",
    "Status",
    "check_supported",
    "is_axis_aligned",
    "upright",
]
