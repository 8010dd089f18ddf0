"""From a raw table to a pipeline: what becomes of each column, and the steps that do it."""

import math
from collections import Counter
from numbers import Real

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ._utils.frames import (
    as_pandas,
    check_container,
    check_list_of_names,
    display_name,
    display_names,
)
from ._utils.warnings import listed, numpy_errors, warn
from .columns.dates import PARTS
from .columns.decide import Options, decide, with_careful_answer
from .columns.names import level_name
from .columns.readers import Level
from .columns.schema import (
    NA_VALUES,
    OpenQuestionsError,
    Schema,
    SchemaError,
    check_doubts,
)
from .columns.steps import Column, Source, through
from .columns.table_reader import TableReader
from .columns.view import raw_view
from .estimator import TAOClustering
from .separation import suggest

MISSING = ("median", "indicator", "refuse")

_MANY_MISSING = 0.3  # share of missing values from which a warning is issued


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
    schema=None,
    doubts="ask",
    **parameters,
):
    """Return a pipeline that clusters the rows of a raw table by a decision tree.

    The table may have units, categories, missing values, dates and columns that name the rows.
    The function looks at each column and decides what becomes of it. The attribute `schema_` of the
    pipeline holds these decisions, and `decisions_` lists them. All further tables are read by
    this schema.

    ============================ ===================================================================
    Column                       What becomes of it
    ============================ ===================================================================
    numbers                      Missing values are replaced by the median, then the column is
                                 standardised.
    strings, booleans, 0/1,      One 0/1 feature per level. Missing values are a level of their own.
    codes in `categorical`       Beyond `max_levels`, the rarest levels become one level "other".
    numbers with a unit          They become numbers if all have the same unit: "70 kg", "$1,250".
    dates, times of day          Days since the first date and, with `date_parts`, parts of the
                                 date; hours since midnight. Forms other than ISO 8601 are asked
                                 about; see `doubts`.
    durations                    Days.
    names and identifiers        Left out: strings or integers that are different in most rows, and
                                 integers (or more than `max_levels` strings) in a column with the
                                 last word id, code, zip, phone or nr.
    empty and constant columns   Left out.
    ============================ ===================================================================

    A categorical column counts as one variable: two rows with different levels are at the squared
    distance ``category_weight ** 2``, whatever the number of levels. Two standardised numbers have
    this squared distance if they are `category_weight` standard deviations apart.

    Parameters
    ----------
    df : DataFrame of shape (n, m)
        From pandas, polars or another library that narwhals supports.
    n_clusters : int or "auto", default=8
        "auto" takes the suggestion of :func:`choose_n_clusters` for the rows of `df`, from 2 to 12
        clusters, or 1 if no number holds. The attribute `suggestion_` of the pipeline says why.
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
    schema : Schema, dict or path, optional
        What some or all columns are, for example
        ``{"price": {"kind": "number", "thousands": "."}}`` or the file of a :class:`Schema`. The
        function decides only about the other columns.
    doubts : {"ask", "warn"}, default="ask"
        What happens if a column can be read in several ways, such as "1.250", "01/02/2020" or
        202401. By default, one error asks about all of them, with the entries of a schema that
        answer. With "warn", the most careful answer is taken, and a warning prints it: a column
        with two meanings is left out, and odd cells among numbers are missing values.
    **parameters
        Parameters of :class:`TAOClustering`, such as ``split="axis"`` or ``max_leaves=6``.

    Returns
    -------
    sklearn.pipeline.Pipeline, not fitted
        Its steps are a :class:`tao_cluster.columns.TableReader`, a ColumnTransformer of standard
        steps of scikit-learn, and a TAOClustering. Plots, text, rules, SQL and explanations of the
        fitted pipeline are in the names and units of the raw table.

    Raises
    ------
    ValueError
        If a named column does not exist, no column is left, `missing` is "refuse" and a value is
        missing, or a parameter is out of its range.
    OpenQuestionsError
        If `doubts` is "ask" and columns can be read in several ways. Its message lists them all.

    Warns
    -----
    DecisionWarning
        If more than 30 % of the values of a used numeric column are missing, if values lie far from
        all others, such as -999 or 9999-12-31, if `doubts` is "warn" and columns can be read in
        several ways, or if "auto" finds no number.

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
    df = as_pandas(df)
    check_container(df, "df")
    lists = {"drop": drop, "keep": keep, "categorical": categorical, "date_parts": date_parts}
    lists = {option: _names(option, names) for option, names in lists.items()}
    lists["columns"] = None if columns is None else _names("columns", columns)
    if isinstance(na_values, str):
        raise ValueError(f"na_values must be a list, got {na_values!r}.")
    given = Schema.from_any(schema)
    na_values = given.missing if na_values is NA_VALUES else tuple(na_values)
    options = Options(missing, na_values, max_levels, **lists, schema=given)
    _check(df, options, category_weight, standardize)
    check_doubts(doubts)
    decisions = _decisions(df, options, doubts)
    used = [decision for decision in decisions if decision.readers]
    if not used:
        reasons = "; ".join(f"{d.column}: {d.why or d.done}" for d in decisions)
        raise ValueError(f"No column is left to cluster by ({reasons}).")
    _warn(decisions, parameters.get("objective"))
    reader = TableReader(Schema(tuple(decisions), na_values, df.attrs.get("file", given.file)))
    has_gaps = {decision.column: decision.n_missing > 0 for decision in used}
    encoder = _encoder(
        reader.outputs(), has_gaps, missing, standardize, max_levels, category_weight
    )
    is_auto = isinstance(n_clusters, str) and n_clusters == "auto"
    last = TAOClustering(2 if is_auto else n_clusters, **parameters)
    pipeline = TablePipeline([("read", reader), ("encode", encoder), ("cluster", last)])
    if is_auto:
        rows = clone(pipeline[:-1]).fit_transform(df)
        pipeline.suggestion_ = suggest(rows, pipeline[-1], trees=False)
        pipeline[-1].n_clusters = pipeline.suggestion_.n_clusters
        if pipeline.suggestion_.n_clusters == 1:
            warn(pipeline.suggestion_.reason, DecisionWarning)
    return pipeline


class TablePipeline(Pipeline):
    """The pipeline of :func:`table_pipeline`, a Pipeline of scikit-learn.

    New rows need only the columns that the tree tests: `predict` ignores all others.
    """

    @property
    def schema_(self):
        """What the fit has decided about each column: Schema."""
        return self.steps[0][1].schema

    @property
    def decisions_(self):
        """The decisions as a DataFrame with one row per column of the raw table."""
        return self.schema_.table

    def predict(self, X, **parameters):
        """Return the cluster of each row: array of shape (n,).

        Parameters
        ----------
        X : DataFrame of shape (n, m)
            Of the columns of the fit, those that the tree tests are necessary.
        **parameters
            Those of :class:`sklearn.pipeline.Pipeline`.
        """
        if parameters or len(self.steps) < 3 or not hasattr(self.steps[-1][1], "tree_"):
            return super().predict(X, **parameters)
        return self.steps[-1][1].predict(self.encoded(X))

    def name_clusters(self, names):
        """Name the clusters, and return the pipeline; see `TAOClustering.name_clusters`.

        Parameters
        ----------
        names : dict or list of str
            For example ``{0: "Loyal", 3: "At risk"}``.
        """
        self.steps[-1][1].name_clusters(names)
        return self

    def encoded(self, X):
        """Return rows as the tree takes them; columns that it does not test may be absent in X.

        See :meth:`predict`.
        """
        return raw_view(self).encoded(self.steps[0][1].checked(X))


class TableEncoder(ColumnTransformer):
    """A ColumnTransformer whose output knows the raw column behind each of its columns.

    Constraints of an estimator that is fitted to the output refer to these raw columns.

    Parameters
    ----------
    transformers : list of (str, transformer, list of str)
    transformer_weights : dict of float
    outputs : list of (str, str, Reader)
        Name, raw column and reader of each input column; see ``TableReader.outputs``.
    """

    def __init__(self, transformers, *, transformer_weights=None, outputs=()):
        super().__init__(
            transformers,
            transformer_weights=transformer_weights,
            verbose_feature_names_out=False,
        )
        self.outputs = outputs

    def fit_transform(self, X, y=None, **parameters):
        """Fit the transformers, and return the transformed table."""
        return self._with_owners(super().fit_transform(X, y, **parameters))

    def transform(self, X, **parameters):
        """Return the transformed table."""
        return self._with_owners(super().transform(X, **parameters))

    def _with_owners(self, Z):
        of_input = {name: (raw, reader) for name, raw, reader in self.outputs}
        inputs = [of_input[name] for name in self.feature_names_in_]
        columns = [Column(Source(j, reader=reader)) for j, (_, reader) in enumerate(inputs)]
        columns = through(self, columns, "encode")
        Z.attrs["raw_columns"] = [(inputs[c.source.column][0], c) for c in columns]
        return Z


@numpy_errors()
def passed_on(pipeline, X, *, fits=False):
    """Return what the first steps of a pipeline, which are fitted here or before, pass to its last.

    Constraints of the last step then refer to raw columns; see :class:`TableEncoder`.
    """
    first = pipeline[:-1]
    return first.fit_transform(X) if fits else first.transform(X)


def decided_again(pipeline, df):
    """Return the first steps of a TablePipeline for another table, not fitted.

    The kinds of columns are those of the old schema. What else :func:`table_pipeline` decides about
    them, for instance because of missing values, is decided anew.
    """
    reader, encoder = pipeline.steps[0][1], pipeline.steps[1][1]
    parts = {name: step for name, step, _ in encoder.transformers}
    names = display_names(df)
    known = [i for i, name in enumerate(names) if name in reader.schema.columns]
    scales = [parts.get("complete"), *getattr(parts.get("filled"), "named_steps", {}).values()]
    options = {
        "missing": "indicator" if "missing" in parts else "median",
        "category_weight": encoder.transformer_weights["missing"],
        "standardize": any(isinstance(scale, StandardScaler) for scale in scales),
    }
    if "levels" in parts:
        options["max_levels"] = parts["levels"].max_categories
    return table_pipeline(df.iloc[:, known], schema=reader.schema, **options)[:-1]


def without_first_gaps(pipeline, df, *, tested=False):
    """Return a table in which columns that have their first missing values have none.

    Each such value becomes the cell of the median of its column, since the fit has learned no value
    to fill in. Unless `tested`, those of columns that the tree tests stay, and raise an error
    later.
    """
    reader, names = pipeline.steps[0][1], display_names(df)
    kept = set() if tested else raw_view(pipeline).tested_columns
    table, filled = reader._read(df), df.copy(deep=False)
    for name, column, _ in reader.outputs():
        values = table[name].to_numpy()
        if name in reader._without_gaps() and np.isnan(values).any() and column not in kept:
            place = names.index(column)
            order = np.argsort(values, kind="stable")  # missing values are the last
            cells = df.iloc[:, place].copy()
            n_known = len(values) - int(np.isnan(values).sum())
            cells.iloc[order[n_known:]] = cells.iloc[order[max(n_known - 1, 0) // 2]]
            filled.isetitem(place, cells)
    return filled


class DecisionWarning(UserWarning):
    """Warning about what :func:`table_pipeline` has decided about a column."""


# ---------------------------------------------------------------------- steps


def _encoder(outputs, has_gaps, missing, standardize, max_levels, category_weight):
    """Return the ColumnTransformer of the columns that are used; see :func:`table_pipeline`."""
    levels = [name for name, _, reader in outputs if isinstance(reader, Level)]
    numbers = [(name, has_gaps[column]) for name, column, _ in outputs if name not in levels]
    complete, gaps = ([name for name, has in numbers if has == which] for which in (False, True))
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
    return TableEncoder(
        [step for step in steps if step[2]],
        transformer_weights={"levels": category_weight / math.sqrt(2), "missing": category_weight},
        outputs=outputs,
    ).set_output(transform="pandas")


# ---------------------------------------------------------------------- checks


def _check(df, options, category_weight, standardize):
    """Raise a ValueError if `df` cannot be used, or an option names no column or is wrong."""
    if not hasattr(df, "iloc"):
        raise ValueError(f"df must be a pandas DataFrame, got {type(df).__name__}.")
    names = display_names(df)
    for option in ("columns", "drop", "keep", "categorical"):
        lacking = [name for name in getattr(options, option) or () if name not in names]
        if lacking:
            raise ValueError(
                f"{option}: there is no column {listed(lacking)}; the columns are {listed(names)}."
            )
    lacking = [name for name in options.schema.columns if name not in names]
    if lacking:
        raise SchemaError(f"schema: there is no column {listed(lacking)} in the table.")
    twice, both = _repeated(names), [name for name in options.drop if name in options.keep]
    unknown = [part for part in options.date_parts if part not in PARTS]
    levels, weight = options.max_levels, category_weight
    is_weight = isinstance(weight, Real) and 0 < weight < math.inf
    is_number = isinstance(levels, int) and levels >= 2
    is_choice = isinstance(standardize, bool | np.bool_)
    missing = options.missing
    for is_right, message in (
        (len(df), "df has no rows."),
        (not twice, f"Several columns are named {listed(twice)}; rename them."),
        (missing in MISSING, f"missing must be one of {listed(MISSING)}, got {missing!r}."),
        (is_weight, f"category_weight must be a positive number, got {weight!r}."),
        (is_number, f"max_levels must be an integer of at least 2, got {levels!r}."),
        (is_choice, f"standardize must be True or False, got {standardize!r}."),
        (not both, f"drop and keep both name {listed(both)}."),
        (not unknown, f"date_parts must be from {listed(PARTS)}, got {listed(unknown)}."),
    ):
        if not is_right:
            raise ValueError(message)


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


def _decisions(df, options, doubts):
    """Return the decisions about the columns; `doubts` says what becomes of open questions."""
    names = display_names(df)
    decisions = [decide(df.iloc[:, j], name, options) for j, name in enumerate(names)]
    questions = {j: d.question for j, d in enumerate(decisions) if d.question}
    if questions and doubts == "ask":
        raise OpenQuestionsError([*questions.values()])
    if questions:
        for j, question in questions.items():
            decisions[j] = with_careful_answer(df.iloc[:, j], question, options)
        lines = [f"column {q.where!r}: {q.text} {q.line(q.careful)}" for q in questions.values()]
        warn("Taken as the most careful answers: " + "; ".join(lines), DecisionWarning)
    return decisions


def _warn(decisions, objective):
    """Warn of values far from all others, and of numeric columns with many missing values.

    The objectives that the first warning recommends need none.
    """
    is_robust = objective in ("trimmed", "kmedians") or getattr(objective, "trims", False)
    doubts = [decision.doubt for decision in decisions if decision.doubt]
    if doubts and not is_robust:
        text = "; ".join(doubts)
        warn(f"{text[0].upper()}{text[1:]}.", DecisionWarning)
    many = [
        f"{d.column} ({100 * d.n_missing / d.n_rows:.0f} %)"
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
