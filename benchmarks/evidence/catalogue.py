"""All tables by name, in the order of the results: their runs and their pages."""

from collections.abc import Callable
from dataclasses import dataclass

import benchmarks.evidence.pages.ablations as ablations_page
import benchmarks.evidence.pages.axis as axis_page
import benchmarks.evidence.pages.exkmc as exkmc_page
import benchmarks.evidence.pages.field as field_page
import benchmarks.evidence.pages.laber as laber_page
import benchmarks.evidence.pages.mu_path as mu_path_page
import benchmarks.evidence.pages.oblique as oblique_page
import benchmarks.evidence.pages.readings as readings_page
import benchmarks.evidence.pages.speed as speed_page
import benchmarks.evidence.pages.text as text_page
from benchmarks.evidence.tables import (
    ablations,
    axis,
    exkmc,
    field,
    laber,
    mu_path,
    new_rows,
    oblique,
    readings,
    speed,
    text,
)


@dataclass(frozen=True)
class Table:
    """A table of the evidence.

    Parameters
    ----------
    name : str
        Name on the command line, of the csv file and of the page.
    title : str
        Heading of the page.
    question : str
        What the page answers, for the list of pages.
    runs : callable of Plan -> list of Run
    section : callable of DataFrame, the rows of the file -> str, Markdown
    """

    name: str
    title: str
    question: str
    runs: Callable
    section: Callable


_ALL = (
    Table(
        oblique.NAME,
        "Oblique trees of the TAO paper",
        "Do our trees cost no more than those in table 2 of the TAO paper, and how many parameters "
        "do they need?",
        oblique.runs,
        oblique_page.section,
    ),
    Table(
        axis.NAME,
        "Axis-aligned trees of the TAO paper",
        "What do axis-aligned trees cost, compared with those of equal size in table 1 of the TAO "
        "paper?",
        axis.runs,
        axis_page.section,
    ),
    Table(
        readings.NAME,
        "Interpretations of the TAO paper",
        "Which choices that the paper leaves open reproduce its tables?",
        readings.runs,
        readings_page.section,
    ),
    Table(
        mu_path.NAME,
        "Cost along mu",
        "Does the cost fall as in figure 3 of the TAO paper?",
        mu_path.runs,
        mu_path_page.section,
    ),
    Table(
        text.NAME,
        "Documents",
        "How large are trees of word weights (table 3 of the TAO paper)?",
        text.runs,
        text_page.section,
    ),
    Table(
        field.NAME,
        "All methods",
        "What do trees of all methods cost at equal size, on fitted and on new rows?",
        field.runs,
        field_page.field_section,
    ),
    Table(
        new_rows.NAME,
        "All methods on small samples",
        "What do trees of all methods cost with at most 800 fitted rows and as many new ones?",
        new_rows.runs,
        field_page.new_rows_section,
    ),
    Table(
        new_rows.FRESH,
        "All methods on fresh data",
        "What do trees of all methods cost on data that were not used to develop the library?",
        new_rows.fresh_runs,
        field_page.fresh_section,
    ),
    Table(
        ablations.NAME,
        "Effect of each setting",
        "Which parts of the method make trees smaller?",
        ablations.runs,
        ablations_page.section,
    ),
    Table(
        speed.NAME,
        "Time and memory",
        "How long do fits take, and how much memory do they use?",
        speed.runs,
        speed_page.section,
    ),
    Table(
        exkmc.NAME,
        "Cost against leaves",
        "Do ExKMC and its competitors behave as in figure 3 of Frost et al. (2020)?",
        exkmc.runs,
        exkmc_page.section,
    ),
    Table(
        laber.NAME_21,
        "One leaf per cluster, 2021",
        "Do our IMM and ExGreedy have the costs in table 1 of Laber & Murtinho (2021)?",
        laber.runs_21,
        laber_page.section_21,
    ),
    Table(
        laber.NAME_23,
        "One leaf per cluster, 2023",
        "Do our ExShallow, ExGreedy and IMM have the costs in table 2 of Laber et al. (2023)?",
        laber.runs_23,
        laber_page.section_23,
    ),
    Table(
        laber.NAME_23_SEARCH,
        "ExShallow with goals",
        "Does the search of table 3 of Laber et al. (2023) reach its goals?",
        laber.runs_23_search,
        laber_page.section_23_search,
    ),
)
TABLES = {table.name: table for table in _ALL}
# Figure 2 of the paper is the algorithm itself; figure 3 follows it along mu.
OTHER_NAMES = {"kdd22-fig2": mu_path.NAME}
