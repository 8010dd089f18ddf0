"""Explainable clustering by decision trees: sparse oblique trees by TAO clustering."""

import lazy_loader

from .core import aliases

__version__ = "0.1.0"

# Names are loaded at first use (PEP 562, SPEC 1); __init__.pyi says where they are.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

aliases.install(__name__)
