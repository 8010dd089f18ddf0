"""Methods fitted to one free clustering, in one table: `compare`, and what its tables are."""

from .study import DEFAULT_METHODS, METHODS, compare
from .table import FREE, Comparison, explains_labels

__all__ = ["DEFAULT_METHODS", "FREE", "METHODS", "Comparison", "compare", "explains_labels"]
