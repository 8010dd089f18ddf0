"""Solvers of the binary problem at a decision node, one file each."""

from .base import BoundSolver, NodeSolver, Split, check_supported
from .liblinear import Liblinear

__all__ = ["BoundSolver", "Liblinear", "NodeSolver", "Split", "check_supported"]
