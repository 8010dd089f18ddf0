"""Methods that explain a clustering by a tree: estimators, their bounds, and data sets."""

import lazy_loader

# Names are loaded at first use (PEP 562, SPEC 1); __init__.pyi says where they are.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
