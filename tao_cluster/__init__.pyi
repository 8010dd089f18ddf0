# Submodules, each under its own name.
from . import columns as columns
from . import comparison as comparison
from . import dendrograms as dendrograms
from . import description as description
from . import explanations as explanations
from . import export as export
from . import initial_trees as initial_trees
from . import measures as measures
from . import monitoring as monitoring
from . import n_clusters as n_clusters
from . import nesting as nesting
from . import objectives as objectives
from . import optimize as optimize
from . import outofcore as outofcore
from . import page as page
from . import penalties as penalties
from . import plot as plot
from . import reading as reading
from . import reference as reference
from . import refitting as refitting
from . import report as report
from . import saving as saving
from . import solvers as solvers
from . import table as table
from . import tree as tree
from .columns.schema import OpenQuestionsError, Schema
from .comparison import compare
from .comparison.stability import stability
from .constraints import Constraints
from .description import describe
from .estimator import TAOClustering, tao_path
from .explanations import explain, nearest_change
from .initial_trees.exact import bisector_tree, voronoi_tree
from .monitoring import monitor
from .n_clusters import choose_n_clusters
from .nesting import NestedTrees, fit_nested, nested
from .optimize.algorithms import DirectForm, PenaltyMethod
from .optimize.choose import knee
from .reading import read_table
from .refitting import refit
from .saving import load, save
from .table import table_pipeline
from .tree import Tree

__version__: str
__all__ = [
    "Constraints",
    "DirectForm",
    "NestedTrees",
    "OpenQuestionsError",
    "PenaltyMethod",
    "Schema",
    "TAOClustering",
    "Tree",
    "__version__",
    "bisector_tree",
    "choose_n_clusters",
    "compare",
    "describe",
    "explain",
    "fit_nested",
    "knee",
    "load",
    "monitor",
    "nearest_change",
    "nested",
    "read_table",
    "refit",
    "save",
    "stability",
    "table_pipeline",
    "tao_path",
    "voronoi_tree",
]
