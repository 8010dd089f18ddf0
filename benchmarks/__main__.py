"""The evidence: measure the tables of papers and of related methods, and render the results.

    python -m benchmarks all --data DIR --jobs 2     # all tables: an afternoon
    python -m benchmarks kdd22-table2 laber23-table2 --seeds 3
    python -m benchmarks known-data --data DIR --sets folder --out OUT   # your own .npz files
    python -m benchmarks all --quick                 # small data, minutes; into build/quick
    python -m benchmarks render                      # docs/results and README from the .csv files
    python -m benchmarks prepare NAME --data DIR     # fetch or make a data set, and verify it

With --quick or --sets, only csv files are written, with TABLE-costs.csv for a comparison. Otherwise
the pages are rendered, which fails if the measurements contradict a sentence of a page.

A finished run is a row of OUT/TABLE.csv, or one row per tree of a path. It is not run again as long
as the fits of the snapshot are the same: an interrupted command continues where it stopped.
"""

import argparse
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks import datasets
from benchmarks.evidence import readme
from benchmarks.evidence.catalogue import TABLES
from benchmarks.evidence.free import Workshop
from benchmarks.evidence.provenance import Provenance
from benchmarks.evidence.render import render, write_costs
from benchmarks.evidence.runs import execute
from benchmarks.evidence.tables import peers
from benchmarks.evidence.tables.plan import Plan

ROOT = Path(__file__).parents[1]
RESULTS, QUICK = ROOT / "docs" / "results", ROOT / "build" / "quick"


def parsed(arguments=None):
    """What the command line asks for."""
    names = [*TABLES, "all", "render"]
    parser = argparse.ArgumentParser(
        "python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("tables", nargs="+", metavar="TABLE", help=", ".join(names))
    parser.add_argument("--data", type=Path, default=datasets.DATA_DIR, help="folder of .npz files")
    parser.add_argument("--out", type=Path, help=f"default {RESULTS.relative_to(ROOT)}")
    parser.add_argument("--quick", action="store_true", help="small data, one seed")
    parser.add_argument("--seeds", type=int, help="how many; default each table's own")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--sets",
        nargs="+",
        default=(),
        metavar="NAME",
        help="data sets of known-data; 'folder' is every .npz file of --data",
    )
    parser.add_argument("--only", default="", help="runs whose names have this part")
    options = parser.parse_args(arguments)
    unknown = set(options.tables) - set(names)
    if unknown and options.tables[0] != "prepare":
        parser.error(f"no table {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    options.out = options.out or (QUICK if options.quick else RESULTS)
    return options


def main(arguments=None):
    """Do what the command line asks for."""
    options = parsed(arguments)
    if options.tables[0] == "prepare":
        for name in options.tables[1:]:
            _tell(datasets.prepare(name, options.data))
        return
    sets = datasets.files(options.data) if options.sets == ["folder"] else options.sets
    plan = Plan(options.seeds, options.quick, tuple(sets))
    asked = [name for name in dict.fromkeys(options.tables) if name != "render"]
    names = list(TABLES) if "all" in asked else asked
    if not (options.quick or sets):
        _tell_time(names)
    workshop = Workshop(options.data, options.out / "cache")
    for name in names:
        runs = TABLES[name](plan)
        runs = [run for run in runs if options.only in " | ".join(run.key)]
        skipped = {run.method for run in runs if not peers.is_installed(run.method)}
        if skipped:
            _tell(f"not installed and therefore not run: {', '.join(sorted(skipped))}")
        runs = [run for run in runs if run.method not in skipped]
        with threadpool_limits(limits=1):
            execute(runs, options.out, workshop, n_jobs=options.jobs, tell=_tell)
    write = write_costs if options.quick or sets else render
    write(options.out)
    if options.out.resolve() == RESULTS:
        readme.write(RESULTS)


def _tell_time(names):
    """Print how long tables took when they were measured last."""
    known = {name: each for name, each in Provenance(RESULTS).read().items() if name in names}
    for name, each in known.items():
        _tell(f"{name}: {each['cpu_seconds'] / 60:.0f} CPU minutes on {each['machine']}")
    if known:
        hours = sum(each["cpu_seconds"] for each in known.values()) / 3600
        _tell(f"together about {hours:.1f} CPU hours from nothing")


def _tell(text):
    print(text, flush=True)


if __name__ == "__main__":
    main()
