"""The tables of results in README.md, from the csv files (python -m benchmarks render)."""

import re
from pathlib import Path

from benchmarks.evidence.pages import comparison, costs, overview, tao_paper, words
from benchmarks.evidence.render import check
from benchmarks.evidence.runs import Results
from benchmarks.evidence.tables import new_rows, oblique

README = Path(__file__).parents[2] / "README.md"
_MARKS = "<!-- results: python -m benchmarks render -->", "<!-- end of results -->"
_SHOWN = (7.90, 5.22, 4.06)  # printed costs: one tree per data set


def write(results):
    """Write the tables into README.md, between its two marks.

    Parameters
    ----------
    results : path, folder of the csv files
    """
    start, end = map(re.escape, _MARKS)
    text = README.read_text(encoding="utf-8")
    own = tables(results)
    README.write_text(
        re.sub(f"({start}).*({end})", lambda m: f"{m[1]}\n{own}\n{m[2]}", text, flags=re.DOTALL),
        encoding="utf-8",
    )


def tables(results):
    """Return the tables as Markdown."""
    names = (oblique.NAME, new_rows.FRESH)
    paper, fresh = (Results(Path(results, f"{name}.csv")).frame() for name in names)
    return f"{_fresh(comparison.Comparison(fresh))}\n\n{_paper(words.with_starts(paper))}"


def _fresh(found):
    oblique_tao, axis_tao = (found.verdict(name) for name in costs.OURS)
    one_leaf = found.wins(costs.OURS[0], ("leaves", 1))
    is_true = len(oblique_tao.worse) == len(oblique_tao.others) and one_leaf.losses > one_leaf.wins
    return (
        f"Median costs on new rows of {len(found.sets)} data sets that were not used to develop "
        "the library (percent over k-means), for trees with one leaf per cluster (k leaves) and "
        "with at most 30 or 100 parameters. NMI is the agreement with the clusters of k-means and "
        "time is relative to CART, both at 100 parameters. TAO published is our interpretation of "
        "the algorithm of the KDD 2022 paper, and SpEx oblique our variant of SpEx.\n\n"
        f"{overview.overview(found)}\n\n"
    ) + check(
        is_true,
        lambda: (
            f"With 100 parameters, oblique TAO is significantly better than each of the "
            f"{len(oblique_tao.others)} other methods, and axis-aligned TAO than {len(axis_tao.worse)} "
            "of them. With one leaf per cluster, some other method costs less than oblique TAO on "
            f"{one_leaf.losses} of the data sets."
        ),
    )


def _paper(frame):
    found = tao_paper.dominating(frame)
    shown = [each for each in found if each["paper"].cost in _SHOWN]
    return (
        "Three of the nine oblique trees in table 2 of the KDD 2022 paper, and our smallest trees "
        f"that cost no more (fitted rows, means ± standard errors of {found[0]['n_seeds']} seeds; "
        f"these data were also used to choose the defaults):\n\n{tao_paper.table_2(shown)}"
    )
