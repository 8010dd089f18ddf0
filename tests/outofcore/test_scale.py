"""The engine of docs/guide/scale.md runs as it stands, and gives the bits of the local one."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tao_cluster import TAOClustering, load, outofcore

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_engine_of_the_docs_gives_the_same_bits(tmp_path):
    text = (ROOT / "docs" / "guide" / "scale.md").read_text(encoding="utf-8")
    script = re.search(r"```python\n(# own_engine.py\n.*?)```", text, flags=re.DOTALL)[1]
    (tmp_path / "own_engine.py").write_text(script, encoding="utf-8")
    rng = np.random.default_rng(0)
    parts = [rng.normal(i % 3, 0.5, (300 + i, 4)) for i in range(5)]
    for i, part in enumerate(parts):
        np.save(tmp_path / f"{i}.npy", part)
    command = [sys.executable, tmp_path / "own_engine.py", tmp_path, tmp_path / "model.json"]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})  # noqa: S603
    found = load(tmp_path / "model.json")
    estimator = TAOClustering(3, depth=2, random_state=0)
    expected = outofcore.fit(estimator, parts, random_state=0)
    assert found.tree_ == expected.tree_
    assert np.array_equal(found.cluster_centers_, expected.cluster_centers_)
    assert found.cost_increase_ == expected.cost_increase_


@pytest.mark.slow
def test_number_of_passes_is_the_documented_one():
    class Counted:
        names, has_embedding = None, False

        def __init__(self, parts):
            self.blocks, self.passes = outofcore.blocks_of(parts), []

        def results(self, function, state):
            self.passes.append(function.__name__)
            return self.blocks.results(function, state)

    rng = np.random.default_rng(1)
    centers = rng.normal(size=(6, 8)) * 1.2
    blocks = Counted(
        [centers[rng.integers(0, 6, 2000)] + rng.normal(size=(2000, 8)) for _ in "abcd"]
    )
    estimator = TAOClustering(6, depth=4, lambda_=20, random_state=0)
    outofcore.fit(estimator, blocks, coreset_size=2000, random_state=0)
    names = blocks.passes
    count = {name: names.count(name) for name in set(names)}
    assert count.pop("_assign") >= 2
    twice, once = {"_costs", "_drawn"}, {"_column_statistics", "free_inertia"}
    once |= {"_leaf_sums", "tree_statistics"}
    assert count == dict.fromkeys(twice, 2) | dict.fromkeys(once, 1)
