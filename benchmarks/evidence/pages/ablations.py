"""The page of ablations: every setting beside the default, in size at equal cost and in time."""

import numpy as np

from benchmarks.evidence.tables.ablations import NAME, PENALTY, PUBLISHED

DEFAULT = "default"
LARGER = 1.05  # times as large: what the first paragraph names
_LEAST = 1e-3  # percent: costs below count as this, in logarithms
# A ratio needs so many of the default's costs within the range of the costs of a setting.
_SHARE = 2 / 3


def numbers(frames):
    """Return the numbers of the page."""
    frame = frames[NAME]
    found = all_sizes(frame)
    sets, others = list(frame["data"].unique()), (DEFAULT, PENALTY, PUBLISHED)
    own = {name: each["seen"] for name, each in found.items() if name not in others}
    own = {name: size for name, size in own.items() if size[2] > len(sets) / 2}
    larger = [name for name, each in own.items() if is_larger(each)]
    return {
        "found": found,
        "larger": sorted(larger, key=lambda name: -own[name][0]),
        "sets": sets,
        "n_seeds": frame["seed"].nunique(),
    }


def is_larger(size):
    """Whether trees are larger by more than two standard errors."""
    mean, error, _ = size
    return mean > LARGER and np.log(mean) > 2 * error


def all_sizes(frame):
    """Return what each setting changes: a dict of dicts.

    `seen` and `new` are (ratio of parameters at equal cost, standard error of its logarithm over
    seeds, number of data sets), and `time` is the ratio of CPU seconds.
    """
    default = dict(list(frame[frame["method"] == DEFAULT].groupby("data")))
    found = {}
    for method, own in frame.groupby("method", sort=False):
        pairs = [(part, default[data]) for data, part in own.groupby("data")]
        times = [np.log(ours["seconds"].mean() / base["seconds"].mean()) for ours, base in pairs]
        found[method] = {
            "seen": _pooled(size_ratio(*pair, "cost") for pair in pairs),
            "new": _pooled(size_ratio(*pair, "cost_new") for pair in pairs),
            "time": float(np.exp(np.mean(times))),
        }
    return found


def size_ratio(trees, base, column="cost"):
    """Return the ratio of parameters at the costs of the default's trees, and its error.

    Trees of all seeds give one line of log parameters against log cost. The ratio is NaN if too
    few costs of the default lie within the costs of the setting. The error is that of the
    logarithm, by leaving out one seed at a time; NaN with fewer than three seeds.
    """
    costs, own = _log_costs(base, column), _log_costs(trees, column)
    reached = costs[(costs >= own.min()) & (costs <= own.max())]
    if len(reached) < _SHARE * len(costs):
        return np.nan, np.nan
    error, seeds = np.nan, trees["seed"].unique()
    if len(seeds) > 2:
        parts = ([part[part["seed"] != seed] for part in (trees, base)] for seed in seeds)
        without = [_difference(*pair, column, costs) for pair in parts]
        error = np.sqrt((len(seeds) - 1) * np.var(without))
    return float(np.exp(_difference(trees, base, column, reached))), float(error)


def _difference(trees, base, column, costs):
    ours, theirs = (_line(part, column) for part in (trees, base))
    return np.mean(np.polyval(ours, costs) - np.polyval(theirs, costs))


def _line(trees, column):
    costs = _log_costs(trees, column)
    degree = 1 if np.ptp(costs) > 0 else 0
    return np.polyfit(costs, np.log(trees["parameters"].to_numpy(dtype=float)), degree)


def _log_costs(trees, column):
    return np.log(np.maximum(trees[column].to_numpy(dtype=float), _LEAST))


def _pooled(ratios):
    """Return the geometric mean over the data sets that have a ratio, its error, their number."""
    ratios = [each for each in ratios if np.isfinite(each[0])]
    if not ratios:
        return np.nan, np.nan, 0
    means, errors = zip(*ratios, strict=True)
    error = np.sqrt(np.sum(np.square(errors))) / len(ratios)
    return float(np.exp(np.mean(np.log(means)))), float(error), len(ratios)
