"""Whether some setting of CART gives the papers' figures of it: a paragraph of two sections."""

from benchmarks.evidence.pages.words import counted, listed, number, title
from benchmarks.evidence.tables.cart import VARIANTS

SAME = 0.02  # percent: what rounding and the last bits of a free clustering explain


def cart_words(frame, papers, same_free=()):
    """Count the paper's figures of CART that each setting comes to.

    Parameters
    ----------
    frame : DataFrame, rows of the file, with `point`, the number of leaves
    papers : DataFrame, the paper's rows of CART
    same_free : list of str, data sets whose free clustering is the paper's
    """
    texts, most, away, dearer = [], [], [], 0
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
            if method == "CART" and abs(cost - row.cost) > SAME:
                where = f"{title(row.data)} with {row.leaves:.0f} leaves"
                away.append(f"{where} {number(cost)} for {number(row.cost)}")
                dearer += cost > row.cost
        most.append(same)
        if n:
            texts.append(f"{method}: {same} of {counted(n, 'figure')}")
    if not texts:
        return ""
    text = "The paper fits scikit-learn's tree to the labels and names `max_leaf_nodes` alone. "
    text += f"Figures of the paper that a setting comes to within {SAME} %: {'; '.join(texts)}. "
    if away:
        text += (
            f"What CART with the defaults costs here, for the paper's: {listed(away)}; "
            f"{dearer} of {counted(len(away), 'difference')} are to the disadvantage of the "
            "baseline. Another free clustering may be the cause"
        )
        text += f", but not on {listed(map(title, same_free))}" if len(same_free) else ""
        text += f"; **no setting tried gives more than {max(most)} of the figures**."
    return text
