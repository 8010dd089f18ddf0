"""Explanations of rows: decision paths, and changes that move a row to another cluster."""

from .change import Change, FeatureChange, nearest_change
from .path import Contribution, Explanation, Explanations, PathTest, explain

__all__ = [
    "Change",
    "Contribution",
    "Explanation",
    "Explanations",
    "FeatureChange",
    "PathTest",
    "explain",
    "nearest_change",
]
