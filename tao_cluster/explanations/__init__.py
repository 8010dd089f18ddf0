"""Explanations of rows and clusters: decision paths, profiles, tables of means, changes."""

from .change import Change, FeatureChange, nearest_change
from .path import Contribution, Explanation, Explanations, PathTest, explain
from .profile import ClusterProfile, FeatureRole, cluster_profile
from .table import cluster_table

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
    "cluster_table",
    "explain",
    "nearest_change",
]
