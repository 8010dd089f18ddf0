"""Results of blocks that can be added: records of arrays, extremes, and rows that are collected."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np


class Sums:
    """Base of records that are added field by field; None adds nothing."""

    def __add__(self, other):
        """The sum, for the fields in turn."""
        pairs = ((getattr(self, part.name), getattr(other, part.name)) for part in fields(self))
        return type(self)(*(b if a is None else a if b is None else a + b for a, b in pairs))


@dataclass(frozen=True, eq=False)
class Least:
    """An array of which the sum is the least of each entry."""

    values: np.ndarray

    def __add__(self, other):
        """The entries of the two that are smaller."""
        return type(self)(np.minimum(self.values, other.values))


@dataclass(frozen=True, eq=False)
class Most:
    """An array of which the sum is the largest of each entry."""

    values: np.ndarray

    def __add__(self, other):
        """The entries of the two that are larger."""
        return type(self)(np.maximum(self.values, other.values))


@dataclass(frozen=True, eq=False)
class Tables:
    """A list of arrays, of any shapes, that are added one by one."""

    arrays: list[Any]

    def __add__(self, other):
        """The sums of the pairs."""
        pairs = zip(self.arrays, other.arrays, strict=True)
        return type(self)([a + b for a, b in pairs])
