"""What trees are compared by, and how a tree is brought to it: a price, a size or a cost."""

from dataclasses import dataclass, replace

import numpy as np

from .true_cost import taken_back


@dataclass(frozen=True)
class Priced:
    """Trees are better the less they cost with a price a parameter.

    Parameters
    ----------
    price : float
    """

    price: float

    def over(self, share):
        """The aim over a sample that has a share of the weight."""
        return Priced(share * self.price)

    def reached(self, search, state):
        """A state that keeps to the aim, which any does."""
        del search
        return state

    def value(self, state):
        """What is to be small."""
        return state.score(self.price)


@dataclass(frozen=True)
class AtMost:
    """Trees of at most so many parameters are better the less they cost.

    Parameters
    ----------
    limit : int
    price : float, where parameters are first taken back
    """

    limit: int
    price: float

    def over(self, share):
        """The aim over a sample that has a share of the weight."""
        return replace(self, price=share * self.price)

    def reached(self, search, state):
        """A state taken back to the limit."""
        if self._keeps(state):
            return state
        return next(filter(self._keeps, taken_back(search, state, self.price)), state)

    def value(self, state):
        """What is to be small: the cost, infinite above the limit."""
        return state.inertia if self._keeps(state) else np.inf

    def _keeps(self, state):
        return state.pruned.n_parameters <= self.limit


@dataclass(frozen=True)
class Within:
    """Trees of at most such a cost are better the fewer parameters they have.

    Parameters
    ----------
    limit : float, a cost
    price : float, where parameters are first taken back
    """

    limit: float
    price: float

    def over(self, share):
        """The aim over a sample that has a share of the weight."""
        return Within(share * self.limit, share * self.price)

    def reached(self, search, state):
        """A state taken back as far as the limit allows."""
        for other in taken_back(search, state, self.price):
            if not self.value(other) < np.inf:
                break
            state = min(state, other, key=self.value)
        return state

    def value(self, state):
        """What is to be small: the size, and of equal ones the cost; infinite above the limit."""
        if state.inertia > self.limit:
            return np.inf
        share = state.inertia / self.limit if self.limit > 0 else 0.0
        return state.pruned.n_parameters + 0.5 * share
