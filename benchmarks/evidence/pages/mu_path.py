"""The section of kdd22-fig3: the objective along mu."""

import numpy as np

from benchmarks.evidence.pages.words import markdown, number, title


def section(frame):
    """The section, Markdown."""
    rows = []
    for (data, method, setting), part in frame.groupby(["data", "method", "setting"], sort=False):
        mu = part["point"].astype(float)
        along = part[(mu > 0) & np.isfinite(mu)]
        last = part.iloc[-1]
        cells = {"data": title(data), "method": method, "setting": setting}
        cells["direct fit: cost %"] = "-"
        cells["least along mu"] = "-"
        cells["last along mu"] = "-"
        if len(along):
            start = part.iloc[: part.index.get_loc(along.index[0])]
            cells["direct fit: cost %"] = number(start["cost"].min()) if len(start) else "-"
            cells["least along mu"] = number(along["cost"].min())
            cells["last along mu"] = number(along["cost"].iloc[-1])
        cells["end: cost %"] = number(last["cost"])
        cells["non-zeros"] = number(last["non_zeros"], 0)
        cells["leaves"] = number(last["leaves"], 0)
        cells["wall s"] = number(part["seconds"].max(), 1)
        rows.append(cells)
    words = (
        "Figure 3 of the paper follows the objective as mu grows (figure 2 is the algorithm "
        "itself). Every record of a run is a row of the .csv file. The direct form has no mu: its "
        "cost is that of its passes, one after another."
    )
    return "\n\n".join([words, markdown(rows), "![Cost along mu](mu_path.svg)"])
