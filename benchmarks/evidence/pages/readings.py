"""The page of kdd22-readings: interpretations of the TAO paper beside its tables."""

from benchmarks.evidence.measures import RESULT
from benchmarks.evidence.pages.axis import in_paper
from benchmarks.evidence.pages.oblique import REACHED, reached, reproduction
from benchmarks.evidence.pages.starts import with_starts
from benchmarks.evidence.pages.words import (
    averaged,
    counted,
    folded,
    listed,
    markdown,
    number,
    percent,
    published,
    title,
)
from benchmarks.evidence.tables import axis as axis_table
from benchmarks.evidence.tables.mu_path import DIRECT_FIT
from benchmarks.evidence.tables.oblique import STARTS
from benchmarks.evidence.tables.readings import AXIS


def section(frame):
    """Return the page as Markdown."""
    frame = with_starts(frame)
    results = frame[frame["work"] == RESULT]
    found = {name: reproduction(results, name) for name in frame["method"].unique()}
    n_rows = max(map(len, found.values()))
    parts = [
        f"**Result.** {_most_words(found)}",
        "The paper leaves some choices open: the strength of the penalty in the tree step, the "
        "condition for a node to change, and more. Each interpretation here is one set of choices. "
        "The penalty is the squared error, and the result is the last tree, unless the name says "
        'otherwise. *Constant, always* is `algorithm="published"`. [The paper, part by part]'
        "(../guide/paper.md) has the passages. The names consist of these words:",
        "- *constant*, *lambda/mu* and so on: the strength of the penalty on the weights;\n"
        "- *always*, *if loss falls* or *if better*: when the update of a node is accepted;\n"
        "- *least* (also if nothing is said) or *median*: over the rows, for the first mu, mu_0;\n"
        "- *random*: the first tree is random, instead of made by bisecting 2-means;\n"
        "- *0/1*: the 0/1 loss; *best*: the result is the best tree; *LIBLINEAR*: the node solver.",
        "The columns of the table are:",
        f"- *Rows* are those of table 2 of the paper on letter and Fashion-MNIST. Interpretations "
        f"that are compared with {n_rows} rows were run with six settings of letter and the two "
        "printed settings of Fashion-MNIST. The others were run once, on letter, and this tree is "
        "compared with all rows of letter. For each row, the run counts whose tree is nearest; for "
        "a row whose setting is printed, it is that setting.\n"
        f"- *Within {percent(REACHED[-1])}*: rows whose cost and number of parameters both differ "
        "from the printed ones by at most so much.\n"
        "- *Falls*: runs in which the last tree costs less than the first one, as in figure 3 of "
        "the paper.\n"
        "- Each run has one seed. [Oblique trees of the TAO paper](kdd22-table2.md) has "
        '`algorithm="published"` with more seeds and on MNIST, for which the paper prints no '
        "setting.",
        markdown([_summary(frame, name, trees) for name, trees in found.items()]),
        "## Rows of table 2",
        *(folded(name, markdown(rows)) for name, rows in _by_row(found).items()),
    ]
    axis = _axis_aligned(results)
    if axis:
        parts += [
            "## Axis-aligned trees of table 1",
            "Cost increases in percent, with 10, 20 and 40 leaves. All fits start from the tree of "
            "ExKMC. Axis-aligned trees use neither a random start nor logistic regressions, so "
            "interpretations that differ only in these are left out.",
            markdown(axis),
        ]
    return "\n\n".join(parts)


def _most_words(found):
    """Say which interpretations reproduce the most rows."""
    counts = {name: reached(trees)[-1] for name, trees in found.items()}
    most, n_rows = max(counts.values()), max(map(len, found.values()))
    if not most:
        return f"No interpretation reproduces any of {counted(n_rows, 'row')} of table 2."
    names = [name for name, n in counts.items() if n == most]
    near = {
        title(tree["paper"].data)
        for trees in found.values()
        for tree in trees
        if tree["distance"] <= REACHED[-1]
    }
    each = "each reproduce" if len(names) > 1 else "reproduces"
    return (
        f"{listed(f'*{name}*' for name in names)} {each} {most} of {counted(n_rows, 'row')} of "
        f"table 2 within {percent(REACHED[-1])}, and no other interpretation reproduces as many. "
        f"All rows that are reproduced are those of {listed(sorted(near))}."
    )


def _summary(frame, name, trees):
    """Return a line of the main table."""
    own = frame[(frame["method"] == name) & ~frame["data"].isin(AXIS)]
    falls = [
        part.loc[part["work"] == RESULT, "cost"].iloc[0]
        < part.loc[part["work"] == DIRECT_FIT, "cost"].iloc[0]
        for _, part in own.groupby(["data", "setting", "seed"], sort=False)
    ]
    counts = zip(REACHED, reached(trees), strict=True)
    return {
        "interpretation": name,
        "rows": str(len(trees)),
        **{f"within {percent(most)}": str(n) for most, n in counts},
        "falls": f"{sum(falls)} of {len(falls)}",
    }


def _by_row(found):
    """Return the interpretations of each row of the paper, nearest first: dict of lists."""
    tables = {}
    every = [(name, tree) for name, trees in found.items() for tree in trees]
    for name, tree in sorted(every, key=lambda pair: pair[1]["distance"]):
        paper = tree["paper"]
        heading = (
            f"{title(paper.data)}: the paper has {paper.cost} % with {paper.parameters:.0f} "
            "parameters"
        )
        tables.setdefault((paper.Index, heading), []).append(
            {
                "interpretation": name,
                "setting": tree["setting"].removesuffix(STARTS),
                "cost %": averaged(tree["trees"]["cost"]),
                "parameters": averaged(tree["trees"]["parameters"], 0),
                "leaves": averaged(tree["trees"]["leaves"], 0),
                "difference": f"{100 * tree['distance']:.1f} %",
            }
        )
    return {heading: tables[index, heading] for index, heading in sorted(tables)}


def _axis_aligned(results):
    """Return a line for the paper and for each interpretation: costs of the trees of table 1."""
    papers, lines = published(axis_table.NAME), {}
    for data, sizes in AXIS.items():
        found = {}
        for n in sizes:
            setting = f"{n} leaves{STARTS}"
            own = results[(results["data"] == data) & (results["setting"] == setting)]
            printed = in_paper(papers, data, axis_table.PUBLISHED, n)
            costs = {"the paper": printed} | own.set_index("method")["cost"].to_dict()
            for name in ("the paper", *results["method"].unique()) if len(own) else ():
                found.setdefault(name, []).append(number(costs.get(name)))
        for name, costs in found.items():
            if set(costs) != {"-"}:
                lines.setdefault(name, {"costs of": name})[title(data)] = ", ".join(costs)
    return list(lines.values())
