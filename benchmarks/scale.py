"""Time and memory of fits to rows in blocks, as the number of rows grows.

    python -m benchmarks.scale --rows 1000000 10000000 100000000

The rows have 20 columns of float32 and 20 clusters. Two worker processes (LocalCluster) make them
block by block. A plain pass only makes the rows and sums them. Seconds are those of the clock. The
memory is the peak of the main process and of the largest worker.
"""

import collections
import time

import dask.array as da
import numpy as np
from dask import delayed
from distributed import Client, LocalCluster

from benchmarks.evidence.pages.words import markdown
from benchmarks.shared import parser, peak
from tao_cluster import TAOClustering, outofcore
from tao_cluster.dask import dask_blocks

_BLOCK_ROWS, _COLUMNS, _CLUSTERS = 200_000, 20, 20


class Counted:
    """Blocks that count the passes over them and their seconds, by the function of the pass."""

    def __init__(self, blocks):
        self.names, self.has_embedding = blocks.names, blocks.has_embedding
        self._blocks = blocks
        self.passes, self.seconds = collections.Counter(), collections.Counter()

    def results(self, function, state):
        """See Blocks."""
        start, name = time.perf_counter(), function.__name__
        yield from self._blocks.results(function, state)
        self.passes[name] += 1
        self.seconds[name] += time.perf_counter() - start


def make_rows(number, n_rows):
    """One block of blobs: float32 array of shape (n_rows, 20), the same whenever it is made."""
    centers = 3.0 * np.random.default_rng(0).normal(size=(2 * _CLUSTERS, _COLUMNS))
    rng = np.random.default_rng([1, number])
    X = rng.standard_normal((n_rows, _COLUMNS), dtype=np.float32)
    X += centers.astype(np.float32)[rng.integers(len(centers), size=n_rows)]
    return X


def plain(block, state):
    """Sum the rows of a block: a pass that only reads."""
    del state
    return np.asarray(block.X).sum(axis=0, dtype=np.float64)


def measure(blocks, n_rows):
    """Fit, and return the line of a table."""
    counted = Counted(blocks)
    outofcore.sum_over_blocks(plain, counted)
    outofcore.sum_over_blocks(plain, counted)
    start = time.perf_counter()
    estimator = TAOClustering(_CLUSTERS, max_parameters=150, random_state=0)
    model = outofcore.fit(estimator, counted, random_state=0)
    seconds = time.perf_counter() - start
    reading = counted.seconds.pop("plain") / counted.passes.pop("plain")
    passes, within = sum(counted.passes.values()), sum(counted.seconds.values())
    return {
        "rows": f"{n_rows:,}".replace(",", " "),
        "fit, s": f"{seconds:.0f}",
        "passes": passes,
        "all passes, s": f"{within:.0f}",
        "one pass, s": f"{within / passes:.1f}",
        "plain pass, s": f"{reading:.1f}",
        "cost, %": f"{model.cost_increase_:.2f}",
    }


def main():
    """Print the table."""
    arguments = parser(__doc__)
    arguments.add_argument("--rows", nargs="+", type=int, default=[10**6, 10**7, 10**8])
    options = arguments.parse_args()
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
            line = measure(dask_blocks(da.concatenate(parts), client=client), n_rows)
            line["main, GB"] = f"{peak() / 1e9:.2f}"
            line["worker, GB"] = f"{max(client.run(peak).values()) / 1e9:.2f}"
            lines.append(line)
    print(markdown(lines))


if __name__ == "__main__":
    main()
