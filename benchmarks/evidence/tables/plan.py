"""What is asked of all tables."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """What is asked of all tables.

    Parameters
    ----------
    n_seeds : int, optional
        Default each table's own.
    quick : bool
        Whether small data stand for all, with one seed.
    """

    n_seeds: int | None = None
    quick: bool = False

    def seeds(self, default, first=0):
        """Seeds of a table that has so many by default."""
        n_seeds = self.n_seeds or (1 if self.quick else default)
        return range(first, first + n_seeds)
