"""From a raw table to a pipeline: what becomes of each column, and the steps that do it."""

import math
import re
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_numeric_dtype
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ._utils.frames import (
    check_container,
    check_list_of_names,
    display_name,
    display_names,
)
from ._utils.warnings import listed, warn
from .columns.names import level_name
from .columns.readers import (
    PARTS,
    AmbiguousDatesError,
    Clock,
    Date,
    Level,
    Number,
    Reader,
    UnreadableCellError,
    Written,
)
from .columns.table_reader import TableReader, output_name
from .estimator import TAOClustering

MISSING = ("median", "indicator", "refuse")

# Strings that mean a missing value: those of pandas.read_csv, and further ones.
NA_VALUES = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "?", "-", "--", "."),
    *("n.a.", "N.A.", "#REF!", "#DIV/0!"),
)

_MANY_MISSING = 0.3  # share of missing values from which a warning is issued

# Last words of the names of columns that identify rows, places or people.
_NAMING_WORDS = {
    *("id", "ids", "code", "zip", "zipcode", "postcode", "plz", "phone", "telephone", "mobile"),
    *("fax", "nr", "uuid", "guid", "ssn", "isbn", "ean", "sku", "rownames", "rowname", "barcode"),
}
_NAMES_OF_NUMBERED = {"store", "shop", "branch", "unit", "index"}  # as whole names
# What stands before "id" in names such as "userid". Other words that end in "id", from acid to
# Madrid, name no identifiers.
_IDENTIFIED = {
    *("user", "customer", "cust", "client", "member", "person", "patient", "student", "employee"),
    *("emp", "passenger", "player", "account", "household", "company", "order", "product", "item"),
    *("invoice", "transaction", "payment", "session", "visit", "event", "case", "ticket", "record"),
    *("row", "sample", "object", "station", "sensor", "device", "store", "vendor", "movie", "url"),
}
# Numbers that programs write for a missing value, if they lie far from all others.
_SENTINELS = (-9, -99, -999, -9999, -99999, 999, 9999, 99999)
_LEAST_SHARE = 0.01  # share of the rows from which such a number is reported
# Share of numbers from which other cells of a column are faults, and share of cells of an unusual
# form, such as dates, from which advice is given.
_MOSTLY, _NEARLY_ALL = 0.6, 0.8
# The test for uniform numbers needs this many rows. The limit is the 1 % quantile of the
# Kolmogorov-Smirnov statistic times the square root of the number of rows.
_ENOUGH_ROWS, _UNIFORM_LIMIT = 200, 1.63


def table_pipeline(
    df,
    n_clusters=8,
    *,
    columns=None,
    drop=(),
    keep=(),
    categorical=(),
    missing="median",
    na_values=NA_VALUES,
    category_weight=1.0,
    standardize=True,
    max_levels=20,
    date_parts=(),
    **parameters,
):
    """Return a pipeline that clusters the rows of a raw table by a decision tree.

    The table may have units, categories, missing values, dates and columns that name the rows.
    The function looks at each column and decides what becomes of it. The attribute `decisions_` of
    the pipeline lists these decisions.

    ============================ ===================================================================
    Column                       What becomes of it
    ============================ ===================================================================
    numbers                      Missing values are replaced by the median, then the column is
                                 standardised.
    strings, booleans, 0/1,      One 0/1 feature per level. Missing values are a level of their own.
    codes in `categorical`       Beyond `max_levels`, the rarest levels become one level "other".
    numbers with a unit          They become numbers if all have the same unit: "70 kg", "$1,250".
    dates, times of day          Days since the first date and, with `date_parts`, parts of the
                                 date; hours since midnight.
    names and identifiers        Left out: strings or integers that are different in most rows, and
                                 integers in a column whose name ends in id, code, zip, phone or nr.
    empty and constant columns   Left out.
    ============================ ===================================================================

    A categorical column counts as one variable: two rows with different levels are at the squared
    distance ``category_weight ** 2``, whatever the number of levels. Two standardised numbers have
    this squared distance if they are `category_weight` standard deviations apart.

    Parameters
    ----------
    df : DataFrame of shape (n, m)
    n_clusters : int, default=8
    columns : list of str, optional
        Use only these columns, none of which is left out as a name.
    drop : list of str
        Leave out these columns.
    keep : list of str
        Use these columns, although they look like names or identifiers.
    categorical : list of str
        Columns of numeric codes, which are categories.
    missing : {"median", "indicator", "refuse"}, default="median"
        Missing numbers are replaced by the median of the column. With "indicator", a further
        feature is 1 where a value was missing. With "refuse", missing values raise an error.
    na_values : list of str or numbers
        Cells that mean a missing value. The default is ``NA_VALUES``, which the list replaces:
        ``na_values=[*NA_VALUES, "unknown", -999]``. Leave out "None" or "NA" if these are levels.
    category_weight : float, default=1.0
        Weight of a categorical column, in standard deviations of a numeric column.
    standardize : bool, default=True
        Whether to divide each numeric column by its standard deviation. Otherwise numbers keep
        their units, and `category_weight` is in these units, too.
    max_levels : int, default=20
        Largest number of features of a categorical column, the level "other" included.
    date_parts : list of {"month", "weekday", "hour"}
        Parts of each date that become features.
    **parameters
        Parameters of :class:`TAOClustering`, such as ``split="axis"`` or ``max_leaves=6``.

    Returns
    -------
    sklearn.pipeline.Pipeline, not fitted
        Its steps are a :class:`tao_cluster.columns.TableReader`, a ColumnTransformer of standard
        steps of scikit-learn, and a TAOClustering. Plots, texts, rules, SQL and explanations of the
        fitted pipeline are in the names and units of the raw table.

    Raises
    ------
    ValueError
        If a named column does not exist, no column is left, `missing` is "refuse" and a value is
        missing, or a parameter is out of its range.
    UnreadableCellError
        If most values of a column are numbers, but not all.

    Warns
    -----
    DecisionWarning
        If more than 30 % of the values of a used numeric column are missing, if a number far from
        all others seems to stand for missing values, such as -999, or if a column of numbers is
        left out because it seems to name the rows.

    Notes
    -----
    A level is a 0/1 feature times ``category_weight / sqrt(2)``. For standardised numbers, the
    squared distance of two rows is therefore the sum of squared differences in standard deviations
    plus `category_weight` squared for each categorical column in which they differ. This is
    the dissimilarity of k-prototypes [1]_ with weight ``category_weight ** 2``. Gower's
    dissimilarity [2]_ is similar, but divides numbers by their range and takes absolute values.

    References
    ----------
    .. [1] Huang (1998), Extensions to the k-means algorithm for clustering large data sets with
       categorical values, Data Mining and Knowledge Discovery 2(3).
    .. [2] Gower (1971), A general coefficient of similarity and some of its properties,
       Biometrics 27(4).

    Examples
    --------
    >>> import pandas as pd
    >>> from tao_cluster import table_pipeline
    >>> table = pd.DataFrame({
    ...     "customer_id": range(60),
    ...     "plan": ["free", "gold", "free"] * 20,
    ...     "hours": ["1 h", "30.5 h", "2 h", "31 h"] * 15,
    ... })
    >>> pipeline = table_pipeline(table, 2, random_state=0)
    >>> pipeline.decisions_[["column", "kind", "done"]]
            column      kind      done
    0  customer_id      name  left out
    1         plan  category  2 levels
    2        hours    number    number
    >>> pipeline.fit(table)[-1].tree_.n_leaves
    2
    """
    check_container(df, "df")
    lists = {"drop": drop, "keep": keep, "categorical": categorical, "date_parts": date_parts}
    lists = {option: _names(option, names) for option, names in lists.items()}
    lists["columns"] = None if columns is None else _names("columns", columns)
    if isinstance(na_values, str):
        raise ValueError(f"na_values must be a list, got {na_values!r}.")
    options = _Options(missing, tuple(na_values), max_levels, **lists)
    _check(df, options, category_weight, standardize)
    decisions = [
        _decision(df.iloc[:, j], name, options) for j, name in enumerate(display_names(df))
    ]
    used = [decision for decision in decisions if decision.readers]
    if not used:
        reasons = "; ".join(f"{d.column}: {d.why or d.done}" for d in decisions)
        raise ValueError(f"No column is left to cluster by ({reasons}).")
    _warn(decisions)
    table = decisions_table(decisions)
    steps = [
        ("read", TableReader({decision.column: decision.only for decision in used}, table)),
        ("encode", _encoder(used, missing, standardize, max_levels, category_weight)),
        ("cluster", TAOClustering(n_clusters, **parameters)),
    ]
    pipeline = Pipeline(steps)
    pipeline.decisions_ = table
    return pipeline


class DecisionWarning(UserWarning):
    """Warning about what :func:`table_pipeline` has decided about a column."""


@dataclass(frozen=True)
class _Options:
    """The options that decide about a column; see :func:`table_pipeline`."""

    missing: str
    na_values: tuple[str | int | float, ...]
    max_levels: int
    columns: tuple[str, ...] | None
    drop: tuple[str, ...]
    keep: tuple[str, ...]
    categorical: tuple[str, ...]
    date_parts: tuple[str, ...]


@dataclass(frozen=True)
class Decision:
    """What becomes of a column of a table.

    Parameters
    ----------
    column : str
    kind : str
        "number", "category", "date", "time", "name", "constant" or "other".
    n_rows, n_missing : int
        Numbers of rows and of missing values.
    done : str
        What is done with the column.
    why : str
        The reason, empty if it is obvious.
    readers : tuple of Reader
        One reader per column that this column becomes; empty if it is left out.
    doubt : str
        A fault that the values suggest, for a warning; mostly empty.
    """

    column: str
    kind: str
    n_rows: int
    n_missing: int
    done: str = "left out"
    why: str = ""
    readers: tuple[Reader, ...] = ()
    doubt: str = ""

    @property
    def only(self):
        """The reader if there is one, else the tuple of readers."""
        return self.readers[0] if len(self.readers) == 1 else self.readers

    @property
    def missing_percent(self):
        """Missing values in percent of the rows."""
        return 100 * self.n_missing / max(self.n_rows, 1)


def decisions_table(decisions):
    """Return decisions as a DataFrame with one row per column of the raw table."""
    return pd.DataFrame(
        {
            "column": [d.column for d in decisions],
            "kind": [d.kind for d in decisions],
            "missing": [d.n_missing for d in decisions],
            "missing_percent": [round(d.missing_percent, 1) for d in decisions],
            "done": [d.done for d in decisions],
            "why": [d.why for d in decisions],
        }
    )


# ---------------------------------------------------------------------- decisions


def _decision(column, name, options):
    """Return the Decision about one column: a Series, its name, and the _Options."""
    words = () if column.dtype.kind in "Mm" else options.na_values  # dates have no words
    cells = Reader(words).with_gaps(column)
    filled = cells.dropna()
    decision = Decision(name, "other", len(column), len(cells) - len(filled))
    skipped = _skipped(column, name, filled, options)
    if skipped is not None:
        return replace(decision, **skipped)
    words = words if decision.n_missing else ()
    is_forced = name in options.keep or options.columns is not None
    found = replace(decision, **_kind_of(column, name, filled, words, options, is_forced))
    if found.kind != "category" and filled.nunique() == 1:
        return replace(
            decision, kind="constant", why=f"always {filled.iloc[0]} where it is not missing"
        )
    if not found.readers or not found.n_missing:
        return found
    if options.missing == "refuse":
        raise ValueError(
            f"column {name!r} has {found.n_missing} missing values; choose missing='median' or "
            "'indicator', or leave out the column with drop."
        )
    if found.kind == "category":
        return replace(found, done=f"{found.done}, one more for missing values")
    flag = ", and an indicator" if options.missing == "indicator" else ""
    return replace(found, done=f"{found.done}, median where missing{flag}")


def _skipped(column, name, filled, options):
    """Return kind and reason, as a dict, if a column is left out whatever its kind; else None.

    Parameters
    ----------
    column : Series
        The raw column.
    name : str
    filled : Series of objects
        The values that are not missing.
    options : _Options
    """
    if name in options.drop or (options.columns is not None and name not in options.columns):
        return {"kind": "other", "why": "not chosen"}
    objects = filled if column.dtype == object else ()  # other types have no lists and the like
    unhashable = next((cell for cell in objects if not isinstance(cell, Hashable)), None)
    if unhashable is not None:
        return {"kind": "other", "why": f"has values of type {type(unhashable).__name__}"}
    if filled.nunique() + (len(filled) < len(column)) > 1:
        return None
    why = "empty" if len(filled) == 0 else f"always {filled.iloc[0]}"
    return {"kind": "constant", "why": why}


def _kind_of(column, name, cells, words, options, is_forced):
    """Return kind, what is done, reason and readers of a column with several values, as a dict.

    Parameters
    ----------
    column : Series
        The raw column.
    name : str
    cells : Series of objects
        The values that are not missing.
    words : tuple of str or numbers
        Cells that mean a missing value; empty if the column has no missing values.
    options : _Options
    is_forced : bool
        Whether the user has asked for the column.
    """
    is_chosen = name in options.categorical
    if infer_dtype(cells) == "boolean":
        return _category(cells, words, options, form="truth")
    if is_chosen or isinstance(column.dtype, pd.CategoricalDtype):
        form = "number" if infer_dtype(cells) in ("integer", "floating") else "text"
        why = "chosen as a category" if is_chosen else "of the type category"
        return _category(cells, words, options, why, form=form)
    if isinstance(column.dtype, pd.PeriodDtype):
        return {"kind": "date", "why": "periods; convert them with .dt.to_timestamp()"}
    if is_numeric_dtype(column):
        return _numeric(name, cells, Number(words), options, is_forced)
    if infer_dtype(cells) in ("timedelta", "complex", "bytes", "mixed-integer-float-complex"):
        why = f"values of type {infer_dtype(cells)}; convert them to numbers or strings"
        return {"kind": "other", "why": why}
    return _strings(column, name, cells, words, options, is_forced)


def _numeric(name, cells, reader, options, is_forced):
    """Return the decision about a column of numbers; see :func:`_kind_of`."""
    numbers = reader.read(cells)
    if not reader.unit and set(numbers.unique()) == {0.0, 1.0}:
        form = "number" if isinstance(reader, Number) else "text"
        return _category(cells, reader.missing, options, why="only 0 and 1", form=form)
    why = "" if is_forced else _naming_reason(name, numbers.to_numpy())
    if why:
        remedy = f"keep=[{name!r}] uses it as a number"
        if len(set(numbers)) <= options.max_levels:
            remedy = f"categorical=[{name!r}] uses it as a category"
        is_doubtful = not (_is_called_name(name) or why == _COUNTS)
        doubt = f"column {name!r} seems to name the rows, so it is left out; {remedy}"
        return {"kind": "name", "why": f"{why}; {remedy}", "doubt": doubt if is_doubtful else ""}
    why = f"numbers in {reader.unit}" if reader.unit else ""
    doubt = _sentinel(name, numbers.to_numpy())
    if not is_forced:
        doubt = doubt or _number_or_name(name, numbers.to_numpy())
    return {
        "kind": "number",
        "done": "number",
        "readers": (reader,),
        "why": "; ".join(filter(None, [why, doubt])),
        "doubt": doubt,
    }


def _sentinel(name, numbers):
    """Return a warning if a number such as -999 lies far from all others; else an empty str."""
    for value in _SENTINELS:
        others = numbers[numbers != value]
        if len(others) == 0 or len(numbers) - len(others) < _LEAST_SHARE * len(numbers):
            continue
        low, high = others.min(), others.max()
        if max(low - value, value - high) > high - low > 0:
            return (
                f"the number {value} in column {name!r} lies far from all others; if it means a "
                f"missing value, use na_values=[*NA_VALUES, {value}]"
            )
    return ""


def _strings(column, name, cells, words, options, is_forced):
    """Return the decision about a column of strings, dates or other objects; see `_kind_of`."""
    kinds = cells.drop_duplicates()  # each kind of cell is looked at once
    try:
        date = Date.from_cells(column.dropna() if column.dtype.kind == "M" else kinds, words)
    except AmbiguousDatesError as error:
        return {"kind": "date", "why": f"{error}; convert the column with pandas.to_datetime"}
    if date is not None:
        parts = (replace(date, part=part) for part in options.date_parts)
        return {"kind": "date", "done": date.unit, "readers": (date, *parts)}
    texts, distinct = cells.astype(str), kinds.astype(str)
    clock = Clock.from_cells(distinct, words)
    if clock is not None:
        return {"kind": "time", "done": clock.unit, "readers": (clock,)}
    if not distinct.str.match(r"\s*0\d").any():  # codes such as 02134 are no numbers
        written = Written.from_cells(distinct, words)
        if written is not None:
            return _numeric(name, cells, written, options, is_forced)
        _check_mixed(name, cells)
    advice = None if is_forced else _unusual(distinct)
    return advice or _levels_or_name(name, texts, words, options, is_forced)


def _levels_or_name(name, texts, words, options, is_forced):
    """Return the decision about a column of strings that are not numbers; see :func:`_kind_of`."""
    n_levels = texts.nunique()
    is_name = n_levels > max(2, len(texts) / 2)
    is_name |= _is_called_name(name) and n_levels > options.max_levels
    if is_name and not is_forced:
        return {"kind": "name", "why": f"{n_levels} different strings in {len(texts)} rows"}
    return _category(texts, words, options)


def _category(cells, words, options, why="", *, form="text"):
    """Return the decision about a column of categories; see :func:`_kind_of`."""
    n_levels = cells.nunique()
    done = f"{n_levels} levels"
    if n_levels > options.max_levels:
        done = f"{options.max_levels - 1} most frequent levels, and other"
        why = why or f"{n_levels} levels"
    return {"kind": "category", "done": done, "why": why, "readers": (Level(words, form),)}


def _naming_reason(name, numbers):
    """Return why a column of integers seems to name the rows; an empty str if it does not."""
    if (numbers != np.floor(numbers)).any():
        return ""
    if _is_called_name(name):
        return f"integers in a column with the name {name!r}"
    n_kinds, n_rows = len(np.unique(numbers)), len(numbers)
    if n_rows > 2 and numbers[0] in (0, 1) and (np.diff(numbers) == 1).all():
        return _COUNTS
    if n_kinds <= n_rows / 2 or n_rows <= 2:
        return ""
    low, high = numbers.min(), numbers.max()
    is_dense = n_kinds == n_rows and high - low < 1.5 * n_rows and n_rows >= 10
    is_uniform = n_rows >= _ENOUGH_ROWS and _is_uniform(numbers, low, high)
    return f"{n_kinds} different integers in {n_rows} rows" if is_dense or is_uniform else ""


def _number_or_name(name, numbers):
    """Return a warning if numbers of a small table may name its rows; else an empty str.

    Small tables do not allow the test for uniform numbers. Incomes may look like identifiers there:
    distinct numbers of the same length, from five digits on.
    """
    low, high, n_rows = numbers.min(), numbers.max(), len(numbers)
    is_long = low >= 10_000 and len(f"{low:.0f}") == len(f"{high:.0f}")
    is_distinct = (numbers == np.floor(numbers)).all() and len(np.unique(numbers)) == n_rows
    if n_rows >= _ENOUGH_ROWS or not (is_long and is_distinct and _is_uniform(numbers, low, high)):
        return ""
    return (
        f"column {name!r} has {n_rows} different integers in {n_rows} rows and is used as a "
        f"number; if they name the rows, use drop=[{name!r}]"
    )


_COUNTS = "numbers of the rows"


def _is_uniform(numbers, low, high):
    """Return whether integers seem to be drawn uniformly, as identifiers are.

    Measurements are mostly different, too, for example incomes in a small table. But hardly any
    measurement is uniform between its smallest and largest value.
    """
    n_rows, places = len(numbers), (np.sort(numbers) - low) / (high - low)
    steps = np.arange(n_rows)
    distance = max((places - steps / n_rows).max(), ((steps + 1) / n_rows - places).max())
    return distance * math.sqrt(n_rows) <= _UNIFORM_LIMIT


def _is_called_name(name):
    """Return whether the name of a column ends in a word such as id, code or phone."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)
    if not words:
        return name.strip() == ""
    last, whole = words[-1].lower(), name.strip().lower()
    if whole in _NAMES_OF_NUMBERED or whole.startswith("unnamed: 0") or last in _NAMING_WORDS:
        return True
    return last.endswith("id") and last[:-2] in _IDENTIFIED


def _check_mixed(name, cells):
    """Raise an UnreadableCellError if nearly all cells are numbers, but not all."""
    numbers = pd.to_numeric(cells, errors="coerce")
    if numbers.notna().mean() < _MOSTLY:
        return
    wrong = cells[numbers.isna()]
    raise UnreadableCellError(
        name,
        wrong.index[0],
        wrong.iloc[0],
        "a number, as most cells of the column are; correct it, use na_values=[*NA_VALUES, "
        f"{wrong.iloc[0]!r}] if it means a missing value, categorical=[{name!r}] if all cells are "
        "categories, or leave out the column with drop",
    )


# Strings that look like dates, times or amounts but cannot be read as such: kind of column, pattern
# of the cells, and advice.
_UNUSUAL = (
    (
        "date",
        r"[0-9]{1,4}[-/. ][0-9]{1,2}[-/. ][0-9]{1,4}([ T].*)?|[0-9]{4}[-/.][0-9]{1,2}"
        r"|[0-9]{1,2}\.? [A-Za-z]{3,9}\.? [0-9]{2,4}|[A-Za-z]{3,9}\.? [0-9]{1,2},? [0-9]{2,4}",
        "dates of different or unusual forms; convert the column with pandas.to_datetime",
    ),
    (
        "time",
        r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?( ?[AaPp][Mm])?",
        "times of day of different or unusual forms; write them like 09:30",
    ),
    (
        "other",
        r"\(?[-+]?[^\w\s]?\s*[-+]?[0-9]{1,3}([.,]?[0-9]{3})*([.,][0-9]+)?\s*([^\W0-9]{1,4}|%)?\)?",
        "numbers with different units or signs; convert them to plain numbers",
    ),
)


def _unusual(texts):
    """Return the decision about strings that look like dates, times or amounts, else None."""
    for kind, form, why in _UNUSUAL:
        if texts.str.strip().str.fullmatch(form).mean() >= _NEARLY_ALL:
            signs = texts.str.replace(r"[0-9.,\s]", "", regex=True)
            is_code = kind == "other" and signs.nunique() == 1  # such as 3x and 12x, or 02134
            return None if is_code else {"kind": kind, "why": why}
    return None


# ---------------------------------------------------------------------- steps


def _encoder(decisions, missing, standardize, max_levels, category_weight):
    """Return the ColumnTransformer of the columns that are used; see :func:`table_pipeline`."""
    outputs = [
        (output_name(d.column, reader), reader, d.n_missing)
        for d in decisions
        for reader in d.readers
    ]
    levels = [name for name, reader, _ in outputs if isinstance(reader, Level)]
    complete, gaps = (
        [name for name, reader, n in outputs if not isinstance(reader, Level) and bool(n) == has]
        for has in (False, True)
    )
    scale = StandardScaler() if standardize else "passthrough"
    impute = Pipeline([("impute", SimpleImputer(strategy="median")), ("scale", scale)])
    encode = OneHotEncoder(
        max_categories=max_levels,
        handle_unknown="infrequent_if_exist",
        sparse_output=False,
        feature_name_combiner=level_name,
    )
    steps = [
        ("complete", scale, complete),
        ("filled", impute, gaps),
        ("missing", MissingIndicator(features="all"), gaps if missing == "indicator" else []),
        ("levels", encode, levels),
    ]
    return ColumnTransformer(
        [step for step in steps if step[2]],
        transformer_weights={"levels": category_weight / math.sqrt(2), "missing": category_weight},
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")


# ---------------------------------------------------------------------- checks


def _check(df, options, category_weight, standardize):
    """Raise a ValueError if `df` cannot be used, or an option names no column or is wrong."""
    if not hasattr(df, "iloc"):
        raise ValueError(f"df must be a pandas DataFrame, got {type(df).__name__}.")
    if len(df) == 0:
        raise ValueError("df has no rows.")
    names = display_names(df)
    twice = _repeated(names)
    if twice:
        raise ValueError(f"Several columns are named {listed(twice)}; rename them.")
    for option in ("columns", "drop", "keep", "categorical"):
        lacking = [name for name in getattr(options, option) or () if name not in names]
        if lacking:
            raise ValueError(
                f"{option}: there is no column {listed(lacking)}; the columns are {listed(names)}."
            )
    _check_options(options, category_weight, standardize)


def _check_options(options, category_weight, standardize):
    """Raise a ValueError if a parameter is out of its range."""
    if options.missing not in MISSING:
        raise ValueError(f"missing must be one of {listed(MISSING)}, got {options.missing!r}.")
    if not isinstance(category_weight, Real) or not 0 < category_weight < math.inf:
        raise ValueError(f"category_weight must be a positive number, got {category_weight!r}.")
    if not isinstance(options.max_levels, int) or options.max_levels < 2:
        raise ValueError(
            f"max_levels must be an integer of at least 2, got {options.max_levels!r}."
        )
    if not isinstance(standardize, bool | np.bool_):
        raise ValueError(f"standardize must be True or False, got {standardize!r}.")
    both = [name for name in options.drop if name in options.keep]
    if both:
        raise ValueError(f"drop and keep both name {listed(both)}.")
    unknown = [part for part in options.date_parts if part not in PARTS]
    if unknown:
        raise ValueError(f"date_parts must be from {listed(PARTS)}, got {listed(unknown)}.")


def _names(option, names):
    """Return names as a tuple of str.

    Raises
    ------
    ValueError
        If `names` is a single string instead of a list, or names a column twice.
    """
    check_list_of_names(names, option)
    found = tuple(map(display_name, names))
    twice = _repeated(found)
    if twice:
        raise ValueError(f"{option} names {listed(twice)} more than once.")
    return found


def _repeated(names):
    """Return the names that occur more than once: list of str, sorted."""
    return sorted(name for name, count in Counter(names).items() if count > 1)


def _warn(decisions):
    """Warn of doubtful columns, and of used numeric columns with many missing values."""
    doubts = [decision.doubt for decision in decisions if decision.doubt]
    if doubts:
        text = "; ".join(doubts)
        warn(f"{text[0].upper()}{text[1:]}.", DecisionWarning)
    many = [
        f"{d.column} ({d.missing_percent:.0f} %)"
        for d in decisions
        if d.readers and d.n_missing > _MANY_MISSING * d.n_rows and d.kind != "category"
    ]
    if many:
        warn(
            f"Many values are missing in {listed(many, quote=False)}, so that rules about these "
            "columns are mostly about the median, which replaces missing values. Leave the columns "
            "out with drop, or use missing='indicator'.",
            DecisionWarning,
        )
