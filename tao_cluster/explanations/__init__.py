"""Explanations: why rows are in their clusters, what defines one, what would lead to another."""

from .batch import Explanations
from .change import Change, FeatureChange, nearest_change
from .explaining import explain
from .path import Contribution, Explanation, PathTest
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
