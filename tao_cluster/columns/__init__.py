"""Pipelines in their raw columns: what their trees test, in the names and units of the table."""

from .names import (
    Filled,
    Indicator,
    brief,
    check_feature_names,
    has_indicators,
    names_of,
    printable,
    printable_lines,
    printable_names,
)
from .view import (
    RawView,
    as_frame,
    named,
    numbers_of,
    one_row,
    raw_view,
    shown,
    some_rows,
    with_cells,
)

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
