"""Time, memory and cost of fits to many rows: in memory, and in blocks by Dask.

    python -m benchmarks.scale --rows 1000000 10000000

The rows have 20 columns of float32, which are 80 bytes per row, and 20 clusters. "In memory" is
`TAOClustering.fit` with one thread. Dask has worker processes (LocalCluster) of one thread, which
make the rows block by block in every pass.

Seconds are those on the clock. Bytes per row are the peak memory of all processes together, less
their memory before the rows are made, divided by the number of rows. "Cost" is the increase over
k-means without a tree. The last column compares the sum of squares with that of the fit in memory.
"""

import os
import time

import dask.array as da
import numpy as np
from dask import delayed
from distributed import Client, LocalCluster
from threadpoolctl import threadpool_limits

from benchmarks.evidence.pages.words import markdown
from benchmarks.shared import parser, peak, start_memory
from tao_cluster import TAOClustering
from tao_cluster.dask import DaskTreeClustering

_BLOCK_ROWS, _COLUMNS, _CLUSTERS = 200_000, 20, 20


def make_rows(number, n_rows):
    """Return one block of blobs: float32 array of shape (n_rows, 20), always the same."""
    centers = 3.0 * np.random.default_rng(0).normal(size=(2 * _CLUSTERS, _COLUMNS))
    rng = np.random.default_rng([1, number])
    X = rng.standard_normal((n_rows, _COLUMNS), dtype=np.float32)
    X += centers.astype(np.float32)[rng.integers(len(centers), size=n_rows)]
    return X


def in_memory(sizes, estimator):
    """Make all rows, fit, and return the fitted estimator, seconds and bytes."""
    before, X = start_memory(), np.empty((sum(sizes), _COLUMNS), np.float32)
    for number, size in enumerate(sizes):
        X[number * _BLOCK_ROWS :][:size] = make_rows(number, size)
    start = time.perf_counter()
    with threadpool_limits(limits=1):
        estimator.fit(X)
    return estimator, time.perf_counter() - start, peak() - before


def by_dask(sizes, estimator, n_workers):
    """Fit to blocks, and return the same; bytes are the sum over all processes."""
    parts = [
        da.from_delayed(delayed(make_rows)(number, size), (size, _COLUMNS), np.float32)
        for number, size in enumerate(sizes)
    ]
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(n_workers, **options) as cluster, Client(cluster) as client:
        before = start_memory() + sum(client.run(start_memory).values())
        start = time.perf_counter()
        model = DaskTreeClustering(estimator, client=client, random_state=0)
        model.fit(da.concatenate(parts))
        seconds = time.perf_counter() - start
        return model.to_local(), seconds, peak() + sum(client.run(peak).values()) - before


def main():
    """Print the table."""
    arguments = parser(__doc__)
    arguments.add_argument("--rows", nargs="+", type=int, default=[10**6, 10**7])
    lines, workers = [], sorted({1, os.cpu_count()})
    for n_rows in arguments.parse_args().rows:
        sizes = [min(_BLOCK_ROWS, n_rows - i) for i in range(0, n_rows, _BLOCK_ROWS)]
        estimator = TAOClustering(_CLUSTERS, max_parameters=150, random_state=0)
        fits = {"in memory": in_memory(sizes, estimator)}
        for n in workers:
            fits[f"Dask, {n} worker{'s' * (n > 1)}"] = by_dask(sizes, estimator, n)
        best = fits["in memory"][0].inertia_
        for name, (model, seconds, n_bytes) in fits.items():
            lines.append({
                "rows": f"{n_rows:,}".replace(",", " "),
                "fit": name,
                "seconds": f"{seconds:.0f}",
                "bytes per row": f"{n_bytes / n_rows:.0f}",
                "cost, %": f"{model.cost_increase_:.2f}",
                "against memory, %": f"{100 * (model.inertia_ / best - 1):+.2f}",
            })  # fmt: skip
    print(markdown(lines))


if __name__ == "__main__":
    main()
