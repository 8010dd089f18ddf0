"""Forms that values of a file may have, each with the sentence of what it asks."""

import math
from dataclasses import dataclass
from types import UnionType
from typing import Any, get_args

import numpy as np

_LARGEST_WHOLE = 2**63  # Python has larger ones, which no float is

# A form has `fits(value, sizes) -> bool` and `told(sizes) -> str`, what it asks; `sizes` is a dict
# of the sizes of a model, by the letters that stand for them in shapes.


@dataclass(frozen=True)
class Number:
    """A number between limits; NaN is none, and infinite ones only where they are among these."""

    least: float = -math.inf
    most: float = math.inf
    is_whole: bool = False
    may_be_infinite: bool = False

    def fits(self, value, sizes):
        """Whether a value is such a number; True is none."""
        del sizes
        if type(value) is int:
            is_number = abs(value) < _LARGEST_WHOLE
        else:
            is_number = type(value) is float and not self.is_whole
            is_number = is_number and (self.may_be_infinite or not math.isinf(value))
        return is_number and self.least <= value <= self.most

    def told(self, sizes):
        """What is asked."""
        del sizes
        limits = f" of at least {self.least:g}" if self.least > -math.inf else ""
        limits += f", at most {self.most:g}" if self.most < math.inf else ""
        return f"a {'whole number' if self.is_whole else 'number'}{limits}"


@dataclass(frozen=True)
class Numbers:
    """An array of numbers of a kind ("f", "i"), of a shape whose sides are letters of sizes."""

    kind: str
    shape: tuple[str, ...]
    least: float = -math.inf
    below: str | None = None  # the size that all are below
    is_finite: bool = True

    def fits(self, value, sizes):
        """Whether a value is such an array."""
        if not isinstance(value, np.ndarray) or value.dtype.kind != self.kind:
            return False
        if value.shape != self._shape(sizes) or (self.kind == "f" and value.dtype != np.float64):
            return False
        is_known = np.isfinite(value) if self.is_finite else ~np.isnan(value)
        known = value[is_known]
        is_within = (known >= self.least).all()
        if self.below is not None:
            is_within = is_within and (known < sizes[self.below]).all()
        return bool(is_within) and not (self.is_finite and len(known) < value.size)

    def told(self, sizes):
        """What is asked."""
        kind = "float64" if self.kind == "f" else "whole numbers"
        limits = f" of at least {self.least:g}" if self.least > -math.inf else ""
        limits += f", below {sizes[self.below]}" if self.below is not None else ""
        finite = " (or NaN)" if not self.is_finite else ", all finite" if self.kind == "f" else ""
        return f"an array of {kind}{limits}{finite}, of shape {self._shape(sizes)}"

    def _shape(self, sizes):
        return tuple(sizes[side] for side in self.shape)


@dataclass(frozen=True)
class Labels:
    """An array of shape (n,) of numbers of clusters, or of the labels that stand for them."""

    has_noise: bool = False

    def fits(self, value, sizes):
        """Whether all entries are of clusters that there are."""
        if not isinstance(value, np.ndarray) or value.shape != (sizes["n"],):
            return False
        if sizes["classes"] is None:
            is_known = (value >= -int(self.has_noise)) & (value < sizes["k"])
            return value.dtype.kind == "i" and bool(is_known.all())
        return value.dtype.kind in "OUfib" and set(value.tolist()) <= {*sizes["classes"], -1, None}

    def told(self, sizes):
        """What is asked."""
        what = "numbers of clusters" if sizes["classes"] is None else "labels among the classes"
        return f"{what}, one for each of {sizes['n']} rows"


@dataclass(frozen=True)
class Texts:
    """An array of shape (side,) of strings."""

    side: str

    def fits(self, value, sizes):
        """Whether all entries are strings."""
        is_row = isinstance(value, np.ndarray) and value.shape == (sizes[self.side],)
        return is_row and value.dtype.kind in "OU" and all(isinstance(v, str) for v in value)

    def told(self, sizes):
        """What is asked."""
        return f"an array of {sizes[self.side]} strings"


@dataclass(frozen=True)
class Instance:
    """A value of a class; of one of our parts the file's reader has checked the fields."""

    kind: type | UnionType

    def fits(self, value, sizes):
        """Whether it is of the class."""
        del sizes
        return of_kind(value, self.kind)

    def told(self, sizes):
        """What is asked."""
        del sizes
        return f"a {getattr(self.kind, '__name__', self.kind)}"


@dataclass(frozen=True)
class OneOf:
    """One of some values."""

    values: tuple[Any, ...]

    def fits(self, value, sizes):
        """Whether it is one of them."""
        del sizes
        return value in self.values

    def told(self, sizes):
        """What is asked."""
        del sizes
        return f"one of {', '.join(map(repr, self.values))}"


@dataclass(frozen=True)
class Records:
    """A list of dicts, each with all the keys of one of some tables of forms, and no others."""

    tables: tuple[dict[str, Any], ...]
    least: int = 0

    def fits(self, value, sizes):
        """Whether all records fit."""
        is_list = isinstance(value, list) and len(value) >= self.least
        return is_list and all(self._has_table(record, sizes) for record in value)

    def told(self, sizes):
        """What is asked."""
        del sizes
        keys = " or ".join(", ".join(table) for table in self.tables)
        return f"a list of {self.least or 'no'} or more records of {keys}"

    def _has_table(self, record, sizes):
        return isinstance(record, dict) and any(
            record.keys() == table.keys()
            and all(f.fits(record[n], sizes) for n, f in table.items())
            for table in self.tables
        )


@dataclass(frozen=True)
class ListOf:
    """A list of values of one form, at least one."""

    form: Any

    def fits(self, value, sizes):
        """Whether all values fit."""
        is_list = isinstance(value, list) and len(value) > 0
        return is_list and all(self.form.fits(one, sizes) for one in value)

    def told(self, sizes):
        """What is asked."""
        return f"a list, each of its values {self.form.told(sizes)}"


def of_kind(value, kind):
    """Whether a value is of a type as data classes annotate it.

    True is no int, an int is a float, and floats are finite.

    Parameters
    ----------
    value : object
    kind : type, or union of types

    Examples
    --------
    >>> from tao_cluster.saving.forms import of_kind
    >>> of_kind(3, float), of_kind(True, int), of_kind(None, int | None)
    (True, False, True)
    """
    if isinstance(kind, UnionType):
        return any(of_kind(value, one) for one in get_args(kind))
    if kind in (int, bool):
        return type(value) is kind
    if kind is float:
        return type(value) in (int, float) and math.isfinite(value)
    return isinstance(value, kind)
