"""Views of fitted pipelines in the names and units of their raw columns."""

from .names import Filled, Indicator
from .table_reader import TableReader
from .view import RawView, raw_view, shown

__all__ = ["Filled", "Indicator", "RawView", "TableReader", "raw_view", "shown"]
