"""All tables by name, in the order of RESULTS."""

from benchmarks.evidence.tables import (
    ablations,
    axis,
    exkmc,
    field,
    laber,
    mu_path,
    oblique,
    speed,
    text,
)
from benchmarks.evidence.tables.table import Table

TABLES = {
    table.name: table
    for table in (
        Table(oblique.NAME, oblique.runs),
        Table(axis.NAME, axis.runs),
        Table(text.NAME, text.runs),
        Table(mu_path.NAME, mu_path.runs),
        Table(laber.NAME_21, laber.runs_21),
        Table(laber.NAME_23, laber.runs_23),
        Table(laber.NAME_23_SEARCH, laber.runs_23_search),
        Table(exkmc.NAME, exkmc.runs),
        Table(field.NAME, field.runs),
        Table(ablations.NAME, ablations.runs),
        Table(speed.NAME, speed.runs),
    )
}
# Figure 2 of the paper is the algorithm itself; figure 3 follows it along mu.
OTHER_NAMES = {"kdd22-fig2": mu_path.NAME}
