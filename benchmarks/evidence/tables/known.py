"""known-data: the methods of fresh-data, without the slowest ones, on data of the literature."""

from benchmarks.evidence.tables import contest, peers

NAME = "known-data"
SETS = ("iris", "wine", "breast_cancer", "digits", "mice")
SETS += ("anuran", "avila", "letter", "fifa19", "adult")
QUICK = ("iris", "wine", "breast_cancer")
# They take a quarter of the time. With 100 parameters, these programs cost least on no data set.
_LEFT_OUT = ("obliquetree", "gemclus Kauri", contest.AXIS_NO_COPIES)


def runs(plan):
    """Return the runs of all methods with five splits."""
    found = []
    for data in plan.sets or (QUICK if plan.quick else SETS):
        splits = plan.seeds(contest.N_SPLITS)
        found += contest.runs(NAME, data, splits, {"most": contest.MOST_ROWS}, tuple(peers.PEERS))
    return [run for run in found if run.method not in _LEFT_OUT]
