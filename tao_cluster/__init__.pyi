from .core.tree import Tree
from .estimator import TAOClustering
from .inspection.comparison import compare
from .inspection.stability import stability
from .paths import tao_path
from .saving import load
from .search.descent.direct_form import DirectForm
from .search.descent.penalty_method import PenaltyMethod
from .search.goals import knee
from .search.starts.exact import bisector_tree, voronoi_tree

__version__: str
__all__ = [
    "DirectForm",
    "PenaltyMethod",
    "TAOClustering",
    "Tree",
    "__version__",
    "bisector_tree",
    "compare",
    "knee",
    "load",
    "stability",
    "tao_path",
    "voronoi_tree",
]
