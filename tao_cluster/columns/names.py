"""Names of features: as one printable line each, and of what is more than a column of numbers."""

import re
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from numbers import Number

from .._utils.frames import fitted_names
from ..tree import tree_of

# Control characters, separators of lines and paragraphs, marks that turn the direction of what
# follows, halves of surrogate pairs (no encoding has them) and what XML forbids.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufdd0-\ufdef"
    "\ufffe\uffff]"
)


def printable(text):
    r"""A name as one line that can be printed, encoded and put into XML.

    Characters that break lines, steer terminals or cannot be encoded are written as Python
    escapes: a line break is ``\n``. A blank name stands in quotes. Everything else stays as it is,
    backslashes too, so that the result is its own printable form; two names may become one text.

    Parameters
    ----------
    text : str

    Returns
    -------
    str

    Examples
    --------
    >>> print(printable("petal\nwidth"), printable(""), printable("größe $"))
    petal\nwidth '' größe $
    """
    text = _HIDDEN.sub(_escape, text)
    return text if text.strip() else f"'{text}'"


def printable_lines(text):
    """A title, whose line breaks stay, with every line as :func:`printable` has it."""
    return "\n".join(printable(line) if line else "" for line in text.split("\n"))


def brief(text, longest=48):
    """A text of at most so many characters, for a picture: of a longer one both ends."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[: half - 1]}…{text[-half:]}"


def _escape(found):
    return found[0].encode("unicode_escape", "surrogatepass").decode("ascii")


class Indicator(str):
    """The name of a feature that is 1 where a column has a value, and 0 elsewhere.

    Its text is printable; `column` and `value` are what they were.

    A test of it alone reads ``plan is gold`` or ``plan is not gold``; in a weighted sum it is
    written ``[plan is gold]``. A column is taken to have one value a row, as after one-hot
    encoding: a rule that says ``plan is gold`` leaves out that the plan is not another.

    Parameters
    ----------
    column : str
    value : str, or anything that has a text; None for missing values
    has_missing : bool, whether missing values count as this one

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.export import Indicator
    >>> tree = Tree.from_splits([1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None],
    ...                         [0.5, 0, 0], [-1, 0, 1], n_features=1)
    >>> tree.to_rules([Indicator("plan", "gold")])
    ['if plan is not gold then cluster 0', 'if plan is gold then cluster 1']
    """

    def __new__(cls, column, value, has_missing=False):
        """The text, which remembers what it is made of."""
        name = super().__new__(cls, f"{printable(str(column))} is {_value_text(value)}")
        name.column, name.value, name.has_missing = str(column), value, has_missing
        return name

    def __getnewargs__(self):
        return self.column, self.value, self.has_missing

    @property
    def contrary(self):
        """What a row with 0 is told."""
        return f"{printable(self.column)} is not {_value_text(self.value)}"


class Filled(str):
    """The name of a column of numbers in which a missing value counts as another number.

    Parameters
    ----------
    column : str, which is the text
    fill : float
    """

    def __new__(cls, column, fill):
        """The text, which remembers the number."""
        name = super().__new__(cls, column)
        name.fill = float(fill)
        return name

    def __getnewargs__(self):
        return str(self), self.fill


def _value_text(value):
    """A category as people write it: whole numbers without decimals."""
    if value is None:
        return "missing"
    if isinstance(value, Number):
        return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)
    return printable(str(value))


@dataclass(frozen=True)
class Numbered(Sequence):
    """The names x0, x1, ... of features without names, made where they are asked for.

    Parameters
    ----------
    n_features : int
    """

    n_features: int

    def __len__(self):
        return self.n_features

    def __getitem__(self, j):
        return f"x{range(self.n_features)[j]}"


def names_of(model, feature_names=None):
    """Return feature names as given, else those of `fit`, else x0, x1, ...: sequence of str."""
    if feature_names is None:
        feature_names = fitted_names(model)
    return check_feature_names(feature_names, tree_of(model).n_features)


def check_feature_names(feature_names, n_features):
    """Sequence of names; x0, x1, ... by default.

    Raises
    ------
    ValueError
        If the number of names is not `n_features`.
    """
    if feature_names is None:
        return Numbered(n_features)
    if isinstance(feature_names, Numbered) and len(feature_names) == n_features:
        return feature_names
    if isinstance(feature_names, str | bytes) or not isinstance(feature_names, Sized):
        raise ValueError(
            f"Feature names must be a sequence of {n_features} strings, got {feature_names!r:.80}."
        )
    if len(feature_names) != n_features:
        raise ValueError(f"Got {len(feature_names)} feature names for {n_features} features.")
    return [name if isinstance(name, Indicator | Filled) else str(name) for name in feature_names]


def printable_names(names):
    """Names as people read them, one line each: sequence of str, Indicator and Filled."""
    return names if isinstance(names, Numbered) else [_printable_name(name) for name in names]


def _printable_name(name):
    if isinstance(name, Indicator):
        return name  # its text is
    return Filled(printable(name), name.fill) if isinstance(name, Filled) else printable(name)


def has_indicators(names):
    """Whether some of the features are categories."""
    return not isinstance(names, Numbered) and any(isinstance(name, Indicator) for name in names)
