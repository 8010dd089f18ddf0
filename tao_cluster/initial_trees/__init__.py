"""Builders of initial trees for a fit, and trees that are built from cluster centres alone."""

from .builders import Bisecting, Centroids, Given, InitialTree, InTurn, Random

__all__ = ["Bisecting", "Centroids", "Given", "InTurn", "InitialTree", "Random"]
