"""Exports: the tree in forms that people and other programs read.

A new export is a file here, built on :func:`tao_cluster.report.report` or on
:mod:`tao_cluster.tree.conditions`, never a walk of its own, with texts from `format.py`. It needs
its name in the list below and in ``docs/api/inspection.rst``, a line in ``docs/guide/exports.md``,
and a test file in ``tests/inspection`` that takes every kind of tree from ``export_cases.py``.
"""

from .dataframe import from_dict, to_dataframe, to_dict
from .dot import to_dot
from .format import Indicator
from .onnx import to_onnx
from .sql import to_sql
from .text import to_rules, to_text

__all__ = [
    "Indicator",
    "from_dict",
    "to_dataframe",
    "to_dict",
    "to_dot",
    "to_onnx",
    "to_rules",
    "to_sql",
    "to_text",
]
