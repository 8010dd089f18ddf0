"""The cache of compiled kernels on disk: no state of its files ends a fit or changes its result."""

import os
import subprocess
import sys

import numba
import pytest

CODE = """
import warnings
import numpy as np
warnings.simplefilter("ignore")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", RuntimeWarning)
    from tao_cluster import Tree
    splits = [([0], [1]), None, None]
    tree = Tree.from_splits([1, -1, -1], [2, -1, -1], splits, [0, 0, 0], [-1, 0, 1], 2)
    for dtype in (np.float64, np.float32):
        print(*tree.predict(np.eye(2, dtype=dtype)))
print(*(w.message for w in caught))
"""
FULL_DISK = """
import errno
from numba.core.caching import IndexDataCacheFile
def save(self, key, data): raise OSError(errno.ENOSPC, "No space left on device")
IndexDataCacheFile.save = save
"""
NO_FOLDER = """
from numba.core.caching import CacheImpl
CacheImpl._locator_classes = []
"""


def run(folder, before="", **variables):
    """Predict in a new process with this folder as cache; return its warnings."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", before + CODE],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder), **variables},
    )
    *labels, messages = done.stdout.split("\n")[:3]
    assert labels == ["1 0"] * 2
    return messages


def files_of(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*.nb[ic]"))}


@pytest.mark.sweep
def test_damaged_files_are_replaced(tmp_path):
    """A process that is killed, or a full disk, leaves files that are empty or truncated."""
    assert run(tmp_path) == ""
    files = files_of(tmp_path)
    # Environments with other versions of numba that share a folder do not read these files.
    assert all(f"-numba{numba.__version__}." in path.name for path in files)
    for ending, n_kept in ((".nbi", 0), (".nbc", 9999)):
        for path, content in files.items():
            if path.suffix == ending:
                path.write_bytes(content[:n_kept])
        broken = files_of(tmp_path)
        assert run(tmp_path) == ""
        files = files_of(tmp_path)
        assert sum(files[path] != broken[path] for path in broken) >= 2
    # Two processes that write at the same time may give a file the name of another signature.
    one, other = (path for path in files if "_descend" in path.name and path.suffix == ".nbc")
    other.write_bytes(files[one])
    assert run(tmp_path) == ""
    assert run(tmp_path) == ""
    assert other.read_bytes() != files[one]


@pytest.mark.spaced(quick=0, slow=1)
@pytest.mark.parametrize(
    ("before", "reason"),
    [
        (NO_FOLDER, "no cache folder is writable. Set NUMBA_CACHE_DIR"),
        (FULL_DISK, "fails (No space left on device). Set NUMBA_CACHE_DIR"),
    ],
    ids=["no folder", "a full disk"],
)
def test_kernels_that_cannot_be_cached_give_one_warning(tmp_path, before, reason):
    message = run(tmp_path, before)
    assert reason in message
    assert message.count("cannot be cached") == 1
    assert files_of(tmp_path) == {}


@pytest.mark.slow
def test_the_cache_and_the_compiler_can_be_turned_off(tmp_path):
    assert run(tmp_path, NO_FOLDER, TAO_CLUSTER_CACHE="0") == ""
    assert run(tmp_path, NO_FOLDER, NUMBA_DISABLE_JIT="1") == ""
    assert files_of(tmp_path) == {}
