"""Mutated files of trees and models: ValueError, or a tree that every use of it can afford."""

import copy
import json
import time
import tracemalloc

import numpy as np
import pytest
from conftest import random_tree

from tao_cluster import Tree

ODD = [None, -1, -5, 0, 1, 3, 10**15, 2**31 - 1, -(2**63), 1e308, 5e-324, 0.5, -0.0]
ODD += ["x", "1", "", [], [1], [[0, 1]], {}, {"a": 1}, True, float("nan"), float("inf")]
# Of a file of some kB; what any one file may take.
SECONDS, BYTES = 1.0, 50e6


def _odd(rng):
    return copy.deepcopy(ODD[rng.integers(len(ODD))])  # which may be changed again


def _value(document, rng):
    """One value of a field is another one, or the field is."""
    name = _name(document, rng)
    value, part = _odd(rng), document[name]
    if isinstance(part, list) and part and rng.random() < 0.9:
        part[rng.integers(len(part))] = value
    else:
        document[name] = value


def _length(document, rng):
    """A field is cut, repeated, turned round or has one entry twice."""
    name = _name(document, rng)
    part = document[name]
    if isinstance(part, list) and part:
        at = rng.integers(len(part))
        changes = [part[:at], part[at:], part + part[:at], part[::-1], part[:at] + part[at - 1 :]]
        document[name] = changes[rng.integers(len(changes))]


def _swap(document, rng):
    """Two values of a field change places, or two fields do."""
    one, other = _name(document, rng), _name(document, rng)
    part = document[one]
    if isinstance(part, list) and part and rng.random() < 0.8:
        i, j = rng.integers(len(part), size=2)
        part[i], part[j] = part[j], part[i]
    else:
        document[one], document[other] = document[other], document[one]


def _nudge(document, rng):
    """A whole number is a little more or less."""
    name = _name(document, rng)
    part = document[name]
    here, at = document, name
    if isinstance(part, list) and part:
        here, at = part, rng.integers(len(part))
    if isinstance(here[at], int):
        here[at] += int(rng.integers(-3, 4))


def _drop(document, rng):
    """A field is gone, or there is one more."""
    if rng.random() < 0.5:
        del document[_name(document, rng)]
    else:
        document["another"] = _odd(rng)


def _name(document, rng):
    names = list(document)
    return names[rng.integers(len(names))]


MUTATIONS = [_value, _value, _length, _swap, _nudge, _drop]


def _bytes(text, rng):
    """A text with some characters changed, cut or moved."""
    at, to = sorted(rng.integers(len(text), size=2))
    changes = [
        text[:at],
        text[:at] + chr(rng.integers(1, 256)) + text[at + 1 :],
        text[:at] + text[to:],
        text[:to] + text[at:],
        text[:at] + '0123456789[]{},:"-.e'[rng.integers(20)] + text[at:],
    ]
    return changes[rng.integers(len(changes))]


def mutated(n_files, rng):
    """Texts of trees with one to four changes."""
    for number in range(n_files):
        if number % 100 == 0:
            n_nodes = int(2 * rng.integers(20) + 1)
            tree = random_tree(rng, n_nodes=n_nodes)
            if rng.random() < 0.5:
                tree = tree.with_leaves(tree.leaf_label, rng.random((n_nodes, 4)))
            text = tree.to_json()
        if rng.random() < 0.2:
            yield _bytes(text, rng)
            continue
        document = json.loads(text)
        for _ in range(rng.integers(1, 5)):
            MUTATIONS[rng.integers(len(MUTATIONS))](document, rng)
        yield json.dumps(document)


def use(tree):
    """Whatever one can ask of a tree without data; its predictions for two rows."""
    X = np.zeros((2, tree.n_features))
    labels = tree.predict(X)
    np.testing.assert_array_equal(tree.prune().predict(X), labels)
    assert tree.decision_path(X).shape == (2, tree.n_nodes)
    assert Tree.from_json(tree.to_json()) == tree
    assert len(tree.to_rules()) <= tree.n_leaves
    assert tree.to_text()
    assert tree._repr_html_()


def check(n_files, seed):
    """Read and use mutated files; how many were accepted."""
    rng = np.random.default_rng(seed)
    use(random_tree(rng))  # compiles
    n_accepted = 0
    tracemalloc.start()
    try:
        for text in mutated(n_files, rng):
            tracemalloc.reset_peak()
            before, start = tracemalloc.get_traced_memory()[0], time.process_time()
            try:
                tree = Tree.from_json(text)
            except ValueError as error:
                assert str(error).endswith("."), text  # noqa: PT017
            else:
                use(tree)
                n_accepted += 1
            assert time.process_time() - start < SECONDS, text
            assert tracemalloc.get_traced_memory()[1] - before < BYTES, text
    finally:
        tracemalloc.stop()
    return n_accepted


@pytest.mark.slow
def test_mutated_files_are_refused_or_can_be_used():
    assert 4 < check(150, seed=0) < 112


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(1, 4))
def test_30_000_mutated_files(seed):
    assert 250 < check(10_000, seed) < 7500
