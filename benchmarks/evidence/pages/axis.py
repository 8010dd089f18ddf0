"""The section of kdd22-table1: axis-aligned trees of equal size."""

from benchmarks.evidence.pages.words import listed, markdown, number, published, spread, title
from benchmarks.evidence.tables.axis import NAME, NO_SEARCH, PUBLISHED, TAO

METHODS = ("CART", "ExGreedy", "ExShallow", "ExKMC", PUBLISHED, NO_SEARCH, TAO)
OF_PAPER = {"CART": "CART", "ExGreedy": "ExGreedy", "ExKMC": "ExKMC", PUBLISHED: "TAO"}
LEVEL = 5e-3  # percent: what two digits show


def section(frame):
    """The section, Markdown."""
    rows, means = [], {}
    papers = published(NAME)
    for (data, leaves), part in frame.groupby(["data", "point"], sort=False):
        cells = {"data": title(data), "leaves": f"{float(leaves):.0f}"}
        means[f"{title(data)} with {float(leaves):.0f} leaves"] = part.groupby("method")[
            "cost"
        ].mean()
        for method in METHODS:
            cost = spread(part.loc[part["method"] == method, "cost"])
            cells[method] = cost + _in_paper(papers, data, method, leaves)
        rows.append(cells)
    verdict = " ".join(_order(means, *pair) for pair in ((TAO, "ExKMC"), ("ExKMC", "CART")))
    words = (
        "Cost in percent at equal leaves; in brackets the paper's figure of the same method and "
        "leaves, where it prints one (it has no row for letter). `TAO` is "
        '`TAOClustering(split="axis")`, `no search` the same without its local search, `published` '
        "the paper's penalty method from ExKMC's tree."
    )
    return "\n\n".join([words, markdown(rows), verdict])


def _order(means, cheap, dear):
    """In how many rows one method costs no more than another."""
    both = {row: costs for row, costs in means.items() if {cheap, dear} <= set(costs.index)}
    failed = [row for row, costs in both.items() if costs[cheap] > costs[dear] + LEVEL]
    text = f"**{cheap} ≤ {dear} in {len(both) - len(failed)} of {len(both)} rows.**"
    return text + (f" Not so: {listed(failed)}." if failed else "")


def _in_paper(papers, data, method, leaves):
    """What the paper prints at about as many leaves: its pruned trees have up to three fewer."""
    same = papers[(papers["data"] == data) & (papers["method"] == OF_PAPER.get(method))]
    same = same[same["leaves"].between(float(leaves) - 3, float(leaves))]
    return "" if same.empty else f" ({number(same['cost'].iloc[0])})"
