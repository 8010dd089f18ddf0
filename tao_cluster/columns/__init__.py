"""Views of fitted pipelines in the names and units of their raw columns."""

from .names import Filled, Indicator
from .view import RawView, raw_view, shown

__all__ = ["Filled", "Indicator", "RawView", "raw_view", "shown"]
