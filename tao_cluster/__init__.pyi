# Submodules, each under its own name.
from . import columns as columns
from . import comparison as comparison
from . import explanations as explanations
from . import export as export
from . import initial_trees as initial_trees
from . import measures as measures
from . import objectives as objectives
from . import optimize as optimize
from . import outofcore as outofcore
from . import page as page
from . import penalties as penalties
from . import plot as plot
from . import reading as reading
from . import reference as reference
from . import report as report
from . import saving as saving
from . import solvers as solvers
from . import table as table
from . import tree as tree
from .columns.schema import Schema
from .comparison import compare
from .comparison.stability import stability
from .constraints import Constraints
from .estimator import TAOClustering
from .initial_trees.exact import bisector_tree, voronoi_tree
from .optimize.algorithms import DirectForm, PenaltyMethod
from .optimize.choose import knee
from .path import tao_path
from .reading import read_table
from .saving import load, save
from .table import table_pipeline
from .tree import Tree

__version__: str
__all__ = [
    "Constraints",
    "DirectForm",
    "PenaltyMethod",
    "Schema",
    "TAOClustering",
    "Tree",
    "__version__",
    "bisector_tree",
    "compare",
    "knee",
    "load",
    "read_table",
    "save",
    "stability",
    "table_pipeline",
    "tao_path",
    "voronoi_tree",
]
