"""The DOT text has every node and edge once, and its labels stay inside their quotes."""

import re

from conftest import tree_of
from export_cases import AWKWARD, every_case

from tao_cluster.export import to_dot


@every_case
def test_nodes_and_edges_are_those_of_the_tree(case):
    model, X, _ = case()
    tree, text = tree_of(model), to_dot(model, AWKWARD[: X.shape[1]], X=X)
    quoted = r'"(?:[^"\\\n]|\\.)*"'
    nodes = re.findall(rf"^  (\d+) \[label={quoted}(?:, style=rounded)?\];$", text, re.MULTILINE)
    edges = re.findall(rf"^  (\d+) -> (\d+) \[label={quoted}\];$", text, re.MULTILINE)
    assert len(nodes) + len(edges) + 4 == len(text.splitlines())
    assert [int(i) for i in nodes] == list(range(tree.n_nodes))
    assert sorted(int(child) for _, child in edges) == list(range(1, tree.n_nodes))
    assert all(tree.parent[int(child)] == int(parent) for parent, child in edges)
