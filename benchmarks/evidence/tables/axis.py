"""kdd22-table1: axis-aligned trees of equal size on FIFA19, Adult and letter."""

from benchmarks.evidence.free import STARTS_OF_PAPER
from benchmarks.evidence.measures import one_fit
from benchmarks.evidence.runs import Run
from benchmarks.evidence.tables.cart import variants
from greedy import CART, ExGreedy, ExKMC, ExShallow
from tao_cluster import DirectForm, TAOClustering

NAME = "kdd22-table1"
TAO, PUBLISHED, NO_SEARCH = "TAO", "published", "TAO, no search"
# How many times k leaves.
TIMES = (1, 2, 4)
CASE = {"n_init": STARTS_OF_PAPER}


def estimators(n):
    """Name to a function that makes an estimator of n leaves; (is it random?)."""
    return {
        "CART": (lambda: CART(max_leaves=n), False),
        "ExKMC": (lambda: ExKMC(max_leaves=n), False),
        # Any price would prune most tests while mu is small.
        PUBLISHED: (
            lambda: TAOClustering(
                split="axis",
                init=ExKMC(max_leaves=n, midpoints=False),
                algorithm="published",
                lambda_=0.0,
            ),
            False,
        ),
        NO_SEARCH: (
            lambda: TAOClustering(split="axis", max_leaves=n, algorithm=DirectForm(relax=False)),
            False,
        ),
        TAO: (lambda: TAOClustering(split="axis", max_leaves=n), True),
    }


def runs(plan):
    """All methods with k, 2 k and 4 k leaves, those of k leaves once."""
    found = []
    sets = {"digits": 10} if plan.quick else {"fifa19": 10, "adult": 10, "letter": 26}
    for data, k in sets.items():
        for name, make in (("ExGreedy", ExGreedy), ("ExShallow", ExShallow)):
            options = {"make": lambda case, make=make: make(), "point": k, "case": CASE}
            found.append(Run(NAME, data, name, setting_of(k), 0, one_fit, options))
        sizes = [times * k for times in TIMES]
        found += variants(NAME, data, sizes, CASE)
        for n in sizes:
            for name, (make, is_random) in estimators(n).items():
                options = {"make": lambda case, make=make: make(), "point": n, "case": CASE}
                found += [
                    Run(NAME, data, name, setting_of(n), seed, one_fit, options)
                    for seed in (plan.seeds(5) if is_random else (0,))
                ]
    return found


def setting_of(leaves):
    """Name of a setting, with the number of starts of the free clustering."""
    return f"{leaves} leaves, {STARTS_OF_PAPER} starts"
