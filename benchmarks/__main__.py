"""The evidence: measure the tables of papers and of related methods, and render the results.

    python -m benchmarks all --data DIR --jobs 2     # all tables: two nights
    python -m benchmarks kdd22-table2 laber23-table2 --seeds 3
    python -m benchmarks new-rows --data DIR --sets folder --out OUT   # your own .npz files
    python -m benchmarks all --quick                 # small data, minutes; into build/quick
    python -m benchmarks render                      # docs/results and README from the .csv files

With --quick or --sets, only csv files are written, with TABLE-costs.csv for a comparison. Otherwise
the pages are rendered, which fails if the measurements contradict a sentence of a page.

A finished run is a row of OUT/TABLE.csv, or one row per tree of a path, and is not run again: an
interrupted command continues where it stopped. To measure again, delete rows or files.
"""

import argparse
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.datasets import DATA_DIR, files
from benchmarks.evidence import readme
from benchmarks.evidence.catalogue import TABLES
from benchmarks.evidence.free import Workshop
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
    parser.add_argument("tables", nargs="+", choices=names, metavar="TABLE", help=", ".join(names))
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="folder of the .npz files")
    parser.add_argument("--out", type=Path, help=f"default {RESULTS.relative_to(ROOT)}")
    parser.add_argument("--quick", action="store_true", help="small data, one seed")
    parser.add_argument("--seeds", type=int, help="how many; default each table's own")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--sets",
        nargs="+",
        default=(),
        metavar="NAME",
        help="data sets of field and new-rows; 'folder' is every .npz file of --data",
    )
    parser.add_argument("--only", default="", help="runs whose names have this part")
    options = parser.parse_args(arguments)
    options.out = options.out or (QUICK if options.quick else RESULTS)
    return options


def main(arguments=None):
    """Do what the command line asks for."""
    options = parsed(arguments)
    sets = files(options.data) if options.sets == ["folder"] else options.sets
    plan = Plan(options.seeds, options.quick, tuple(sets))
    asked = [name for name in dict.fromkeys(options.tables) if name != "render"]
    names = list(TABLES) if "all" in asked else asked
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


def _tell(text):
    print(text, flush=True)


if __name__ == "__main__":
    main()
