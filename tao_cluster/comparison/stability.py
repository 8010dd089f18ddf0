"""`stability`: how much a tree changes with the sample of the rows and with the seed."""

from dataclasses import dataclass
from itertools import chain, combinations
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _is_fitted, _num_samples, has_fit_parameter

from .._utils.frames import check_aligned
from .._utils.matrices import check_weights
from .._utils.warnings import InterruptedWarning, warn
from ..base import TreeClustering
from ..columns.view import RawView, numbers_of, seen
from ..measures import adjusted_rand_index, feature_usage
from ..plot.charts import plot_stability
from ..problem.repeats import content_order
from ..tree import tree_of
from .table import FORMAT, explains_labels, observed

RESAMPLE, SEED = "resample", "seed"
_AGGREGATES = ("mean", "min", "max")
_N_SHOWN = 10  # number of features in the printed table
_N_LEAST = 2  # least number of refits of each kind, which are compared with each other
_N_DRAWS = 100  # maximum number of draws until a resample has enough distinct rows

# Headings of the printed tables.
_MEASURES = {
    "ARI": "ARI with the model",
    "cost_increase": "cost increase, %",
    "cost_increase_new": "cost increase on left-out rows, %",
}
_FEATURES = {
    "model": "rows (model)",
    "resamples": "resamples",
    "seeds": "seeds",
    "rows": "rows (refits)",
}
_CAPTION = (
    "Share of the rows whose path tests a feature (in the model; mean over the refits),",
    "and share of the resamples and of the seeds whose tree tests it:",
)


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """Agreement between a model and its refits to resamples of the rows and with other seeds.

    Parameters
    ----------
    model : fitted estimator
        The model with which the refits are compared.
    table : pandas.DataFrame
        One row per refit:

        ===================  =====================================================================
        Column               Meaning
        ===================  =====================================================================
        kind                 "resample" or "seed"
        ARI                  agreement with the model on all rows (adjusted Rand index; 1 is
                             perfect)
        cost_increase        cost in percent above that of the free clustering of the refit, on the
                             rows of the refit
        cost_increase_new    the same on the rows that a resample left out; NaN for seeds
        leaves, parameters   size of the tree
        ===================  =====================================================================
    features : pandas.DataFrame
        One row per feature that some tree tests, by name, the most used ones first. For a Pipeline
        these are raw columns or their categories if the steps map columns one by one, else the
        outputs of the steps. All columns are shares between 0 and 1:

        ===================  =====================================================================
        Column               Meaning
        ===================  =====================================================================
        model                share of the rows on whose path the model tests the feature
        resamples, seeds     share of the refits whose tree tests the feature
        rows                 share of the rows on whose path a refit tests the feature, mean over
                             all refits
        ===================  =====================================================================
    pairs : dict of str to float
        Mean ARI on all rows between the refits to two resamples ("resample"), and between the
        refits with two seeds ("seed").
    """

    model: Any
    table: pd.DataFrame
    features: pd.DataFrame
    pairs: dict[str, float]

    @property
    def summary(self):
        """Mean, minimum and maximum of each measure, by kind of refit: pandas.DataFrame."""
        measures = [name for name in self.table if name != "kind"]
        table = self.table.groupby("kind", sort=False)[measures].agg(list(_AGGREGATES))
        table = table.stack(level=0, future_stack=True).unstack(level=0)
        table = table.swaplevel(axis=1).loc[measures, list(self.pairs)]
        return table.rename_axis(None).rename_axis([None, None], axis=1)

    def plot(self, *, title=None, **options):
        """Draw the agreement with the model, cost against size, and the most used features.

        Parameters
        ----------
        title : str, optional
        **options
            style, width, height, figsize and font_size, as for :func:`tao_cluster.plot.plot_path`.

        Returns
        -------
        matplotlib Figure with three axes
        """
        return plot_stability(self.table, self.features, title, **options)

    def __repr__(self):
        summary, features = (table.to_string(**FORMAT) for table in self._printed())
        caption = "\n".join(_CAPTION)
        return f"{self._heading()}\n\n{summary}\n\n{caption}\n{features}"

    def _repr_html_(self):
        summary, features = (table.to_html(border=0, **FORMAT) for table in self._printed())
        return f"<p>{self._heading()}</p>{summary}<p>{' '.join(_CAPTION)}</p>{features}"

    def _printed(self):
        """Return the summary and the most used features with readable headings."""
        return self.summary.rename(_MEASURES), self.features.head(_N_SHOWN).rename(
            columns=_FEATURES
        )

    def _heading(self):
        name = _last(self.model)[0].__class__.__name__
        pairs = " and ".join(f"{value:.2f} between {kind}s" for kind, value in self.pairs.items())
        return f"{name}, {len(self.table)} refits; mean ARI {pairs}"


def stability(
    model, X, n=20, *, y=None, sample_weight=None, embedding=None, random_state=0, n_jobs=None
):
    """Refit a model to resamples of the rows and with other seeds, and compare the trees.

    A resample draws n rows with replacement (bootstrap). The number of times that a row is drawn
    becomes its weight. If the `reference` of the model is None or an unfitted estimator, each refit
    also computes the free clustering again. If it is a fitted estimator or an array of centres,
    only the tree is refitted.

    Parameters
    ----------
    model : estimator of this project, or a Pipeline that ends with one
        It is not changed: copies are refitted. If it is not fitted, a copy is fitted to all rows
        first.
    X : array-like, DataFrame or CSR matrix of shape (n_rows, d)
    n : int, default=20
        Number of resamples, and number of seeds. A resample with fewer distinct rows than clusters
        is drawn again.
    y : array-like of shape (n_rows,), optional
        Labels to explain, for a model with ``objective="labels"``.
    sample_weight, embedding
        As for `fit`; not supported for a Pipeline.
    random_state : int, RandomState instance or None, default=0
        Seed of the resamples, of the other seeds, and of the model if its own `random_state` is
        None.
    n_jobs : int, default=None
        Number of processes for the refits.

    Returns
    -------
    Stability
        With `table`, `features`, `pairs`, `summary` and `plot`.

    Raises
    ------
    ValueError
        If n is not an integer of at least 2, if the model is not an estimator of this project, if a
        Pipeline is given an embedding or weights, if resamples have too few distinct rows, and for
        the reasons of `fit`.

    KeyboardInterrupt
        If Ctrl-C is pressed before two refits of each kind are complete.

    Warns
    -----
    UserWarning
        If refits warn: one warning with their number and the first message.
    ConvergenceWarning
        If Ctrl-C is pressed later: the result is then that of the refits that were complete.

    Examples
    --------
    >>> from greedy import ExKMC
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import stability
    >>> found = stability(ExKMC(3, random_state=0), load_iris(as_frame=True).data, n=5)
    >>> len(found.table)
    10
    >>> found.features.index[0]
    'petal length (cm)'
    """
    _check(model, n, y)
    check_aligned(X, y=y, sample_weight=sample_weight, embedding=embedding)
    if sample_weight is not None:
        sample_weight = check_weights(sample_weight, X)
    rows = {"X": X, "y": y, "sample_weight": sample_weight, "embedding": embedding}
    rows = {name: array for name, array in rows.items() if array is not None}
    if isinstance(model, Pipeline) and set(rows) & {"sample_weight", "embedding"}:
        given = " and ".join(sorted(set(rows) & {"sample_weight", "embedding"}))
        raise ValueError(
            f"stability of a Pipeline does not support {given}: transform X first, and pass the "
            "last step of the Pipeline with the result."
        )
    rng = check_random_state(random_state)
    n_least = 1 if y is not None else _last(model)[0].n_clusters
    order = content_order(X, y, sample_weight, embedding)
    if sample_weight is not None:
        order = order[sample_weight[order] > 0]
    draws = [_draw(rng, _num_samples(X), order, n_least) for _ in range(n)]
    *seeds, own = rng.randint(np.iinfo(np.int32).max, size=n + 1).tolist()
    if not _is_fitted(model):
        model = _fitted(_copy(model, own, keeps_seeds=True), rows)
    refits = chain.from_iterable(
        [
            (RESAMPLE, _copy(model, own, keeps_seeds=True), draw),
            (SEED, _copy(model, seed), None),
        ]
        for draw, seed in zip(draws, seeds, strict=True)
    )
    found = _complete((delayed(_refit_and_measure)(*refit, rows) for refit in refits), n_jobs)
    return _summarize(model, rows, found)


def _check(model, n, y):
    """Raise a ValueError for a model, labels or a number that `stability` does not support."""
    if not isinstance(_last(model)[0], TreeClustering):
        raise ValueError(
            f"stability takes an estimator of this project (TAOClustering, greedy.IMM, ...) or a "
            f"Pipeline that ends with one; got {type(_last(model)[0]).__name__}."
        )
    if y is not None and not explains_labels(_last(model)[0]):
        raise ValueError(
            'y is used only by a model with objective="labels"; this model clusters X: leave y out.'
        )
    if not isinstance(n, Integral):
        raise ValueError(f"n={n!r} must be an integer, the number of resamples and of seeds.")
    if n < _N_LEAST:
        raise ValueError(
            f"n={n} must be at least {_N_LEAST}: the refits are compared with each other."
        )


def _draw(rng, n_rows, rows, n_least):
    """Draw a resample of some rows: counts per row, with at least n_least distinct rows."""
    n_drawn = len(rows)
    for _ in range(_N_DRAWS):
        draw = np.bincount(rows[rng.randint(n_drawn, size=n_drawn)], minlength=n_rows)
        if np.count_nonzero(draw) >= n_least:
            return draw
    raise ValueError(
        f"Resamples of {n_drawn} rows have fewer than {n_least} distinct rows, one per cluster, in "
        f"{_N_DRAWS} of {_N_DRAWS} draws: stability needs more rows or fewer clusters."
    )


def _fitted(model, rows):
    """Fit a model to all rows; raise a KeyboardInterrupt if Ctrl-C cuts its fit off."""
    model, _, messages = observed(lambda: model.fit(**rows))
    for message in messages:
        warn(message)
    return model


def _complete(tasks, n_jobs):
    """Run refits, resamples and seeds in turn, and return the results of each kind in order.

    After Ctrl-C, they are the results of the refits that were complete, the same number of each
    kind. If there are fewer than two of each kind, the KeyboardInterrupt is raised.
    """
    found = []
    try:  # an interrupted `extend` keeps the results before
        found.extend(Parallel(n_jobs=n_jobs, return_as="generator")(tasks))
    except KeyboardInterrupt:
        n_pairs = len(found) // 2
        if n_pairs < _N_LEAST:
            raise
        found = found[: 2 * n_pairs]
        message = f"Interrupted: {n_pairs} resamples and {n_pairs} seeds were complete."
        warn(message, InterruptedWarning)
    return found[::2] + found[1::2]


def _refit(model, draw, rows):
    """Fit a model to all rows or, if `draw` is given, to row i draw[i] times.

    `rows` is the dict of the arguments of `fit`.
    """
    if draw is None:
        model.fit(**rows)
    elif has_fit_parameter(model, "sample_weight"):
        model.fit(**rows | {"sample_weight": draw * rows.get("sample_weight", 1.0)})
    else:
        drawn = np.repeat(np.arange(len(draw)), draw)
        model.fit(**{name: _safe_indexing(array, drawn) for name, array in rows.items()})


def _refit_and_measure(kind, model, draw, rows):
    """Refit a model in place, and measure its tree.

    Parameters
    ----------
    kind : {"resample", "seed"}
    model : estimator or Pipeline, a copy of the user's model
    draw : int array of shape (n_rows,), or None
        How often the resample has each row; None for a refit with another seed.
    rows : dict, arguments of `fit`

    Returns
    -------
    record : dict, a row of :attr:`Stability.table` without the columns that compare trees
    clusters : int array of shape (n_rows,)
    usage : Series, result of :func:`_usage`
    messages : list of str, the warnings of the refit
    """
    *_, messages = observed(lambda: _refit(model, draw, rows))
    estimator, tested = _last(model, rows["X"])
    new = np.nan
    if draw is not None:
        left_out = np.flatnonzero(draw == 0)
        if len(left_out):
            arrays = {name: _safe_indexing(array, left_out) for name, array in rows.items()}
            del arrays["X"]  # the last step of a Pipeline takes `tested` instead
            new = estimator.cost_increase(_safe_indexing(tested, left_out), **arrays)
    tree = estimator.tree_
    record = {
        "kind": kind,
        "cost_increase": estimator.cost_increase_,
        "cost_increase_new": new,
        "leaves": tree.n_leaves,
        "parameters": tree.n_parameters,
    }
    return record, model.predict(rows["X"]), _usage(model, rows), messages


def _usage(model, rows):
    """Return the share of rows on whose path each feature is tested: Series by feature name."""
    X, weight = rows["X"], rows.get("sample_weight")
    view, names = seen(model, X=X)
    tree = tree_of(view)
    numbers = numbers_of(view, X) if isinstance(view, RawView) else _last(model, X)[1]
    usage = pd.Series(
        feature_usage(tree, numbers, weight), index=pd.Index(list(names), dtype=object)
    )
    return usage.iloc[tree.used_features]


def _summarize(model, rows, found):
    """Return a `Stability` that summarizes the results of the refits."""
    weight = rows.get("sample_weight")
    records, labels, usages, messages = zip(*found, strict=True)
    warned = [each[0] for each in messages if each]
    if warned:
        warn(f"{len(warned)} of {len(found)} refits warned. The first warning: {warned[0]}")
    own = model.predict(rows["X"])
    table = pd.DataFrame(records)
    table.insert(1, "ARI", [adjusted_rand_index(each, own, weight) for each in labels])
    of_kind = {kind: np.flatnonzero(table["kind"] == kind) for kind in (RESAMPLE, SEED)}
    pairs = {}
    for kind, at in of_kind.items():
        two = combinations([labels[i] for i in at], 2)
        pairs[kind] = float(np.mean([adjusted_rand_index(a, b, weight) for a, b in two]))
    order = ["resamples", "rows", "seeds"]
    features = _features(_usage(model, rows), usages, of_kind)
    features = features.sort_values(order, ascending=False, kind="stable")
    return Stability(model, table, features, pairs)


def _features(own, usages, of_kind):
    """Return the table `Stability.features` from the features that the model and refits test."""
    usages = pd.concat([own, *usages], axis=1, sort=False)
    refits = usages.iloc[:, 1:].to_numpy()
    is_used = ~np.isnan(refits)
    return pd.DataFrame(
        {
            "model": usages.iloc[:, 0].fillna(0.0),
            "resamples": is_used[:, of_kind[RESAMPLE]].mean(axis=1),
            "seeds": is_used[:, of_kind[SEED]].mean(axis=1),
            "rows": np.nan_to_num(refits).mean(axis=1),
        }
    )


def _last(model, X=None):
    """Return the last step of a Pipeline and X transformed by the other steps, or `model` and X."""
    if not isinstance(model, Pipeline):
        return model, X
    return model[-1], X if X is None else model[:-1].transform(X)


def _copy(model, seed, *, keeps_seeds=False):
    """Return an unfitted copy with the same reference and this seed.

    With `keeps_seeds`, only a random_state of None is replaced by the seed.
    """
    copy = clone(model)
    reference = getattr(_last(model)[0], "reference", None)
    is_fixed = not hasattr(reference, "fit") or _is_fitted(reference)
    seeds = {
        name: seed
        for name, value in copy.get_params().items()
        if name.split("__")[-1] == "random_state" and (value is None or not keeps_seeds)
    }
    copy.set_params(**seeds)
    if is_fixed:  # clone would return an unfitted copy of the reference
        _last(copy)[0].set_params(reference=reference)
    return copy
