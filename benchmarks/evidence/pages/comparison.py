"""The comparisons of all methods: fresh data and well-known data."""

from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.evidence.pages.costs import (
    BESIDE,
    LIMITS,
    MAIN,
    MULTINOMIAL,
    OFFSET,
    OFFSETS,
    OURS,
    OWN,
    SIGNIFICANT,
    against_best,
    by_split,
    holm,
    interval,
    means,
    p_values,
    ratios,
    rivals,
    times,
)
from benchmarks.evidence.pages.words import markdown, number, ratio, title
from benchmarks.evidence.tables import contest, final, known, peers

OBLIQUE, AXIS = OURS
NO_COPIES = (contest.NO_COPIES, contest.AXIS_NO_COPIES)
ROWS = (OBLIQUE, contest.NO_COPIES, AXIS, contest.AXIS_NO_COPIES, contest.SPEX, contest.SPEX_COPIES)
ROWS += (contest.PUBLISHED, "ExKMC", contest.EXKMC_COPIES, "ExGreedy", "CART")
_COLUMNS = {"fitted": "cost", "new": "cost_new", "nmi": "nmi", "parameters": "parameters"}
OVERVIEW = (("leaves", 1), ("parameters", 30), MAIN)


class Loss(NamedTuple):
    """A data set on which the tree `name` costs `best`, and a TAO method more."""

    data: str
    own: float
    best: float
    name: str

    @property
    def excess(self):
        """Percentage points."""
        return self.own - self.best


class Comparison:
    """All methods on the data sets of a table.

    Parameters
    ----------
    frame : DataFrame, rows of its csv file
    """

    def __init__(self, frame):
        self.frame = frame
        self.sets = list(frame["data"].unique())
        self.methods = sorted(frame["method"].unique())
        self.n_splits = frame["seed"].nunique()
        self._no_copies = [name for name in NO_COPIES if name in self.methods]
        self._tables = {}

    def table(self, limit=MAIN, kind="new"):
        """Return what `by_split` returns; NaN for the agreement of a tree that does not exist."""
        if (limit, kind) not in self._tables:
            self._tables[limit, kind] = by_split(self.frame, limit, _COLUMNS[kind])
        found = self._tables[limit, kind]
        return found.replace(np.inf, np.nan) if kind in ("nmi", "parameters") else found

    def mean(self, limit=MAIN, kind="new"):
        """Return the mean over splits of each data set and method."""
        return means(self.table(limit, kind))[0]

    def median(self, method, limit=MAIN, kind="new"):
        """Return the median over data sets; NaN if the method was not run on all of them."""
        mean = self.mean(limit, kind)
        has_all = method in mean and self.table(limit)[method].notna().all()
        return float(mean[method].median()) if has_all else np.nan

    def shown(self, method, limit=MAIN, kind="new"):
        """Return the median with its bootstrap interval, as text; "none" for infinite costs."""
        if not np.isfinite(self.median(method, limit, kind)):
            return "none" if self.median(method, limit, kind) == np.inf else "-"
        return number(self.median(method, limit, kind)) + _between(self.mean(limit, kind)[method])

    def missing(self, method, limit=MAIN):
        """Return in how many splits a method has no tree within a limit."""
        table = self.table(limit)
        return int(np.isinf(table[method]).sum()) if method in table else 0

    def candidates(self, method):
        """Return how many trees a method has per split, as text: "6", or "2 to 6"."""
        sizes = self.frame[self.frame["method"] == method].groupby(["data", "seed"]).size()
        return " to ".join(dict.fromkeys(str(each) for each in (sizes.min(), sizes.max())))

    @cached_property
    def tests(self):
        """p values against both TAO methods: Holm's correction is for all limits and methods.

        It is made apart for the two methods without copies.
        """
        return pd.concat([self._tested(self.mean, names) for names in (OURS, self._no_copies)])

    @cached_property
    def tests_of_trees(self):
        """The same of the data sets on which both methods have trees."""
        return self._tested(lambda limit: self.mean(limit).replace(np.inf, np.nan), OURS)

    @staticmethod
    def _tested(costs, names):
        found = {
            (name, limit, other): p_value
            for name, limit in product(names, LIMITS)
            for other, p_value in p_values(costs(limit), name).items()
            if other not in OWN
        }
        return holm(pd.Series(found))

    def significant(self, name, limit=MAIN):
        """Return the methods whose costs differ significantly from those of a TAO method."""
        tested = self.tests[name][limit]
        return tested.index[tested < SIGNIFICANT]

    def verdict(self, name, limit=MAIN):
        """Return the other trees that are significantly worse and better on new rows.

        The dict also has those without a significant difference (`open`) and all (`others`).
        """
        tested = self.tests[name][limit].drop([*BESIDE], errors="ignore")
        factors = self.factors(name, limit)
        differ = tested.index[tested < SIGNIFICANT]
        worse, better = ([other for other in differ if sign * (factors[other] - 1) > 0]
                         for sign in (1, -1))  # fmt: skip
        open_ = [other for other in tested.index if other not in differ]
        return {"others": list(tested.index), "worse": worse, "better": better, "open": open_}

    def factors(self, name, limit=MAIN, offset=OFFSET):
        """Return the median cost of each method relative to a TAO method."""
        return ratios(self.mean(limit), name, offset).median()

    def factor(self, method, name):
        """Return a factor as text, with a star if the difference is significant."""
        if method == name:
            return "-"
        star = "*" if method in self.significant(name) else ""
        return _finite(self.factors(name)[method]) + star

    def paired(self, method):
        """Return the factor beside TAO oblique with its interval and those of OFFSETS, as text."""
        own = ratios(self.mean(), OBLIQUE)[method]
        others = [number(self.factors(OBLIQUE, MAIN, each)[method]) for each in OFFSETS]
        return f"{number(own.median())}{_between(own)} ({', '.join(others)})"

    def less(self, name, other, limit=MAIN, without=()):
        """Return on how many data sets a method costs less than another one, as text.

        Data sets on which the other one has no tree in some split do not count.
        """
        mean = self.mean(limit).round(2)[[name, other]].drop([*without])
        mean = mean[np.isfinite(mean[other])]
        return f"{(mean[name] < mean[other]).sum()} of {len(mean)}"

    def chance(self, other, name=OBLIQUE):
        """Return the p values of the difference from one of our trees, as text."""
        before, after = p_values(self.mean(), name)[other], self.tests[name][MAIN][other]
        return f"p = {before:.2g} before and {after:.2g} after the correction"

    def wins(self, name, limit=MAIN, also=()):
        """Return the Duel with the best other tree of each data set, on new rows."""
        return against_best(self.mean(limit), name, also)

    def points(self, method):
        """Return the median over data sets of the difference from TAO oblique, in points."""
        return float((self.mean()[method] - self.mean()[OBLIQUE]).median())

    def n_sets(self, limit=MAIN):
        """Return how many data sets have trees within a limit."""
        return len(self.mean(limit))

    def lost(self, name):
        """Return the data sets on which another tree costs less: a list of Loss."""
        mean = self.mean().round(2)
        best = mean[rivals(mean, name)]
        return [
            Loss(title(data), mean.loc[data, name], best.loc[data].min(), best.loc[data].idxmin())
            for data in mean.index[best.min(axis=1) < mean[name]]
        ]

    def is_better(self, method):
        """Whether TAO oblique costs significantly less than a method."""
        return method in self.significant(OBLIQUE) and self.factors(OBLIQUE)[method] > 1

    def converged(self):
        """Return the percentage of the fits of L1 multinomial regression that converged."""
        n_iterations = self.frame.loc[self.frame["method"] == MULTINOMIAL, "work"]
        return 100 * float((n_iterations < peers.MOST_ITERATIONS).mean())

    def agreeing(self):
        """Return the trees whose clusters agree better with k-means than those of TAO oblique."""
        own = round(self.median(OBLIQUE, kind="nmi"), 2)
        trees = rivals(self.mean(), OBLIQUE)
        names = [name for name in trees if round(self.median(name, kind="nmi"), 2) > own]
        return sorted(name.replace("CART, balanced", "balanced CART") for name in names)

    def head(self, limit):
        """Return the words for a limit, with the number of data sets if they are not all."""
        n_sets = self.n_sets(limit)
        return LIMITS[limit] + (f" ({n_sets} sets)" if n_sets < len(self.sets) else "")

    def time(self, method, limit=MAIN):
        """Return CPU time over that of CART, a geometric mean over data sets, and seconds."""
        seconds = times(self.frame, limit)
        logs = np.log(seconds[method] / seconds["CART"])
        return float(np.exp(logs.mean())), float(seconds[method].median())

    def rows(self):
        """Return the cells of all methods at the main limit, by their costs on new rows."""
        order = self.mean().median().reindex(self.methods).sort_values(kind="stable").index
        return [
            {
                "method": method,
                "parameters": number(self.median(method, kind="parameters"), 0),
                "fitted": self._cell(method, "fitted"),
                "new": self.shown(method),
                "NMI": self._cell(method, "nmi"),
                "beside oblique": self.factor(method, OBLIQUE),
                "beside axis": self.factor(method, AXIS),
                "time": ratio(self.time(method)[0]),
            }
            for method in order
        ]

    def _cell(self, method, kind):
        return number(self.median(method, kind=kind))

    def by_set(self):
        """Yield name, shape, clusters, costs on new rows and the best other on the fitted rows."""
        fitted, size, mean = self.mean(kind="fitted"), self.mean(kind="parameters"), self.mean()
        shapes = self.frame.groupby("data")[["rows", "columns", "clusters"]].first().astype(int)
        for data in mean.index:
            cost = fitted.loc[data, rivals(fitted, OBLIQUE)].dropna().round(2)
            # Of trees that cost the same (often 0), the smallest one.
            best = size.loc[data, cost.index[cost == cost.min()]].idxmin()
            names = (OBLIQUE, NO_COPIES[0], AXIS, contest.PUBLISHED, contest.SPEX, "ExKMC", best)
            cells = [_finite(float(mean.loc[data, name])) for name in names]
            rows, columns, k = shapes.loc[data]
            yield [title(data), f"{rows} x {columns}, {k}", *cells[:-1], f"{cells[-1]} ({best})"]

    def costs(self):
        """Return one row per data set, method and limit: means with standard errors."""
        found = {}
        for limit, kind in product(LIMITS, _COLUMNS):
            mean, error = means(self.table(limit, kind))
            mean, error = (each.replace(np.inf, np.nan).stack() for each in (mean, error))
            found.setdefault(LIMITS[limit], {}).update({kind: mean, f"{kind}_error": error})
        found = pd.concat({words: pd.DataFrame(own) for words, own in found.items()})
        return found.rename_axis(["limit", "data", "method"]).dropna(how="all").round(4)

    def overview(self, rows=ROWS, limits=OVERVIEW, has_agreement=True):
        """Return the table of the main methods, as Markdown."""
        lines = []
        for method in [each for each in rows if each in self.methods]:
            cells = {"method": method}
            cells |= {self.head(each): _finite(self.median(method, each)) for each in limits}
            cells |= {"NMI": self._cell(method, "nmi")} if has_agreement else {}
            lines.append(cells | {"time": ratio(self.time(method)[0])})
        return markdown(lines)


def _between(values):
    return " [{}, {}]".format(*map(_finite, interval(values)))


def _finite(value):
    return "none" if value == np.inf else number(value)


def fresh(frames):
    """Return the numbers of the page on fresh data."""
    return {"fresh": Comparison(frames[final.NAME])}


def known_data(frames):
    """Return the numbers of the page on well-known data."""
    return {"known": Comparison(frames[known.NAME])}
