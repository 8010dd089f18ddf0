"""Where rows in blocks come from."""

from .choice import blocks_of, mapped, parquet_blocks
from .local import LocalBlocks
from .watched import Watched

__all__ = ["LocalBlocks", "Watched", "blocks_of", "mapped", "parquet_blocks"]
