"""What trees are worth on rows that they have not seen."""

from dataclasses import dataclass

from ..problem.problem import Problem
from ..reference import optimal_centers
from ..tree.routing import kernel_view


@dataclass(frozen=True, eq=False)
class Unseen:
    """The rows that find trees, and those that judge them.

    Parameters
    ----------
    seen : Problem
    unseen : Problem, of other rows beside the free centres of the seen ones
    """

    seen: Problem
    unseen: Problem

    @classmethod
    def of(cls, problem, seen):
        """The rows that a problem holds out, beside those that it does not."""
        return cls(seen, problem.unseen(seen.free.centers))

    def cost_increase(self, tree):
        """Percent by which a tree, with its centres of the seen rows, costs more on the unseen."""
        seen, unseen = self.seen, self.unseen
        labels = tree.leaf_label[tree.route(kernel_view(seen.X))]
        centers, _ = optimal_centers(seen.objective, seen.data, labels, seen.weight, seen.free)
        labels = tree.leaf_label[tree.route(kernel_view(unseen.X))]
        cost = unseen.objective.value(unseen.data, labels, unseen.weight, centers)
        return unseen.cost_increase(cost)
