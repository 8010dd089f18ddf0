"""The page of speed: times beside a reference time of the same run, and memory."""

from benchmarks.evidence.pages.words import figure, markdown, number, title

GROWTHS = ("4 n", "4 d", "4 k")


def section(frame):
    """Return the page as Markdown."""
    fits = frame[frame["setting"] == "beside k-means"]
    return "\n\n".join(
        [
            "CPU seconds of one thread with compiled kernels. Each time stands beside a reference "
            "time of the same run, so that machines can be compared.",
            "## Fits beside k-means",
            "A fit of `TAOClustering` to given centres, and its multiple of "
            "`KMeans(n_init=10)`, which finds the centres. Axis-aligned fits of images take "
            "minutes and are in the table of [all methods](field.md).",
            markdown(_fits(fits)),
            figure(
                "time_quality",
                "Time against quality, from the results of [all methods](field.md): CPU seconds "
                "of the tree at 2k leaves over those of CART, and cost on new rows relative to "
                "CART. Means over the data sets that all these methods have; whiskers are "
                "standard errors. Lower and further left is better.",
            ),
            "## Growth with rows, columns and clusters",
            "Blobs with Gaussian noise. *4 n*, *4 d* and *4 k* are the factors by which the time "
            "grows with four times the rows, columns and clusters. Trees of few rows are fitted "
            "to noisy copies as well, the fewer the more rows there are, so that time hardly "
            "grows with n at these sizes.",
            markdown(_grown(frame[frame["setting"] == "growth"])),
            "The axis-aligned methods, beside scikit-learn's decision tree with k leaves:",
            markdown(_builders(frame[frame["method"] == "builders"])),
            "## One node problem",
            "Our Newton solver beside LIBLINEAR (tolerance 0.001), without a warm start. *Excess* "
            "is the relative difference of the objective from that of LIBLINEAR; a negative value "
            "is in favour of our solver.",
            markdown(_nodes(frame[frame["method"] == "Newton"])),
            "## Memory",
            "Peak memory in addition to X, of a fit with the defaults in its own process:",
            markdown(_peaks(frame[frame["setting"] == "peak"])),
        ]
    )


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
