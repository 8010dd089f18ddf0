"""Greedy methods that explain a clustering by a decision tree, with proven bounds."""

from tao_cluster._utils.imports import load_at_first_use

# Each name is imported when it is first used (PEP 562, SPEC 1). __init__.pyi lists its module.
__getattr__, __dir__, __all__ = load_at_first_use(__name__)
