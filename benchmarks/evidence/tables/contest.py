"""All methods on half of the rows of a data set: the same question to each.

A method whose size can be set is asked for one tree per limit of size: k, 2 k and 4 k leaves, and
30, 100 and 300 parameters. SpEx oblique has a tree for every number of leaves up to that of an
axis-aligned tree of 100 parameters, since the parameters of its trees are not known before. A
method with another setting of its size gets two to twenty values of it. All others have one tree.
The other half of the rows is new.
"""

from dataclasses import replace

from sklearn.base import clone

from benchmarks.evidence.measures import figures, fitted
from benchmarks.evidence.runs import Run
from benchmarks.evidence.tables import peers
from benchmarks.evidence.tables.axis import BALANCED, BalancedCART
from greedy import CART, ExKMC, SpEx
from tao_cluster import DirectForm, TAOClustering
from tao_cluster.comparison import METHODS
from tao_cluster.comparison.study import Contender
from tao_cluster.optimize.algorithms import SPLIT_KINDS
from tao_cluster.problem.copies import with_noisy_copies

TIMES, PARAMETERS = (1, 2, 4), (30, 100, 300)
N_SPLITS, MOST_ROWS = 5, 800  # MOST_ROWS are fitted, and as many others are new
OBLIQUE, AXIS = "TAO oblique", "TAO axis"
NO_COPIES, AXIS_NO_COPIES = "TAO oblique, no copies", "TAO axis, no copies"
PUBLISHED = "TAO published"
ALL_LEAVES = SPEX, SPEX_COPIES = "SpEx oblique", "SpEx oblique, copies"
AXIS_COPIES = EXKMC_COPIES, CART_COPIES = "ExKMC, copies", "CART, copies"


class _WithCopies:
    """A method on the rows and on the noisy copies of them that TAO trees are fitted to."""

    def _fit_tree(self, problem):
        copies = with_noisy_copies(problem, 3, SPLIT_KINDS[getattr(self, "split", "axis")].noise)
        return replace(super()._fit_tree(copies), leaf_of_row=None)


class SpExWithCopies(_WithCopies, SpEx):
    """SpEx, with noisy copies."""


class ExKMCWithCopies(_WithCopies, ExKMC):
    """ExKMC, with noisy copies."""


class CARTWithCopies(_WithCopies, CART):
    """CART, with noisy copies, the labels of which are those of the nearest centre."""


def runs(table, data, splits, case, others):
    """Return one run per split and method of a data set; the seed of a run is its split.

    Parameters
    ----------
    table, data : str
    splits : iterable of int
    case : dict, arguments of `Workshop.case`
    others : tuple of str, names of PEERS
    """
    found = []
    for split in splits:
        options = {"case": case | {"half": split}}
        measures = {
            OBLIQUE: (within_limits, {}),
            NO_COPIES: (within_limits, {"algorithm": DirectForm(copies=0)}),
            PUBLISHED: (published_trees, {}),
        }
        measures |= {m.title: (sizes, m) for m in METHODS.values() if not m.is_path}
        own = {
            BALANCED: BalancedCART(),
            SPEX_COPIES: SpExWithCopies(split="oblique"),
            EXKMC_COPIES: ExKMCWithCopies(),
            CART_COPIES: CARTWithCopies(),
            AXIS_NO_COPIES: TAOClustering(split="axis", algorithm=DirectForm(copies=0)),
        }
        measures |= {name: (sizes, Contender(name, each, True)) for name, each in own.items()}
        measures |= dict.fromkeys(others, (peers.trees, numbers_of_leaves))
        found += [
            Run(table, data, name, "sizes", split, measure, options | {"method": method})
            for name, (measure, method) in measures.items()
        ]
    return found


def numbers_of_leaves(k, method=""):
    """Return k, 2 k, 4 k, and the leaves of axis-aligned trees of 30, 100 and 300 parameters.

    SpEx oblique is asked for others as well, because its parameters are not known before.
    """
    leaves = {times * k for times in TIMES} | set(map(leaves_within, PARAMETERS))
    others = range(k, leaves_within(100) + 1) if method in ALL_LEAVES else ()
    return sorted({n for n in leaves if n >= k}.union(others))


def leaves_within(n_parameters):
    """Return the most leaves of an axis-aligned tree with so many parameters."""
    return (n_parameters + 2) // 3


def sizes(workshop, run):
    """Return one row per number of leaves; one row if the method has one leaf per cluster."""
    case, method = workshop.case(run.data, **run.options["case"]), run.options["method"]
    leaves = numbers_of_leaves(case.n_clusters, run.method)
    parameters = [{"max_leaves": n} for n in leaves] if method.is_sized else [{}]
    models = [clone(method.estimator).set_params(**each) for each in parameters]
    return _fits(case, run.seed, models)


def within_limits(workshop, run):
    """Return one row per limit: the cheapest oblique tree within it."""
    case = workshop.case(run.data, **run.options["case"])
    limits = [{"max_leaves": times * case.n_clusters} for times in TIMES]
    limits += [{"max_parameters": size} for size in PARAMETERS]
    own = run.options["method"]
    return _fits(case, run.seed, [TAOClustering(**limit, **own) for limit in limits])


def published_trees(workshop, run):
    """Return one row per lambda of the published algorithm: those of our default path."""
    case = workshop.case(run.data, **run.options["case"])
    default = TAOClustering(case.n_clusters, reference=case.centers, random_state=run.seed)
    lambdas = [each.lambda_ for each in default.fit_path(case.X)]
    models = [TAOClustering(lambda_=value, algorithm="published") for value in lambdas]
    return _fits(case, run.seed, models)


def _fits(case, seed, models):
    found = []
    for unfitted in models:
        model, seconds = fitted(unfitted, case, seed)
        found.append(figures(model, case, seconds, model.tree_.n_leaves))
    return found
