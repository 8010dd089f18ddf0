"""Levels of categorical columns: the features that stand for them, and the text of sets of them."""

import re
from collections import Counter

from ..tree.conditions import LevelFeature
from .names import Indicator, has_indicators, printable

_DELIMITER = re.compile("[,{}]")  # a level with one of these characters is quoted in a set


def levels_of(model, names):
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
