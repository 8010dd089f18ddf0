"""known-data: all methods, and programs of other authors, on data of the literature."""

from benchmarks.evidence.tables import contest, peers

NAME = "known-data"
SETS = ("iris", "wine", "breast_cancer", "digits", "mice")
SETS += ("anuran", "avila", "letter", "fifa19", "adult")
QUICK = ("iris", "wine", "breast_cancer")


def runs(plan):
    """Return the runs of all methods with five splits."""
    found = []
    for data in plan.sets or (QUICK if plan.quick else SETS):
        splits = plan.seeds(contest.N_SPLITS)
        found += contest.runs(NAME, data, splits, {"most": contest.MOST_ROWS}, tuple(peers.PEERS))
    return found
