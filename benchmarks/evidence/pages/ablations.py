"""The section of ablations: every setting beside the defaults, in size, new cost and time."""

import numpy as np

from benchmarks.evidence.pages.words import counted, markdown, number, title

DEFAULT = "default"
LEAST = 1e-3  # percent: costs below are taken for that, in logarithms


def sizes_at(trees, cost):
    """Parameters that a cost takes, between trees in the logarithms; NaN beyond them."""
    trees = trees.sort_values("cost")
    found = np.maximum(trees["cost"].to_numpy(dtype=float), LEAST)
    sizes = np.minimum.accumulate(trees["parameters"].to_numpy(dtype=float))
    terms = np.log(max(cost, LEAST)), np.log(found), np.log(sizes)
    return float(np.exp(np.interp(*terms, left=np.nan, right=np.nan)))


def line(part, default):
    """Figures of a setting on a data set beside the default's: a dict."""
    seeds = sorted(set(part["seed"]) & set(default["seed"]))
    ratios, seconds = [], []
    for seed in seeds:
        ours, base = part[part["seed"] == seed], default[default["seed"] == seed]
        ratios += [sizes_at(ours, cost) / sizes_at(base, cost) for cost in base["cost"]]
        seconds.append(ours["seconds"].sum() / base["seconds"].sum())
    return {
        "seeds": len(seeds),
        "size": np.exp(np.nanmean(np.log(ratios))) if np.isfinite(ratios).any() else np.nan,
        "seconds": np.mean(seconds),
        "costs": " / ".join(number(value) for value in _by_lambda(part, "cost")),
        "new": " / ".join(number(value) for value in _by_lambda(part, "cost_new")),
        "sizes": " / ".join(number(value, 0) for value in _by_lambda(part, "parameters")),
    }


def _by_lambda(part, column):
    return part.groupby(part["point"].astype(float))[column].mean()


def section(frame):
    """The section, Markdown."""
    parts = [
        "One setting changed at a time, on 80 % of the rows. *Size* is the number of parameters "
        "at the costs of the default's three trees, over the default's (geometric mean; between "
        "the trees of a seed it is interpolated in the logarithms, beyond them it is left out; a "
        "dash: all are cheaper or all dearer); *time* is CPU seconds over the default's. Then the "
        "means over seeds of cost, cost on the other 20 % of the rows and parameters at the three "
        "lambdas; the published algorithm, which is as sparse at a tenth of the lambda, has a "
        "tenth of them. Parts that are no parameters are changed inside the library for the time "
        "of a run.",
    ]
    for data, part in frame.groupby("data", sort=False):
        default = part[part["method"] == DEFAULT]
        if default.empty:
            continue
        rows = []
        for method, own in part.groupby("method", sort=False):
            found = line(own, default)
            rows.append(
                {
                    "setting": method,
                    "seeds": found["seeds"],
                    "size": number(found["size"]),
                    "time": number(found["seconds"]),
                    "cost %": found["costs"],
                    "new rows %": found["new"],
                    "parameters": found["sizes"],
                }
            )
        k = f"{default['clusters'].iloc[0]:.0f}"
        n = counted(default["seed"].nunique(), "seed")
        parts += [f"### {title(data)}, k = {k}, {n} of the default", markdown(rows)]
    return "\n\n".join(parts)
