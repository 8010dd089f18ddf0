"""Explainable clustering by decision trees: sparse oblique trees by TAO clustering."""

from .estimator import TAOClustering
from .path import knee, tao_path
from .tree import Tree

__version__ = "0.1.0"
__all__ = ["TAOClustering", "Tree", "__version__", "knee", "tao_path"]
