"""Whether some setting of CART gives the papers' figures of it: a paragraph of two pages."""

from benchmarks.evidence.pages.words import listed, title
from benchmarks.evidence.tables.cart import VARIANTS

SAME = 0.02  # percent: what rounding and the last bits of a free clustering explain


def cart_words(frame, papers, same_free=()):
    """Count the paper's figures of CART that each setting reproduces.

    Parameters
    ----------
    frame : DataFrame, rows of the file, with `point`, the number of leaves
    papers : DataFrame, the paper's rows of CART
    same_free : list of str, data sets whose free clustering is the paper's
    """
    counts, n_away = [], 0
    for method in ("CART", *VARIANTS):
        ours = frame[frame["method"] == method]
        same, n = 0, 0
        for row in papers.itertuples():
            found = ours[(ours["data"] == row.data) & (ours["point"].astype(float) == row.leaves)]
            if found.empty:
                continue
            n += 1
            cost = found["cost"].iloc[0]
            same += abs(cost - row.cost) <= SAME
        n_away += n - same
        if n:
            counts.append(f"{same} of {n} ({method})")
    if not counts:
        return ""
    text = (
        "*CART in the paper.* The paper fits scikit-learn's decision tree to the labels of the "
        "free clustering. The only setting that it states is `max_leaf_nodes`. We tried "
        f"{len(counts)} settings. They reproduce these numbers of printed costs within {SAME} "
        f"percentage points: {listed(counts)}."
    )
    if n_away and same_free:
        names = listed(map(title, same_free))
        text += f" On {names} the free clustering is the same, so it cannot explain the difference."
    return text
