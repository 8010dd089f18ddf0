"""The comparisons of all methods: fresh data, small samples and well-known data."""

from itertools import product

import numpy as np
import pandas as pd

from benchmarks.evidence.pages.costs import (
    LIMITS,
    MAIN,
    OURS,
    SIGNIFICANT,
    against_best,
    by_split,
    effects,
    means,
    medians,
    rivals,
    times,
    unscaled,
    verdict,
)
from benchmarks.evidence.pages.words import number, title
from benchmarks.evidence.tables import field, new_rows

ROWS = (*OURS, "SpEx oblique", new_rows.PUBLISHED, "ExKMC", "ExGreedy", "CART")
_COLUMNS = {"fitted": "cost", "new": "cost_new", "nmi": "nmi", "parameters": "parameters"}
OVERVIEW = (("leaves", 1), ("parameters", 30), MAIN)


class Comparison:
    """All methods on the data sets of a table.

    Parameters
    ----------
    frame : DataFrame, rows of its csv file
    """

    def __init__(self, frame):
        self.frame = frame
        self.sets = list(frame["data"].unique())
        self.methods = list(frame["method"].unique())
        self.n_splits = field.split_of(frame).nunique()
        self._tables = {}

    def table(self, limit=MAIN, kind="new"):
        """Return what `by_split` returns; NaN for the agreement of a tree that does not exist."""
        if (limit, kind) not in self._tables:
            self._tables[limit, kind] = by_split(self.frame, limit, _COLUMNS[kind])
        found = self._tables[limit, kind]
        return found.replace(np.inf, np.nan) if kind in ("nmi", "parameters") else found

    def median(self, method, limit=MAIN, kind="new"):
        """Return the median over data sets."""
        return float(medians(self.table(limit, kind)).get(method, np.nan))

    def verdict(self, name, limit=MAIN):
        """Return the methods that are significantly worse or better on new rows."""
        return verdict(self.table(limit), name)

    def wins(self, name, limit=MAIN):
        """Return the Duel with the best other method of each data set, on new rows."""
        return against_best(self.table(limit), name)

    def n_sets(self, limit=MAIN):
        """Return how many data sets have trees within a limit."""
        return self.table(limit).index.get_level_values("data").nunique()

    def lost(self, name):
        """Return the data sets on which some other method costs less than a TAO method."""
        mean = means(self.table())[0]
        worse = mean[rivals(mean, name)].min(axis=1).round(2) < mean[name].round(2)
        return list(map(title, mean.index[worse]))

    @property
    def n_independent(self):
        """Return how many data sets there are, of which some occur in several scalings."""
        return len({unscaled(data) for data in self.sets})

    def head(self, limit):
        """Return the words for a limit, with the number of data sets if they are not all."""
        n_sets = self.n_sets(limit)
        return LIMITS[limit] + (f" ({n_sets} sets)" if n_sets < len(self.sets) else "")

    def time(self, method):
        """Return CPU time over that of CART, a geometric mean over data sets, and seconds."""
        seconds = times(self.frame, MAIN)
        ratios = np.log(seconds[method] / seconds["CART"])
        return float(np.exp(ratios.mean())), float(seconds[method].median())

    def effects(self, limit=MAIN):
        """Return one row per method: costs, agreement, and effects against both TAO methods."""
        kinds = ("fitted", "new", "nmi")
        found = pd.DataFrame({kind: medians(self.table(limit, kind)) for kind in kinds})
        found = found.loc[self.methods]
        mean = means(self.table(limit))[0]
        found["sets"] = np.isfinite(mean).sum()
        found["new"] = found["new"].where(mean.notna().all())  # comparable on the same data only
        for name in OURS:
            own = effects(self.table(limit), name)
            for column in ("factor", "error", "p_value"):
                found[f"{column} against {name}"] = own[column]
        order = found["new"].sort_values(kind="stable").index
        return found.loc[order]

    def factor(self, row, name):
        """Return the factor of a row of `effects` against a TAO method, with a star."""
        factor, p_value = row[f"factor against {name}"], row[f"p_value against {name}"]
        if not np.isfinite(factor):
            return "-"
        return f"{factor:.2f}" + ("*" if p_value < SIGNIFICANT else "")

    def by_set(self):
        """Yield name, costs on new rows and the best other method on the fitted rows."""
        fitted = means(self.table(kind="fitted"))[0]
        mean = means(self.table())[0]
        for data in mean.index:
            best = fitted.loc[data, rivals(fitted, OURS[0])].dropna().idxmin()
            cells = [number(float(mean.loc[data, m])) for m in (*OURS, "ExKMC", best)]
            yield [title(data), *cells[:-1], f"{cells[-1]} ({best})"]

    def costs(self):
        """Return one row per data set, method and limit: means with standard errors."""
        found = {}
        for limit, kind in product(LIMITS, _COLUMNS):
            mean, error = means(self.table(limit, kind))
            mean, error = (each.replace(np.inf, np.nan).stack() for each in (mean, error))
            own = found.setdefault(LIMITS[limit], {})
            own |= {kind: mean, f"{kind}_error": error}
        found = pd.concat({words: pd.DataFrame(own) for words, own in found.items()})
        return found.rename_axis(["limit", "data", "method"]).dropna(how="all").round(4)


def fresh(frames):
    """Return the numbers of the page on fresh data."""
    return {"fresh": Comparison(frames[new_rows.FRESH])}


def known(frames):
    """Return the numbers of the page on well-known data."""
    return {"small": Comparison(frames[new_rows.NAME]), "field": Comparison(frames[field.NAME])}
