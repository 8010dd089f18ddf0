"""Explainable clustering by decision trees: sparse oblique trees by TAO clustering."""

from ._utils.imports import load_at_first_use

__version__ = "0.1.0"

# Names and submodules are loaded at their first use (PEP 562, SPEC 1); __init__.pyi lists them.
__getattr__, __dir__, __all__ = load_at_first_use(__name__)
