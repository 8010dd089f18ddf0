"""Solvers of the binary problem at a decision node, one file each."""

from .base import BoundSolver, NodeSolver, Split, check_supported
from .liblinear import Liblinear
from .newton import Newton

__all__ = ["BoundSolver", "Liblinear", "Newton", "NodeSolver", "Split", "check_supported"]
