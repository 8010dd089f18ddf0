"""`cluster_profile`: the rules of a cluster, and the features that lead to it."""

from dataclasses import asdict, dataclass

import numpy as np

from ..columns.view import shown
from ..export.format import rows_text
from ..export.text import rules_of
from ..plot.explained import plot_cluster_profile
from ..report import cluster_values, effect, report
from .path import MAX_TERMS, list_html

_NO_DIRECTION = 0.05  # the text shows ± if |direction| is below this share of the strength


@dataclass(frozen=True, repr=False)
class FeatureRole:
    """The effect of a feature in the tests that lead to a cluster.

    The notes of :func:`cluster_profile` define the direction as a sum.

    Parameters
    ----------
    feature : int, position of the feature
    name : str
    direction : float
        Above 0 if large values lead to the cluster, below 0 if small ones do.
    strength : float
        The sum of the absolute values of the terms of `direction`. It is larger than
        ``abs(direction)`` if large values are required by some tests and small values by others,
        for example because the cluster lies between two bounds. If the direction is close to 0,
        the text shows ± and the strength.
    """

    feature: int
    name: str
    direction: float
    strength: float

    def __str__(self):
        if abs(self.direction) < _NO_DIRECTION * self.strength:
            return f"{self.name} ±{self.strength:.2f}"
        return f"{self.name} {self.direction:+.2f}"

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class ClusterProfile:
    """The rules of a cluster, and the features that lead to it.

    Parameters
    ----------
    cluster : int
    name : str
    leaves : tuple of int, node numbers
    rules : tuple of str, one per leaf
    features : tuple of FeatureRole, largest strength first
    count, share : float
        Number of rows in the cluster, or the sum of their weights, and its share of the total;
        None if no rows are known.
    rows : int
        Number of rows in the cluster; None if no rows are known.
    weight : float
        Sum of their sample weights; None without sample weights.
    counted : str, "rows" or "labelled rows"
    """

    cluster: int
    name: str
    leaves: tuple[int, ...]
    rules: tuple[str, ...]
    features: tuple[FeatureRole, ...]
    count: float | None
    share: float | None
    rows: int | None = None
    weight: float | None = None
    counted: str = "rows"

    def to_dict(self):
        """Return plain Python values for JSON."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}

    def plot(self, *, ax=None, title=None):
        """Draw the effects of the features that lead to the cluster.

        The length of a bar is the direction; it points to the right for large values and to the
        left for small ones. The length of the pale bar behind it is the strength.

        Parameters
        ----------
        ax : matplotlib Axes, default a new figure
        title : str, default a title with the name of the cluster and its number of rows

        Returns
        -------
        matplotlib Axes
        """
        title = f"Features that lead to {self._heading}" if title is None else title
        return plot_cluster_profile(self.features[:MAX_TERMS], ax=ax, title=title)

    def _repr_html_(self):
        """Return rules and features as an HTML list; texts are escaped."""
        heading, *lines = str(self).split("\n")
        return list_html(heading, [line.strip() for line in lines])

    @property
    def _heading(self):
        """Return the heading: the name of the cluster and its number of rows."""
        if self.count is None:
            return self.name
        return f"{self.name} ({rows_text(vars(self))})"

    def __str__(self):
        roles = [str(role) for role in self.features[:MAX_TERMS]]
        hidden = len(self.features) - len(roles)
        roles += [f"{hidden} more"] if hidden else []
        lines = [self._heading, *(f"  {rule}" for rule in self.rules)]
        return "\n".join([*lines, f"  features: {', '.join(roles) or 'none'}"])

    __repr__ = __str__


def cluster_profile(
    model, k, X=None, *, feature_names=None, sample_weight=None, max_terms=MAX_TERMS
):
    """Describe a cluster by its leaves, their rules, and the features that lead to it.

    Parameters
    ----------
    model : Tree, or fitted estimator with `tree_`
    k : int, the cluster; the label itself, number or string, if the model explains labels
    X : array-like or sparse matrix of shape (n, n_features), optional
        Rows to count; default those that the estimator was fitted to.
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...
    sample_weight : array-like of shape (n,), optional
    max_terms : int, optional
        Number of features shown per weighted sum, those of largest effect; None for all.

    Returns
    -------
    ClusterProfile

    Raises
    ------
    ValueError
        If there is no cluster k.

    Notes
    -----
    The direction of feature j is the sum over the leaves l of the cluster, and over the tests i on
    the path to l, of ``share_l * side_il * w_ij s_ij / sum_j |w_ij| s_ij``: side is +1 where the
    path turns right (to large w.x) and -1 where it turns left, share_l is the share of the
    cluster's rows in l, and s_ij is the standard deviation of feature j over the rows of node i,
    so that the result does not depend on the units of features. If no rows are known, share_l is
    one over the number of leaves and s_ij is 1.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.explanations import cluster_profile
    >>> tree = Tree.from_splits([1, -1, -1], [2, -1, -1], [([0, 1], [1.0, -3.0]), None, None],
    ...                         [2, 0, 0], [-1, 0, 1], n_features=2)
    >>> print(cluster_profile(tree, 1, [[7, 0], [1, 2]], feature_names=["width", "height"]))
    cluster 1 (1 row, 50.0 %)
      if width - 3*height > 2 then cluster 1 (1 row, 50.0 %)
      features: width +0.50, height -0.50
    """
    model, names = shown(model, feature_names, X)
    facts = report(model, X, feature_names=names, sample_weight=sample_weight)
    part, nodes = facts["clusters"][position_of(model, k)], facts["nodes"]
    return ClusterProfile(
        part["cluster"],
        part["name"],
        tuple(part["leaves"]),
        tuple(rules_of(model, names, nodes, part["leaves"], max_terms=max_terms)),
        _roles(nodes, part, names),
        part["size"],
        part["share"],
        part["rows"],
        part["weight"],
        part["counted"],
    )


def position_of(model, k):
    """Return the cluster number of k, which is a label if the model explains labels.

    Raises
    ------
    ValueError
        If there is no such cluster or label.
    """
    classes = getattr(model, "classes_", None)
    labels = np.asarray(cluster_values(model)).tolist()
    if np.ndim(k) > 0:
        raise ValueError(f"k must be a cluster, not a {type(k).__name__}: give rows as X=... or x.")
    if k not in labels:
        is_range = classes is None and labels[-1:] != [-1]
        said = f"clusters are 0..{len(labels) - 1}" if is_range else f"labels are {labels}"
        raise ValueError(f"The {said}, got {k!r}.")
    return labels.index(k)


def _roles(nodes, part, names):
    """Return the role of each feature on the paths to the leaves of a cluster: FeatureRoles."""
    direction, strength = {}, {}
    share = _shares_below(nodes, part)
    for node in nodes:
        if node["is_leaf"] or not share[node["id"]]:
            continue
        left, right = (share[child] for child in node["children"])
        effects = [effect(term) for term in node["terms"]]
        if not any(effects):  # no feature of the test varies over the rows of the node
            effects = [term["weight"] for term in node["terms"]]
        norm = sum(map(abs, effects))
        for term, size in zip(node["terms"], effects, strict=True):
            j, part_of_node = term["feature"], size / norm
            direction[j] = direction.get(j, 0.0) + (right - left) * part_of_node
            strength[j] = strength.get(j, 0.0) + (right + left) * abs(part_of_node)
    order = sorted((j for j in strength if strength[j]), key=lambda j: (-strength[j], j))
    return tuple(FeatureRole(j, names[j], direction[j], strength[j]) for j in order)


def _shares_below(nodes, part):
    """Return the share of the rows of a cluster that reach each node: list of float."""
    share = [0.0] * len(nodes)
    for leaf in part["leaves"]:
        # If the cluster has no rows, its leaves get equal shares.
        n_leaves, size = len(part["leaves"]), part["size"]
        share[leaf] = nodes[leaf]["count"] / size if size else 1 / n_leaves
    for node in reversed(nodes):  # children have larger numbers than parents
        if node["parent"] is not None:
            share[node["parent"]] += share[node["id"]]
    return share
