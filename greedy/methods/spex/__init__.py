"""SpEx: trees whose cuts have the least conductance in a graph of the rows."""

from .build import GRAPHS, build_spex, grow_spex

__all__ = ["GRAPHS", "build_spex", "grow_spex"]
