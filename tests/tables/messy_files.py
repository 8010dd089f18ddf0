"""Random text files with units, dates, levels, codes for missing values and other defects."""

import numpy as np
import pandas as pd

WORDS = ("", "NA", "n/a", " NA", "\tNA", "?")
_DATE_FORMS = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y/%m/%d", "%Y-%m-%d %H:%M:%S", "%d %b %Y")
_DATE_FORMS += ("%m/%d/%y %I:%M %p", "%Y%m%d", "%B %Y")


def random_cells(seed, n_rows=160):
    """A table of strings, and of numbers without units, as people write them.

    The new rows of a table are those of another seed of the same remainder modulo 1000.

    Returns
    -------
    dict of lists of str, by column
    """
    of_table, rng = np.random.default_rng(seed % 1000), np.random.default_rng(seed)
    group = rng.integers(0, 3, n_rows)
    cells = {}
    kinds = of_table.permutation(list(_KINDS))[: of_table.integers(3, 8)]
    for j, kind in enumerate(kinds):
        name = of_table.choice([f"c{j}", f"col {j}", f"größe {j}", f"it's {j}", f'"{j}"'])
        column = _KINDS[kind](of_table, rng, group)
        if of_table.random() < 0.4:  # gaps, of one or several words
            words = of_table.choice(WORDS, of_table.integers(1, 3))
            is_gap = rng.random(n_rows) < 0.12
            is_gap[:2] = True
            gaps = rng.choice(words, n_rows)
            column = np.where(is_gap, gaps, np.asarray(column, dtype=str))
        cells[str(name)] = [str(cell) for cell in column]
    cells["measure"] = [f"{value:.2f}" for value in 30 * group + rng.normal(size=n_rows)]
    if of_table.random() < 0.5:
        cells["customer_id"] = [str(10_000 + j) for j in rng.permutation(n_rows)]
    if of_table.random() < 0.3:
        cells["country"] = ["DE"] * n_rows
    return cells


def file_of(cells, path, seed):
    """Write a file with the separator of its table."""
    separator = np.random.default_rng(seed % 1000).choice([",", ";", "\t"])
    frame = pd.DataFrame(cells)
    frame.to_csv(path, sep=separator, index=False)
    return path


def _floats(of_table, rng, group):
    scale = 10.0 ** of_table.integers(-3, 6)
    return [repr(value) for value in (scale * (group + 0.2 * rng.normal(size=len(group)))).tolist()]


def _integers(_, rng, group):
    return rng.poisson(4 + 9 * group)


def _money(of_table, rng, group):
    form = of_table.choice(["${:,.2f}", "{:.2f} EUR", "{:.1f}%", "{:.2f} kg", "-{:.2f} €"])
    return [form.format(value) for value in 900 * (1 + group) + 40 * rng.normal(size=len(group))]


def _decimal_commas(_, rng, group):
    values = 1200.5 * (1 + group) + 40 * rng.normal(size=len(group))
    return [f"{v:,.2f}".translate(str.maketrans(",.", ".,")) + " EUR" for v in values]


def _levels(of_table, rng, group):
    names = ["north", "south", "it's", "a,b", "x;y", 'O\'Neil "Bob"', "Österreich", "gold "]
    names = of_table.choice(names, 4, replace=False)
    return names[(group + rng.integers(0, 2, len(group))) % 4]


def _many_levels(of_table, rng, group):
    names = np.array([f"level {j}" for j in range(40)])
    return names[(rng.geometric(0.15, len(group)) + 3 * group) % 40]


def _postcodes(_, rng, group):
    names = np.array(["08015", "10115", "00501", "20095"])
    return names[(group + rng.integers(0, 2, len(group))) % 4]


def _flags(of_table, rng, group):
    words = ["TRUE", "FALSE"] if of_table.random() < 0.5 else ["TRUE", "FALSE", "unknown"]
    return np.array(words)[(group + (rng.random(len(group)) < 0.2)) % len(words)]


def _zero_one(_, rng, group):
    return ((group > 0) ^ (rng.random(len(group)) < 0.1)).astype(int)


def _dates(of_table, rng, group):
    form = str(of_table.choice(_DATE_FORMS))
    days = pd.Timestamp("2018-02-27") + pd.to_timedelta(
        400 * group + rng.integers(0, 300, len(group)), unit="D"
    )
    moments = days + pd.to_timedelta(rng.integers(0, 86_400, len(group)), unit="s")
    return moments.strftime(form)


def _instants(of_table, rng, group):
    zone = of_table.choice(["+02:00", "-05:00", "Z"])
    days = pd.Timestamp("2018-02-27") + pd.to_timedelta(
        9000 * group + rng.integers(0, 7000, len(group)), unit="h"
    )
    return [f"{day:%Y-%m-%dT%H:%M:%S}{zone}" for day in days]


def _times(of_table, rng, group):
    minutes = (300 * group + rng.integers(0, 400, len(group))) % 1440
    form = str(of_table.choice(["%H:%M", "%I:%M %p"]))
    return [f"{pd.Timestamp(0) + pd.Timedelta(minute, 'min'):{form}}" for minute in minutes]


_KINDS = {
    function.__name__: function
    for function in (
        *(_floats, _integers, _money, _decimal_commas, _levels, _many_levels, _postcodes, _flags),
        *(_zero_one, _dates, _instants, _times),
    )
}
