"""Differences between two months that chance does not explain: of costs, sizes, columns, groups.

If nothing has changed, new rows and old rows that were held out are exchangeable, whatever was
fitted to the other old rows. And if a division of the rows of both months does not look at the
month, its numbers of new rows are hypergeometric. So the tests are exact for any distribution.
"""

import warnings

import numpy as np
import scipy.sparse as sp
from scipy.cluster.hierarchy import linkage
from scipy.stats import chi2, chi2_contingency, hypergeom, permutation_test
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.extmath import randomized_svd

from ._utils.threads import one_thread
from .objectives import cluster_means
from .problem.repeats import content_order, row_keys

CHANCE = 0.05 / 7  # of each of the seven rules of `monitor`, so that 5 % is for all of them
# The least differences that matter: growth of the cost (percent), of the cost over the free
# clustering, of badly fitted rows, of shares, of unknown levels (points); PSI; new rows (percent).
LEAST = {"cost": 20, "gap": 10, "fit": 3, "share": 5, "unknown": 5, "psi": 0.1, "new": 3}
_BADLY, _FITTED, _COLUMNS = 100, 5000, 50  # one row in _BADLY is badly fitted; largest numbers
_DIVIDED = 2000  # rows of each month that random divisions divide
_RATIO, _TIMES, _CELLS, _SMALL = 4.0, 4, 48, 20  # of shares, and of old rows; cells and their rows
_TINY, _ROUNDING = np.finfo(np.float64).tiny, 1e-18


def stability_index(then, now):
    """Return the population stability index of counts of bins, and the chance of a larger one.

    Half a row is added to each bin. Divided by the sum of one over the numbers of rows, the index
    of equal distributions is about chi-squared. In small bins, this or Pearson's test is too bold.
    """
    counts = np.array([then, now])[:, then + now > 0]
    if not (then.any() and now.any()):
        return np.nan, 1.0
    n = counts.sum(axis=1, keepdims=True) + counts.shape[1] / 2
    p, q = (counts + 0.5) / n
    index = float(((q - p) * np.log(q / p)).sum())
    chance = chi2.sf(index / (1 / n).sum(), max(1, len(p) - 1))
    if chance < CHANCE:
        chance = max(chance, chi2_contingency(counts, correction=False).pvalue)
    return index, chance


def unknown_levels(then, now):
    """Return by how many points new rows have unknown levels beyond chance, and a bound of chance.

    A level of c rows is unknown if none of them is old. In random divisions into months, these
    events are negatively associated, so that the bound of Chernoff holds for their rows.
    """
    size, n_now, unknown = then + now, now.sum(), now[then == 0].sum()
    if unknown == 0:
        return 0.0, 1.0
    chance = np.minimum(hypergeom(then.sum() + n_now, size, then.sum()).pmf(0), 1 - 1e-12)
    t = np.geomspace(1e-3, 1e3, 200)[:, None] / size.max()
    logs = np.logaddexp(np.log1p(-chance), np.log(chance + _TINY) + t * size)
    bound = (logs.sum(axis=1) - t[:, 0] * unknown).min()
    return 100 * (unknown - chance @ size) / n_now, float(np.exp(min(0.0, bound)))


def chance_of_counts(then, now):
    """Return the two-sided probability of the old and new numbers of rows of each segment."""
    exact = hypergeom(then.sum() + now.sum(), then + now, now.sum())
    return 2 * np.minimum(exact.sf(now - 1), exact.cdf(now))


def pooled(space, left_out, *months):
    """Return the rows of both months as points, in an order that depends only on their values.

    Each of the two months is a pair: X as the model checks it, and its rows in the clustering
    space. The rows are the points, unless labels are explained: then X in standard deviations.
    Some columns of a table are left out, by their numbers.

    Returns
    -------
    points : float64 array of shape (n, m), the old rows first; m is at most 50
    y : int array of shape (n,), the labels that the model explains, -1 for none; or None
    orders : int arrays, the position in its month of each old and of each new row
    """
    orders, y = [content_order(*rows) for rows in months], None
    pairs = [(X[i], rows[i]) for (X, rows), i in zip(months, orders, strict=True)]
    stack = sp.vstack if any(map(sp.issparse, pairs[0])) else np.vstack
    points = stack([rows for _, rows in pairs])
    if space.classes is not None:
        y, points = points[:, 0].astype(int), stack([X for X, _ in pairs])
    if len(left_out):
        points = np.delete(points, left_out, axis=1)
    if sp.issparse(points) or points.shape[1] > _COLUMNS:
        left, sizes, _ = randomized_svd(points, min(_COLUMNS, *points.shape), random_state=0)
        points = left * sizes
    points = points - points.mean(axis=0, dtype=np.float64)
    return points / np.maximum(points.std(axis=0), _TINY) if y is not None else points, y, orders


# ---------------------------------------------------------------- costs


@one_thread()
@np.errstate(over="ignore", under="ignore")
def growth_of_costs(points, y, n_old, k, n_leaves):
    """Return in words which costs of new rows are larger, beyond chance, than those of old rows.

    A stand-in for the model, k-means and a tree by CART with as many clusters and leaves, is fitted
    to half of the `n_old` old rows, whose other half is compared with the new rows. Both halves
    take turns, and both must agree.
    """
    rng, keys, found = np.random.default_rng(0), row_keys(points), []
    order = rng.permutation(n_old)
    parts = [order[::2], order[1::2], np.arange(n_old, len(points))]
    if y is not None:
        parts = [part[y[part] >= 0] for part in parts]
    (*halves, new), ones = parts, np.ones(len(points))
    if min(map(len, parts)) == 0:
        return []
    for fit, held in (halves, halves[::-1]):
        own, free, misfit = _stand_in(points, y, fit[:_FITTED], k, n_leaves)
        # The stand-in has seen new rows that equal fitted ones, such as those of the same customer.
        apart = [part[~np.isin(keys[part], keys[fit])] for part in (held, new)]
        tests = (own, ones, held, new), (own, free, *apart)
        rank = -(-len(held) // _BADLY)
        n_bad = int((misfit[new] > np.sort(misfit[held])[-rank]).sum())
        bad = hypergeom(len(held) + len(new), len(held), n_bad + rank - 1)
        sizes = [[a[i].sum() / max(b[i].sum(), _TINY) for i in rows] for a, b, *rows in tests]
        sizes += [[rank / len(held), n_bad / len(new)]]
        found.append((sizes, *tests, bad.cdf(rank - 1)))
    sizes, costs, gaps, bad = zip(*found, strict=True)
    sizes = 100 * np.mean(sizes, axis=0)
    (cost, gap, fit), reasons = np.diff(sizes)[:, 0], []
    least, text = LEAST["share"], "rows with another label grew by {:.1f} points"
    if y is None:
        cost = min(100 * cost / max(sizes[0, 0], _TINY), 1e5)
        least, text = LEAST["cost"], "the cost per row grew by {:.0f} %"
        text = "the cost per row grew more than tenfold" if cost > 900 else text
    if cost >= least and all(_chance_of_growth(*each, rng) < CHANCE for each in costs):
        reasons.append(text.format(cost))
    if gap >= LEAST["gap"] and all(_chance_of_growth(*each, rng) < CHANCE for each in gaps):
        reasons.append(f"the cost over the free clustering grew by {gap:.0f} points")
    if fit >= LEAST["fit"] and max(bad) < CHANCE:
        reasons.append(f"badly fitted rows grew by {fit:.1f} points")
    return reasons


def _stand_in(points, y, fit, k, n_leaves):
    """Return the costs of all rows in a tree and in a free clustering of some, and their misfits.

    The misfit of a row is its cost over the mean cost of the fitted rows of its cluster.
    """
    tree = DecisionTreeClassifier(max_leaf_nodes=max(2, n_leaves), random_state=0)
    if y is not None:
        wrong = (tree.fit(points[fit], y[fit]).predict(points) != y).astype(float)
        return wrong, wrong, np.zeros(len(y))
    free = _k_means(points[fit], min(k, len(fit)), n_init=3)
    labels = tree.fit(points[fit], free.labels_).predict(points)
    centers = cluster_means(points[fit], labels[fit], np.ones(len(fit)), k)
    own = ((points - centers[labels]) ** 2).sum(axis=1)
    own[own < _ROUNDING * points[fit].var(axis=0).sum()] = 0.0
    size, total = (np.bincount(labels[fit], weight, k) for weight in (None, own[fit]))
    scale = (total + 10 * own[fit].mean()) / (size + 10)
    return own, free.transform(points).min(axis=1) ** 2, own / np.maximum(scale[labels], _TINY)


def _chance_of_growth(a, b, old, new, rng):
    """Return how often random divisions of some rows into months let sum(a) / sum(b) grow so."""
    a, b = (x / max(x.max(), _TINY) for x in (a, b))  # so that products do not overflow
    some = [rng.permutation(part)[:_DIVIDED] for part in (old, new)]

    def growth(then, now, axis):
        return a[now].sum(axis) * b[then].sum(axis) - a[then].sum(axis) * b[now].sum(axis)

    options = {"n_resamples": 1999, "batch": 200, "alternative": "greater", "random_state": rng}
    return permutation_test(some, growth, **options).pvalue if min(map(len, some)) > 1 else 1.0


# ---------------------------------------------------------------- new groups


@one_thread()
def new_groups(points, n_old):
    """Return the groups of new rows where the old month has few: list of arrays of row numbers.

    K-means divides the rows of both months into cells, which Ward's method joins step by step. The
    groups are the largest cells where new rows have four times the share of old rows, beyond
    chance. The first `n_old` of the points are old rows.
    """
    n_new, rng = len(points) - n_old, np.random.default_rng(0)
    old = rng.permutation(n_old)[: _TIMES * n_new]  # or new rows are rare
    rows = np.append(np.sort(old), np.arange(n_old, len(points)))
    is_new, Z = rows >= n_old, points[rows]
    Z = np.clip(Z, *np.quantile(Z, [0.01, 0.99], axis=0))  # or single far rows would be cells
    n_cells = min(_CELLS, len(Z) // _SMALL)
    if n_cells < 2:
        return []
    some = rng.permutation(len(Z))[: _TIMES * _FITTED]
    found = _k_means(Z[some], n_cells, n_init=1, max_iter=20)
    cells, joined = found.predict(Z), linkage(found.cluster_centers_, "ward")[:, :2].astype(int)
    parts = [{j} for j in range(n_cells)]
    for a, b in joined:
        parts.append(parts[a] | parts[b])
    counts = [np.bincount(cells[mask], minlength=n_cells) for mask in (~is_new, is_new)]
    then, now = np.array([[n[list(part)].sum() for part in parts] for n in counts])
    is_hit = now / n_new >= _RATIO * np.maximum(then, 0.5) / len(old)
    is_hit &= hypergeom(len(Z), then + now, n_new).sf(now - 1) < CHANCE / len(parts)
    groups, taken = [], set()
    for i in np.flatnonzero(is_hit)[::-1]:  # the larger ones come later
        if not parts[i] & taken:
            taken |= parts[i]
            groups.append(rows[np.isin(cells, list(parts[i])) & is_new])
    return sorted(groups, key=len, reverse=True)


def _k_means(points, k, **options):
    """Return k-means of some rows, fitted; there may be fewer distinct rows than clusters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(k, random_state=0, **options).fit(points)
