"""The direct form: descent on the clustering cost itself, without assignments Z (mu = infinity).

The rows at a node are labelled by the child whose leaf costs them less and weigh by how much;
a node is fitted to that with strength lambda, a leaf takes the label of least summed cost, and
the centres follow. The form is ours; in the notation of the KDD'22 paper it is what its
penalty method tends to, with the true costs in place of 0/1 mismatches.
"""

import itertools
from dataclasses import dataclass
from typing import ClassVar

from .passes import descend, finish, starts

# A direct fit at one lambda approaches it from below: clusters that a tree loses while lambda
# is large do not come back.
_APPROACH = (0.1, 1.0)


@dataclass(frozen=True)
class DirectForm:
    """Passes that descend on the cost, at a tenth of lambda and then at lambda.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import DirectForm, TAOClustering
    >>> model = TAOClustering(3, lambda_=1.0, algorithm=DirectForm(), random_state=0)
    >>> model.fit(load_iris().data).tree_.n_leaves
    3
    """

    is_direct: ClassVar[bool] = True

    def run(self, search, trees, lambda_, random_state=None):
        """Descend from the best of some initial trees.

        Parameters
        ----------
        search : Search
        trees : iterator of Tree
        lambda_ : float
        random_state : int, RandomState instance or None
            Of the sample of rows on which initial trees are compared.

        Yields
        ------
        State, of which the last one is the result
        """
        first = next(trees)
        yield search.evaluate(first)
        strengths = [share * lambda_ for share in _APPROACH]
        for state in starts(search, itertools.chain([first], trees), strengths[0], random_state):
            yield state
        for strength in strengths:
            state = descend(search, state, strength)
            yield state
        yield from finish(search, state, lambda_)
