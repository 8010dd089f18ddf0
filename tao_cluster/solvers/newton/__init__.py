"""The proximal Newton solver: its steps, kernels over rows, and X as it keeps it."""

from .newton import Newton

__all__ = ["Newton"]
