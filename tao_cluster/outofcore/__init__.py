"""Fits to more rows than memory holds: a sample finds the tree, passes over all rows are exact."""

from .blocks import Block, Blocks, sum_over_blocks
from .failures import BlockError, LostRowsError
from .fit import fit
from .sources import blocks_of, parquet_blocks

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
