"""SpEx: trees whose cuts have the least conductance in a graph of the rows."""

from .build import build_spex, grow_spex

__all__ = ["build_spex", "grow_spex"]
