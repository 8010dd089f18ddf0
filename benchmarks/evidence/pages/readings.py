"""The page of kdd22-readings: interpretations of the KDD 2022 paper against its tables."""

from benchmarks.evidence.pages.words import averaged, folded, markdown, number, percent, title
from benchmarks.readings import RESULT, nearest, summary

PUBLISHED = "constant, always"  # the interpretation of algorithm="published"


_N_ROWS = 9  # of TAO in table 2


def published_words(frame):
    """Say how many rows of table 2 the interpretation of `algorithm="published"` reproduces."""
    line = summary(frame, nearest(frame), PUBLISHED)
    n_rows = int(line["rows tried"])
    tried = "rows of table 2" if n_rows == _N_ROWS else "rows that were run (table 2 has nine)"
    return (
        f"For {line['within 15 %']} of the {n_rows} {tried}, cost and size of "
        '`algorithm="published"` differ from the printed ones by at most 15 %'
    )


def section(frame):
    """Return the page as Markdown."""
    found = nearest(frame)
    names = list(frame["method"].unique())
    words = (
        "The paper leaves some choices open: the strength of the penalty in the tree step, the "
        "condition for a node to change, and more. Each interpretation here is one set of "
        "choices, named after its strength and its rule of acceptance. All have the squared "
        'error and return the last tree, unless the name says otherwise. `algorithm="published"` '
        f'is the first one, "{PUBLISHED}". See [the paper, part by part](../guide/paper.md) for '
        "the passages."
    )
    counts = (
        "*Within 15 %*: rows of table 2 whose cost and number of parameters are both within 15 % "
        "of the printed ones, of those that were run. *Falls*: runs in which the cost falls from "
        "the first tree to the last tree, as in figure 3."
    )
    lines = [summary(frame, found, name) for name in names]
    main = [
        {
            "interpretation": line["reading"],
            "rows run": line["rows tried"],
            "within 10 %": line["within 10 %"],
            "within 15 %": line["within 15 %"],
            "falls": line["cost falls along mu"],
        }
        for line in lines
    ]
    tables = [folded(name, markdown(rows)) for name, rows in _rows(frame, found).items()]
    axis = [
        {"interpretation": line["reading"], "cost % (paper)": line["table 1, cost % (paper)"]}
        for line in lines
        if line["table 1, cost % (paper)"]
    ]
    if axis:
        tables.append(folded("Axis-aligned trees of table 1", markdown(axis)))
    return "\n\n".join([words, counts, markdown(main), "## Rows of table 2", *tables])


def _rows(frame, found):
    """Return the interpretations of each row of the paper, nearest first: dict of lists."""
    results = frame[frame["work"] == RESULT]
    tables = {}
    for (data, cost), part in found.groupby(["data", "paper"], sort=False):
        paper = part.iloc[0]["paper_parameters"]
        name = f"{title(data)}: the paper has {cost} % with {paper:.0f} parameters"
        tables[name] = []
        for row in part.sort_values("distance").itertuples():
            is_own = (results["method"] == row.method) & (results["data"] == data)
            own = results[is_own & (results["setting"] == row.setting)]
            tables[name].append(
                {
                    "interpretation": row.method,
                    "setting": row.setting,
                    "cost %": averaged(own["cost"]),
                    "parameters": averaged(own["parameters"], 0),
                    "leaves": number(row.leaves, 0),
                    "difference": percent(row.distance),
                }
            )
    return tables
