"""Which tasks of a dask graph make which block, and which of them several blocks share.

The tasks of one block run as one task of the cluster together with what is asked of the block. So
a thread holds one block at a time; dask's own order would read ahead, and keep what was read.
"""

from dataclasses import dataclass
from typing import Any

import dask
from dask.core import flatten, get_dependencies, literal
from dask.optimization import cull
from distributed import futures_of

_SHARED = -1


@dataclass(frozen=True, eq=False)
class Recipe:
    """How one block is made.

    Parameters
    ----------
    keys : tuple of (key of X, of the weights or None, of the embedding or None)
    tasks : dict of key to task, of this block alone
    outer : list of keys that tasks need and others make: shared tasks, and persisted data
    """

    keys: tuple
    tasks: dict
    outer: list

    def make(self, outer):
        """X, weights or None, embedding or None; `outer` are the values of the outer keys."""
        given = {key: (literal(value),) for key, value in zip(self.outer, outer, strict=True)}
        asked = [key for key in self.keys if key is not None]
        made = dict(zip(asked, dask.get({**self.tasks, **given}, asked), strict=True))
        return tuple(None if key is None else made[key] for key in self.keys)


@dataclass(frozen=True, eq=False)
class Plan:
    """How all blocks are made.

    Parameters
    ----------
    recipes : list of Recipe, one a block
    shared : dict of key to task, of tasks that several blocks need
    futures : dict of key to Future, of what is on a cluster already
    last_use : dict of key to int, the last block that needs an outer key
    """

    recipes: list[Recipe]
    shared: dict
    futures: dict
    last_use: dict

    @classmethod
    def of(cls, collections):
        """The plan for collections that have as many blocks as each other.

        Parameters
        ----------
        collections : tuple of three dask collections; all but the first may be None
        """
        present = [part for part in collections if part is not None]
        futures = {future.key: future for future in futures_of(present)}
        optimised = iter(_optimised(present))
        parts = [None if part is None else next(optimised) for part in collections]
        keys = [None if part is None else list(flatten(part.__dask_keys__())) for part in parts]
        keys = [[None] * len(keys[0]) if part is None else part for part in keys]
        graph = {}
        for part in parts:
            graph.update({} if part is None else part.__dask_graph__())
        graph = {key: task for key, task in graph.items() if key not in futures}
        return cls(*_divided(graph, futures, list(zip(*keys, strict=True))))

    def closure(self, keys):
        """The shared tasks that make some shared keys."""
        return cull({**self.shared, **self.futures}, list(keys))[0]


def _optimised(collections):
    """The collections with optimised graphs; what arrays share is made once.

    Frames go one by one: of several `dask.optimize` returns wrong ones (dask 2026.8).
    """
    arrays = [part for part in collections if not hasattr(part, "divisions")]
    arrays = iter(dask.optimize(*arrays))
    return [part.optimize() if hasattr(part, "divisions") else next(arrays) for part in collections]


def _divided(graph, futures, keys_of_blocks):
    """The arguments of Plan."""
    known = {**graph, **futures}
    needs = {key: get_dependencies(known, key) for key in graph}
    owner = _owners(needs, keys_of_blocks)
    tasks = [{} for _ in keys_of_blocks]
    for key, number in owner.items():
        if number != _SHARED:
            tasks[number][key] = graph[key]
    recipes, last_use = [], {}
    for number, (keys, own) in enumerate(zip(keys_of_blocks, tasks, strict=True)):
        used = dict.fromkeys(key for key in keys if key is not None)
        for key in own:
            used.update(dict.fromkeys(sorted(needs[key], key=str)))
        outer = [key for key in used if key not in own]
        recipes.append(Recipe(keys, own, outer))
        last_use.update(dict.fromkeys(outer, number))
    shared = {key: graph[key] for key, number in owner.items() if number == _SHARED}
    return recipes, shared, futures, last_use


def _owners(needs, keys_of_blocks):
    """The one block that needs a task, or that there are several; each task is seen twice at most.

    Parameters
    ----------
    needs : dict of key to the keys it needs
    keys_of_blocks : list of tuples of keys or None

    Returns
    -------
    dict of key to int
    """
    owner: dict[Any, int] = {}
    for number, keys in enumerate(keys_of_blocks):
        waiting = [(key, number) for key in keys if key in needs]
        while waiting:
            key, user = waiting.pop()
            before = owner.get(key)
            after = user if before is None or before == user else _SHARED
            if after != before:
                owner[key] = after
                waiting.extend((other, after) for other in needs[key] if other in needs)
    return owner
