"""What a reader should conclude: sentences whose numbers come from the .csv files."""

from benchmarks.evidence.conclusions import field as of_field
from benchmarks.evidence.conclusions import method, papers
from benchmarks.evidence.tables import ablations, axis, exkmc, field, laber, oblique, speed, text

# Table to the functions of its rows that say something; each returns a list of Saying.
_SAYING = (
    (oblique.NAME, papers.images),
    (oblique.NAME, papers.published_algorithm),
    (axis.NAME, papers.single_features),
    (text.NAME, papers.documents),
    (exkmc.NAME, papers.exkmc),
    (field.NAME, of_field.wins),
    (field.NAME, of_field.significance),
    (field.NAME, of_field.losses),
    (ablations.NAME, method.ablations),
    (speed.NAME, method.time),
)


def conclusions(frames):
    """What can be said of those tables that have been measured: list of Saying."""
    found = []
    for name, say in _SAYING:
        if len(frames[name]):
            found += say(frames[name])
    greedy = [frames[name] for name in (laber.NAME_21, laber.NAME_23, laber.NAME_23_SEARCH)]
    if all(map(len, greedy)):
        found += papers.greedy(*greedy)
    if len(frames[field.NAME]) and len(frames[oblique.NAME]):
        found += method.dear_fits(frames[field.NAME], frames[oblique.NAME])
    return found
