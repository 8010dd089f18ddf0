"""Fits to rows in blocks: their cost beside fits in memory, and how they grow with the rows.

    python -m benchmarks.scale quality --sets mnist letter tails --seeds 0 1 2
    python -m benchmarks.scale growth --rows 1000000 10000000 100000000
    python -m benchmarks.scale parquet --rows 10000000

quality: both fits have the same free centres and may have at most so many parameters; --size is
that of the sample, a share of the rows (1: the default, of these sets all rows but of "tails").
"tails" are 10 clusters of 10 % of 10^6 rows and 5 of 0.01 % in 20 columns, Student's t with 3
degrees of freedom about the centres; found are the small ones that have a cluster of their own.

growth: float32 rows, made block by block in two worker processes (LocalCluster), 20 columns, 20
clusters. A plain pass only makes the rows and sums them. Peaks are of the driver and of the largest
worker. The exponent is the slope of seconds over rows, in logarithms.

parquet: the same rows in a file, read without Dask.
"""

import argparse
import collections
import re
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.datasets import load
from tao_cluster import TAOClustering, outofcore

_BLOCK_ROWS, _COLUMNS, _CLUSTERS = 200_000, 20, 20
_PARAMETERS = {"mnist": 300, "letter": 200, "tails": 80}
_SMALL, _LARGE, _SHARE = 5, 10, 1e-4


class Counted:
    """Blocks that count the passes over them and their seconds, by what is asked.

    Parameters
    ----------
    blocks : Blocks
    """

    def __init__(self, blocks):
        self.names, self.has_embedding = blocks.names, blocks.has_embedding
        self._blocks, self.passes = blocks, collections.Counter()
        self.seconds = collections.Counter()

    def results(self, function, state):
        """See Blocks."""
        start, name = time.perf_counter(), function.__name__.strip("_")
        yield from self._blocks.results(function, state)
        self.passes[name] += 1
        self.seconds[name] += time.perf_counter() - start


def peak_of_process():
    """Largest memory of this process so far, bytes (Linux)."""
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])


# ---------------------------------------------------------------------- quality


def tails(seed, n_rows=1_000_000):
    """Rows with heavy tails, and their true clusters, of which the first five are small."""
    rng = np.random.default_rng(seed)
    n_centers = _SMALL + _LARGE
    centers = 20.0 * rng.normal(size=(n_centers, _COLUMNS))
    share = np.full(n_centers, (1 - _SMALL * _SHARE) / _LARGE)
    share[:_SMALL] = _SHARE
    of_row = rng.choice(n_centers, p=share, size=n_rows)
    X = rng.standard_t(3.0, size=(n_rows, _COLUMNS)).astype(np.float32)
    X += centers[of_row].astype(np.float32)
    return X, of_row, centers


def found_small(labels, of_row):
    """Small true clusters of which most rows share a cluster with few others."""
    found = 0
    for cluster in range(_SMALL):
        own, counts = np.unique(labels[of_row == cluster], return_counts=True)
        size = (labels == own[counts.argmax()]).sum()
        found += counts.max() > size / 2
    return found


def compare(name, seed, size):
    """One line: the fit to blocks, and that in memory with the same free centres."""
    of_row, reference = None, None
    if name == "tails":
        X, of_row, reference = tails(seed)
        k, depth = len(reference), 5
    else:
        X, k, depth = load(name, np.float32)
    options = {"depth": depth, "max_parameters": _PARAMETERS[name], "random_state": seed}
    estimator = TAOClustering(k, reference=reference, **options)
    blocks = Counted(outofcore.blocks_of([X[i : i + 10_000] for i in range(0, len(X), 10_000)]))
    n_sample = "auto" if size == 1 else int(size * len(X))
    start = time.perf_counter()
    ours = outofcore.fit(estimator, blocks, coreset_size=n_sample, random_state=seed)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    memory = TAOClustering(k, reference=ours.free_centers_, **options).fit(X)
    small = ["", ""]
    if of_row is not None:
        small = [f"{found_small(model.predict(X), of_row)}/{_SMALL}" for model in (ours, memory)]
    print(
        f"{name:8s} {seed:4d} {size:6.2f}  {ours.cost_increase_:8.3f} "
        f"{ours.tree_.n_parameters:5d} {small[0]:4s} {sum(blocks.passes.values()):4d} "
        f"{sum(blocks.seconds.values()):7.1f} {seconds:7.1f}  {memory.cost_increase_:8.3f} "
        f"{memory.tree_.n_parameters:5d} {small[1]:4s} {time.perf_counter() - start:7.1f}",
        flush=True,
    )


def quality(options):
    """The table of costs."""
    print(
        f"{'':21s} {'blocks: %':>8s} {'size':>5s} small pass in them   all s {'memory: %':>8s} size"
    )
    for name in options.sets:
        for seed in options.seeds:
            compare(name, seed, options.size)


# ---------------------------------------------------------------------- growth


def make_rows(number, n_rows):
    """One block of blobs: float32 array of shape (n_rows, 20), the same whenever it is made."""
    centers = 3.0 * np.random.default_rng(0).normal(size=(2 * _CLUSTERS, _COLUMNS))
    rng = np.random.default_rng([1, number])
    X = rng.standard_normal((n_rows, _COLUMNS), dtype=np.float32)
    X += centers.astype(np.float32)[rng.integers(len(centers), size=n_rows)]
    return X


def _plain(block, state):
    """What a pass costs that only reads and sums."""
    del state
    return np.asarray(block.X).sum(axis=0, dtype=np.float64)


def measure(blocks, n_rows, n_passes):
    """Fit, print a line, and return the seconds of the passes."""
    counted = Counted(blocks)
    outofcore.sum_over_blocks(_plain, counted)
    outofcore.sum_over_blocks(_plain, counted)
    start = time.perf_counter()
    estimator = TAOClustering(_CLUSTERS, max_parameters=150, random_state=0)
    model = outofcore.fit(estimator, counted, n_passes=n_passes, random_state=0)
    seconds = time.perf_counter() - start
    plain = counted.seconds.pop("plain") / counted.passes.pop("plain")
    passes, within = sum(counted.passes.values()), sum(counted.seconds.values())
    print(
        f"{n_rows:11d} {seconds:8.1f} {passes:6d} {within:8.1f} {within / passes:8.2f} "
        f"{plain:8.2f} {model.cost_increase_:8.3f} {model.tree_.n_parameters:5d}",
        flush=True,
    )
    print(
        "   ",
        ", ".join(
            f"{name} {n} x {counted.seconds[name] / n:.2f} s" for name, n in counted.passes.items()
        ),
        flush=True,
    )
    return within


def growth(options):
    """Lines for growing numbers of rows on a local cluster of two workers."""
    import dask.array as da
    from dask import delayed
    from distributed import Client, LocalCluster

    from tao_cluster.dask import dask_blocks

    print(
        f"{'rows':>11s} {'fit s':>8s} {'passes':>6s} {'in them':>8s} {'a pass':>8s} "
        f"{'plain':>8s} {'cost %':>8s} {'size':>5s}"
    )
    with (
        LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        seconds = []
        for n_rows in options.rows:
            sizes = [min(_BLOCK_ROWS, n_rows - i) for i in range(0, n_rows, _BLOCK_ROWS)]
            parts = [
                da.from_delayed(delayed(make_rows)(i, m), (m, _COLUMNS), np.float32)
                for i, m in enumerate(sizes)
            ]
            seconds.append(
                measure(dask_blocks(da.concatenate(parts), client=client), n_rows, options.n_passes)
            )
            workers = max(client.run(peak_of_process).values())
            driver = peak_of_process()
            print(
                f"    peak of the driver {driver / 1e9:.2f} GB, of a worker {workers / 1e9:.2f} GB"
            )
        if len(seconds) > 1:
            slope = np.polyfit(np.log(options.rows), np.log(seconds), 1)[0]
            last = np.log(seconds[-1] / seconds[-2]) / np.log(options.rows[-1] / options.rows[-2])
            print(f"seconds of passes grow as n^{slope:.2f}, between the last two as n^{last:.2f}")


def parquet(options):
    """The same from a file of Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (n_rows,) = options.rows
    with tempfile.TemporaryDirectory() as folder:
        path, writer = Path(folder) / "rows.parquet", None
        for number, start in enumerate(range(0, n_rows, _BLOCK_ROWS)):
            X = make_rows(number, min(_BLOCK_ROWS, n_rows - start))
            table = pa.table({f"x{j}": X[:, j] for j in range(_COLUMNS)})
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
        writer.close()
        print(f"{path.stat().st_size / 1e6:.0f} MB of Parquet, row groups of {_BLOCK_ROWS} rows")
        measure(outofcore.blocks_of(path, n_jobs=options.n_jobs), n_rows, options.n_passes)
        print(f"    peak {peak_of_process() / 1e9:.2f} GB")


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    table = commands.add_parser("quality")
    table.add_argument("--sets", nargs="+", choices=_PARAMETERS, default=list(_PARAMETERS))
    table.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    table.add_argument("--size", type=float, default=1.0)
    table.set_defaults(run=quality)
    for name, run, rows in (
        ("growth", growth, [10**6, 10**7, 10**8]),
        ("parquet", parquet, [10**7]),
    ):
        table = commands.add_parser(name)
        table.add_argument("--rows", nargs="+", type=int, default=rows)
        table.add_argument("--n-jobs", type=int, default=1)
        table.add_argument("--n-passes", type=int, default=3, help="rounds of improvement")
        table.set_defaults(run=run)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
