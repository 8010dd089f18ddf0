"""Fits to rows in blocks: their cost beside fits in memory, and their time and memory.

    python -m benchmarks.scale quality --sets mnist letter tails --seeds 0 1 2
    python -m benchmarks.scale growth --rows 1000000 10000000 100000000
    python -m benchmarks.scale parquet --rows 10000000

quality: both fits have the same free centres and the same limit of parameters. --size is the size
of the sample as a share of the rows (1: the default, which is all rows except for "tails"). "tails"
are 10 clusters of 10 % of 10^6 rows and 5 of 0.01 % in 20 columns, with Student's t distribution (3
degrees of freedom) around the centres. "small" counts the small ones with a cluster of their own.

growth: float32 rows with 20 columns in 20 clusters, which two worker processes (LocalCluster) make
block by block. A plain pass only makes the rows and sums them. Seconds are those of the clock. The
memory is the peak of the main process and of the largest worker.

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
from benchmarks.evidence.pages.words import markdown
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
    """Fit, and return the line of a table."""
    counted = Counted(blocks)
    outofcore.sum_over_blocks(_plain, counted)
    outofcore.sum_over_blocks(_plain, counted)
    start = time.perf_counter()
    estimator = TAOClustering(_CLUSTERS, max_parameters=150, random_state=0)
    model = outofcore.fit(estimator, counted, n_passes=n_passes, random_state=0)
    seconds = time.perf_counter() - start
    plain = counted.seconds.pop("plain") / counted.passes.pop("plain")
    passes, within = sum(counted.passes.values()), sum(counted.seconds.values())
    return {
        "rows": f"{n_rows:,}".replace(",", " "),
        "fit, s": f"{seconds:.0f}",
        "passes": passes,
        "all passes, s": f"{within:.0f}",
        "one pass, s": f"{within / passes:.1f}",
        "plain pass, s": f"{plain:.1f}",
        "cost, %": f"{model.cost_increase_:.2f}",
    }


def growth(options):
    """Print a table for growing numbers of rows on a local cluster of two workers."""
    import dask.array as da
    from dask import delayed
    from distributed import Client, LocalCluster

    from tao_cluster.dask import dask_blocks

    lines = []
    with (
        LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        for n_rows in options.rows:
            sizes = [min(_BLOCK_ROWS, n_rows - i) for i in range(0, n_rows, _BLOCK_ROWS)]
            parts = [
                da.from_delayed(delayed(make_rows)(i, m), (m, _COLUMNS), np.float32)
                for i, m in enumerate(sizes)
            ]
            blocks = dask_blocks(da.concatenate(parts), client=client)
            line = measure(blocks, n_rows, options.n_passes)
            line["main, GB"] = f"{peak_of_process() / 1e9:.2f}"
            line["worker, GB"] = f"{max(client.run(peak_of_process).values()) / 1e9:.2f}"
            lines.append(line)
    print(markdown(lines))


def parquet(options):
    """Print the same from a Parquet file."""
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
        blocks = outofcore.blocks_of(path, n_jobs=options.n_jobs)
        line = measure(blocks, n_rows, options.n_passes)
        line["file, MB"] = f"{path.stat().st_size / 1e6:.0f}"
        line["peak, GB"] = f"{peak_of_process() / 1e9:.2f}"
    print(markdown([line]))


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
        table.add_argument("--n-passes", type=int, default=3, help="number of refinements")
        table.set_defaults(run=run)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
