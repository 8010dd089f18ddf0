"""All tables by name: the functions that return their runs."""

from benchmarks.evidence.tables import (
    ablations,
    axis,
    exkmc,
    final,
    known,
    laber,
    oblique,
    readings,
    speed,
    text,
)

TABLES = {
    oblique.NAME: oblique.runs,
    axis.NAME: axis.runs,
    readings.NAME: readings.runs,
    text.NAME: text.runs,
    final.NAME: final.runs,
    known.NAME: known.runs,
    ablations.NAME: ablations.runs,
    speed.NAME: speed.runs,
    exkmc.NAME: exkmc.runs,
    laber.NAME_21: laber.runs_21,
    laber.NAME_23: laber.runs_23,
    laber.NAME_23_SEARCH: laber.runs_23_search,
}
