"""What a fit records as it goes."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class History:
    """Records of a fit, one a tree that was looked at.

    Parameters
    ----------
    on_record : callable(record), told of each new one
    """

    on_record: Callable = lambda record: None
    records: list = field(default_factory=list)
    _start: float = field(default_factory=time.perf_counter)

    def add(self, stage, problem, state, lambda_, mu, mismatch=0.0, kept=True):
        """Record a state.

        Parameters
        ----------
        stage : {"start", "penalty", "direct", "relax"}
        problem : Problem
        state : State
        lambda_, mu : float, mu = inf in the direct form
        mismatch : float, weight of the rows whose assignment is not the tree's
        kept : bool, whether it is the best of its stage so far
        """
        self.records.append(
            {
                "stage": stage,
                "lambda": lambda_,
                "mu": mu,
                **state.record(problem),
                "mismatch": mismatch,
                "kept": kept,
                "seconds": time.perf_counter() - self._start,
            }
        )
        self.on_record(self.records[-1])
