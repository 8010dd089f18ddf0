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
    sets : tuple of str, optional
        Data sets of `known-data` and of the tables of Laber et al. in place of their own.
    """

    n_seeds: int | None = None
    quick: bool = False
    sets: tuple = ()

    def seeds(self, default, first=0):
        """Seeds of a table that has so many by default."""
        return range(first, first + self.count(default))

    def count(self, default):
        """How many seeds, or splits, of a table that has so many by default."""
        return self.n_seeds or (1 if self.quick else default)
