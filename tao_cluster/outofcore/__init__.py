"""Fits to more rows than memory holds: a sample finds the tree, passes over all rows finish it."""

from .blocks import (
    Block,
    BlockError,
    Blocks,
    LostRowsError,
    blocks_of,
    parquet_blocks,
    sum_over_blocks,
)
from .fit import fit

__all__ = [
    "Block",
    "BlockError",
    "Blocks",
    "LostRowsError",
    "blocks_of",
    "fit",
    "parquet_blocks",
    "sum_over_blocks",
]
