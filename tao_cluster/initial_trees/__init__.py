"""Trees to start from, and trees made of centres alone."""

from .builders import Bisecting, Centroids, Given, InitialTree, InTurn, Random

__all__ = ["Bisecting", "Centroids", "Given", "InTurn", "InitialTree", "Random"]
