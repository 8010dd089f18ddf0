"""The section of kdd22-table3: documents, spherical k-means, words."""

from benchmarks.evidence.pages.words import counted, markdown, number, published, spread, title
from benchmarks.evidence.tables.text import NAME, PATH


def section(frame):
    """The section, Markdown."""
    words = (
        "Web of Science and the Amazon reviews of the paper are not to be had in its form; the "
        "20 newsgroups, made by the paper's own recipe (appendix A.1), stand in their place. "
        "So nothing can be reproduced here to the digit: what can be compared is how cost falls "
        "with size, beside CART's and beside labels by lot."
    )
    rows = [
        _line(*group)
        for group in frame.groupby(["data", "method", "setting", "point"], dropna=False, sort=False)
    ]
    papers = [
        {
            "data": title(row.data),
            "method": row.method,
            "cost %": number(row.cost),
            "parameters": number(row.parameters, 0),
            "features a test": number(row.features, 0),
            "leaves": number(row.leaves, 0),
        }
        for row in published(NAME).itertuples()
    ]
    return "\n\n".join(
        [words, markdown(rows), verdict(frame), "The paper, on its own two sets:", markdown(papers)]
    )


def _line(key, part):
    data, method, setting, point = key
    return {
        "data": title(data),
        "method": method if method != PATH else f"TAO, lambda={float(point):.3g}",
        "setting": setting,
        "cost %": spread(part["cost"]),
        "parameters": spread(part["parameters"], 0),
        "features a test": spread(part["features"], 1),
        "leaves": spread(part["leaves"], 0),
        "WAD": spread(part["wad"], 1),
        "NMI": spread(part["nmi"]),
        "CPU s": spread(part["seconds"], 1),
    }


def smallest(tao, cost):
    """The smallest tree of each seed's path that is at or below a cost: rows of a DataFrame."""
    cheap = tao[tao["cost"] <= cost]
    return cheap.loc[cheap.groupby("seed")["parameters"].idxmin()]


def verdict(frame):
    """The smallest oblique trees that are at least as cheap as each CART, over seeds."""
    texts = []
    tao = frame[frame["method"] == PATH]
    n_seeds = tao["seed"].nunique()
    for row in frame[frame["method"] == "CART"].itertuples():
        found = smallest(tao, row.cost)
        what = (
            f"CART with {row.leaves:.0f} leaves ({row.cost:.2f} %, {row.parameters:.0f} parameters)"
        )
        if found.empty:
            texts.append(f"No tree here is as cheap as {what}.")
            continue
        sizes = [f"{value:.0f}" for value in (found["parameters"].min(), found["parameters"].max())]
        texts.append(
            f"As cheap as {what}: oblique trees of {' to '.join(dict.fromkeys(sizes))} parameters "
            f"(the smallest of each path, {len(found)} of {counted(n_seeds, 'seed')})."
        )
    return " ".join(texts)
