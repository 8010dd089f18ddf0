"""Where rows in blocks come from."""

from .choice import blocks_of, parquet_blocks
from .local import LocalBlocks
from .numpy_files import mapped, read_npy, read_npz, readable
from .watched import Watched

__all__ = [
    "LocalBlocks",
    "Watched",
    "blocks_of",
    "mapped",
    "parquet_blocks",
    "read_npy",
    "read_npz",
    "readable",
]
