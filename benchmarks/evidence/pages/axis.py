"""The section of kdd22-table1: axis-aligned trees of equal size."""

from benchmarks.evidence.pages.cart import cart_words
from benchmarks.evidence.pages.words import listed, markdown, number, published, spread, title
from benchmarks.evidence.tables.axis import NAME, NO_SEARCH, PUBLISHED, TAO
from benchmarks.evidence.tables.cart import VARIANTS

METHODS = ("CART", *VARIANTS, "ExGreedy", "ExShallow", "ExKMC", PUBLISHED, NO_SEARCH, TAO)
OF_PAPER = {"CART": "CART", "ExGreedy": "ExGreedy", "ExKMC": "ExKMC", PUBLISHED: "TAO"}
LEVEL = 5e-3  # percent: what two digits show


def section(frame):
    """The section, Markdown."""
    rows = []
    papers = published(NAME)
    for (data, leaves), part in frame.groupby(["data", "point"], sort=False):
        cells = {"data": title(data), "leaves": f"{float(leaves):.0f}"}
        for method in METHODS:
            cost = spread(part.loc[part["method"] == method, "cost"])
            cells[method] = cost + _in_paper(papers, data, method, leaves)
        rows.append(cells)
    means = means_by_row(frame)
    verdict = " ".join(_order(means, *pair) for pair in ((TAO, "ExKMC"), ("ExKMC", "CART")))
    words = (
        "Cost in percent at equal leaves; in brackets the paper's figure of the same method and "
        "leaves, where it prints one (it has no row for letter). `TAO` is "
        '`TAOClustering(split="axis")`, `no search` the same without its local search, `published` '
        "the paper's penalty method from ExKMC's tree. A negative cost is a clustering that is "
        "cheaper than the free one, which is the best of ten starts of k-means, not the best there "
        "is."
    )
    cart = cart_words(frame, papers[papers["method"] == "CART"])
    same = unchanged(means)
    if same:
        verdict += f" `published` costs what ExKMC's tree costs on {listed(same)}."
    return "\n\n".join([words, markdown(rows), verdict, cart])


def unchanged(means):
    """Rows in which the published algorithm costs what ExKMC's tree costs, where it starts."""
    both = _with_both(means, PUBLISHED, "ExKMC")
    return [row for row, costs in both.items() if abs(costs[PUBLISHED] - costs["ExKMC"]) < LEVEL]


def means_by_row(frame):
    """Mean costs of the methods: dict of a row's name to a Series."""
    return {
        f"{title(data)} with {float(leaves):.0f} leaves": part.groupby("method")["cost"].mean()
        for (data, leaves), part in frame.groupby(["data", "point"], sort=False)
    }


def _with_both(means, *methods):
    return {row: costs for row, costs in means.items() if set(methods) <= set(costs.index)}


def failures(means, cheap, dear):
    """Rows in which a method costs more than another."""
    both = _with_both(means, cheap, dear)
    return [row for row, costs in both.items() if costs[cheap] > costs[dear] + LEVEL]


def _order(means, cheap, dear):
    """In how many rows one method costs no more than another."""
    n, failed = len(_with_both(means, cheap, dear)), failures(means, cheap, dear)
    text = f"**{cheap} ≤ {dear} in {n - len(failed)} of {n} rows.**"
    return text + (f" Not so: {listed(failed)}." if failed else "")


def _in_paper(papers, data, method, leaves):
    """What the paper prints at about as many leaves: its pruned trees have up to three fewer."""
    same = papers[(papers["data"] == data) & (papers["method"] == OF_PAPER.get(method))]
    same = same[same["leaves"].between(float(leaves) - 3, float(leaves))]
    return "" if same.empty else f" ({number(same['cost'].iloc[0])})"
