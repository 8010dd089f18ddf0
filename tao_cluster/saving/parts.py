"""Classes that a file may contain, by name. All other classes are rejected."""

from inspect import isclass

from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.cluster import MiniBatchKMeans
from sklearn.mixture import GaussianMixture

import greedy

from ..columns.readers import READERS
from ..estimator import TAOClustering
from ..initial_trees import Bisecting, Centroids, Given, InTurn, Random
from ..initial_trees.cart import Cart
from ..objectives import KCenter, KMeans, KMedians, KMedoids, Labels, SphericalKMeans
from ..objectives.spanning import Spacing
from ..optimize.algorithms import AxisAligned, DirectForm, Oblique, PenaltyMethod
from ..penalties import SquaredError, ZeroOne
from ..problem.scaling import ClusteringSpace, Scaling
from ..solvers import Axis, Exact, Liblinear, Newton, WeightedLiblinear
from ..tree import Split
from ..tree.growth import Growth


def _by_name(classes):
    return {cls.__name__: cls for cls in classes}


ESTIMATORS = _by_name([TAOClustering, *filter(isclass, map(greedy.__getattr__, greedy.__all__))])

# Data classes, which are saved as the values of their fields.
PARTS = _by_name(
    [
        *(KMeans, SphericalKMeans, KMedians, KMedoids, KCenter, Spacing, Labels),
        *(ZeroOne, SquaredError, Newton, Liblinear, WeightedLiblinear, Axis, Exact),
        *(DirectForm, PenaltyMethod, Oblique, AxisAligned),
        *(Bisecting, Centroids, Random, InTurn, Given, Cart),
        *(Scaling, ClusteringSpace, Split, Growth, *READERS.values()),
    ]
)

# Estimators of scikit-learn that occur as parameters or results. Their state is numbers and arrays.
OTHERS = _by_name([SklearnKMeans, MiniBatchKMeans, GaussianMixture])
