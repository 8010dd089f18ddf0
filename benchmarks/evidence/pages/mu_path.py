"""The page of kdd22-fig3: the cost along mu."""

import numpy as np

from benchmarks.evidence.measures import RESULT
from benchmarks.evidence.pages.starts import with_starts
from benchmarks.evidence.pages.words import counted, figure, markdown, number, title
from benchmarks.evidence.tables.mu_path import DIRECT_FIT, PUBLISHED


def section(frame):
    """Return the page as Markdown."""
    frame = with_starts(frame)
    lines = []
    for (data, method, setting), part in frame.groupby(["data", "method", "setting"], sort=False):
        direct, along, result = _parts(part)
        lines.append(
            {
                "data": title(data),
                "method": _LONG.get(method, method),
                "setting": ", ".join(setting.split(", ")[:2]),
                "first tree": number(direct),
                "end of mu": number(along["cost"].iloc[-1]) if len(along) else "-",
                "result": number(result["cost"]),
                "parameters": number(result["parameters"], 0),
            }
        )
    words = (
        "Figure 3 of the paper shows how the cost falls while mu grows. Each tree that a run looks "
        "at is a row of the csv file. The direct form has no mu. Its panels show the trees in the "
        "order in which the fit looks at them. What falls along a fit is the objective, which "
        "includes the penalty on the weights, so that the cost alone may rise. The table has "
        "costs in percent and the number of parameters of the result."
    )
    caption = (
        "Cost and weights along the steps of each algorithm. A dot is the first tree, from which "
        "the path along mu starts."
    )
    return "\n\n".join([words, figure("mu_path", caption), markdown(lines), verdict(frame)])


_LONG = {
    "direct form, refits, true cost and search": "direct form",
    "direct form": "direct form, passes only",
    "published (LIBLINEAR)": "0/1 loss, lambda/mu, LIBLINEAR",
    "published (our solver)": "0/1 loss, lambda/mu",
}


def _parts(part):
    """Cost of the direct fit (NaN without one), the rows along mu, the row of the result."""
    direct = part.loc[part["work"] == DIRECT_FIT, "cost"]
    mu = part["point"].astype(float)
    return (
        float(direct.iloc[0]) if len(direct) else np.nan,
        part[(mu > 0) & np.isfinite(mu)],
        part[part["work"] == RESULT].iloc[-1],
    )


def verdict(frame):
    """Say in how many runs the path along mu ends below the direct fit that it starts from."""
    better, n = 0, 0
    for _, part in frame.groupby(["data", "method", "setting"]):
        direct, along, _ = _parts(part)
        if len(along):
            n += 1
            better += along["cost"].iloc[-1] < direct - 0.005
    if not n:
        return ""
    name = (
        '`algorithm="published"`'
        if PUBLISHED in set(frame["method"])
        else 'the penalty method with the 0/1 loss (not `algorithm="published"`)'
    )
    return (
        f"**With {name}, the path along mu ends below its first tree in {better} of "
        f"{counted(n, 'run')}.**"
    )
