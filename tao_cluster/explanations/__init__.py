"""Explanations: why rows are in their clusters, what defines one, what would lead to another."""

from .change import Change, FeatureChange, nearest_change
from .path import Contribution, Explanation, Explanations, PathTest, explain
from .profile import ClusterProfile, FeatureRole, cluster_profile

__all__ = [
    "Change",
    "ClusterProfile",
    "Contribution",
    "Explanation",
    "Explanations",
    "FeatureChange",
    "FeatureRole",
    "PathTest",
    "cluster_profile",
    "explain",
    "nearest_change",
]
