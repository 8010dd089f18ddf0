"""Exports of trees: text, rules, SQL, Graphviz, ONNX, tables and plain Python values.

Each export is built on :func:`tao_cluster.report.report` or on :mod:`tao_cluster.tree.conditions`,
and formats numbers with `format.py`. docs/join/contributing.md lists what a new export needs.
"""

from .format import Indicator
from .onnx import to_onnx
from .query import to_query
from .sql import to_sql
from .text import from_dict, to_dataframe, to_dict, to_dot, to_rules, to_text

__all__ = [
    "Indicator",
    "from_dict",
    "to_dataframe",
    "to_dict",
    "to_dot",
    "to_onnx",
    "to_query",
    "to_rules",
    "to_sql",
    "to_text",
]
