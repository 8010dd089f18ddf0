"""The page of speed: times beside a reference time of the same run, and memory."""

from benchmarks.evidence.pages.words import figure, listed, markdown, number, title

GROWTHS = ("4 n", "4 d", "4 k")


def section(frame):
    """Return the page as Markdown."""
    fits = frame[frame["setting"] == "beside k-means"]
    return "\n\n".join(
        [
            _answer(fits, frame[frame["setting"] == "peak"]),
            "All times are CPU seconds of one thread, without the compilation of the first fit. "
            "Beside each time is its ratio to the time of a known method in the same run, which "
            "depends less on the machine.",
            "## Fits beside k-means",
            "The table shows the times of fits of `TAOClustering` to centres that are already "
            "known. *Times k-means* is this time divided by that of `KMeans(n_init=10)`, which "
            "finds the centres and is timed again for each line. The default chooses lambda "
            "itself, so that its cost and size differ from those with the one given lambda. The "
            "axis-aligned fit of MNIST "
            "takes minutes and is not in this table.",
            markdown(_fits(fits)),
            figure(
                "time_quality",
                "Time against quality of trees with two leaves per cluster, from the results of "
                "[all methods](field.md). Horizontal axis: CPU time divided by that of CART. "
                "Vertical axis: cost on new rows relative to that of CART. Means over the data "
                "sets on which all these methods were run; whiskers are standard errors. Lower "
                "and further left is better.",
            ),
            "## Growth with rows, columns and clusters",
            f"The data are Gaussian blobs{_first_shape(frame)}. *4 n*, *4 d* and *4 k* say how "
            "many times as long a fit takes with four times as many rows, columns or clusters. "
            "The times of oblique fits hardly grow with n at these sizes. One reason, for fits "
            "with refits, is that small tables are fitted together with [noisy copies]"
            "(../guide/problem.md#how-a-tree-is-found) of their rows, and larger tables with fewer "
            "copies or none.",
            markdown(_grown(frame[frame["setting"] == "growth"])),
            "The next table shows the axis-aligned methods on the same kind of blobs, beside CART "
            "(scikit-learn's decision tree) with k leaves.",
            markdown(_builders(frame[frame["method"] == "builders"])),
            "## The logistic regression of one test",
            "Each test is found by a logistic regression with an L1 penalty. The table compares "
            "our solver with LIBLINEAR (tolerance 0.001) on such problems; both start from zero. "
            "*Strength* is the factor of the penalty, and *ratio* is our time divided by that of "
            "LIBLINEAR. Both solvers minimise loss plus penalty. *Excess* is the relative "
            "difference of the values that they reach: negative if ours is lower, which is better.",
            markdown(_nodes(frame[frame["method"] == "Newton"])),
            "## Memory",
            "Peak memory in addition to X, of a fit with the defaults in its own process:",
            markdown(_peaks(frame[frame["setting"] == "peak"])),
        ]
    )


def _answer(fits, peaks):
    """Say how long fits with the defaults take and how much memory they need: a paragraph."""
    default = fits[fits["method"] == "TAO oblique, defaults"]
    times = [f"{row.seconds:.1f} s on {_shape(row)}" for row in default.itertuples()]
    text = f"**Result.** A default fit to given centres takes {listed(times)}." if times else ""
    if len(peaks):
        ratios = peaks["memory"] / peaks["yardstick"]
        text += (
            f" In addition to X itself, the measured fits needed {ratios.min():.1f} to "
            f"{ratios.max():.1f} times the memory of X."
        )
    return text.strip()


def _first_shape(frame):
    """Return the size of the first blobs, if it is in the file, as words."""
    found = frame.loc[frame["setting"] == "growth", ["rows", "columns", "clusters"]].dropna()
    if found.empty:
        return ""
    rows, columns, clusters = found.iloc[0]
    return f" of {rows:.0f} rows, {columns:.0f} columns and {clusters:.0f} clusters"


def _builders(frame):
    found = []
    sizes = list(frame["data"].unique())
    for name, part in frame.groupby("point", sort=False):
        by_size = part.set_index("data")
        base = by_size.loc[sizes[0]]
        cells = {"method": name, "CPU s": number(base["seconds"], 3)}
        cells["times CART"] = number(base["seconds"] / base["yardstick"])
        for size, words in zip(sizes[1:], GROWTHS, strict=False):
            cells[words] = number(_growth(by_size, size, base), 1)
        found.append(cells)
    return found


def _grown(frame):
    """A line per kind of fit: seconds at the first size, and factors at the others."""
    found = []
    sizes = list(frame["data"].unique())
    for method, part in frame.groupby("method", sort=False):
        by_size = part.set_index("data")
        base = by_size.loc[sizes[0]]
        cells = {"fit": method.removeprefix("TAO "), "CPU s": number(base["seconds"])}
        cells["times k-means"] = number(base["seconds"] / base["yardstick"])
        for size, words in zip(sizes[1:], GROWTHS, strict=False):
            cells[words] = number(_growth(by_size, size, base), 1)
        found.append(cells)
    return found


def _growth(by_size, size, base):
    return by_size.loc[size, "seconds"] / base["seconds"] if size in by_size.index else None


def _shape(row):
    return f"{title(row.data)} ({row.rows:.0f} x {row.columns:.0f})"


def _fits(frame):
    return [
        {
            "data": f"{_shape(row)[:-1]}, k = {row.clusters:.0f})",
            "fit": row.method.removeprefix("TAO "),
            "CPU s": number(row.seconds, 1),
            "times k-means": number(row.seconds / row.yardstick),
            "cost %": number(row.cost),
            "parameters": number(row.parameters, 0),
        }
        for row in frame.itertuples()
    ]


def _nodes(frame):
    return [
        {
            "data": _shape(row),
            "strength": f"{float(row.point):g}",
            "ours: CPU s": number(row.seconds, 3),
            "LIBLINEAR": number(row.yardstick, 3),
            "ratio": number(row.seconds / row.yardstick),
            "excess": f"{float(row.work):.0e}",
        }
        for row in frame.itertuples()
    ]


def _peaks(frame):
    return [
        {
            "fit": row.method.removeprefix("TAO "),
            "X, MB": number(row.yardstick, 0),
            "peak beside X, MB": number(row.memory, 0),
            "multiples of X": number(row.memory / row.yardstick),
        }
        for row in frame.itertuples()
    ]
