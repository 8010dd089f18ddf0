"""Figures of the results, drawn from the .csv files of docs/results as vectors.

A method has the same colour and marker in all figures, and in the pictures of the package.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

from benchmarks.evidence.measures import DIRECT_FIT
from benchmarks.evidence.pages import costs
from benchmarks.evidence.pages.comparison import Comparison
from benchmarks.evidence.pages.tao_paper import DATA, paths
from benchmarks.evidence.pages.words import published, title, with_starts
from benchmarks.evidence.runs import Results
from benchmarks.evidence.tables import contest, exkmc, final, oblique
from tao_cluster.inspection.palette import Look, method_look
from tao_cluster.plot.charts import log_ticks, scale_costs

STYLE = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "legend.frameon": False,
    "legend.fontsize": 7,
    "svg.fonttype": "path",
    "svg.hashsalt": "figures",  # the same file for the same figures
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
}
# Methods that `compare` does not know. One path is the same method as oblique TAO.
LOOKS = {
    oblique.PATH: method_look("TAO oblique"),
    **dict.fromkeys((oblique.PUBLISHED, contest.PUBLISHED), Look("#E69F00", "s", is_hollow=False)),
    "ExKMC, base IMM": Look("#F4A582", "D", is_hollow=True),
    contest.NO_COPIES: Look("#0072B2", "o", is_hollow=True),
    contest.AXIS_NO_COPIES: Look("#009E73", "D", is_hollow=True),
    contest.SPEX_COPIES: Look("#8877FF", ">", is_hollow=True),
    contest.EXKMC_COPIES: Look("#F4A582", "D", is_hollow=True),
    contest.CART_COPIES: Look("#7F7F7F", "o", is_hollow=True),
    "CART, balanced": Look("#7F7F7F", "^", is_hollow=True),
    "regression tree": Look("#7F7F7F", "v", is_hollow=True),
    "L1 multinomial": Look("#000000", "x", is_hollow=False),
    "gemclus Kauri": Look("#E3377C", "<", is_hollow=True),
    "segmtree": Look("#C7A76C", ">", is_hollow=True),
    "obliquetree": Look("#3B3B98", ">", is_hollow=False),
    "pycontree": Look("#8D9440", "<", is_hollow=False),
}
PAPER = {
    "marker": "*",
    "markersize": 9,
    "color": "#F0E442",
    "markeredgecolor": "black",
    "markeredgewidth": 0.5,
    "linestyle": "",
}
# Methods whose names stand beside their points.
NAMED = (*costs.OURS, contest.PUBLISHED, contest.SPEX, "ExKMC", "CART", costs.MULTINOMIAL)
LEAST = 0.1  # percent: what costs less is drawn there
WIDE = 6.9  # inches: two columns of a paper


def grid(n, most_columns=3, height=2.2):
    """Figure and axes of n panels."""
    columns = min(n, most_columns)
    rows = -(-n // columns)
    width = WIDE * max(columns, 2) / most_columns
    figure, axes = plt.subplots(
        rows, columns, figsize=(width, height * rows), squeeze=False, layout="constrained"
    )
    for ax in axes.flat[n:]:
        ax.set_axis_off()
    return figure, list(axes.flat[:n])


def style_of(method):
    """Colour and marker of a method, as arguments of `Axes.plot`."""
    look = LOOKS[method] if method in LOOKS else method_look(method)
    fill = "none" if look.is_hollow else "full"
    return {"color": look.color, "marker": look.marker, "fillstyle": fill}


def logarithmic(ax, *names):
    """Logarithmic axes with plain numbers; those of costs follow `scale_costs` instead."""
    for name in names:
        ax.set(**{f"{name}scale": "log"})
        log_ticks(getattr(ax, f"{name}axis"))


def legend_of(figure, axes):
    """One legend below all panels."""
    found = {}
    for ax in axes:
        found |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    figure.legend(found.values(), found, loc="outside lower center", ncols=4)


def fronts(frame):
    """Cost against parameters beside the paper's trees (kdd22-table2)."""
    frame = with_starts(frame)
    sets = [data for data in DATA if data in set(frame["data"])]
    papers = published(oblique.NAME)
    papers = papers[papers["method"] == "TAO"]
    figure, axes = grid(len(sets))
    for data, ax in zip(sets, axes, strict=True):
        part = frame[frame["data"] == data]
        style = style_of(oblique.PATH) | {"marker": "", "lw": 0.8}
        for i, (_, own) in enumerate(_sorted(part, oblique.PATH).groupby("seed")):
            label = oblique.PATH if i == 0 else None
            ax.plot(own["parameters"], own["cost"], label=label, **style)
        part = part.dropna(subset="parameters")  # without trees along mu
        points = ("CART", "ExKMC", "IMM", "ExGreedy", "ExShallow")
        for method in (oblique.PUBLISHED, *points):
            own = part[part["method"] == method]
            ax.plot(own["parameters"], own["cost"], ls="", label=method, **style_of(method))
        own = papers[papers["data"] == data]
        if len(own):
            ax.plot(own["parameters"], own["cost"], label="TAO, the paper's table", **PAPER)
        ax.set(title=title(data), xlabel="parameters", ylabel="cost over k-means, %")
        logarithmic(ax, "x")
    scale_costs(*axes)
    legend_of(figure, axes)
    return figure


def _sorted(frame, method):
    return frame[frame["method"] == method].sort_values("parameters")


def along_mu(frame):
    """Cost and weights along mu, for the published algorithm; a point is the first tree."""
    fits = paths(frame)
    sets = list(fits)
    figure, axes = grid(2 * len(sets), len(sets))
    for i, (data, own) in enumerate(fits.items()):
        mu = own["point"].astype(float)
        is_along = (mu > 0) & np.isfinite(mu)
        direct = own[own["work"] == DIRECT_FIT].iloc[0]
        for ax, column in ((axes[i], "cost"), (axes[len(sets) + i], "non_zeros")):
            style = style_of(oblique.PUBLISHED)
            ax.plot(mu[is_along], own.loc[is_along, column], **style | {"marker": ""})
            ax.plot(mu[is_along].min() / 1.5, direct[column], **style)
            ax.set_xlabel("mu (point: the first tree)")
            logarithmic(ax, "x")
        axes[i].set(title=title(data), ylabel="cost over k-means, %")
        axes[len(sets) + i].set(ylabel="non-zero weights")
        logarithmic(axes[len(sets) + i], "y")
    scale_costs(*axes[: len(sets)])
    return figure


def excesses(frame):
    """Cost over k-means against leaves (exkmc-fig3)."""
    sets = list(frame["data"].unique())
    figure, axes = grid(len(sets))
    for data, ax in zip(sets, axes, strict=True):
        part = frame[frame["data"] == data]
        k = part["clusters"].dropna().iloc[0]
        for method in exkmc.METHODS:
            own = part[part["method"] == method]
            means = np.maximum(own.groupby("leaves")["cost"].mean(), LEAST)
            style = style_of(method) | {"markersize": 4 if len(means) == 1 else 3}
            style |= {"marker": ""} if len(means) > 5 else {}
            ax.plot(means.index, means, label=method, **style)
        ax.set(title=f"{title(data)}, k = {k:.0f}", xlabel="leaves", xlim=(0.9 * k, 4.2 * k))
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        ax.set_ylabel("cost over k-means, %")
    scale_costs(*axes)
    legend_of(figure, axes)
    return figure


def ranks(frame):
    """Mean ranks of all trees on new rows, with a bar over those that do not differ (Nemenyi)."""
    import scikit_posthocs  # an extra, which reading the results does not need

    found = costs.ranks(Comparison(frame).mean())
    p_values = scikit_posthocs.posthoc_nemenyi_friedman(found.to_numpy())
    p_values.index = p_values.columns = found.columns
    figure, ax = plt.subplots(figsize=(WIDE, 4), layout="constrained")
    colors = {method: style_of(method)["color"] for method in found}
    drawn = scikit_posthocs.critical_difference_diagram(
        found.mean(),
        p_values,
        ax=ax,
        color_palette=colors,
        label_props={"size": 7},
        label_fmt_left="{label} ({rank:.1f})",
        label_fmt_right="({rank:.1f}) {label}",
    )
    plt.setp(drawn["labels"], color="black")  # some colours of lines are too pale for text
    for (bar,) in drawn["crossbars"]:  # its points are in the order of a set
        bar.set_xdata(sorted(bar.get_xdata()))
    return figure


def time_cost(frame):
    """Cost on new rows against CPU time of each method (fresh-data)."""
    comparison = Comparison(frame)
    figure, ax = plt.subplots(figsize=(WIDE, 4.4), layout="constrained")
    for method in comparison.methods:
        seconds, cost = comparison.time(method)[1], comparison.median(method)
        if np.isfinite(cost):
            ax.plot(seconds, cost, ls="", label=method, **style_of(method) | {"markersize": 5})
            if method in NAMED:
                ax.annotate(method, (seconds, cost), (4, 4), textcoords="offset points")
    logarithmic(ax, "x", "y")
    ax.set(
        xlabel="CPU seconds of all fits that are needed, median",
        ylabel="cost on new rows, %, median",
    )
    legend_of(figure, [ax])
    return figure


# Name to (function, tables whose rows it draws).
FIGURES = {
    "ranks": (ranks, final.NAME),
    "time_cost": (time_cost, final.NAME),
    "fronts": (fronts, oblique.NAME),
    "mu_path": (along_mu, oblique.NAME),
    "exkmc": (excesses, exkmc.NAME),
}


def draw(name, results, out):
    """Write a figure from the files of a folder; None if its tables have not been measured."""
    make, *tables = FIGURES[name]
    frames = [Results(Path(results, f"{table}.csv")).frame() for table in tables]
    if any(frame.empty for frame in frames):
        return None
    path = Path(out, f"{name}.svg")
    path.parent.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE):
        figure = make(*frames)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
    return path
