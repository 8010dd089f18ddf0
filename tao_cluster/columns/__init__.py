"""Pipelines in their raw columns: what their trees test, in the names and units of the table."""

from .cells import with_cells
from .names import Filled, Indicator, check_feature_names, has_indicators, names_of, printable_names
from .printable import brief, printable, printable_lines
from .rows import one_row, some_rows
from .view import RawView, as_frame, named, numbers_of, raw_view, shown

__all__ = [
    "Filled",
    "Indicator",
    "RawView",
    "as_frame",
    "brief",
    "check_feature_names",
    "has_indicators",
    "named",
    "names_of",
    "numbers_of",
    "one_row",
    "printable",
    "printable_lines",
    "printable_names",
    "raw_view",
    "shown",
    "some_rows",
    "with_cells",
]
