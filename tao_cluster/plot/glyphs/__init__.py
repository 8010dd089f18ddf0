"""Node glyphs: small objects that draw what a node tests, or what a leaf holds, into a box."""

from .base import Glyph
from .choice import choose_glyph
from .image import Image
from .lists import Bars, Words
from .projection import Projection

__all__ = ["Bars", "Glyph", "Image", "Projection", "Words", "choose_glyph"]
