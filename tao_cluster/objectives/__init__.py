"""Clustering objectives: dissimilarities to centres, optimal centres, the value of a partition."""

from .alternating import AlternatingClustering, ByDistances
from .base import Objective
from .kcenter import FarthestFirst, KCenter
from .kmeans import KMeans, cluster_means
from .kmedians import KMedians
from .kmedoids import KMedoids
from .labels import Labels, encode
from .spanning import Edges, Spacing, SpannedRows
from .spherical import SphericalKMeans
from .trimmed import Trimmed

__all__ = [
    "AlternatingClustering",
    "ByDistances",
    "Edges",
    "FarthestFirst",
    "KCenter",
    "KMeans",
    "KMedians",
    "KMedoids",
    "Labels",
    "Objective",
    "Spacing",
    "SpannedRows",
    "SphericalKMeans",
    "Trimmed",
    "cluster_means",
    "encode",
]
