"""The section of speed: multiples of a yardstick of the same run."""

from benchmarks.evidence.pages.words import markdown, number, title

GROWTHS = ("4 n", "4 d", "4 k")


def section(frame):
    """The section, Markdown."""
    return "\n\n".join(
        [
            "CPU seconds on one thread, kernels compiled, and multiples of a yardstick in the same "
            "run. Builders beside scikit-learn's decision tree of k leaves, and by what their "
            "seconds grow with four times the rows, columns and clusters:",
            markdown(_builders(frame[frame["method"] == "builders"])),
            "Fits of `TAOClustering` to given centres, beside `KMeans(n_init=10)`, which finds "
            "them (axis-aligned fits of images take minutes and are in the table of the field):",
            markdown(_fits(frame[frame["setting"] == "beside k-means"])),
            "The same on the builders' blobs, and by what seconds grow with four times the rows, "
            "columns and clusters (axis-aligned trees have the leaves that the default depth "
            "allows). While rows are few, what follows the passes sees noisy copies of them, the "
            "fewer the more rows there are, so that time hardly grows with n at these sizes:",
            markdown(_grown(frame[frame["setting"] == "growth"])),
            "One problem of a node from nothing, our Newton solver beside LIBLINEAR at eps 1e-3; "
            "the last column is how far ours is from LIBLINEAR's value (negative: better):",
            markdown(_nodes(frame[frame["method"] == "Newton"])),
            "Peak memory beside X, of a fit with the defaults in a process of its own:",
            markdown(_peaks(frame[frame["setting"] == "peak"])),
        ]
    )


def _builders(frame):
    found = []
    sizes = list(frame["data"].unique())
    for name, part in frame.groupby("point", sort=False):
        by_size = part.set_index("data")
        base = by_size.loc[sizes[0]]
        cells = {"builder": name, f"{sizes[0]}: CPU s": number(base["seconds"], 3)}
        cells["x CART"] = number(base["seconds"] / base["yardstick"])
        for size, words in zip(sizes[1:], GROWTHS, strict=False):
            cells[words] = number(_growth(by_size, size, base), 1)
        found.append(cells)
    return found


def _grown(frame):
    """A line a kind of fit; the columns are sizes, the first of which the others are held to."""
    found = []
    sizes = list(frame["data"].unique())
    for method, part in frame.groupby("method", sort=False):
        by_size = part.set_index("data")
        base = by_size.loc[sizes[0]]
        cells = {"fit": method.removeprefix("TAO "), f"{sizes[0]}: CPU s": number(base["seconds"])}
        cells["x k-means"] = number(base["seconds"] / base["yardstick"])
        for size, words in zip(sizes[1:], GROWTHS, strict=False):
            cells[words] = number(_growth(by_size, size, base), 1)
        cells["leaves, all sizes"] = " / ".join(number(value, 0) for value in part["leaves"])
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
            "x k-means": number(row.seconds / row.yardstick),
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
            "ours over it": number(row.seconds / row.yardstick),
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
