"""What a reader should conclude: sentences whose numbers come from the .csv files."""

import numpy as np

from benchmarks.evidence.pages import ablations as ablations_page
from benchmarks.evidence.pages import field as field_page
from benchmarks.evidence.pages import ranks
from benchmarks.evidence.pages.oblique import dominating
from benchmarks.evidence.pages.ranks import levelled
from benchmarks.evidence.pages.words import counted, listed, published, title
from benchmarks.evidence.tables import ablations, axis, field, laber, oblique, speed, text


def conclusions(frames):
    """Sentences, for those tables that have been measured: list of str."""
    found = []
    for name, say in (
        (oblique.NAME, _oblique),
        (axis.NAME, _axis),
        (text.NAME, _text),
        (laber.NAME_23, _laber),
        (field.NAME, _field),
        (field.NAME, _unseen),
        (ablations.NAME, _ablations),
        (speed.NAME, _speed),
    ):
        if len(frames[name]):
            found += say(frames[name])
    return found


def _oblique(frame):
    rows = list(dominating(frame, oblique.PATH))
    if not rows:
        return []
    whole = [row for row in rows if len(row["trees"]) == row["n_seeds"]]
    ratios = [row["paper"].parameters / t["parameters"] for row in whole for t in row["trees"]]
    seeds = {title(row["data"]): row["n_seeds"] for row in rows}
    of_sets = listed(f"{name} {counted(n, 'seed')}" for name, n in seeds.items())
    texts = [
        f"**Images and letters.** {len(whole)} of {len(rows)} oblique trees of the KDD'22 paper "
        "are dominated, cost and parameters both, by every seed of a single path along lambda "
        f"({of_sets}), with {min(ratios):.1f} to {max(ratios):.1f} times fewer parameters."
    ]
    ours = frame[frame["method"].isin([oblique.NEWTON, oblique.LIBLINEAR])]
    papers = published(oblique.NAME)
    papers = papers[papers["method"] == "TAO"]
    reached = [
        row
        for row in papers.itertuples()
        if (
            (ours["data"] == row.data)
            & (ours["cost"] <= row.cost)
            & (ours["parameters"] <= row.parameters)
        ).any()
    ]
    here = papers["data"].isin(ours["data"]).sum()
    texts.append(
        "**The published algorithm, as we read it**, reaches cost and size of "
        f"{len(reached)} of the {here} rows of the paper whose data it was run on, at the settings "
        "measured here. The authors' program is not public, and their lambdas are not told a row: "
        "where ours stays behind, that is no proof about theirs."
    )
    return texts


def _axis(frame):
    means = frame.groupby(["data", "point", "method"])["cost"].mean().unstack("method")
    means = means.dropna(subset=[axis.TAO, "ExKMC"])
    better = (means[axis.TAO] < means["ExKMC"] - 0.005).sum()
    worse = (means[axis.TAO] > means["ExKMC"] + 0.005).sum()
    share = 1 - means[axis.TAO].clip(lower=0) / means["ExKMC"].where(means["ExKMC"] > 0.05)
    return [
        f"**Single features.** At equal leaves axis-aligned TAO is cheaper than ExKMC in {better} "
        f"of {len(means)} rows of the setting of table 1 and dearer in {worse}; the median of what "
        f"it saves of ExKMC's excess cost is {100 * share.median():.0f} %."
    ]


def _text(frame):
    tao, cart = (frame[frame["method"] == name] for name in (text.PATH, "CART"))
    if tao.empty or cart.empty:
        return []
    largest = cart.loc[cart["leaves"].idxmax()]
    cheap = tao[tao["cost"] <= largest["cost"]]
    if cheap.empty:
        return [
            f"**Documents.** No oblique tree measured is as cheap as CART with "
            f"{largest['leaves']:.0f} leaves."
        ]
    least = cheap.loc[cheap["parameters"].idxmin()]
    return [
        f"**Documents.** {least['leaves']:.0f} leaves and {least['parameters']:.0f} parameters are "
        f"as cheap as CART with {largest['leaves']:.0f} leaves and {largest['parameters']:.0f} "
        "parameters. The paper's own two collections are not to be had."
    ]


def _laber(frame):
    papers = published(laber.NAME_23).set_index(["data", "method"])["ratio"]
    ours = 1 + frame.groupby(["data", "method"])["cost"].mean() / 100
    off = (ours - papers).dropna().abs()
    return [
        f"**The greedy methods are those of the papers.** The means of Laber et al. (2023) that "
        f"were measured differ by at most {off.max():.3f} from the printed ones, which have two "
        f"digits; the median of {len(off)} differences is {off.median():.3f}."
    ]


def _field(frame):
    texts = []
    for budget, words in (
        (("leaves", 1), "With a leaf a cluster"),
        (("leaves", 4), "with four"),
        (("parameters", 100), "with 100 parameters"),
    ):
        table = field_page.costs(frame, budget)
        least = levelled(table).min(axis=1)
        names = [name for name in field_page.OURS if name in table]
        wins = [f"{name} on {int((levelled(table[name]) <= least).sum())}" for name in names]
        sets = int(table.notna().any(axis=1).sum())
        texts.append(
            f"{words}, of {counted(sets, 'data set')} {listed(wins)} cost least or as little"
        )
    return [
        "**The field.** " + "; ".join(texts) + ". The tables below say which method wins elsewhere."
    ]


def _unseen(frame):
    """On how many data sets the best of the other methods is cheaper, seen rows and new ones."""
    texts = []
    for budget, words in field_page.budgets():
        seen, new = (field_page.costs(frame, budget, name) for name in ("cost", "cost_new"))
        oblique_name, axis_name = field_page.OURS
        is_leaves = budget[0] == "leaves"
        name = axis_name if is_leaves else oblique_name
        if name not in seen:
            continue
        # Trees of single features are compared with their like.
        rivals = [other for other in seen if other not in field_page.OURS]
        rivals = [other for other in rivals if not (is_leaves and "oblique" in other)]
        here = seen[name].notna() & seen[rivals].notna().any(axis=1)
        lost, lost_new = (
            int((table[name] > table[rivals].min(axis=1) + ranks.LEVEL)[here].sum())
            for table in (seen, new)
        )
        texts.append(f"{words}, {name}: {lost} and {lost_new} of {here.sum()}")
    return [
        "**Where we lose.** Data sets on which the best of all other methods (of single features, "
        "at equal leaves; it is another one from set to set) costs less, on the rows of the fit "
        "and on new rows: " + "; ".join(texts) + ". So a search that finds cheaper trees for the "
        "rows it sees need not find cheaper ones for others, most of all where rows are few."
    ]


def _ablations(frame):
    """Geometric mean over data sets of the size at equal cost, for each setting."""
    ratios = {}
    for _, part in frame.groupby("data"):
        default = part[part["method"] == ablations_page.DEFAULT]
        for method, own in part.groupby("method") if len(default) else ():
            ratios.setdefault(method, []).append(ablations_page.line(own, default)["size"])
    # What has no size at that cost on some set has no mean.
    means = {name: np.exp(np.mean(np.log(found))) for name, found in ratios.items()}
    order = sorted((mean, name) for name, mean in means.items() if np.isfinite(mean))
    worst = [f"{name} {mean:.2f}" for mean, name in order[::-1] if mean >= 1.1]
    level = [name for mean, name in order if 0.97 < mean < 1.03 and name != ablations_page.DEFAULT]
    better = [f"{name} {mean:.2f}" for mean, name in order if mean <= 0.97]
    sets = listed(title(data) for data in frame["data"].unique())
    text = (
        "**What matters.** Parameters at the costs of the default's trees, on the rows of the "
        f"fits, in multiples of the default's, on {sets}: {listed(worst) or 'none is 1.1 or more'}."
    )
    without = [name for name, mean in means.items() if not np.isfinite(mean)]
    if without:
        text += f" On some set no tree was as cheap, of any size, with: {'; '.join(without)}."
    if better:
        text += f" Smaller trees than the default's: {listed(better)}."
    if level:
        text += f" Within 3 % of it: {listed(level)}."
    defaults = frame[frame["method"] == ablations_page.DEFAULT]
    n_seeds = int(defaults.groupby("data")["seed"].nunique().max())
    return [text + f" These are means over at most {counted(n_seeds, 'seed')} a data set."]


def _speed(frame):
    fits = frame[frame["setting"] == "beside k-means"]
    if fits.empty:
        return []
    times = fits["seconds"] / fits["yardstick"]
    nodes = frame[frame["method"] == "Newton"]
    spans = listed(
        f"{title(data)} {own.min():.1f} to {own.max():.1f}"
        for data, own in times.groupby(fits["data"], sort=False)
    )
    text = (
        "**Time.** CPU time of a fit, from one lambda without search to the dearest defaults, in "
        f"multiples of k-means of ten starts: {spans}."
    )
    if len(nodes):
        gains = nodes["yardstick"] / nodes["seconds"]
        text += (
            f" Our node solver takes 1/{gains.min():.1f} to 1/{gains.max():.0f} of LIBLINEAR's "
            f"time on {counted(len(nodes), 'problem')} from nothing (median "
            f"1/{np.median(gains):.1f})."
        )
    return [text]
