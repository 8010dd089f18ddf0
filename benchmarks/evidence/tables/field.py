"""field: all methods on all data sets, on fitted and on new rows: which runs there are."""

from sklearn.base import clone

from benchmarks.datasets import DATASETS
from benchmarks.evidence.measures import figures, fitted, one_path
from benchmarks.evidence.runs import Run
from benchmarks.evidence.tables import peers
from tao_cluster import DirectForm, TAOClustering
from tao_cluster.comparison import METHODS
from tao_cluster.optimize.settings import default_depth

NAME = "field"
OF_NESTED = "divclust"  # the baseline of benchmarks.nested, which is measured there
TIMES, PARAMETERS = (1, 2, 4), (30, 100, 300)
SMALL = ("iris", "wine", "breast_cancer", "digits", "mice", "anuran")
LARGE = ("avila", "letter", "fifa19", "adult")
# Of images, methods whose time grows fast with columns or rows are left out. All methods on one
# split take a quarter of an hour of CPU time.
IMAGES = ("mnist",)
SLOW = ("cubt", "cltree", "kauri", "spex", "spex-oblique", "mixture")
# CLTree and oblique SpEx take minutes a tree there.
SLOW_IF_LARGE = ("cltree", "spex-oblique")
# Published programs of other authors are run on small data: one of them keeps an n x n kernel.
OF_PEERS = ("iris", "wine", "breast_cancer", "digits", "mice")
N_SPLITS, N_SEEDS = 5, 3
RANDOM = ("tao-axis", "random-cuts", "mixture")  # and oblique TAO; others ignore the seed
OBLIQUE, GOAL = "TAO oblique", "goal"
# Data of sparse rows. Mixtures do not support them, and slow methods are left out as on large data.
SPARSE = ("newsgroups",)
NOT_SPARSE = ("mixture",)
# There the path of the default depth ends well before 300 parameters, its costs far above zero.
DEEPER = ("letter", "avila")
PATHS = ("path", "path, a level deeper")


def runs(plan):
    """Return the runs of all methods on all data sets, splits and seeds.

    Sized methods have k, 2 k and 4 k leaves and the leaves of 30, 100 and 300 parameters.
    """
    sets = ("iris", "wine", "breast_cancer") if plan.quick else SMALL + LARGE + SPARSE + IMAGES
    return [
        run
        for data in plan.sets or sets
        for split, seed in splits_and_seeds(data, plan)
        for run in _runs_of(data, split, seed)
    ]


def splits_and_seeds(data, plan):
    """Return pairs of the number of a split and a seed.

    Each split of a small data set has all seeds. A split of another data set has one seed, which
    is its number, because a fit takes minutes.
    """
    splits = range(plan.count(N_SPLITS))
    if data not in SMALL:
        return [(split, split) for split in splits]
    return [(split, seed) for split in splits for seed in range(plan.count(N_SEEDS))]


def _runs_of(data, split, seed):
    case = {"case": {"split": split}}
    for name, method in METHODS.items():
        if name in left_out(data) or name == OF_NESTED:
            continue
        if method.is_path:
            yield from _oblique(data, split, seed)
        elif name in RANDOM or seed == 0 or data not in SMALL:
            options = case | {"method": method}
            yield Run(NAME, data, method.title, setting_of("sizes", split), seed, sizes, options)
    if data in OF_PEERS:
        options = case | {"numbers_of_leaves": numbers_of_leaves}
        yield from peers.runs(NAME, data, setting_of("sizes", split), seed, options)


def setting_of(words, split):
    """Return the name of a setting: :func:`split_of` reads the split from it."""
    return f"{words}, split {split}"


def split_of(frame):
    """Return the number of the split of each row of results: a Series of int.

    Results of new-rows have it as their seed, and so have results without any split.
    """
    found = frame["setting"].str.extract(r", split (\d+)$")[0]
    return found.where(found.notna(), frame["seed"].astype(str)).astype(int)


def left_out(data):
    """Names of the methods that are not run on a data set."""
    if data in IMAGES:
        return SLOW
    if data in SPARSE:
        return SLOW_IF_LARGE + NOT_SPARSE
    return SLOW_IF_LARGE if data in LARGE else ()


def _oblique(data, split, seed):
    """Return the runs of a path, and those of a user who asks for a size."""
    is_image, case = data in IMAGES, {"case": {"split": split}}
    path = case | {"parameters": {"algorithm": DirectForm(n_init=2)} if is_image else {}}
    yield Run(NAME, data, OBLIQUE, setting_of(PATHS[0], split), seed, one_path, path)
    if data in DEEPER:
        deeper = case | {"parameters": {"depth": default_depth(DATASETS[data].n_clusters) + 1}}
        yield Run(NAME, data, OBLIQUE, setting_of(PATHS[1], split), seed, one_path, deeper)
    for size in () if is_image else PARAMETERS:
        setting = setting_of(f"{GOAL}, {size} parameters", split)
        yield Run(NAME, data, OBLIQUE, setting, seed, with_goal, case | {"size": size})


def numbers_of_leaves(k):
    """k, 2 k, 4 k, and those of axis-aligned trees of some numbers of parameters."""
    leaves = {times * k for times in TIMES} | {(size + 2) // 3 for size in PARAMETERS}
    return sorted(n for n in leaves if n >= k)


def sizes(workshop, run):
    """A row a number of leaves; one row of a method with a leaf a cluster."""
    case, method = workshop.case(run.data, **run.options["case"]), run.options["method"]
    leaves = [{"max_leaves": n} for n in numbers_of_leaves(case.n_clusters)]
    found = []
    for parameters in leaves if method.is_sized else [{}]:
        model = clone(method.estimator).set_params(**parameters)
        model, seconds = fitted(model, case, run.seed)
        found.append(figures(model, case, seconds, model.tree_.n_leaves))
    return found


def with_goal(workshop, run):
    """The cheapest oblique tree of at most so many parameters."""
    case, size = workshop.case(run.data, **run.options["case"]), run.options["size"]
    model, seconds = fitted(TAOClustering(max_parameters=size), case, run.seed)
    return figures(model, case, seconds, size)
