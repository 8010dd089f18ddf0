"""The first page of the results: the main methods, and the claims with numbers."""

from benchmarks.evidence.pages import ablations, comparison, tao_paper


def numbers(frames):
    """Return the numbers of the page."""
    found = comparison.fresh(frames) | comparison.known_data(frames)
    paper = tao_paper.numbers(frames)
    size = ablations.numbers(frames)["found"][ablations.PUBLISHED]["seen"]
    return found | {"paper": paper, "published_size": size}
