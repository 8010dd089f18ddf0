"""The first page of the results: the main methods, and the claims with numbers."""

from benchmarks.evidence.pages import ablations, comparison, tao_paper, words
from benchmarks.evidence.tables import known, oblique


def numbers(frames):
    """Return the numbers of the page; claims of a table that was not measured are left out."""
    found = comparison.fresh(frames) | {"known": None, "paper": None, "published_size": None}
    if known.NAME in frames:
        found |= comparison.known_data(frames)
    if oblique.NAME in frames:
        found["paper"] = tao_paper.dominating(words.with_starts(frames[oblique.NAME]))
    if ablations.NAME in frames:
        found["published_size"] = ablations.numbers(frames)["found"][ablations.PUBLISHED]["seen"][0]
    return found
