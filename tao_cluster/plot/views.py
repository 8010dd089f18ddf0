"""What a glyph gets to see: a decision node or a leaf, with the rows that reach it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..export.names import bound_of, condition_text, edge_signs, fact_text, typeset
from ..export.numbers import told_apart
from ..inspection.rows import Rows
from ..report import effect
from .colors import cluster_color


def number(value, form=".3g"):
    """A number as text, with a true minus sign."""
    return format(value, form).replace("-", "\N{MINUS SIGN}")


def _told(value, limit, sign):
    """A value with digits enough to tell it from the limit that it keeps."""
    return told_apart(value, limit, sign, 3)[0].replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True, eq=False)
class SplitView:
    """A decision node: its weights, its threshold and, where rows are given, their sums w.x.

    `terms` are those of :func:`tao_cluster.report.report`, largest effects first.
    """

    tree: Any
    node: int
    rows: Rows | None
    terms: list
    tolerance: float | None = None

    @property
    def indices(self):
        """Features, increasing."""
        return self.tree.split(self.node)[0]

    @property
    def weights(self):
        """Weights of these features."""
        return self.tree.split(self.node)[1]

    @property
    def threshold(self):
        """The row goes left iff w.x is at most that."""
        return float(self.tree.threshold[self.node])

    @property
    def shown(self):
        """Weights as they are shown: themselves, or times the spread of their feature."""
        shown = np.zeros(self.tree.n_features)
        for term in self.terms:
            shown[term["feature"]] = term["shown"]
        return shown[self.indices]

    @property
    def mean(self):
        """Mean of the rows that reach the node, 0 without any."""
        return self.rows.means[self.node]

    @property
    def _node(self):
        """What the texts of a test of one feature are made of."""
        return {"terms": self.terms, "threshold": self.threshold, "tolerance": self.tolerance}

    @property
    def signs(self):
        """What the two edges say: the sign of what the box says, and its contrary."""
        return edge_signs(self._node)

    @property
    def condition(self):
        """A test of one feature in words; None of others."""
        if len(self.terms) != 1:
            return None
        return typeset(condition_text(self._node, 3)).replace("-", "\N{MINUS SIGN}")

    def value_text(self, total):
        """The weighted sum of a row; of a test of one feature its value."""
        goes_left = total <= self.threshold
        if len(self.terms) != 1:
            return f"sum {_told(total, self.threshold, '<=' if goes_left else '>')}"
        (term,) = self.terms
        bound, value = bound_of(self._node, goes_left), total / term["weight"]
        if fact_text(term["name"], bound) and value in (0.0, 1.0):
            return "the row"
        return f"value {_told(value, bound.value, bound.sign)}"

    def largest(self, n):
        """Features, shown weights and effects of the n largest effects, the largest first."""
        some = self.terms[:n]
        features = np.array([term["feature"] for term in some], dtype=np.int32)
        shown = np.array([term["shown"] for term in some])
        return features, shown, np.array([effect(term) for term in some])

    def projections(self):
        """The sums w.x of the rows that reach the node, and which of these rows go left."""
        here = self.rows.reaching(self.node)
        goes_left = self.rows.reaching(self.tree.children_left[self.node])[here]
        return self.rows.X[here][:, self.indices] @ self.weights, goes_left


@dataclass(frozen=True, eq=False)
class LeafView:
    """A leaf, for glyphs only where rows are given."""

    tree: Any
    node: int
    rows: Rows | None
    name: str

    @property
    def label(self):
        """Its cluster."""
        return int(self.tree.leaf_label[self.node])

    @property
    def color(self):
        """The colour of its cluster."""
        return cluster_color(self.label)

    @property
    def mean(self):
        """Mean of its rows, 0 without any."""
        return self.rows.means[self.node]

    @property
    def deviation(self):
        """Difference of its mean from that of all rows, in standard deviations."""
        return self.rows.deviation(self.node)
