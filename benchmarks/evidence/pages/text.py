"""The page of kdd22-table3: documents, spherical k-means, words."""

from benchmarks.evidence.pages.words import (
    averaged,
    counted,
    folded,
    listed,
    markdown,
    number,
    published,
    title,
)
from benchmarks.evidence.tables.text import NAME, PATH


def section(frame):
    """Return the page as Markdown."""
    papers = [
        {
            "data": title(row.data),
            "method": row.method,
            "cost %": number(row.cost),
            "parameters": number(row.parameters, 0),
            "features per test": number(row.features, 0),
            "leaves": number(row.leaves, 0),
        }
        for row in published(NAME).itertuples()
    ]
    words = (
        "The document collections of the paper (Web of Science, Amazon reviews) are not available "
        "in the form in which the paper used them. In their place, we use "
        f"{listed(map(title, frame['data'].unique()))}, prepared as in appendix A.1. The costs can "
        "therefore be compared with those of CART, but not with those of the paper."
    )
    return "\n\n".join(
        [
            words,
            verdict(frame),
            "All trees. Two lines are not trees: *random* has random labels, and *free* is the "
            "clustering of another start of spherical k-means.",
            markdown(_lines(frame, _main)),
            folded("Depth, agreement and time", markdown(_lines(frame, _details))),
            folded("The figures of the paper, on its own collections", markdown(papers)),
        ]
    )


def _lines(frame, cells):
    groups = frame.groupby(["method", "setting", "point"], dropna=False, sort=False)
    return [{"tree": _name(*key)} | cells(part) for key, part in groups]


def _name(method, setting, point):
    return f"TAO, lambda = {float(point):.3g}" if method == PATH else f"{method}, {setting}"


def _main(part):
    return {
        "cost %": averaged(part["cost"]),
        "parameters": averaged(part["parameters"], 0),
        "features per test": averaged(part["features"], 1),
        "leaves": averaged(part["leaves"], 0),
    }


def _details(part):
    return {
        "mean depth of a row": averaged(part["wad"], 1),
        "NMI": averaged(part["nmi"]),
        "CPU s": averaged(part["seconds"], 1),
    }


def smallest(tao, cost):
    """The smallest tree of each seed's path that is at or below a cost: rows of a DataFrame."""
    cheap = tao[tao["cost"] <= cost]
    return cheap.loc[cheap.groupby("seed")["parameters"].idxmin()]


def verdict(frame):
    """Compare the smallest oblique trees with each tree of CART that costs at least as much."""
    lines = []
    tao = frame[frame["method"] == PATH]
    n_seeds = tao["seed"].nunique()
    for row in frame[frame["method"] == "CART"].itertuples():
        found = smallest(tao, row.cost)
        lines.append(
            {
                "CART: leaves": f"{row.leaves:.0f}",
                "cost %": number(row.cost),
                "CART: parameters": f"{row.parameters:.0f}",
                "TAO oblique: parameters": averaged(found["parameters"], 0),
                "seeds": f"{len(found)} of {counted(n_seeds, 'seed')}",
            }
        )
    return (
        "For each tree of CART, the next table shows the smallest oblique tree that costs no "
        f"more, as a mean over seeds ± its standard error.\n\n{markdown(lines)}"
    )
