"""Repeats of a comparison over splits of the rows: means, standard errors, and a LaTeX table."""

import warnings
from numbers import Integral

import numpy as np
import pandas as pd

from .._utils.warnings import InterruptedWarning, warn

_N_LEAST = 2  # least number of splits that have a standard error
# Measures of quality, of which `to_latex` prints the best one in bold, and whether more is better.
_QUALITY = {"cost_increase": False, "cost_increase_new": False, "NMI": True, "ARI": True}
_ESCAPED = str.maketrans({c: f"\\{c}" for c in "&%$#_{}"} | {"\\": r"\textbackslash{}"})
_ESCAPED |= str.maketrans({"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"})


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


RESAMPLING = {"halves": half_splits, "bootstrap": bootstraps}


def check_splits(splits, resampling, **unused):
    """Raise a ValueError for a wrong number of splits, or for arguments that splits do not use."""
    if not isinstance(splits, Integral) or splits < 1:
        raise ValueError(f"splits={splits!r} must be a number of splits, such as 5.")
    if resampling not in RESAMPLING:
        raise ValueError(f"resampling must be 'halves' or 'bootstrap'; got {resampling!r}.")
    given = [name for name, value in unused.items() if value is not None]
    if splits > 1 and given:
        raise ValueError(
            f"{given[0]} is not used with splits={splits}: each split holds out rows itself, and "
            "oblique trees are fitted to limits of parameters. Leave it out."
        )


def repeated(compared, pairs):
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
            if len(found) < _N_LEAST:
                raise KeyboardInterrupt from None
    if len(found) < len(pairs):
        warn(f"Interrupted: {len(found)} splits were complete.", InterruptedWarning)
    return found


def averaged(tables):
    """Return means over tables, and standard errors of the means in columns "..._se": DataFrame.

    Of each measure, only the splits that have it count.
    """
    numbers = pd.concat([table.drop(columns="method").astype(float) for table in tables])
    groups = numbers.groupby(level=0, sort=False)
    errors = groups.std(ddof=1) / np.sqrt(groups.count())
    both = groups.mean().join(errors.add_suffix("_se"))
    both.insert(0, "method", tables[0]["method"].reindex(both.index))
    order = [name + end for name in numbers for end in ("", "_se")]
    return both[["method", *order]].rename_axis(None)


def latex(tables, rows, columns, headings, limits):
    """Return a table in LaTeX; see :meth:`.table.Comparison.to_latex`.

    Parameters
    ----------
    tables : list of DataFrame, one per split
    rows : DataFrame, means and standard errors
    columns : list of str
    headings : dict of str by column
    limits : dict of float by row, limits on the number of parameters; NaN if there is none
    """
    limits = pd.Series(limits, dtype=float).reindex(rows.index)
    blocks = []
    for limit in sorted(limits.unique(), key=lambda limit: np.nan_to_num(limit, nan=np.inf)):
        names = rows.index[limits.isna() if np.isnan(limit) else limits == limit]
        own = [table.reindex(names)[columns].astype(float) for table in tables]
        is_best = {column: _best([table[column] for table in own], column) for column in columns}
        lines = []
        for name in names:
            cells = [_cell(rows, name, column, name in is_best[column]) for column in columns]
            lines.append(f"{' & '.join([name.translate(_ESCAPED), *cells])} \\\\")
        blocks.append("\n".join(lines))
    head = " & ".join(["", *(headings.get(c, c).translate(_ESCAPED) for c in columns)])
    body = "\n\\midrule\n".join(blocks)
    start = f"\\begin{{tabular}}{{l{'r' * len(columns)}}}\n\\toprule\n{head} \\\\\n\\midrule\n"
    return f"{start}{body}\n\\bottomrule\n\\end{{tabular}}"


def _best(values, column):
    """Return the names of the best mean, and of those that cannot be distinguished from it.

    `values` is a list of Series by name, one per split. A mean is distinguished if it is worse than
    the best one by more than a standard error of the mean of the differences within splits. Of a
    single split, values that are printed alike are equal. What is better than a mean that is not
    distinguished is not, either.
    """
    if column not in _QUALITY:
        return set()
    values = pd.concat(values, axis=1) * (1 if _QUALITY[column] else -1)
    means = values.mean(axis=1)
    if means.isna().all() or len(means) == 1:
        return set()
    difference = values.loc[means.idxmax()] - values
    n = difference.notna().sum(axis=1)
    error = difference.std(axis=1, ddof=1).where(n > 1, 0.0) / np.sqrt(n)
    is_close = difference.mean(axis=1) <= np.maximum(error, 0.005)
    return set(means.index[means >= means[is_close].min()])


def _cell(rows, name, column, is_best):
    """Return a mean and its standard error in LaTeX; "--" if there is none."""
    mean, error = rows.at[name, column], rows.get(f"{column}_se", {}).get(name, np.nan)
    if pd.isna(mean):
        return "--"
    is_whole = column not in _QUALITY and bool((rows[column].dropna() % 1 == 0).all())
    digits = 0 if is_whole else 2
    text = f"{round(float(mean), digits) + 0.0:.{digits}f}"  # no negative zero
    text = f"\\mathbf{{{text}}}" if is_best else text
    return f"${text}$" if pd.isna(error) or is_whole else f"${text} \\pm {error:.2f}$"
