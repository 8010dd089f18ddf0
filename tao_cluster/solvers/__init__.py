"""Node solvers: each finds the test of a decision node that sends rows to their better side."""

from .axis import Axis, is_axis_aligned, upright
from .base import BoundSolver, NodeProblem, NodeSolver, Status, check_supported
from .exact import Exact
from .liblinear import Liblinear, WeightedLiblinear
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
    "WeightedLiblinear",
    "check_supported",
    "is_axis_aligned",
    "upright",
]
