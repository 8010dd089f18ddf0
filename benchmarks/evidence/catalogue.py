"""All tables by name, in the order of RESULTS: their runs and their sections."""

from collections.abc import Callable
from dataclasses import dataclass

import benchmarks.evidence.pages.ablations as ablations_page
import benchmarks.evidence.pages.axis as axis_page
import benchmarks.evidence.pages.exkmc as exkmc_page
import benchmarks.evidence.pages.field as field_page
import benchmarks.evidence.pages.laber as laber_page
import benchmarks.evidence.pages.mu_path as mu_path_page
import benchmarks.evidence.pages.new_rows as new_rows_page
import benchmarks.evidence.pages.oblique as oblique_page
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
    speed,
    text,
)


@dataclass(frozen=True)
class Table:
    """A table of the evidence.

    Parameters
    ----------
    name, title : str, as the command line and the .csv file have it, and to read
    runs : callable of Plan -> list of Run
    section : callable of DataFrame, the rows of the file -> str, Markdown
    """

    name: str
    title: str
    runs: Callable
    section: Callable


_ALL = (
    Table(
        oblique.NAME,
        "Oblique trees: table 2 of Gabidolla & Carreira-Perpinan (2022)",
        oblique.runs,
        oblique_page.section,
    ),
    Table(axis.NAME, "Axis-aligned trees: table 1 of the same", axis.runs, axis_page.section),
    Table(text.NAME, "Documents: table 3 of the same", text.runs, text_page.section),
    Table(mu_path.NAME, "Along mu: figure 3 of the same", mu_path.runs, mu_path_page.section),
    Table(
        laber.NAME_21,
        "A leaf a cluster: table 1 of Laber & Murtinho (2021)",
        laber.runs_21,
        laber_page.section_21,
    ),
    Table(
        laber.NAME_23,
        "A leaf a cluster: table 2 of Laber, Murtinho & Oliveira (2023)",
        laber.runs_23,
        laber_page.section_23,
    ),
    Table(
        laber.NAME_23_SEARCH,
        "ExShallow with goals: table 3 of the same",
        laber.runs_23_search,
        laber_page.section_23_search,
    ),
    Table(
        exkmc.NAME,
        "Cost against leaves: Frost, Moshkovitz & Rashtchian (2020)",
        exkmc.runs,
        exkmc_page.section,
    ),
    Table(field.NAME, "The field: all methods, all data sets", field.runs, field_page.section),
    Table(
        new_rows.NAME,
        "New rows: all methods, several splits",
        new_rows.runs,
        new_rows_page.section,
    ),
    Table(
        ablations.NAME,
        "What matters in the method",
        ablations.runs,
        ablations_page.section,
    ),
    Table(speed.NAME, "Time and memory", speed.runs, speed_page.section),
)
TABLES = {table.name: table for table in _ALL}
# Figure 2 of the paper is the algorithm itself; figure 3 follows it along mu.
OTHER_NAMES = {"kdd22-fig2": mu_path.NAME}
