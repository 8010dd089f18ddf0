"""Names of features: printable and short forms, names of encoded and imputed columns, levels."""

import re
from collections import Counter
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from numbers import Number

import numpy as np
import pandas as pd

from .._utils.frames import fitted_names
from ..tree import tree_of
from ..tree.conditions import LevelFeature

# Control characters, line and paragraph separators, marks that change the direction of text,
# surrogates (which cannot be encoded), and characters that XML forbids.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufdd0-\ufdef"
    "\ufffe\uffff]"
)

MARK = "…"  # it replaces the beginning of names in displays
_LONG = 24  # only names with more characters are abbreviated
_LEAST = 10  # least number of characters of a shared beginning
_MOST = 200  # longest beginning that is looked for, in characters
_ENDS = re.compile(r"[\s_.:/-]+")  # a beginning ends behind one of these characters

_DELIMITER = re.compile("[,{}]")  # a level with one of these characters is quoted in a set


def printable(text):
    r"""Return a name as one line that can be printed, encoded and put into XML.

    Characters that break lines, control terminals or cannot be encoded become Python escapes: a
    line break becomes ``\n``. A blank name is put in quotes. Everything else stays the same,
    backslashes too. The printable form of a printable name is therefore the name itself. Two
    different names may have the same printable form.

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
    """Return a title with each line in its :func:`printable` form; line breaks stay."""
    return "\n".join(printable(line) if line else "" for line in text.split("\n"))


def brief(text, longest=48):
    """Return a text for a plot; beyond `longest` characters, "…" replaces its middle."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[: half - 1]}…{text[-half:]}"


def _escape(found):
    return found[0].encode("unicode_escape", "surrogatepass").decode("ascii")


_INDICATOR_PARTS = ("column", "value", "has_missing", "levels", "is_rest", "reader", "raw")


class Indicator(str):
    """The name of a 0/1 feature that is 1 in the rows where `column` has the value `value`.

    The string itself is printable. The attributes `column` and `value` keep their original form.

    A test of this feature alone reads ``plan is gold`` or ``plan is not gold``. As after one-hot
    encoding, a column has at most one of these values per row. A weighted sum of features of one
    column is therefore a test on a set of values: ``plan in {gold, silver}``. In a sum with other
    features, the feature is written ``[plan is gold]``.

    Parameters
    ----------
    column : str, name of the column that holds the category
    value : str, or an object with a string form; None or NaN stands for missing values
    has_missing : bool, whether missing values of the column count as this value
    levels : tuple, optional
        The values of the column for which the feature is 1. The default is `value` alone.
    is_rest : bool
        Whether the feature is instead 1 for all values that are not in `levels`. An encoder that
        combines infrequent categories has one such feature, whose `value` is "other".
    reader : Reader, optional
        It turns the cells of the raw column into these values; see ``TableReader``.
    raw : str, optional
        The name of the raw column if it differs from `column`, as that of a part of a date does.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.export import Indicator
    >>> tree = Tree.from_splits([1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None],
    ...                         [0.5, 0, 0], [-1, 0, 1], n_features=1)
    >>> tree.to_rules([Indicator("plan", "gold")])
    ['if plan is not gold then cluster 0', 'if plan is gold then cluster 1']
    """

    def __new__(
        cls, column, value, has_missing=False, levels=None, is_rest=False, reader=None, raw=None
    ):
        """Create the string, and store the column and the value with it."""
        value = plain_cell(value)
        name = super().__new__(cls, f"{printable(str(column))} is {_value_text(value)}")
        name.column, name.value, name.has_missing = str(column), value, has_missing or value is None
        own = () if value is None else (value,)
        name.levels = own if levels is None else levels
        name.is_rest, name.reader, name.raw = is_rest, reader, raw or str(column)
        return name

    def __getnewargs__(self):
        return tuple(vars(self)[name] for name in _INDICATOR_PARTS)

    @property
    def level(self):
        """The printable text of the value alone."""
        return _value_text(self.value)


class Numeric(str):
    """The name of a numeric feature, with what the steps of the Pipeline did to its column.

    Parameters
    ----------
    name : str
    fill : float, optional
        An imputer replaces missing values by this number.
    reader : Reader, optional
        It turns the cells of the raw column into numbers; see ``TableReader``.
    raw : str, optional
        The name of the raw column if it differs from `name`, as that of a part of a date does.
    """

    def __new__(cls, name, fill=None, reader=None, raw=None):
        """Create the printable string, and store the other parameters with it."""
        string = super().__new__(cls, printable(str(name)))
        string.fill = None if fill is None else float(fill)
        string.reader, string.raw = reader, raw or str(name)
        return string

    def __getnewargs__(self):
        return str(self), self.fill, self.reader, self.raw


def is_missing(value):
    """Return whether a cell is None, NaN or another missing value of pandas."""
    return value is None or (np.ndim(value) == 0 and bool(pd.isna(value)))


def plain_cell(value):
    """Return a cell of a table without the types of numpy; missing values become None."""
    if is_missing(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def level_name(column, value):
    """Return the name of a level as a plain string, as scikit-learn requires of feature names."""
    return str(Indicator(column, value))


def _value_text(value):
    """Return a category as text: "gold", "3" for the float 3.0, or "missing" for None."""
    if value is None:
        return "missing"
    if isinstance(value, Number):
        return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)
    return printable(str(value))


@dataclass(frozen=True)
class Numbered(Sequence):
    """The names x0, x1, ... of features without names, created on access.

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
    """Return the given names, else those that `fit` stored, else x0, x1, ...: sequence of str."""
    if feature_names is None:
        feature_names = fitted_names(model)
    return check_feature_names(feature_names, tree_of(model).n_features)


def check_feature_names(feature_names, n_features):
    """Return checked feature names: sequence of str, x0, x1, ... if `feature_names` is None.

    Raises
    ------
    ValueError
        If `feature_names` is not a sequence of strings, or if its length is not `n_features`.
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
    return [name if isinstance(name, Indicator | Numeric) else str(name) for name in feature_names]


def printable_names(names):
    """Return names in :func:`printable` form; an Indicator or Numeric name keeps its type."""
    if isinstance(names, Numbered):
        return names
    # The strings of these types are always printable.
    return [n if isinstance(n, Indicator | Numeric) else printable(n) for n in names]


def has_indicators(names):
    """Return whether any name is an Indicator, the name of a one-hot encoded category."""
    return not isinstance(names, Numbered) and any(isinstance(name, Indicator) for name in names)


def level_features(model, names):
    """Return the features of a model that stand for the levels of a categorical column.

    Parameters
    ----------
    model : Tree, fitted estimator, or RawView of a pipeline
    names : sequence of str
        Names of its features. Those of levels are of the type :class:`.Indicator`.

    Returns
    -------
    dict of LevelFeature, by feature
        A feature is left out if it had negative values in the fit, as after centring, if another
        feature stands for the same level, or if a row can have several of the levels of its column.
        A missing value has two if an imputer fills it in and marks it, too.
    """
    if not has_indicators(names):
        return {}
    columns = {}
    for j, name in enumerate(names):
        if isinstance(name, Indicator):
            columns.setdefault(name.column, []).append(j)
    observed = getattr(model, "_column_range", None)
    found = {}
    for column, features in columns.items():
        own = [names[j] for j in features]
        if sum(name.has_missing for name in own) > 1:
            continue
        members = tuple(features) if _are_complete(own) else ()
        times = Counter(repr(name.value) for name in own)
        for j, name in zip(features, own, strict=True):
            low, high = (0.0, 1.0) if observed is None else observed[:, j].tolist()
            if times[repr(name.value)] == 1 and low >= 0:
                found[j] = LevelFeature(column, high or 1.0, members)
    return found


def by_column(levels):
    """Return the features of each categorical column, and the value of each in rows of its level.

    Parameters
    ----------
    levels : dict of LevelFeature, by feature; see :func:`level_features`

    Returns
    -------
    dict of dict of float, by the name of the column and by feature
    """
    found = {}
    for j, level in levels.items():
        found.setdefault(level.variable, {})[j] = level.one
    return found


def _are_complete(names):
    """Return whether every row has the level of one of these features of a column.

    This is known if an encoder combines infrequent levels: one feature is then 1 for all values
    that are not listed, also for those that the fit has not seen.
    """
    rest = next((name for name in names if name.is_rest), None)
    if rest is None:
        return False
    has_all = {*map(repr, rest.levels)} <= {repr(name.value) for name in names}
    return has_all and any(name.has_missing for name in names)


def levels_text(column, names, *, is_listed):
    """Return the condition that a row has one of some levels of a column, or none of them.

    Parameters
    ----------
    column : str
    names : list of Indicator
        Names of the levels. The list is empty for a condition that no row satisfies.
    is_listed : bool

    Returns
    -------
    str

    Examples
    --------
    >>> gold, free = Indicator("plan", "gold"), Indicator("plan", "free")
    >>> print(levels_text("plan", [gold], is_listed=False))
    plan is not gold
    >>> print(levels_text("plan", [gold, free], is_listed=True))
    plan in {gold, free}
    """
    if len(names) == 1:
        return f"{printable(column)} is {'' if is_listed else 'not '}{names[0].level}"
    return f"{printable(column)} {set_text(names, is_listed=is_listed)}"


def set_text(names, *, is_listed):
    """Return "in {gold, free}" or "not in {gold, free}" for the names of some levels."""
    listed = ", ".join(
        f"'{name.level}'" if _DELIMITER.search(name.level) else name.level for name in names
    )
    return f"{'' if is_listed else 'not '}in {{{listed}}}"


@dataclass(frozen=True)
class Abbreviation:
    """A beginning of names that displays replace by "…".

    Parameters
    ----------
    prefix : str, default=""
        The beginning; empty if names are shown as they are.

    Examples
    --------
    >>> questions = [f"How satisfied are you with your {part}?" for part in ("home", "work")]
    >>> shorten = Abbreviation.from_names(questions)
    >>> shorten("2*How satisfied are you with your home?"), shorten.note
    ('2*…home?', '… stands for "How satisfied are you with your"')
    """

    prefix: str = ""

    @classmethod
    def from_names(cls, names):
        """Find the beginning that saves the most characters in at least half of the long names.

        Parameters
        ----------
        names : iterable of str
        """
        long = sorted({str(name) for name in names if len(name) > _LONG})
        counts = Counter(
            name[: found.end()]
            for name in long
            for found in _ENDS.finditer(name, 0, _MOST)
            if _LEAST <= found.end() < len(name)
        )
        shared = [p for p, n in counts.items() if n >= 2 and 2 * n >= len(long)]
        return cls(max(shared, key=lambda p: (counts[p] * len(p), p), default=""))

    def __call__(self, text):
        """Return a text that contains names, with the mark in place of the beginning."""
        return text.replace(self.prefix, MARK) if self.prefix else text

    @property
    def note(self):
        """The sentence that explains the mark to a reader; empty if nothing is left out."""
        return f'{MARK} stands for "{self.prefix.strip()}"' if self.prefix else ""
