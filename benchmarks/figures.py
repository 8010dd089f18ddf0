"""Figures of the evidence for a paper or a page, drawn from the .csv files of docs/results.

    python -m benchmarks.figures                           # all, as .pdf, into build/figures
    python -m benchmarks.figures fronts --format svg --out docs/results
    python -m benchmarks.figures field_leaves_1 --results docs/results

Vectors with embedded fonts. A method has the same colour and marker in all figures, and in the
pictures of the package.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

from benchmarks.evidence.measures import RESULT
from benchmarks.evidence.pages import costs, field
from benchmarks.evidence.pages.oblique import DATA
from benchmarks.evidence.pages.ranks import ranking
from benchmarks.evidence.pages.words import published, title
from benchmarks.evidence.runs import Results
from benchmarks.evidence.tables import exkmc, mu_path, new_rows, oblique
from benchmarks.evidence.tables.field import NAME as FIELD
from benchmarks.evidence.tables.field import PARAMETERS
from tao_cluster.inspection.palette import Look, method_look
from tao_cluster.plot.charts import log_ticks, scale_costs
from tao_cluster.plot.curves import STAGES

ROOT = Path(__file__).parents[1]
STYLE = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "legend.frameon": False,
    "legend.fontsize": 7,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "figures",  # the same file for the same figures
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
}
# Methods that `compare` does not know. One path is the same method as oblique TAO.
LOOKS = {
    oblique.PATH: method_look("TAO oblique"),
    **dict.fromkeys((oblique.PUBLISHED, new_rows.PUBLISHED), Look("#E69F00", "s", is_hollow=False)),
    "ExKMC, base IMM": Look("#F4A582", "D", is_hollow=True),
    "gemclus Kauri": Look("#E3377C", "<", is_hollow=True),
    "segmtree": Look("#C7A76C", ">", is_hollow=True),
    "obliquetree": Look("#3B3B98", ">", is_hollow=False),
    "pycontree": Look("#8D9440", "<", is_hollow=False),
}
# Those of the field that a panel shows, so that it stays readable; the others are in its tables.
DRAWN = ("TAO oblique", "TAO axis", "ExKMC", "IMM", "CART", "ExGreedy", "ExShallow", "Kauri")
DRAWN += ("SpEx", "k-d tree", "CUBT", "CLTree")
PAPER = {
    "marker": "*",
    "markersize": 9,
    "color": "#F0E442",
    "markeredgecolor": "black",
    "markeredgewidth": 0.5,
    "linestyle": "",
}
LEAST = {"field": 0.01, "exkmc": 0.1}  # percent: what costs less is drawn there
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
    """Cost and weights along the steps of each algorithm (kdd22-fig3)."""
    sets = list(frame["data"].unique())
    figure, axes = grid(3 * len(sets))
    for i, data in enumerate(sets):
        of_data = frame[(frame["data"] == data) & (frame["work"] != RESULT)]
        _penalty_panels(axes[3 * i], axes[3 * i + 1], of_data)
        _direct_panel(axes[3 * i + 2], of_data)
        axes[3 * i].set(title=f"{title(data)}: penalty method", ylabel="cost over k-means, %")
        axes[3 * i + 1].set(title=f"{title(data)}: penalty method", ylabel="non-zero weights")
        axes[3 * i + 2].set(title=f"{title(data)}: direct form", ylabel="cost over k-means, %")
    scale_costs(*axes[::3], *axes[2::3])
    legend_of(figure, axes)
    return figure


def _penalty_panels(left, right, frame):
    """Cost and non-zero weights along mu; a point is the direct fit."""
    method = oblique.PUBLISHED
    for name in sorted(set(frame["method"])):
        own = frame[frame["method"] == name]
        mu = own["point"].astype(float)
        is_along = (mu > 0) & np.isfinite(mu)
        if not is_along.any():
            continue
        direct = own[own["work"] == mu_path.DIRECT_FIT].iloc[0]
        for ax, column in ((left, "cost"), (right, "non_zeros")):
            style = style_of(method) | {"alpha": 0.8}
            line = style | {"marker": "", "label": "penalty method"}
            ax.plot(mu[is_along], own.loc[is_along, column], **line)
            ax.plot(mu[is_along].min() / 1.5, direct[column], **style)
    for ax in (left, right):
        ax.set_xlabel("mu (point: the first tree)")
        logarithmic(ax, "x")
    logarithmic(right, "y")


def _direct_panel(ax, frame):
    """Cost of the trees that a fit looks at, by stage; the direct form ends with its passes."""
    own = frame[frame["method"] == "direct form, refits, true cost and search"].reset_index()
    # Starts are trees of their own: a line from one to the next would mean nothing.
    on = own[own["work"] != "start"]
    ax.plot(on.index, on["cost"], "-", color="#888888", lw=0.6)
    for stage in own["work"].unique():
        words, colour = STAGES[stage]
        part = own[own["work"] == stage]
        ax.plot(part.index, part["cost"], "o", color=colour, label=words, markersize=2.5)
    ax.set_xlabel("number of the tree")


def excesses(frame):
    """Cost over k-means against leaves (exkmc-fig3)."""
    sets = list(frame["data"].unique())
    figure, axes = grid(len(sets))
    for data, ax in zip(sets, axes, strict=True):
        part = frame[frame["data"] == data]
        k = part["clusters"].dropna().iloc[0]
        for method in exkmc.METHODS:
            own = part[part["method"] == method]
            means = np.maximum(own.groupby("leaves")["cost"].mean(), LEAST["exkmc"])
            style = style_of(method) | {"markersize": 4 if len(means) == 1 else 3}
            style |= {"marker": ""} if len(means) > 5 else {}
            ax.plot(means.index, means, label=method, **style)
        ax.set(title=f"{title(data)}, k = {k:.0f}", xlabel="leaves", xlim=(0.9 * k, 4.2 * k))
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        ax.set_ylabel("cost over k-means, %")
    scale_costs(*axes)
    legend_of(figure, axes)
    return figure


def field_fronts(frame, cost="cost"):
    """Cost within budgets of parameters, with standard errors over splits (field, new-rows)."""
    by_budget = {
        size: costs.means(costs.by_split(frame, ("parameters", size), cost)) for size in PARAMETERS
    }
    sets = list(frame["data"].unique())
    figure, axes = grid(len(sets))
    for data, ax in zip(sets, axes, strict=True):
        for method in DRAWN:
            found = [
                (size, mean.loc[data, method], error.loc[data, method])
                for size, (mean, error) in by_budget.items()
                if data in mean.index and method in mean and np.isfinite(mean.loc[data, method])
            ]
            if found:
                sizes, means, errors = (np.array(values) for values in zip(*found, strict=True))
                drawn = np.maximum(means, LEAST["field"])
                _with_whiskers(ax, sizes, drawn, yerr=errors, label=method, **style_of(method))
        ax.set(title=title(data), xlabel="parameters, at most", xscale="log")
        ax.set_xticks(PARAMETERS, [str(size) for size in PARAMETERS])
        ax.minorticks_off()
        ax.set_ylabel("cost over k-means, %" if cost == "cost" else "cost on new rows, %")
    scale_costs(*axes)
    legend_of(figure, axes)
    return figure


def _as_factor(mean, error):
    """Return exp(mean), and whiskers of one standard error of its logarithm, below and above."""
    factor = np.exp(mean)
    return factor, np.array([[factor - np.exp(mean - error)], [np.exp(mean + error) - factor]])


def _with_whiskers(ax, x, y, **style):
    """Draw points with standard errors; those that are not known are left out."""
    errors = {name: np.nan_to_num(style.pop(name)) for name in ("xerr", "yerr") if name in style}
    ax.errorbar(x, y, elinewidth=0.7, capsize=1.5, **errors, **style)


def effects(frame, budget=("parameters", 100)):
    """How much more each method costs than oblique TAO, on fitted and on new rows; or None."""
    figure, axes = grid(2, 2, 3.2)
    for ax, column, words in zip(
        axes, ("cost", "cost_new"), ("fitted rows", "new rows"), strict=True
    ):
        table = costs.by_split(frame, budget, column)
        if "TAO oblique" not in table:
            plt.close(figure)
            return None
        found = {m: costs.effect(table[m], table["TAO oblique"]) for m in table}
        found.pop("TAO oblique")
        found = {m: each for m, each in found.items() if np.isfinite(each.mean)}
        names = sorted(found, key=lambda m: -found[m].mean)
        for i, name in enumerate(names):
            factor, whiskers = _as_factor(found[name].mean, found[name].error)
            _with_whiskers(ax, [factor], [i], xerr=whiskers, ls="", **style_of(name))
        ax.set_yticks(range(len(names)), names)
        ax.axvline(1, color="#888888", lw=0.6)
        logarithmic(ax, "x")
        ax.set(title=words, xlabel="(cost + 1 %) / that of TAO oblique")
    return figure


def time_quality(frame, budget=("leaves", 2)):
    """Time of a fit and cost on new rows, both relative to CART (field); None without CART."""
    found = costs.beside(frame, "CART", budget)
    if found is None:
        return None
    figure, (ax,) = grid(1, 2, 3.4)
    for method, row in found.iterrows():
        factor, whiskers = _as_factor(row["cost"], row["cost_error"])
        _with_whiskers(
            ax,
            [row["time"]],
            [factor],
            xerr=np.array([[row["time_low"]], [row["time_high"]]]),
            yerr=whiskers,
            ls="",
            label=method,
            **style_of(method),
        )
    ax.axhline(1, color="#888888", lw=0.6)
    logarithmic(ax, "x", "y")
    ax.set(xlabel="CPU time / that of CART", ylabel="(cost on new rows + 1 %) / that of CART")
    legend_of(figure, [ax])
    return figure


def critical_difference(frame, budget):
    """Average ranks over data sets, bars over methods that are level (field); None without any."""
    table = costs.main_field(frame, budget)
    if table is None:
        return None
    found = ranking(table)
    n = len(found.ranks)
    figure, ax = plt.subplots(figsize=(WIDE, 0.9 + 0.16 * n), layout="constrained")
    ax.set(xlim=(0.8, n + 0.2), ylim=(-0.9 * ((n + 1) // 2) - 0.8, 3.6))
    ax.axis("off")
    ax.plot([1, n], [2, 2], color="black", lw=0.8)
    for rank in range(1, n + 1):
        ax.plot([rank, rank], [2, 2.25], color="black", lw=0.8)
        ax.text(rank, 2.4, str(rank), ha="center")
    half = (n + 1) // 2
    for i, (name, rank) in enumerate(found.ranks.items()):
        is_left = i < half
        depth = -0.9 * (i if is_left else n - 1 - i) - 1.2
        edge = 0.85 if is_left else n + 0.15
        ax.plot([rank, rank, edge], [2, depth, depth], color=style_of(name)["color"], lw=0.8)
        side = "right" if is_left else "left"
        ax.text(edge, depth, f" {name} {rank:.1f} ", ha=side, va="center", clip_on=False)
    _bars(ax, found)
    text = f"{found.n_sets} data sets, critical difference {found.difference:.1f}"
    ax.plot([1, min(n, 1 + found.difference)], [3.1, 3.1], color="black", lw=1.5)
    ax.text(min(n, 1 + found.difference) + 0.1, 3.1, text, va="center")
    return figure


def _bars(ax, found):
    """A bar over each largest group of methods that are within the critical difference."""
    ranks, last, height = found.ranks.to_numpy(), -1, 1.7
    for i, rank in enumerate(ranks):
        end = int(np.flatnonzero(ranks <= rank + found.difference)[-1])
        if end > max(last, i):
            ax.plot([rank - 0.05, ranks[end] + 0.05], [height, height], color="black", lw=2.5)
            height, last = height - 0.3, end


# Name to (table, function of its rows).
FIGURES = {
    "fronts": (oblique.NAME, fronts),
    "mu_path": (mu_path.NAME, along_mu),
    "exkmc": (exkmc.NAME, excesses),
    "field_fronts": (FIELD, field_fronts),
    "field_fronts_new": (FIELD, lambda frame: field_fronts(frame, cost="cost_new")),
    "field_effects": (FIELD, effects),
    "new_rows_effects": (new_rows.NAME, effects),
    "fresh_data_effects": (new_rows.FRESH, effects),
    "time_quality": (FIELD, time_quality),
}
FIGURES |= {
    "field_{}_{}".format(*budget): (FIELD, lambda frame, b=budget: critical_difference(frame, b))
    for budget in field.SHOWN
}


def draw(name, results, out, suffix):
    """Write a figure from the files of a folder; None if there is nothing to draw."""
    table, make = FIGURES[name]
    frame = Results(Path(results, f"{table}.csv")).frame()
    if frame.empty:
        return None
    path = Path(out, f"{name}.{suffix}")
    path.parent.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE):
        figure = make(frame)
        if figure is None:
            path.unlink(missing_ok=True)
            return None
        no_date = {"CreationDate": None} if suffix == "pdf" else {"Date": None}
        figure.savefig(path, metadata=no_date if suffix in {"pdf", "svg"} else None, dpi=130)
        plt.close(figure)
    return path


def main():
    """Draw what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(FIGURES))
    parser.add_argument("--results", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "figures")
    parser.add_argument("--format", choices=["pdf", "svg", "png"], default="pdf")
    options = parser.parse_args()
    for name in options.names or FIGURES:
        print(draw(name, options.results, options.out, options.format) or f"{name}: not measured")


if __name__ == "__main__":
    main()
