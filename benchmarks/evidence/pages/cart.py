"""Whether some setting of CART gives the papers' figures of it: a paragraph of two pages."""

from benchmarks.evidence.pages.words import listed
from benchmarks.evidence.tables.cart import VARIANTS

SAME = 0.02  # percent: what rounding and the last bits of a free clustering explain


def cart_words(frame, papers):
    """Count the paper's figures of CART that each setting reproduces.

    Parameters
    ----------
    frame : DataFrame, rows of the file, with `point`, the number of leaves
    papers : DataFrame, the paper's rows of CART
    """
    counts = []
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
        if n:
            counts.append(f"{same} of {n} with {method.removeprefix('CART, ')}")
    if not counts:
        return ""
    return (
        "*CART in the paper.* The paper fits scikit-learn's decision tree to the labels of the "
        "free clustering. The only setting that it states is `max_leaf_nodes`. We tried "
        f"{len(counts)} settings: the defaults (CART) and others. They match the printed costs, "
        f"within {SAME} percentage points, in {listed(counts)}."
    )
