"""Greedy methods that explain a clustering by a decision tree, with proven bounds and data sets."""

import lazy_loader

# Each name is imported when it is first used (PEP 562, SPEC 1). __init__.pyi lists its module.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
