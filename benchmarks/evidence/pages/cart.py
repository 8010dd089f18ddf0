"""Whether some setting of CART gives the papers' figures of it: a paragraph of two pages."""

from benchmarks.evidence.pages.words import counted, listed
from benchmarks.evidence.tables.cart import VARIANTS

_SETTINGS = {
    "CART": "the defaults",
    "CART, entropy": "the criterion entropy",
    "CART, balanced classes": "balanced classes",
}
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
            counts.append(f"{same} of {n} with {_SETTINGS.get(method, method)}")
    if not counts:
        return ""
    return (
        "*CART in the paper.* The paper fits scikit-learn's decision tree to the labels of the "
        "free clustering. The only setting that it states is `max_leaf_nodes`. We tried "
        f"{counted(len(counts), 'setting')}. Printed costs that they match within {SAME} "
        f"percentage points: {listed(counts)}."
    )
