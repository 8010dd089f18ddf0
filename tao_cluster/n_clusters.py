"""`choose_n_clusters`: the measures of several numbers of clusters, and two suggestions."""

from collections.abc import Iterable
from numbers import Integral

from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples

from ._utils.frames import as_pandas, check_aligned
from ._utils.warnings import numpy_errors
from .estimator import TAOClustering
from .plot.charts import plot_n_clusters
from .separation import FOUND_AGAIN, MAJORITY, MOST_ROWS, Suggestion, suggest
from .table import passed_on, table_pipeline


class NClusters(Suggestion):
    """Suggested numbers of clusters. It is printed as its reason and its table.

    Parameters
    ----------
    n_apart : int
        The largest number of groups that are apart; 1 if there are none.
    n_segments : int
        The largest number of segments that are found again in other rows; 1 if there are none.
    reason : str
    table : pandas.DataFrame
        One row per number of clusters k; see :func:`tao_cluster.choose_n_clusters` for the halves.

        ===================  =====================================================================
        Column               Meaning
        ===================  =====================================================================
        density              largest density between two clusters, relative to their lower peak
        gaps                 share of the halvings in which the density is at most 0.5
        stability            least Jaccard index of a cluster
        few_valued           largest share of columns with at most ten values in the squared
                             distance of two centres; NaN if there are no others
        silhouette           mean silhouette, for comparison
        free_cost            cost per row of the clustering of all rows without a tree
        smallest             number of rows in its smallest cluster
        cost_increase        cost of a tree in percent above that without a tree, in one half
        cost_increase_new    the same in the other half
        parameters           number of weights, thresholds and leaves of the tree
        density_tree         largest value of `split_densities_` of the tree
        ===================  =====================================================================

        A number that can no longer hold is not measured in all halvings. Values are NaN if a half
        has fewer than k different rows. With ``trees=False``, the last four columns are absent.
    stability : pandas.DataFrame
        The mean Jaccard index of each cluster, one row per number of clusters.
    """

    def plot(self, *, title=None, **options):
        """Draw the share of divisions with gaps, the stability and the costs of each number.

        Parameters
        ----------
        title : str, optional
            Default: the two numbers.
        **options
            style, width, height, figsize and font_size, as for :func:`tao_cluster.plot.plot_path`.

        Returns
        -------
        array of two matplotlib Axes
        """
        words = f"{self.n_apart} groups are apart" if self.n_apart > 1 else "no groups are apart"
        words += f"; {self.n_segments} segments are found again" if self.n_segments > 1 else ""
        limits = {"gaps": MAJORITY, "stability": FOUND_AGAIN}
        terms = (self.table, self.n_clusters, limits, words if title is None else title)
        return plot_n_clusters(*terms, **options)

    def __repr__(self):
        table = self.table.to_string(float_format=lambda x: f"{round(x, 2):g}", na_rep="-")
        return f"{self.reason}\n\n{table}"


@numpy_errors()
def choose_n_clusters(
    X,
    n_clusters=range(2, 13),
    *,
    estimator=None,
    embedding=None,
    trees=True,
    max_rows=MOST_ROWS,
    random_state=None,
    n_jobs=None,
    **options,
):
    """Find groups that are apart, and segments that are found again in other rows.

    The rows are divided into random halves ten times, and each half is clustered without a tree (by
    k-means for the default objective). Two clusters are apart if rows of the other half are at most
    half as dense between them as at the lower of the peaks on both sides, on the line between their
    centres, without columns of at most ten values, such as categories. `n_apart` is the largest
    number for which all clusters are apart in at least half of the halvings.

    A segment is found again if the clusters of the halves put the same rows together: its mean
    Jaccard index with its match is at least 0.7 (clusterwise stability [1]_). `n_segments` is the
    largest number for which all segments are found again, and columns of at most ten values make
    at most half of any squared distance of centres (unless there are no others).

    `n_clusters` is `n_apart` or, if it is 1, `n_segments`. A cluster with fewer than five rows in a
    half is neither apart nor found again. With fewer than 35 rows per cluster, the suggestion is
    often wrong by one.

    Parameters
    ----------
    X : array-like, CSR matrix or DataFrame of shape (n, d)
        A DataFrame may be raw: :func:`table_pipeline` reads it, unless an `estimator` is given.
    n_clusters : sequence of int, default=range(2, 13)
        Numbers of clusters to compare, at least 2 and at most n.
    estimator : TAOClustering, or Pipeline that ends in one; optional
        The clustering and the trees to compare. By default it is made from the `options`.
    embedding : array-like or CSR matrix of shape (n, m), optional
        The same rows in the space in which they are clustered.
    trees : bool, default=True
        Whether to fit a tree for each number. They take much time and do not change the suggestion.
        Unless the estimator sets a size, a tree has at most one leaf per cluster.
    max_rows : int, default=20000
        Size of a random sample of the rows, if there are more. A trimmed objective uses at most
        5000 rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the halves and of all fits.
    n_jobs : int, optional
        As in :class:`TAOClustering`. The result does not depend on it.
    **options
        Parameters of :class:`TAOClustering` and, for a DataFrame, of :func:`table_pipeline`.

    Returns
    -------
    NClusters
        With the attributes `n_clusters`, `n_apart`, `n_segments`, `reason`, `table` and
        `stability`, and the method `plot`.

    Raises
    ------
    ValueError
        If `n_clusters` are not integers from 2 to n, if both an estimator and options are given, or
        if the estimator has a `reference` or explains labels. If `max_rows` or `trees` has a wrong
        value, or the embedding does not belong to the rows. If `fit` would raise a ValueError.

    References
    ----------
    .. [1] Hennig (2007), Cluster-wise assessment of cluster stability, Computational Statistics &
       Data Analysis 52(1).

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from tao_cluster import choose_n_clusters
    >>> X = make_blobs(400, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)[0]
    >>> found = choose_n_clusters(X, range(2, 6), trees=False, random_state=0)
    >>> found.n_clusters
    3
    """
    X = as_pandas(X)
    check_aligned(X, embedding=embedding)
    numbers = _checked(n_clusters, _num_samples(X))
    if not isinstance(max_rows, Integral) or isinstance(max_rows, bool) or max_rows < 2:
        raise ValueError(f"max_rows must be a number of rows, at least 2; got {max_rows!r}.")
    if not isinstance(trees, bool):
        raise ValueError(f"trees must be True or False; got {trees!r}.")
    settings = {"random_state": random_state, "n_jobs": n_jobs}
    settings = {name: value for name, value in settings.items() if value is not None}
    if estimator is not None and options:
        raise ValueError(
            f"estimator= and {', '.join(options)} exclude each other; set them in the estimator."
        )
    if estimator is not None:
        estimator = clone(estimator)
    elif hasattr(X, "iloc"):
        estimator = table_pipeline(X, 2, **options)
    else:
        estimator = TAOClustering(**options)
    if isinstance(estimator, Pipeline):
        if len(estimator) > 1:
            X = passed_on(estimator, X, fits=True)
        estimator = estimator[-1]
    if not isinstance(estimator, TAOClustering):
        raise TypeError(
            f"estimator must be a TAOClustering or a Pipeline that ends in one; got "
            f"{type(estimator).__name__}."
        )
    estimator.set_params(**settings)
    given = {"embedding": embedding, "trees": trees, "max_rows": max_rows}
    return NClusters(**vars(suggest(X, estimator, numbers, **given)))


def _checked(n_clusters, n_rows):
    """Return numbers of clusters as a sorted list; raise an error if they cannot be compared."""
    is_list = isinstance(n_clusters, Iterable) and not isinstance(n_clusters, str)
    numbers = list(n_clusters) if is_list else []
    is_valid = all(isinstance(k, Integral) and 2 <= k <= n_rows for k in numbers)
    if not numbers or not is_valid:
        raise ValueError(
            f"n_clusters must be several numbers from 2 to {n_rows}, the number of rows, such as "
            f"range(2, {min(12, n_rows) + 1}); got {n_clusters!r}."
        )
    return sorted({int(k) for k in numbers})
