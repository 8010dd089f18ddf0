"""Where rows in blocks come from."""

from .choice import blocks_of, mapped, parquet_blocks
from .local import LocalBlocks

__all__ = ["LocalBlocks", "blocks_of", "mapped", "parquet_blocks"]
