"""Pipelines in their raw columns: what their trees test, in the names and units of the table."""

from .cells import with_cells
from .names import Filled, Indicator, check_feature_names, names_of
from .rows import one_row, some_rows
from .view import RawView, as_frame, numbers_of, raw_view, shown

__all__ = [
    "Filled",
    "Indicator",
    "RawView",
    "as_frame",
    "check_feature_names",
    "names_of",
    "numbers_of",
    "one_row",
    "raw_view",
    "shown",
    "some_rows",
    "with_cells",
]
