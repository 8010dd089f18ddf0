"""`compare`: fit several methods to one free clustering and measure their trees."""

import contextlib
import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from numbers import Integral

import numpy as np
from pandas.api.types import is_numeric_dtype
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

import greedy

from .._utils.frames import as_pandas, check_aligned
from .._utils.matrices import spaced_rows
from .._utils.options import resolve
from .._utils.warnings import InterruptedWarning, warn
from ..base import TreeClustering
from ..estimator import TAOClustering
from ..objectives import KMeans, Objective, encode
from ..optimize.choose import knee
from ..optimize.settings import OBJECTIVES, default_depth
from ..problem.repeats import content_order
from ..reference import split_pipeline
from ..table import passed_on, table_pipeline
from .table import FREE, Comparison, Entry, free_record, measures_of, observed

# Rows and clusters of the small fits that compile all kernels before times are measured. There are
# enough rows, evenly spaced, that no tree is perfect: a perfect tree would not run all kernels.
_N_COMPILED, _K_COMPILED = 200, 5
_LEAST_SPLITS = 2  # least number of splits that have a standard error
# Settings of estimators that do not have the parameter `objective` or `standardize`.
_ABSENT = {"objective": "kmeans", "standardize": False}
# Values of lambda of oblique trees that are fitted to limits of parameters, without a path.
_TO_LIMITS = ()


def compare(
    X,
    n_clusters=None,
    methods=None,
    *,
    budgets=None,
    reference=None,
    validation=None,
    splits=1,
    resampling="halves",
    y=None,
    sample_weight=None,
    embedding=None,
    standardize=False,
    objective="kmeans",
    depth=None,
    lambdas=None,
    random_state=0,
    n_jobs=None,
):
    """Fit methods to one free clustering and measure the costs and sizes of their trees.

    The free clustering is computed once. Numba kernels are compiled before times are measured.

    Parameters
    ----------
    X : array-like, DataFrame or CSR matrix of shape (n, d)
        A DataFrame with strings, categories, dates or gaps is read by the first steps of
        :func:`table_pipeline`, unless `methods` has a Pipeline.
    n_clusters : int, default=None
        Number of clusters. None is 8, or the number of labels for ``objective="labels"``.
    methods : sequence of str, or dict of str to (str or estimator or list of them), default=None
        Methods by name, or estimators by a title of your choice. The names include:

        - "tao": oblique trees of one :func:`tao_path`;
        - "tao-axis", "exkmc" and "cart" (scikit-learn's decision tree, fitted to the free labels):
          axis-aligned trees with the leaves of `budgets`;
        - "imm", "exgreedy" and "exshallow": axis-aligned trees with one leaf per cluster.

        None compares those of the methods above that support the objective.
        ``tao_cluster.comparison.METHODS`` has all names. Estimators are copied and get the
        n_clusters, reference, objective and standardize of this call. A list of estimators is one
        series of the picture. An estimator may be a Pipeline that ends with one. Its first steps
        are fitted to the fitted rows and transform X for all methods, so that all Pipelines must
        have the same first steps.
    budgets : dict, or sequence of int, default=None
        ``{"leaves": [10, 20], "parameters": [50, 100]}``: numbers of leaves of the axis-aligned
        trees, and limits on the number of parameters of the oblique trees. A sequence stands for
        leaves. Defaults: leaves follow from the parameters (an axis-aligned tree with n leaves has
        3 n - 2 parameters), or are 1, 2 and 4 times the number of clusters; without
        parameters, all trees of the path are listed.
    reference : None, estimator or array of shape (n_clusters, m), default=None
        The free clustering; see :class:`TAOClustering`.
    validation : float, or array of int or bool, default=None
        Rows held out of all fits, including that of the reference: a share such as 0.2, the
        positions of rows of X, or a mask of n booleans that is True for held-out rows. The cost
        increase on these rows becomes a column of the table.
    splits : int, default=1
        Number of random splits of the rows. With more than one, all methods are fitted to one part
        of each split, and the table has means and standard errors over the splits. Oblique trees
        are then fitted to limits of parameters: those of `budgets`, or those that the leaves of the
        axis-aligned trees have, so that methods are compared at equal numbers of parameters.
    resampling : {"halves", "bootstrap"}, default="halves"
        The splits: a random half of the rows is fitted, and the other half is new; or as many rows
        are drawn with replacement, and those that are not drawn are new.
    y : array-like of shape (n,), optional
        Classes to compare the clusters with (NMI, ARI). Default: the free clustering. Rows of class
        -1, None or NaN are left out. For ``objective="labels"``, the labels to explain; they
        replace `n_clusters` and `reference`.
    sample_weight, embedding
        As for :meth:`TAOClustering.fit`.
    standardize : bool, default=False
        See :class:`TAOClustering`.
    objective : str or Objective, default="kmeans"
        See :class:`TAOClustering`. The methods of :mod:`greedy` support k-means, some of them also
        k-medians.
    depth : int, default=None
        Depth of the initial oblique trees. None is 5, or more if the number of clusters needs it.
    lambdas : array-like of positive floats, default=None
        Values of lambda along the path. None selects ten values from the data.
    random_state : int, default=0
    n_jobs : int, default=None
        Threads per fit. Fits run one after the other, so that their times are comparable.

    Returns
    -------
    Comparison
        With `table`, `models`, `series` and `plot`. The time of a path is divided among its trees.
        Warnings of the fits, and arguments that no method used, are listed below the table. With
        `splits`, `splits` has one Comparison per split, and `models` are those of the first one.

    Raises
    ------
    ValueError
        If a method is unknown, is not an estimator of this project or does not support the
        objective, or if budgets, splits or validation are invalid. The message names the method or
        the argument.
    KeyboardInterrupt
        If Ctrl-C is pressed before the first model is complete, or before two splits are.

    Warns
    -----
    ConvergenceWarning
        If Ctrl-C is pressed later: the table then has the models, or the splits, that were
        complete.

    Notes
    -----
    Standard errors over `splits` are the standard deviation over the splits, divided by the square
    root of their number. The splits share rows, so that the error over new data sets is larger.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from tao_cluster import compare
    >>> X = scale(load_wine().data)
    >>> found = compare(X, 3, ["imm", "exkmc"], budgets=[4, 6], validation=0.2)
    >>> found.table["leaves"].dropna().tolist()
    [3, 4, 6]
    >>> axes = found.plot("leaves")
    """
    X = as_pandas(X)
    check_aligned(X, sample_weight=sample_weight, embedding=embedding, y=y)
    _check_splits(splits, resampling, validation=validation, lambdas=lambdas)
    objective = "kmeans" if _same(objective, KMeans()) else objective
    resolved = resolve(objective, OBJECTIVES, Objective)
    explains_labels = resolved.explains_labels
    given = {"X": X, "sample_weight": sample_weight, "embedding": embedding, "y": y}
    ignored = []
    if explains_labels:
        if y is None:
            raise ValueError('objective="labels" explains given labels: pass them as y.')
        has_noise = getattr(resolved, "noise", "leave") == "explain"
        n_labels = len(encode(y, has_noise=has_noise)[1])
        if n_clusters not in (None, n_labels):
            ignored.append(f"n_clusters={n_clusters} is not used: y has {n_labels} labels.")
        n_clusters = n_labels
    n_clusters = 8 if n_clusters is None else n_clusters
    if isinstance(n_clusters, Integral):
        n_clusters = int(n_clusters)  # multiples of a numpy int8 could overflow
    settings = {"n_clusters": n_clusters, "objective": objective, "standardize": standardize}
    settings |= {"reference": reference, "n_jobs": n_jobs, "random_state": random_state}
    of_paths = {"depth": depth, "lambdas": lambdas}
    path = {"depth": default_depth(n_clusters) if depth is None else depth, "lambdas": lambdas}
    series, pipeline = _without_steps(methods, X)
    if pipeline is not None and not isinstance(methods, Mapping):
        ignored.append("X has strings or gaps: table_pipeline reads it.")
    series = _series(series, objective)
    leaves, parameters = _budgets(budgets)
    ignored += _ignored(series, leaves, parameters, of_paths)
    if not leaves and (
        splits > 1 or any(isinstance(v, str) and METHODS[v].is_sized for _, v in series)
    ):
        leaves = _leaves_for(parameters, n_clusters)
    if splits > 1:
        parameters, path["lambdas"] = parameters or [3 * n - 2 for n in leaves], _TO_LIMITS
    study = _Study(given, settings, series, leaves, parameters, path, pipeline, explains_labels)
    order = content_order(X, y, sample_weight, embedding)
    if splits == 1:
        found = study.compared(*hold_out(validation, order, random_state))
    else:
        if sample_weight is not None:
            order = order[np.asarray(sample_weight)[order] > 0]
        pairs = _RESAMPLING[resampling](len(order), splits, random_state)
        pairs = [(order[kept], order[held]) for kept, held in pairs]
        found = Comparison.from_splits(_repeated(study.compared, pairs))
    return replace(found, notes=(*ignored, *found.notes))


@dataclass(frozen=True, eq=False)
class _Study:
    """The data and settings that all fits share.

    Parameters
    ----------
    rows : dict, arguments of `fit`
    settings : dict, parameters of all estimators
    series : list of pairs (method, value)
    leaves, parameters : lists of int, the budgets
    path : dict, `depth` and `lambdas` of the oblique trees
    pipeline : Pipeline whose first steps transform X, or None
    explains_labels : bool
    """

    rows: dict
    settings: dict
    series: list
    leaves: list
    parameters: list
    path: dict
    pipeline: Pipeline | None
    explains_labels: bool

    def compared(self, kept, held, *, compiles=True):
        """Fit all series to the rows `kept`, and return their Comparison.

        Parameters
        ----------
        kept, held : int arrays, positions of the fitted and of the new rows; None for all and none
        compiles : bool, whether no fits were made before
        """
        rows, new = rows_of(self.rows, kept), None if held is None else rows_of(self.rows, held)
        pipeline, notes = self.pipeline, ()
        if pipeline is not None:
            pipeline = clone(pipeline)
            rows["X"] = passed_on(pipeline, rows["X"], fits=True)
            if new is not None:
                new["X"] = passed_on(pipeline, new["X"])
        terms = (rows["X"], rows["embedding"], self.settings["random_state"])
        transformers, reference, rows["embedding"] = split_pipeline(
            self.settings["reference"], *terms
        )
        if kept is not None and hasattr(reference, "cluster_centers_"):
            reference = copy(reference)
            vars(reference).pop("labels_", None)  # those of all rows, not of a resample
        if transformers is not None and new is not None:
            new["embedding"] = transformers.transform(new["X"])
        classes = None if self.explains_labels else rows.pop("y")
        if new is not None and not self.explains_labels:
            del new["y"]
        study = replace(self, rows=rows, settings=self.settings | {"reference": reference})
        study.check()
        if compiles:
            study.compile()
        records = []
        if not self.explains_labels:
            free, seconds, notes = study.fit(FREE, greedy.CART(max_leaves=2))
            study = replace(study, settings=study.settings | {"reference": free.free_centers_})
            records = [free_record(free, classes, rows["sample_weight"], seconds)]
        entries, measured = study.measured(classes, new)
        found = Comparison.from_records(records + measured, entries, notes)
        if pipeline is None:
            return found
        return replace(found, models={n: _joined(pipeline, m) for n, m in found.models.items()})

    def check(self):
        """Raise a ValueError if an estimator to compare contradicts the settings of the study.

        The parameters n_clusters, objective, standardize and reference are checked. Each must have
        the value of the study or its default. If the estimator lacks one of these parameters, the
        study must not need it.
        """
        for method, value in self.series:
            for _, estimator in self._estimators(value):
                own, defaults = estimator.get_params(deep=False), type(estimator)().get_params()
                for name in ("n_clusters", "objective", "standardize", "reference"):
                    has, wanted = own.get(name, _ABSENT.get(name)), self.settings[name]
                    if name not in own and not _same(has, wanted):
                        raise ValueError(
                            f"Method {method!r} ({type(estimator).__name__}) does not support "
                            f"{name}={wanted!r}: leave this method out, or compare without "
                            f"{name}={wanted!r}."
                        )
                    if not any(_same(has, other) for other in (wanted, defaults.get(name))):
                        raise ValueError(
                            f"Method {method!r} has {name}={_described(has)}, but this comparison "
                            f"has {name}={_described(wanted)} for all methods: leave it out of the "
                            f"estimator and pass compare(..., {name}=...)."
                        )

    def compile(self):
        """Fit everything once to a few rows, so that later times exclude the compilation."""
        rows = rows_of(self.rows, spaced_rows(_num_samples(self.rows["X"]), _N_COMPILED))
        # `fit_path` without lambdas runs further compiled functions, so the small fit then has
        # none, either.
        is_path = self.path["lambdas"] is not _TO_LIMITS
        has_lambdas = is_path and self.path["lambdas"] is not None
        k = _K_COMPILED if rows.get("y") is None else len(encode(rows["y"])[1])
        small = replace(
            self,
            settings=self.settings | {"n_clusters": k, "reference": None},
            rows=rows,
            leaves=[k, 2 * k],
            parameters=[] if is_path else [6 * k],
            path=self.path | {"depth": 2} | ({"lambdas": [1.0]} if has_lambdas else {}),
        )
        for method, value in self.series:
            # An error that is not due to the few rows is raised again by the fit to all rows.
            with contextlib.suppress(ValueError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                list(small.entries(method, value))

    def fit(self, name, estimator):
        """Fit a copy of an estimator; return it, the seconds, and the messages of its warnings."""
        model = self._prepared(estimator)
        return observed(lambda: model.fit(**self.rows), name)

    def measured(self, classes, new):
        """Return the entries of all series, and the row of the table of each.

        Ctrl-C ends the fits. The entries are then those that are complete; if there are none, the
        KeyboardInterrupt is raised.
        """
        entries, records = [], []
        try:
            for method, value in self.series:
                for entry in self.entries(method, value):
                    records.append(measures_of(entry, self.rows, classes, new))
                    entries.append(entry)
        except KeyboardInterrupt:
            if not entries:
                raise
            message = f"Interrupted: the table has the {len(entries)} models that were complete."
            warn(message, InterruptedWarning)
        return entries, records

    def entries(self, method, value):
        """Yield the fitted models of a series."""
        if isinstance(value, str) and METHODS[value].is_path:
            yield from self._path_entries(method)
            return
        for name, estimator in self._estimators(value):
            yield Entry(method + name, method, *self.fit(method + name, estimator))

    def _path_entries(self, method):
        """Yield the trees of one path: all of them, or the best one within each budget."""
        tao, lambdas = self._prepared(TAOClustering(depth=self.path["depth"])), self.path["lambdas"]
        models, seconds, notes = [], 0.0, ()
        if lambdas is not _TO_LIMITS:
            fits = partial(tao.fit_path, lambdas=lambdas, **self.rows)
            models, seconds, notes = observed(fits, method)
            models = models if self.parameters else _different(models)
            seconds /= len(models)
        found = [(f"lambda={model.lambda_:.4g}", model) for model in models]
        if self.parameters:
            found = [(f"{n} parameters", _within(models, n)) for n in self.parameters]
        for (suffix, model), limit in zip_longest(found, self.parameters):
            name, of_path = f"{method}, {suffix}", (model, seconds, notes)
            if model is None:
                # No tree of the path is small enough. A fit with max_parameters also tries values
                # of lambda beyond the largest one of the path.
                of_path = self.fit(name, clone(tao).set_params(max_parameters=limit))
            yield Entry(name, method, *of_path)
            notes = ()

    def _estimators(self, value):
        """Return (suffix of the name, estimator) of each model of a series."""
        if not isinstance(value, str):
            numbers = [f" {i + 1}" for i in range(len(value))] if len(value) > 1 else [""]
            return list(zip(numbers, value, strict=True))
        found = METHODS[value]
        if found.is_sized:
            sized = (clone(found.estimator).set_params(max_leaves=n) for n in self.leaves)
            return [(f", {n} leaves", model) for n, model in zip(self.leaves, sized, strict=True)]
        return [] if found.is_path else [("", found.estimator)]

    def _prepared(self, estimator):
        """Return an unfitted copy of an estimator with the settings of the study.

        The copy keeps the `random_state` and the `n_jobs` of the estimator if they are not None.
        """
        own = estimator.get_params(deep=False)
        keeps = {name for name in ("n_jobs", "random_state") if own.get(name) is not None}
        shared = {name: self.settings[name] for name in self.settings if name in own}
        return clone(estimator).set_params(
            **{name: value for name, value in shared.items() if name not in keeps}
        )


def _different(models):
    """Return the models of a path without those whose row in the table repeats an earlier one."""
    rows = {}
    for model in models:
        tree, cost = model.tree_, round(model.cost_increase_, 6)
        rows.setdefault((tree.n_leaves, tree.n_parameters, tree.max_depth, cost), model)
    return list(rows.values())


def _within(models, limit):
    """Return the model of least cost among those with at most `limit` parameters, or None."""
    small = [model for model in models if model.tree_.n_parameters <= limit]
    return knee(small, max_parameters=limit) if small else None


def _same(a, b):
    """Return whether two values of a parameter are equal. Arrays must be the same object."""
    return a is b or (not hasattr(a, "shape") and not hasattr(b, "shape") and bool(a == b))


def _described(value):
    """Return a short text for the value of a parameter."""
    return f"<{type(value).__name__}>" if hasattr(value, "shape") else repr(value)


def _without_steps(methods, X):
    """Return the methods with the last steps in place of Pipelines, and a Pipeline or None.

    It has the first steps of the Pipelines, or is a :func:`table_pipeline` if X needs one.
    """
    found, pipelines = methods, {}
    if isinstance(methods, Mapping):

        def last(value):
            if isinstance(value, list | tuple):
                return [last(each) for each in value]
            if not isinstance(value, Pipeline):
                return value
            pipelines.setdefault(repr(value[:-1]), value)
            return value[-1]

        found = {title: last(value) for title, value in methods.items()}
    if len(pipelines) > 1:
        raise ValueError(
            "All methods are fitted to the same X, but the Pipelines have different first steps: "
            f"{', '.join(' '.join(steps.split()) for steps in pipelines)}."
        )
    if not pipelines and hasattr(X, "iloc"):
        kinds = X.infer_objects().dtypes  # columns of Python's numbers are numbers
        if not kinds.map(is_numeric_dtype).all() or X.isna().any(axis=None):
            return found, table_pipeline(X)
    return found, next(iter(pipelines.values()), None)


def _joined(pipeline, model):
    """Return the first steps of a fitted Pipeline with this model as the last step."""
    joined = copy(pipeline)
    joined.steps = [*pipeline.steps[:-1], (pipeline.steps[-1][0], model)]
    return joined


def _series(methods, objective):
    """Return (title, name of a method or list of estimators) of each series."""
    if methods is None:
        methods = [name for name in DEFAULT_METHODS if METHODS[name].supports(objective)]
    if not isinstance(methods, Mapping):
        names = np.atleast_1d(methods).tolist()
        methods = {METHODS[name].title if name in METHODS else name: name for name in names}
    series = []
    for title, value in methods.items():
        if not isinstance(title, str):
            raise ValueError(f"Estimators need titles: methods={{'title': {title!r}, ...}}.")
        is_list = isinstance(value, list | tuple)
        series.append((title, value if isinstance(value, str) or is_list else [value]))
        if isinstance(value, str) and value not in METHODS:
            raise ValueError(f"Unknown method {value!r}; the names are {', '.join(METHODS)}.")
        if isinstance(value, str) and not METHODS[value].supports(objective):
            supported = " and ".join(sorted(METHODS[value].objectives))
            raise ValueError(
                f"Method {value!r} does not support objective={objective!r}, only {supported}: "
                "leave this method out."
            )
        for estimator in [] if isinstance(value, str) else series[-1][1]:
            if not isinstance(estimator, TreeClustering):
                raise ValueError(
                    f"Method {title!r} is a {type(estimator).__name__}; compare takes names and "
                    "estimators of this project (TAOClustering, greedy.IMM, ...), and Pipelines "
                    "that end with one."
                )
    return series


def _ignored(series, leaves, parameters, of_paths):
    """Return one note per argument that none of the methods uses."""
    names = {value for _, value in series if isinstance(value, str)}
    has_path = any(METHODS[name].is_path for name in names)
    has_sized = any(METHODS[name].is_sized for name in names)
    notes = []
    if leaves and not has_sized:
        sized = ", ".join(name for name, method in METHODS.items() if method.is_sized)
        notes.append(f"Budgets of leaves are not used: they are for {sized}.")
    if parameters and not has_path and (leaves or not has_sized):
        notes.append("Budgets of parameters are not used: they are for tao.")
    given = [name for name, value in of_paths.items() if value is not None]
    if given and not has_path:
        verb = "is" if len(given) == 1 else "are"
        notes.append(f"{' and '.join(given)} {verb} not used: the setting is for tao.")
    return notes


def _budgets(budgets):
    """Return the budgets of leaves and of parameters as increasing lists; see `compare`."""
    budgets = {} if budgets is None else budgets
    budgets = budgets if isinstance(budgets, Mapping) else {"leaves": budgets}
    if set(budgets) - {"leaves", "parameters"}:
        unknown = ", ".join(map(repr, set(budgets) - {"leaves", "parameters"}))
        raise ValueError(f"budgets takes the keys 'leaves' and 'parameters'; got {unknown}.")
    found = []
    for name in ("leaves", "parameters"):
        values = np.atleast_1d(budgets.get(name, []))
        if len(values) and not (np.issubdtype(values.dtype, np.integer) and values.min() > 0):
            raise ValueError(f"budgets of {name} must be positive integers; got {values.tolist()}.")
        found.append(sorted(set(values.astype(int).tolist())))
    return tuple(found)


def _leaves_for(parameters, n_clusters):
    """Return numbers of leaves for these numbers of parameters, or the default ones."""
    if not parameters:
        return sorted({max(2, times * n_clusters) for times in (1, 2, 4)})
    leaves = [(limit + 2) // 3 for limit in parameters]
    if leaves[0] < n_clusters:
        warn(
            f"Axis-aligned trees need at least {n_clusters} leaves, one per cluster, which are "
            f"{3 * n_clusters - 2} parameters; smaller budgets of parameters are used for oblique "
            "trees only."
        )
    return [n for n in leaves if n >= n_clusters]


_KMEANS, _BOTH = frozenset({"kmeans"}), frozenset({"kmeans", "kmedians"})


@dataclass(frozen=True)
class Contender:
    """A method that `compare` knows by name.

    Parameters
    ----------
    title : str
        Name in tables and pictures.
    estimator : estimator, unfitted
    is_sized : bool
        Whether it takes `max_leaves`; else its trees have one leaf per cluster.
    is_path : bool
        Whether its trees of all sizes come from one path.
    objectives : frozenset of str, or None
        Names of the objectives that it supports; None if it supports all.
    """

    title: str
    estimator: TreeClustering
    is_sized: bool = False
    is_path: bool = False
    objectives: frozenset | None = _KMEANS

    def supports(self, objective):
        """Whether the method supports an objective, given as a name or as an object."""
        is_known = isinstance(objective, str)
        return self.objectives is None or (is_known and objective in self.objectives)


METHODS = {
    "tao": Contender("TAO oblique", TAOClustering(), is_path=True, objectives=None),
    "tao-axis": Contender("TAO axis", TAOClustering(split="axis"), is_sized=True, objectives=None),
    "exkmc": Contender("ExKMC", greedy.ExKMC(), is_sized=True),
    "imm": Contender("IMM", greedy.IMM(), objectives=_BOTH),
    "emn": Contender("EMN", greedy.EMN(), objectives=_BOTH),
    "random-cuts": Contender("random cuts", greedy.RandomCuts(), objectives=_BOTH),
    "dp": Contender("DP tree", greedy.DPTree(), objectives=_BOTH),
    "exgreedy": Contender("ExGreedy", greedy.ExGreedy(), objectives=_BOTH),
    "exshallow": Contender("ExShallow", greedy.ExShallow(), objectives=_BOTH),
    "kauri": Contender("Kauri", greedy.Kauri(), is_sized=True),
    "spex": Contender("SpEx", greedy.SpEx(), is_sized=True),
    "spex-oblique": Contender("SpEx oblique", greedy.SpEx(split="oblique"), is_sized=True),
    "kdtree": Contender("k-d tree", greedy.KDTree(), is_sized=True, objectives=_BOTH),
    "cubt": Contender("CUBT", greedy.CUBT(), is_sized=True, objectives=_BOTH),
    "divclust": Contender("DIVCLUS-T", greedy.DIVCLUST()),
    "cltree": Contender("CLTree", greedy.CLTree(), is_sized=True, objectives=_BOTH),
    "mixture": Contender("mixture tree", greedy.MixtureTree()),
    "cart": Contender("CART", greedy.CART(), is_sized=True, objectives=None),
}
# Methods of `compare` if none are given.
DEFAULT_METHODS = ("tao", "tao-axis", "exkmc", "imm", "exgreedy", "exshallow", "cart")


def hold_out(validation, order, random_state):
    """Return positions of fitted and held-out rows; (None, None) if `validation` is None.

    A share is drawn from the rows in the given order.
    """
    if validation is None:
        return None, None
    n_rows = len(order)
    if np.ndim(validation) == 0:
        if not 0 < validation < 1:
            raise ValueError(
                f"validation={validation} must be a share between 0 and 1, positions of rows of X, "
                f"or a mask of {n_rows} booleans."
            )
        parts = train_test_split(order, test_size=validation, random_state=random_state)
        return tuple(map(np.sort, parts))
    is_held = np.zeros(n_rows, dtype=bool)
    try:
        is_held[np.asarray(validation)] = True
    except IndexError as error:
        raise ValueError(
            f"validation must be a share, positions of rows of X, or a mask of {n_rows} booleans: "
            f"{error}."
        ) from error
    if is_held.all() or not is_held.any():
        raise ValueError(
            f"validation holds out {is_held.sum()} of {n_rows} rows; it must hold out some of them "
            "and leave some for the fits."
        )
    return np.flatnonzero(~is_held), np.flatnonzero(is_held)


def rows_of(arrays, rows):
    """Return the given rows of each array. An array that is None stays None."""
    if rows is None:
        return arrays
    return {
        name: None if array is None else _safe_indexing(array, rows)
        for name, array in arrays.items()
    }


def half_splits(n_rows, n_splits, seed=0):
    """Return positions of fitted and of new rows for random halves: list of pairs of int arrays.

    Split i is a permutation by ``RandomState(seed + i)``, of which the first half is fitted.
    """
    orders = [np.random.RandomState(seed + i).permutation(n_rows) for i in range(n_splits)]
    return [(order[: n_rows // 2], order[n_rows // 2 :]) for order in orders]


def bootstraps(n_rows, n_splits, seed=0):
    """Return positions of the rows of resamples, with repeats, and of the rows that they left out.

    A resample draws n rows with replacement: list of pairs of int arrays.
    """
    drawn = [np.random.RandomState(seed + i).randint(n_rows, size=n_rows) for i in range(n_splits)]
    return [(np.sort(each), np.setdiff1d(np.arange(n_rows), each)) for each in drawn]


_RESAMPLING = {"halves": half_splits, "bootstrap": bootstraps}


def _check_splits(splits, resampling, **unused):
    """Raise a ValueError for a wrong number of splits, or for arguments that splits do not use."""
    if not isinstance(splits, Integral) or splits < 1:
        raise ValueError(f"splits={splits!r} must be a number of splits, such as 5.")
    if resampling not in _RESAMPLING:
        raise ValueError(f"resampling must be 'halves' or 'bootstrap'; got {resampling!r}.")
    given = [name for name, value in unused.items() if value is not None]
    if splits > 1 and given:
        raise ValueError(
            f"{given[0]} is not used with splits={splits}: each split holds out rows itself, and "
            "oblique trees are fitted to limits of parameters. Leave it out."
        )


def _repeated(compared, pairs):
    """Call `compared` on each pair (fitted rows, new rows), and return the list of the results.

    After Ctrl-C, they are those of the splits that were complete; if there are fewer than two, the
    KeyboardInterrupt is raised.
    """
    found = []
    with warnings.catch_warnings():
        # A split that Ctrl-C cuts off is not complete.
        warnings.simplefilter("error", InterruptedWarning)
        try:
            found.extend(compared(*pair, compiles=not i) for i, pair in enumerate(pairs))
        except (KeyboardInterrupt, InterruptedWarning):
            if len(found) < _LEAST_SPLITS:
                raise KeyboardInterrupt from None
    if len(found) < len(pairs):
        warn(f"Interrupted: {len(found)} splits were complete.", InterruptedWarning)
    return found
