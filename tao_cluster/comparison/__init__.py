"""`compare` fits methods to one free clustering; `Comparison` is the table of the results."""

from .study import DEFAULT_METHODS, METHODS, compare
from .table import FREE, Comparison, explains_labels

__all__ = ["DEFAULT_METHODS", "FREE", "METHODS", "Comparison", "compare", "explains_labels"]
