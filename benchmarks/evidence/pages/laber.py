"""The sections of laber21-table1, laber23-table2 and -table3: our means beside the papers'."""

import numpy as np

from benchmarks.evidence.pages.words import (
    counted,
    listed,
    markdown,
    number,
    published,
    spread,
    title,
)

AGREES = 0.03
PRINTED = {"waes": "WAES", "wad": "WAD", "nmi": "NMI"}


def section_21(frame):
    """The section of table 1 of Laber & Murtinho (2021)."""
    return "\n\n".join(
        [
            "Cost over that of k-means, seeds 1 to 10, the best of ten starts each; mean ± "
            "standard deviation over the seeds. `DPTree` is that paper's other method, and not in "
            "its table.",
            *_costs(frame, "laber21-table1"),
            "Covtype and CIFAR-10 of the paper are not among our data.",
        ]
    )


def section_23(frame):
    """The section of table 2 of Laber, Murtinho & Oliveira (2023)."""
    return "\n\n".join(
        [
            "Seeds 1 to 30, one start of k-means each. KMC is ExKMC without a base, a leaf a "
            "cluster. On avila the paper's figures are those of columns brought to 0..1, not of "
            "raw ones as in 2021.",
            *_costs(frame, "laber23-table2"),
            "Depth, explanations and agreement, the paper's in brackets:",
            markdown(_others(frame, "laber23-table2")),
        ]
    )


def section_23_search(frame):
    """The section of table 3 of Laber, Murtinho & Oliveira (2023)."""
    frame = frame.assign(method=frame["point"])
    return "\n\n".join(
        [
            "ExShallow* searches the depth factor so that cost and WAES are at most KMC's of the "
            "same seed. Many trees may meet both; where its search stops the paper does not tell "
            "to the last step, so that a mean may be cheaper than the paper's and its WAES larger, "
            "or the other way round.",
            *_costs(frame, "laber23-table3"),
            markdown(_others(frame, "laber23-table3")),
            f"**{goals_missed(frame)}** The paper: in cost on all, in WAES on all of these but "
            "iris.",
        ]
    )


def goals_missed(frame):
    """On how many data sets ExShallow* is at or below KMC, and where it is not: a text."""
    means = frame.groupby(["data", "point"])[["cost", "waes"]].mean().round(10)
    kinds = (("cost", "cost"), ("waes", "WAES"))
    sets, missed = list(means.index.unique(0)), {}
    for data in sets:
        ours, goal = means.loc[(data, "ExShallow*")], means.loc[(data, "KMC")]
        above = [
            f"{words} {number(ours[name])} for {number(goal[name])}"
            for name, words in kinds
            if ours[name] > goal[name]
        ]
        if above:
            missed[data] = f"{title(data)}: {listed(above)}"
    text = (
        f"ExShallow* is at or below KMC in mean cost and mean WAES on {len(sets) - len(missed)} of "
        f"{counted(len(sets), 'data set')}"
    )
    return text + (f"; not on {'; '.join(missed.values())}." if missed else ".")


def farthest(frame, table, column):
    """The mean that is farthest from the paper's, as a ratio, and the second: a text."""
    papers = published(table).set_index(["data", "method"])[column]
    ours = frame.groupby(["data", "method"])[column].mean()
    ratios = np.log(ours / papers).dropna().abs().sort_values(ascending=False)
    texts = [
        f"{method} on {title(data)} {number(ours[data, method])} for the paper's "
        f"{number(papers[data, method])}"
        for data, method in ratios.index[:2]
    ]
    return f"{PRINTED[column]} of {texts[0]}, the next {texts[1]}" if len(texts) > 1 else ""


def _costs(frame, table):
    """A table of ratios, and how many agree with the paper."""
    papers = published(table).set_index(["data", "method"])["ratio"]
    rows, n, off = [], 0, []
    for (data, method), part in frame.groupby(["data", "method"], sort=False):
        ratios = 1 + part["cost"] / 100
        cells = {"data": title(data), "method": method}
        cells["seeds"] = len(part)
        cells["ours"] = spread(ratios, 3)
        cells["paper"] = cells["difference"] = "-"
        if (data, method) in papers.index:
            n += 1
            printed = papers[data, method]
            difference = ratios.mean() - printed
            cells["paper"], cells["difference"] = number(printed), f"{difference:+.3f}"
            if abs(difference) > AGREES:
                off.append(f"{method} on {title(data)} ({difference:+.3f})")
        rows.append(cells)
    verdict = (
        f"**{n - len(off)} of {n} means within {AGREES} of the paper's** (which are rounded to two "
        "digits)." + (f" Not so: {', '.join(off)}." if off else "")
    )
    return markdown(rows), verdict


def _others(frame, table):
    papers = published(table).set_index(["data", "method"])
    rows = []
    for (data, method), part in frame.groupby(["data", "method"], sort=False):
        cells = {"data": title(data), "method": method}
        for name, words in PRINTED.items():
            cells[words] = number(part[name].mean())
            if (data, method) in papers.index:
                cells[words] += f" ({number(papers.loc[(data, method), name])})"
        rows.append(cells)
    return rows
