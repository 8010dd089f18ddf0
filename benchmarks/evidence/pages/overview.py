"""The first page of the results: the main methods, and the claims with numbers."""

from benchmarks.evidence.pages import ablations, comparison, tao_paper, words
from benchmarks.evidence.tables import known, oblique


def numbers(frames):
    """Return the numbers of the page; claims of a table that was not measured are left out."""
    found = comparison.fresh(frames) | dict.fromkeys(("known", "paper", "published", "larger"))
    if known.NAME in frames:
        found |= comparison.known_data(frames)
    if oblique.NAME in frames:
        table = words.with_starts(frames[oblique.NAME])
        found["paper"] = tao_paper.dominating(table)
        found["published"] = tao_paper.reproduction(table, oblique.PUBLISHED)
    if ablations.NAME in frames:
        found["larger"] = ablations.numbers(frames)["found"][ablations.PUBLISHED]["seen"][0]
    return found
