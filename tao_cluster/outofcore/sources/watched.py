"""Blocks with a line of progress for each pass over them."""

from dataclasses import dataclass
from typing import Any

from tqdm.auto import tqdm


@dataclass(frozen=True, eq=False)
class Watched:
    """Blocks that tell how far a pass is; see :class:`.blocks.Blocks`.

    Parameters
    ----------
    blocks : Blocks
    """

    blocks: Any

    @property
    def names(self):
        """Names of the columns, or None."""
        return self.blocks.names

    @property
    def has_embedding(self):
        """Whether blocks have an embedding."""
        return self.blocks.has_embedding

    def results(self, function, state):
        """Yield the result for each block."""
        name = function.__name__.strip("_")
        found = self.blocks.results(function, state)
        yield from tqdm(found, f"pass: {name}", leave=False, unit=" blocks")
