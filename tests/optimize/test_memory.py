"""Memory of a fit: bytes a row of narrow data."""

import tracemalloc

import numpy as np
import pytest

from tao_cluster import DirectForm, TAOClustering

# Of which 64 are the distances to 8 centres, 40 the solver's rows and about 110 its scratch: 168 a
# row for the two thirds of the rows that care at the root of this tree.
# They include a copy of X in the canonical order of rows.
BYTES = 320


def narrow():
    """Rows of 24 blobs, three a cluster, and centres of the clusters."""
    rng = np.random.default_rng(0)
    centers = 2 * rng.normal(size=(24, 10)).astype(np.float32)
    X = centers[rng.integers(24, size=60_000)]
    X += rng.standard_normal(X.shape, dtype=np.float32)
    return X, centers.reshape(8, 3, 10).mean(axis=1)


@pytest.mark.slow
def test_bytes_a_row():
    X, reference = narrow()
    model = TAOClustering(
        8,
        depth=6,
        lambda_=200.0,
        reference=reference,
        random_state=0,
        algorithm=DirectForm(n_init=2),
    )
    model.fit(X[: len(X) // 2])  # compiles whatever so many rows need
    tracemalloc.start()
    try:
        model.fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < BYTES * len(X)
