"""View of a fitted pipeline as a fitted model of its raw columns, and checks of raw rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.feature_extraction import DictVectorizer
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from .._utils.frames import are_default, display_names, displayed, fitted_names
from .._utils.matrices import FLOATS, check_rows, checked_array
from .._utils.warnings import listed
from ..facade import Facade
from ..tree import tree_of
from .dates import Date
from .names import Indicator, Numbered, Numeric, check_feature_names, names_of, printable_names
from .readers import Number
from .steps import Column, UnsupportedStepError, columns_of, split_text_steps
from .table_reader import TableReader, encoded_once, output_name
from .trees import raw_range, raw_sides, raw_stds, raw_tree


@dataclass(frozen=True, eq=False, repr=False)
class RawView(Facade):
    """A fitted pipeline that shows its tree in the raw columns; :func:`raw_view` returns it.

    The features of the tree are the numeric raw columns that the steps use, and one 0/1 feature
    per encoded category. They have the order of the raw columns. Fitted attributes that do not
    depend on the columns (`labels_`, `inertia_`, `node_counts_`, ...) are those of the model.

    Parameters
    ----------
    model : fitted estimator, the last step
    steps : list of (str, fitted transformer), the steps before
    columns : list of Column, the columns that the model was fitted to
    raw_names : sequence of str, names of all raw columns for display
    fit_names : list of str or None
        Column names of the DataFrame that the pipeline was fitted to; None if it had no names.
    text_steps : list of (str, fitted transformer)
        A vectorizer and the steps that weight its words, if the pipeline begins with one. The
        features are then its words or keys, and raw rows are strings or dicts.
    pipeline : fitted sklearn.pipeline.Pipeline
    """

    model: Any
    steps: list
    columns: list[Column]
    raw_names: Sequence[str]
    fit_names: list[str] | None
    text_steps: Sequence = ()
    pipeline: Any = None

    def __getattr__(self, name):
        if name.startswith("_") or not name.endswith("_"):
            raise AttributeError(f"A pipeline in its raw columns has no attribute {name!r}.")
        return getattr(self.model, name)

    # ------------------------------------------------------------------ features

    @cached_property
    def _sources(self):
        """The raw column or category behind each feature, in the order of the raw columns."""
        distinct = dict.fromkeys(column.source for column in self.columns)
        return sorted(distinct, key=lambda source: (source.column, source.slot))

    @cached_property
    def _feature_of(self):
        """For each of `columns`, the position of the feature that it is computed from."""
        place = {source: f for f, source in enumerate(self._sources)}
        return np.array([place[column.source] for column in self.columns], dtype=np.int32)

    @cached_property
    def _column_of(self):
        """For each feature, the position in `columns` of the first column computed from it."""
        return np.unique(self._feature_of, return_index=True)[1]

    @property
    def n_features_in_(self):
        """Number of features of the converted tree: raw numbers and categories of raw columns."""
        return len(self._sources)

    @cached_property
    def feature_names_in_(self):
        """Names of the features of `tree_`: object array, with names such as "plan is gold"."""
        sources = self._sources
        filled = {s.column for s in sources if s.has_missing and s.category is not None}
        names = [_name(s, self.raw_names[s.column], filled) for s in sources]
        return np.array([*names, None], dtype=object)[:-1]

    # ------------------------------------------------------------------ the model in raw columns

    @cached_property
    def tree_(self):
        """The tree of the model, with tests of raw columns instead of transformed columns."""
        tree = tree_of(self.model)
        try:
            return raw_tree(tree, self.columns, self._feature_of, len(self._sources))
        except UnsupportedStepError as error:
            raise _with_advice(error, self.pipeline) from None

    @property
    def split_stds_(self):
        """Standard deviation of each tested feature over the rows of its node, in raw units."""
        stds, model = self.model.split_stds_, tree_of(self.model)
        return raw_stds(model, stds, self.tree_, self.columns, self._feature_of)

    @cached_property
    def split_sides_(self):
        """The fitted values next to the threshold of each test, in raw units; see an estimator."""
        return raw_sides(tree_of(self.model), self.model.split_sides_, self.tree_, self.columns)

    @property
    def _column_range(self):
        """Smallest and largest fitted value of each feature in raw units; None if unknown."""
        known, used = getattr(self.model, "_column_range", None), self._column_of
        return None if known is None else raw_range(known[:, used], [self.columns[j] for j in used])

    @property
    def feature_importances_(self):
        """Importance of each feature: the sum of the importances of the columns made from it."""
        shares = self.model.feature_importances_
        return np.bincount(self._feature_of, shares, len(self._sources))

    @property
    def cluster_centers_(self):
        """Centres of the clusters in raw units, or in the embedding if `fit` clustered one."""
        return self._raw_centers(self.model.cluster_centers_)

    @property
    def free_centers_(self):
        """Centres of the free clustering (without a tree), in the units of `cluster_centers_`."""
        return self._raw_centers(self.model.free_centers_)

    def _raw_centers(self, centers):
        """Return centres in raw units; the centre of a category is the share of rows with it."""
        if centers is None or self.model._space.has_embedding:
            return centers
        return np.column_stack([self.columns[j].inverse(centers[:, j]) for j in self._column_of])

    # ------------------------------------------------------------------ rows

    def predict(self, X):
        """Return the cluster that the pipeline predicts for each raw row: array of shape (n,)."""
        return self.model.predict(self.encoded(X))

    def apply(self, X):
        """Return the leaf that each raw row reaches in the pipeline: int32 array of shape (n,)."""
        return self.model.apply(self.encoded(X))

    def encoded(self, X, *, is_complete=False):
        """Return raw rows as the model takes them; unless `is_complete`, only tested columns."""
        only = self.tested_columns if self._reader and not is_complete else None
        return self._encoded(self._table(X, only))

    @property
    def tested_columns(self):
        """Names of the raw columns that the tree tests: set of str."""
        used = {self.columns[j].source.column for j in tree_of(self.model).used_features}
        return {self.fit_names[j] for j in used}

    @property
    def used_columns(self):
        """Names of the raw columns that the steps do not drop: set of str."""
        return {self.fit_names[source.column] for source in self._sources}

    def decision_path(self, X):
        """Return a CSR indicator of shape (n, n_nodes) of the nodes that each raw row visits."""
        return tree_of(self.model).paths(self.apply(X))

    def numbers(self, X):
        """Return the features of raw rows: raw numbers, and 1 or 0 for categories.

        Parameters
        ----------
        X : raw rows: DataFrame, array-like or sparse matrix, as the pipeline takes them

        Returns
        -------
        float array of shape (n, n_features), or CSR matrix if X or the transformed rows are sparse
        """
        X = self._table(X)
        is_category = np.array([source.is_category for source in self._sources], dtype=bool)
        numbers, categories = np.flatnonzero(~is_category), np.flatnonzero(is_category)
        parts = [self._raw_numbers(X, numbers)] if len(numbers) else []
        parts += [self._indicators(self._encoded(X), categories)] if len(categories) else []
        if len(parts) == 1:
            return parts[0]
        stack = partial(sp.hstack, format="csr") if any(map(sp.issparse, parts)) else np.hstack
        return stack(parts)[:, np.argsort(np.concatenate([numbers, categories]))]

    def gaps(self, X):
        """Return where numbers of raw rows are missing, one column per feature; None if nowhere."""
        filled = [f for f, source in enumerate(self._sources) if source.fill is not None]
        if not filled or sp.issparse(X):
            return None
        found = np.zeros((_num_samples(X), len(self._sources)), dtype=bool)
        found[:, filled] = np.isnan(self._raw_part(self._table(X), filled))
        return found if found.any() else None

    def vectorized(self, X):
        """Return X; if the first step is a vectorizer, strings or dicts become its columns."""
        if not self.text_steps:
            return X
        one = dict if isinstance(self.text_steps[0][1], DictVectorizer) else str
        is_vectorized = isinstance(X, dict) and one is str
        n_dims = len(X.shape) if hasattr(X, "shape") else np.ndim(X)  # also of a sparse matrix
        if is_vectorized or (not isinstance(X, one) and n_dims == 2):
            return X
        X = [X] if isinstance(X, one) else X
        for _, step in self.text_steps:
            X = step.transform(X)
        return X

    def integer_features(self, table):
        """Return which features have only integers: bool array, or None if that is unknown.

        Word counts are known from the fit, and columns of a DataFrame by their dtype.
        """
        if self.text_steps and len(self.steps) == 0:
            return getattr(self.model, "_column_is_integer", None)
        if not hasattr(table, "infer_objects"):
            return None
        kinds = [dtype.kind in "iu" for dtype in inferred(table, table.dtypes).dtypes]
        found = []
        for source in self._sources:
            # A change of a date by whole days keeps the time of day.
            is_date = isinstance(source.reader, Date) and not source.reader.is_time
            found.append(is_date or kinds[self._place(table, source)])
        return np.array(found, dtype=bool)

    def _place(self, table, source):
        """Return the position of the raw column of a source in a table."""
        if self.fit_names is None or not hasattr(table, "columns"):
            return source.column
        return display_names(table).index(self.fit_names[source.column])

    def with_numbers(self, row, numbers):
        """Return a raw row with new values of some features.

        If the feature of a category becomes 1, the category is written into its raw column.

        Parameters
        ----------
        row : one raw row, as the pipeline takes it
        numbers : dict of float, the new values by position of the feature

        Returns
        -------
        raw row of the same kind
        """
        row, cells = self._named(row), {}
        for feature, number in numbers.items():
            source = self._sources[feature]
            if source.is_category and number != 1.0:
                continue
            place, cell = self._place(row, source), source.cell if source.is_category else number
            reader = source.reader
            cells[place] = reader.cell(cell, row.iloc[:, place]) if reader else cell
        return with_cells(row, cells)

    def _raw_numbers(self, X, features):
        """Return the columns of numeric features, with missing values imputed."""
        fills = np.array([self._sources[f].fill for f in features], dtype=float)  # NaN for None
        return check_rows(_with_gaps_filled(self._raw_part(X, features), fills))

    def _raw_part(self, X, features):
        """Return the columns of numeric features as floats, which may be missing.

        The columns are selected by name if X and the fit have column names, else by position.
        """
        sources = [self._sources[f] for f in features]
        columns = [source.column for source in sources]
        if hasattr(X, "columns") and self.fit_names:
            columns = [output_name(self.fit_names[s.column], s.reader) for s in sources]
        return checked_array(
            _safe_indexing(X, columns, axis=1),
            accept_sparse="csr",
            dtype=FLOATS,
            ensure_all_finite="allow-nan",
        )

    def _indicators(self, Z, features):
        """Return the 0/1 values of category features: matrix.

        They are taken from Z, the transformed rows, and the scaling after the encoder is reversed.
        If a scaler has moved a 0 to another number, they become dense.
        """
        columns = self._column_of[features]
        zero, one = np.array([[self.columns[j](x) for j in columns] for x in (0.0, 1.0)])
        part = check_rows(_safe_indexing(Z, columns, axis=1))
        if not sp.issparse(part) or zero.any():
            part = part.toarray() if sp.issparse(part) else part
            return np.round((part - zero) / (one - zero))
        part = part.tocsr(copy=True)
        part.data = np.round(part.data / one[part.indices])
        return part

    def _table(self, X, only=None):
        """Return raw rows with the names of the fit, and read by the TableReader, if any.

        A vectorizer turns strings into word columns.
        """
        X = self._named(self.vectorized(X))
        return self._reader.transform(X, only) if self._reader else X

    def _encoded(self, table):
        """Return the columns that the model was fitted to, from the result of `_table`."""
        first = 1 if self._reader else 0
        return encoded_once(self._reader, table, lambda: transformed(self.steps[first:], table))

    @cached_property
    def _reader(self):
        """The TableReader that is the first step, or None."""
        first = self.steps[0][1] if self.steps else None
        return first if isinstance(first, TableReader) else None

    def _named(self, X):
        """Return X; if it has no column names, add those of the fit, by which steps may select."""
        return X if self.fit_names is None or hasattr(X, "columns") else as_frame(X, self.fit_names)


def _with_gaps_filled(X, fills):
    """Replace missing values of column j by fills[j]; they stay missing where fills[j] is NaN."""
    X = X.copy()
    values, of_value = (X.data, X.indices) if sp.issparse(X) else (X, np.arange(X.shape[1]))
    np.copyto(values, fills[of_value], where=np.isnan(values))
    return X


def _name(source, raw, filled):
    """Return the name of the feature of a source of a raw column."""
    reader = source.reader
    # A missing value may be filled in by a level and be marked, too. The feature that marks it is
    # then no level of the filled column.
    is_marked = source.category is None and source.column in filled
    name = output_name(raw, reader)
    if source.is_category:
        parts = source.has_missing, source.levels, source.is_rest, reader, raw
        return Indicator(f"raw {name}" if is_marked else name, source.category, *parts)
    is_plain = source.fill is None and (reader is None or reader == Number())
    return name if is_plain else Numeric(name, source.fill, reader, raw)


def as_frame(X, names):
    """Return rows without names as a DataFrame; lists may mix numbers and strings."""
    rows = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
    if len(rows.shape) == 2 and rows.shape[1] != len(names):
        raise ValueError(
            f"The rows have {rows.shape[1]} values, but the pipeline uses {len(names)} columns "
            f"({listed(names)}). Use a DataFrame, whose columns are found by name."
        )
    table = pd.DataFrame(rows, columns=list(names))
    return inferred(table, table.dtypes)


def raw_view(pipeline, feature_names=None):
    """Return a fitted pipeline as a fitted model of its raw columns.

    The last step of the pipeline is an estimator of this project.

    These steps are supported:

    - scalers: StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler
    - :class:`TableReader`, OneHotEncoder, SimpleImputer, MissingIndicator, and selections of
      columns
    - monotone functions, for columns that are tested alone: PowerTransformer,
      QuantileTransformer, KBinsDiscretizer with ``encode="ordinal"``, Binarizer, scalers with
      ``clip=True``, and FunctionTransformer of an increasing numpy function such as `numpy.log1p`
      or with an ``inverse_func`` that undoes a monotone function of each column
    - CountVectorizer, TfidfVectorizer, HashingVectorizer or DictVectorizer as the first step, and
      TfidfTransformer behind it: the features are then the words or keys, in the units of these
      steps
    - ColumnTransformers and Pipelines of the steps listed above, and "passthrough"

    All exports, plots and explanations accept the pipeline itself and use this view of it. After
    an imputer they describe the table with its missing values replaced.

    Parameters
    ----------
    pipeline : fitted sklearn.pipeline.Pipeline
    feature_names : sequence of str, optional
        Names of all raw columns that the pipeline was fitted to. Default the names in the fit, or
        x0, x1, ...

    Returns
    -------
    RawView
        It has the attributes of the fitted estimator, such as `tree_`, `feature_names_in_` and
        `cluster_centers_`, the methods `predict` and `apply` for raw rows, and the exports and
        plots of an estimator. `numbers` converts raw rows to the features of `tree_`.

    Raises
    ------
    ValueError
        If a step is not supported (UnsupportedStepError), or if the number of names is wrong.
    TypeError
        If the last step has no tree.
    NotFittedError
        If the pipeline is not fitted.

    Notes
    -----
    `predict` and `apply` are those of the pipeline. `tree_` routes the rows of `numbers` in the
    same way. For tests of one feature and dense float64 rows this holds bit by bit: thresholds are
    found by bisection over the floats, in the arithmetic of the steps. A row within rounding of a
    threshold may differ in a test of several features, and for sparse or float32 rows, for which
    scalers multiply by a rounded factor or divide in single precision.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from greedy import IMM
    >>> from tao_cluster.columns import raw_view
    >>> hours = [1.0, 2.0, 1.0, 2.0, 30.0, 31.0, 31.0, 32.0]
    >>> table = pd.DataFrame({"plan": ["gold", "free"] * 4, "hours": hours})
    >>> steps = make_column_transformer((OneHotEncoder(), ["plan"]), (StandardScaler(), ["hours"]))
    >>> pipeline = make_pipeline(steps, IMM(2, random_state=0)).fit(table)
    >>> view = raw_view(pipeline)
    >>> list(view.feature_names_in_)
    ['plan is free', 'plan is gold', 'hours']
    >>> view.numbers(table[3:5])
    array([[ 1.,  0.,  2.],
           [ 0.,  1., 30.]])
    """
    *steps, (_, model) = flat_steps(pipeline)
    tree = tree_of(model)
    known = vars(pipeline).get("_raw_view")  # the view of an earlier call
    if feature_names is None and known is not None and known[0] is tree and known[1].model is model:
        return known[1]
    text_steps, steps = split_text_steps(steps)
    # The names of all raw columns are those that the first step has stored.
    first = next(s for _, s in [*steps, ("", model)] if hasattr(s, "n_features_in_"))
    names = getattr(first, "feature_names_in_", None)
    fit_names = None if names is None else [*map(str, names)]
    if not steps:
        names = fitted_names(model)
    if text_steps and hasattr(text_steps[0][1], "get_feature_names_out"):
        names, fit_names = text_steps[0][1].get_feature_names_out(), None
    try:
        columns = columns_of(steps, first.n_features_in_)
    except UnsupportedStepError as error:
        raise _with_advice(error, pipeline) from None
    is_default = feature_names is None
    names = check_feature_names(names if is_default else feature_names, first.n_features_in_)
    view = RawView(model, steps, columns, names, fit_names, text_steps, pipeline)
    if is_default:
        pipeline._raw_view = tree, view
    return view


def _with_advice(error, pipeline):
    """Return an error with a second remedy: how to show the columns that the last step tests."""
    depth, part = 1, pipeline[-1]
    while isinstance(part, Pipeline):
        depth, part = depth + 1, part[-1]
    # The name of the pipeline that the user has given is not known.
    names = "pipeline[:-1].get_feature_names_out()"
    names = names if depth == 1 and output_names(pipeline[:-1]) is not None else ""
    return UnsupportedStepError(
        error.reason,
        f"The tree in the columns that it was fitted to is pipeline{'[-1]' * depth}.to_text({names}"
        f"); describe(pipeline, X) compares the clusters by raw columns. {error.remedy}",
    )


def output_names(pipeline, names=None):
    """Return the names of the columns that a fitted pipeline returns, or None if it has none."""
    try:
        return pipeline.get_feature_names_out(names)
    except (AttributeError, TypeError, ValueError):  # a step cannot name its columns
        return None


def flat_steps(pipeline):
    """Return the steps of a pipeline as (name, step); a pipeline as last step is expanded.

    Steps without a method `fit`, such as "passthrough", are left out.
    """
    steps = [("", pipeline)]
    while isinstance(steps[-1][1], Pipeline):
        steps[-1:] = [(name, step) for name, step in steps[-1][1].steps if hasattr(step, "fit")]
    return steps


def transformed(steps, X):
    """Return rows after the steps, a list of (str, fitted transformer)."""
    for _, step in steps:
        X = step.transform(X)
    return X


def shown(model, feature_names=None, X=None):
    """Return a model and its printable feature names; a pipeline becomes its raw view.

    Parameters
    ----------
    model : Tree, fitted estimator, or fitted pipeline that ends in one
    feature_names : sequence of str, optional
        For a pipeline, one name per raw column.
    X : rows, optional
        Names of its columns are used if a pipeline does not know those of the fit: scikit-learn
        stores only names that are strings.

    Returns
    -------
    (model, sequence of str)
        The model, or the view of a pipeline, and the printable names of the features of its tree.
    """
    model, names = named(model, feature_names, X)
    return model, printable_names(names)


def seen(model, feature_names=None, X=None):
    """Return a model and its printable names as :func:`shown`, of any fitted pipeline.

    If the steps of a pipeline cannot be expressed in raw columns, they are its last step and the
    names of the columns that this step takes.
    """
    try:
        view, names = shown(model, feature_names, X)
        tree_of(view)  # a view converts its tree when it is first used
        return view, names
    except UnsupportedStepError:
        last = flat_steps(model)[-1][1]
        return last, printable_names(names_of(last, output_names(model[:-1])))


def named(model, feature_names=None, X=None):
    """Return a model and its original feature names; a pipeline becomes its raw view.

    Unlike the printable names of :func:`shown`, original names identify columns of a table.
    """
    if not isinstance(model, Pipeline):
        return model, names_of(model, feature_names)
    view = raw_view(model, feature_names)
    found = None if X is None else _names_of_rows(X)
    has_no_names = isinstance(view.raw_names, Numbered) and not view.text_steps
    if has_no_names and found is not None and len(found) == len(view.raw_names):
        view = replace(view, raw_names=found)
    return view, list(view.feature_names_in_)


def _names_of_rows(X):
    """Return the names of the columns of a table or of one row as a list, or None."""
    is_row = hasattr(X, "keys") and len(getattr(X, "shape", (1,))) == 1
    names = displayed(list(X.keys())) if is_row else display_names(X)
    return None if names is None or are_default(names) else names


def numbers_of(model, X):
    """Return rows in the features of the model's tree: X, or `model.numbers(X)` for a RawView."""
    return model.numbers(X) if isinstance(model, RawView) else X


def some_rows(model, x, feature_names=None):
    """Return one or several rows as a table with the columns in the order of the fit.

    Parameters
    ----------
    model : Tree, fitted estimator, or a pipeline in its raw columns
    x : array-like, sparse matrix, DataFrame; one row also as an array, list, Series or dict
        Values of a Series or dict are found by name, in any order, if the model or
        `feature_names` has the names of the columns. Otherwise they are taken by position.
    feature_names : sequence of str, optional

    Raises
    ------
    ValueError
        If x is neither a row nor a table, if it is empty, or if a column is missing.
    """
    if isinstance(model, RawView):
        x = model.vectorized(x)
    if hasattr(x, "keys") and len(getattr(x, "shape", (1,))) == 1:
        return _named_row(model, x, feature_names)
    rows = x if hasattr(x, "shape") else as_rows(x)
    if len(rows.shape) == 1:
        rows = rows.reshape(1, -1)
    if len(rows.shape) != 2 or rows.shape[0] == 0:
        raise ValueError(f"Expected a row or a table of rows, got data of shape {rows.shape}.")
    return rows.tocsr() if sp.issparse(rows) else rows


def one_row(model, x, feature_names=None):
    """Return one row as a table; see :func:`some_rows`.

    Raises
    ------
    ValueError
        If x is not one row, or if a column is missing.
    """
    row = some_rows(model, x, feature_names)
    if row.shape[0] != 1:
        raise ValueError(f"Expected one row, got data of shape {row.shape}.")
    return row


def _named_row(model, x, feature_names):
    """Return a Series or dict as one row; its values are found by name, or else by position."""
    own = fitted_names(model)
    if isinstance(model, RawView):  # names of the raw columns, not of the features of its tree
        own = model.fit_names or model.raw_names
    known = [[str(name) for name in names] for names in (own, feature_names) if names is not None]
    labels, row = displayed([*x.keys()]), [value for _, value in x.items()]
    values, has_names = dict(zip(labels, row, strict=True)), not are_default(labels)
    if known and has_names:
        lacking = [[name for name in names if name not in values] for names in known]
        if all(lacking):
            raise ValueError(f"The row has no value of {listed(lacking[0])}.")
        row = [values[name] for name in known[lacking.index([])]]
    if isinstance(model, RawView) and has_names and model.fit_names:
        return as_frame([row], own)
    return as_rows([row])


# ---------------------------------------------------------------- cells of a raw row


def with_cells(row, cells):
    """Return a copy of a row with new values in some columns.

    Parameters
    ----------
    row : array, CSR matrix or DataFrame of shape (1, n)
    cells : dict of values by position of the column

    Returns
    -------
    row of the same type
        A dense array has the dtype float64 if all values are numbers, else object.
    """
    if hasattr(row, "iloc"):
        changed = row.astype(object)
        for column, value in cells.items():
            changed.iloc[0, column] = _as_in_column(value, row.dtypes.iloc[column])
        return inferred(changed, row.dtypes)
    is_sparse = sp.issparse(row)
    changed = row.astype(np.float64).tolil() if is_sparse else np.array(row, dtype=object)
    for column, value in cells.items():
        changed[0, column] = value
    if is_sparse:
        return changed.tocsr()
    return as_rows(changed)


def as_rows(rows):
    """Return rows as an array: of floats if they have only numbers, else of objects."""
    rows = np.asarray(rows, dtype=object)
    is_number = all(isinstance(value, int | float | np.number) for value in rows.ravel().tolist())
    return rows.astype(np.float64) if is_number else rows


def inferred(table, dtypes):
    """Return a table with the types of its cells. Missing cells of type object keep that type.

    They may be strings, and scikit-learn cannot compare strings with missing values of type float.
    """
    kept = [
        name
        for name, dtype, is_missing in zip(table, dtypes, table.isna().all(), strict=True)
        if is_missing and dtype.kind == "O"
    ]
    try:
        found = table.infer_objects()
    except UnicodeEncodeError:  # the strings of pandas cannot hold half of a surrogate pair
        texts = table.map(lambda cell: isinstance(cell, str)).any()
        found = pd.concat([table.loc[:, ~texts].infer_objects(), table.loc[:, texts]], axis=1)
        found = found[table.columns]
    return found.astype(dict.fromkeys(kept, object))


def _as_in_column(value, dtype):
    """Return a value in the type of a column: an integer, a truth value, a date, or as it is."""
    if dtype.kind == "M":
        moment = pd.Timestamp(value)
        zone = getattr(dtype, "tz", None)
        return moment if zone is None else moment.tz_convert(zone)
    return dtype.type(value) if dtype.kind in "iub" and value == int(value) else value
