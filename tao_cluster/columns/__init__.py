"""Views of fitted pipelines in the names and units of their raw columns."""

from .names import Indicator, Numeric
from .table_reader import TableReader
from .view import RawView, raw_view, shown

__all__ = ["Indicator", "Numeric", "RawView", "TableReader", "raw_view", "shown"]
