"""Pipelines in their raw columns: what their trees test, in the names and units of the table."""

from .names import Filled, Indicator
from .view import RawView, raw_view, shown

__all__ = ["Filled", "Indicator", "RawView", "raw_view", "shown"]
