"""How long the way of a fit is: functions and files that `TAOClustering(10).fit(digits)` enters.

    python -m benchmarks.way_of_a_fit
    python -m benchmarks.way_of_a_fit --list    # the functions by file

Functions are those of both packages that Python calls, without lambdas and comprehensions; compiled
ones called by compiled ones do not count. It also counts the Tree objects that are made.
"""

import argparse
import collections
import sys
from pathlib import Path

from sklearn.datasets import load_digits

import tao_cluster
from tao_cluster import TAOClustering, Tree

ROOT = Path(tao_cluster.__file__).parents[1]


def entered(function):
    """Call a function; return the functions that it enters by file, and how many trees it makes."""
    found, n_trees, make = collections.defaultdict(set), 0, Tree.__post_init__
    folders = tuple(f"{ROOT / name}/" for name in ("tao_cluster", "greedy"))

    def made(tree):
        nonlocal n_trees
        n_trees += 1
        make(tree)

    def watch(frame, event, _):
        code = frame.f_code
        is_ours = event == "call" and code.co_filename.startswith(folders)
        if is_ours and not code.co_name.startswith("<"):
            found[code.co_filename.removeprefix(f"{ROOT}/")].add(code.co_qualname)

    Tree.__post_init__ = made
    sys.setprofile(watch)
    try:
        function()
    finally:
        sys.setprofile(None)
        Tree.__post_init__ = make
    return found, n_trees


def main():
    """Print the three numbers, and the functions with --list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    X = load_digits().data
    TAOClustering(10, random_state=0).fit(X)  # compiles, so that no compilation is counted
    found, n_trees = entered(lambda: TAOClustering(10, random_state=0).fit(X))
    n_functions = sum(map(len, found.values()))
    print(f"{n_functions} functions in {len(found)} files, {n_trees} Tree objects")
    for path in sorted(found) if options.list else ():
        print(path, *sorted(found[path]), sep="\n    ")


if __name__ == "__main__":
    main()
