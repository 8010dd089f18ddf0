"""The paths of several rows."""

from collections.abc import Sequence

import pandas as pd

from .markup import table_html

_COLUMNS = ["row", "step", "node", "test", "sum", "threshold", "side", "leaf", "cluster", "name"]
_MOST_SHOWN = 20  # rows of a table in a notebook


class Explanations(Sequence):
    """Explanations of several rows, in their order.

    Parameters
    ----------
    explanations : list of Explanation
    index : sequence, optional
        What the rows are called; default their positions.
    """

    def __init__(self, explanations, index=None):
        self._explanations = list(explanations)
        self.index = list(range(len(self._explanations)) if index is None else index)

    def __len__(self):
        return len(self._explanations)

    def __getitem__(self, at):
        if isinstance(at, slice):
            return Explanations(self._explanations[at], self.index[at])
        return self._explanations[at]

    def __eq__(self, other):
        if not isinstance(other, Explanations):
            return NotImplemented
        return (self._explanations, self.index) == (other._explanations, other.index)

    __hash__ = None  # type: ignore[assignment]

    def to_frame(self):
        """A row a test: pandas DataFrame.

        Its columns are row (what the row is called), step (from 0, the root), node, test (the
        text), sum, threshold, side, and of the row its leaf, cluster and the cluster's name.
        """
        lines = [
            (name, step, t.node, str(t), t.total, t.threshold, t.side, e.leaf, e.cluster, e.name)
            for name, e in zip(self.index, self, strict=True)
            for step, t in enumerate(e.tests)
        ]
        return pd.DataFrame(lines, columns=_COLUMNS)

    def __str__(self):
        pairs = zip(self.index, self, strict=True)
        return "\n\n".join(f"row {name}\n{explanation}" for name, explanation in pairs)

    def __repr__(self):
        return f"Explanations of {len(self)} rows"

    def _repr_html_(self):
        """A line a row, of the first ones; texts are escaped."""
        lines = [
            (name, e.name, e.leaf, "\n".join(map(str, e.tests)))
            for name, e in zip(self.index[:_MOST_SHOWN], self, strict=False)
        ]
        more = f"{len(self) - len(lines)} more rows" if len(self) > len(lines) else ""
        return table_html(("row", "cluster", "leaf", "tests"), lines, more)
