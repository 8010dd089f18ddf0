"""`stability`: what stays of an explanation with other samples of the rows and other seeds."""

from dataclasses import dataclass
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_consistent_length, check_random_state
from sklearn.utils.validation import _is_fitted, _num_samples, has_fit_parameter

from .._utils.warnings import warn
from ..base import TreeClustering
from ..columns.names import names_of, printable_names
from ..columns.view import numbers_of, shown
from ..measures import adjusted_rand_index, feature_usage
from ..plot.explained import plot_stability
from .table import FORMAT, explains_labels, observed

RESAMPLE, SEED = "resample", "seed"
_SPREAD = ("mean", "min", "max")
_N_SHOWN = 10  # features
_N_DRAWS = 100  # of a resample, until it has a row a cluster


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """How much an explanation depends on the sample of the rows, and on the seed.

    Parameters
    ----------
    model : fitted estimator, with which the others are compared
    table : pandas.DataFrame
        A row a refit. Columns: kind ("resample" or "seed"); ARI (agreement with the model on all
        rows); cost_increase (percent over the refit's own free clustering, on its rows) and
        cost_increase_new (on the rows that a resample has left out; NaN for seeds); leaves;
        parameters.
    features : pandas.DataFrame
        A row a feature that some tree tests, by name, most used first; of a Pipeline a raw column,
        or a category of one, if its steps map columns one by one, else what they make.
        Columns: model (share of
        the rows on whose path the model tests it), resamples and seeds (share of the refits that
        test it), rows (share of the rows on whose path a refit tests it, mean over all).
    pairs : dict of str to float
        Mean ARI, on all rows, of two resamples ("resample") and of two seeds ("seed").
    """

    model: Any
    table: pd.DataFrame
    features: pd.DataFrame
    pairs: dict[str, float]

    @property
    def summary(self):
        """Mean, least and largest value of every measure, by kind of refit: a DataFrame."""
        measures = [name for name in self.table if name != "kind"]
        spread = self.table.groupby("kind", sort=False)[measures].agg(list(_SPREAD))
        spread = spread.stack(level=0, future_stack=True).unstack(level=0)
        spread = spread.swaplevel(axis=1).loc[measures, list(self.pairs)]
        return spread.rename_axis(None).rename_axis([None, None], axis=1)

    def plot(self, *, title=None):
        """Agreement with the model, cost against size, and the features most used.

        Parameters
        ----------
        title : str, optional

        Returns
        -------
        array of three matplotlib Axes
        """
        return plot_stability(self.table, self.features, title)

    def __repr__(self):
        tables = (self.summary, self.features.head(_N_SHOWN))
        return "\n\n".join([self._heading(), *(table.to_string(**FORMAT) for table in tables)])

    def _repr_html_(self):
        tables = (self.summary, self.features.head(_N_SHOWN))
        html = "".join(table.to_html(border=0, **FORMAT) for table in tables)
        return f"<p>{self._heading()}</p>{html}"

    def _heading(self):
        pairs = ", ".join(f"{value:.2f} between {kind}s" for kind, value in self.pairs.items())
        return f"{_last(self.model)[0].__class__.__name__}, {len(self.table)} refits; ARI {pairs}"


def stability(
    model, X, n=20, *, y=None, sample_weight=None, embedding=None, random_state=0, n_jobs=None
):
    """Refit a model to resamples of the rows and with other seeds, and see what stays.

    A resample draws as many rows as there are, with replacement (bootstrap): how often a row was
    drawn is its weight, which is the same as to repeat it. Of a model without `reference`, or with
    an unfitted one, the free clustering is found anew each time; with a fitted one, or
    centres, only the tree is.

    Parameters
    ----------
    model : estimator of this project, or a Pipeline that ends with one
        It is fitted if it is not yet; its copies are refitted, it stays as it is.
    X : array-like, DataFrame or CSR matrix of shape (n_rows, d)
    n : int, default=20
        Resamples, and as many other seeds. A resample with fewer rows than clusters is drawn again.
    y : array-like of shape (n_rows,), optional
        Labels to explain, for a model of ``objective="labels"``; they go with their rows.
    sample_weight, embedding
        As for `fit`.
    random_state : int, RandomState instance or None, default=0
        Of the resamples and of the seeds, also of a model that has no random_state of its own.
    n_jobs : int, default=None
        Processes that refit.

    Returns
    -------
    Stability
        With `table`, `features`, `pairs`, `summary` and `plot`.

    Raises
    ------
    ValueError
        If n is no whole number from 2 on, the model is none of this project, a Pipeline is given
        an embedding or weights, resamples have too few rows, or for the reasons of `fit`.

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
    check_consistent_length(X, y, sample_weight, embedding)
    rows = {"X": X, "y": y, "sample_weight": sample_weight, "embedding": embedding}
    rows = {name: array for name, array in rows.items() if array is not None}
    if isinstance(model, Pipeline) and set(rows) & {"sample_weight", "embedding"}:
        raise ValueError("A Pipeline takes X alone here, neither sample_weight nor embedding.")
    rng = check_random_state(random_state)
    n_least = 1 if y is not None else _last(model)[0].n_clusters
    draws = [_draw(rng, _num_samples(X), sample_weight, n_least) for _ in range(n)]
    *seeds, own = rng.randint(np.iinfo(np.int32).max, size=n + 1).tolist()
    model = model if _is_fitted(model) else _copy(model, own, keeps_seeds=True).fit(**rows)
    refits = [(RESAMPLE, _copy(model, own, keeps_seeds=True), draw) for draw in draws]
    refits += [(SEED, _copy(model, seed), None) for seed in seeds]
    found = Parallel(n_jobs=n_jobs)(delayed(_look)(*refit, rows) for refit in refits)
    return _summarised(model, rows, found)


def _check(model, n, y):
    """ValueError for what cannot be refitted, or not so often."""
    if not isinstance(_last(model)[0], TreeClustering):
        raise ValueError(
            f"stability takes an estimator of this project (TAOClustering, greedy.IMM, ...) or a "
            f"Pipeline that ends with one; got {type(_last(model)[0]).__name__}."
        )
    if y is not None and not explains_labels(_last(model)[0]):
        raise ValueError('y is for a model of objective="labels"; other trees are made of X alone.')
    if not isinstance(n, Integral):
        raise ValueError(f"n={n!r} must be a whole number of refits, at least 2.")
    if n < 2:
        raise ValueError(f"n={n} refits have no spread; at least 2 are needed.")


def _draw(rng, n_rows, weight, n_least):
    """How often a resample has each row; it has so many different rows of weight, at least."""
    has_weight = True if weight is None else np.asarray(weight) > 0
    for _ in range(_N_DRAWS):
        draw = np.bincount(rng.randint(n_rows, size=n_rows), minlength=n_rows)
        if np.count_nonzero((draw > 0) & has_weight) >= n_least:
            return draw
    raise ValueError(
        f"Resamples of {n_rows} rows hardly ever have {n_least} different ones, a row a cluster; "
        "stability needs more rows, or fewer clusters."
    )


def _refit(model, draw, rows):
    """Fit to all rows, or to each as often as it was drawn."""
    if draw is None:
        model.fit(**rows)
    elif has_fit_parameter(model, "sample_weight"):
        model.fit(**rows | {"sample_weight": draw * rows.get("sample_weight", 1.0)})
    else:
        drawn = np.repeat(np.arange(len(draw)), draw)
        model.fit(**{name: _safe_indexing(array, drawn) for name, array in rows.items()})


def _look(kind, model, draw, rows):
    """Refit a copy, and return what is kept of it: measures, clusters, used features, warnings."""
    *_, told = observed(lambda: _refit(model, draw, rows))
    estimator, tested = _last(model, rows["X"])
    new = np.nan
    if draw is not None:
        left_out = np.flatnonzero(draw == 0)
        if len(left_out):
            arrays = {name: _safe_indexing(array, left_out) for name, array in rows.items()}
            del arrays["X"]  # as the estimator sees it
            new = estimator.cost_increase(_safe_indexing(tested, left_out), **arrays)
    tree = estimator.tree_
    record = {
        "kind": kind,
        "cost_increase": estimator.cost_increase_,
        "cost_increase_new": new,
        "leaves": tree.n_leaves,
        "parameters": tree.n_parameters,
    }
    return record, model.predict(rows["X"]), _usage(model, rows), told


def _usage(model, rows):
    """Features that a tree tests, by name: a Series of the share of rows on whose path it does."""
    X, weight = rows["X"], rows.get("sample_weight")
    try:
        view, names = shown(model)
        numbers = numbers_of(view, X)
    except ValueError:  # steps that cannot be seen through
        view, numbers = _last(model, X)
        names = printable_names(names_of(view, _names_behind(model)))
    usage = pd.Series(
        feature_usage(view.tree_, numbers, weight), index=pd.Index(list(names), dtype=object)
    )
    return usage.iloc[view.tree_.used_features]


def _summarised(model, rows, found):
    """The tables of what was kept of the refits."""
    weight = rows.get("sample_weight")
    records, labels, usages, told = zip(*found, strict=True)
    warned = [sentences[0] for sentences in told if sentences]
    if warned:
        warn(f"{len(warned)} of {len(found)} refits warned, the first: {warned[0]}")
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
    """How often the refits test each feature; they may know different ones, by their rows."""
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
    """The estimator with the tree, and X as it sees it."""
    if not isinstance(model, Pipeline):
        return model, X
    return model[-1], X if X is None else model[:-1].transform(X)


def _names_behind(model):
    """Names of the columns that a Pipeline hands to its last step; None if that has its own."""
    is_named = isinstance(model, Pipeline) and hasattr(model[:-1], "get_feature_names_out")
    return model[:-1].get_feature_names_out() if is_named else None


def _copy(model, seed, *, keeps_seeds=False):
    """An unfitted copy with the same reference, and this seed, or only where it has none."""
    copy = clone(model)
    reference = getattr(_last(model)[0], "reference", None)
    is_fixed = not hasattr(reference, "fit") or _is_fitted(reference)
    seeds = {
        name: seed
        for name, value in copy.get_params().items()
        if name.split("__")[-1] == "random_state" and (value is None or not keeps_seeds)
    }
    copy.set_params(**seeds)
    if is_fixed:  # clone would forget how it was fitted
        _last(copy)[0].set_params(reference=reference)
    return copy
