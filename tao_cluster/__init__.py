"""Explainable clustering by decision trees: sparse oblique trees by TAO clustering."""

from .estimator import TAOClustering
from .exact_trees import bisector_tree, voronoi_tree
from .path import knee, tao_path
from .tree import Tree

__version__ = "0.1.0"
__all__ = [
    "TAOClustering",
    "Tree",
    "__version__",
    "bisector_tree",
    "knee",
    "tao_path",
    "voronoi_tree",
]
