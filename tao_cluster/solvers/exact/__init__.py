"""Nodes solved for what a tree minimises: 0/1 loss plus a price a parameter."""

from .exact import Exact

__all__ = ["Exact"]
