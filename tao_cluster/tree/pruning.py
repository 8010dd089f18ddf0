"""Pruning: the smallest tree with the outputs that the nodes of a tree give."""

import numpy as np


def pruned(tree, counts=None):
    """A tree without the tests that decide nothing; see :meth:`tao_cluster.Tree.prune`.

    Parameters
    ----------
    tree : Tree
    counts : array of shape (n_nodes,), optional
        Rows, or their weight, that reach each node.

    Returns
    -------
    Tree, its nodes numbered breadth-first
    """
    reached = None if counts is None else np.asarray(counts) > 0
    left, right = tree.children_left, tree.children_right
    stands_for = np.arange(tree.n_nodes)  # the node that takes this one's place
    for i in tree.decision_nodes[::-1]:
        on_left, on_right = stands_for[left[i]], stands_for[right[i]]
        if tree.split_indptr[i] == tree.split_indptr[i + 1]:
            stands_for[i] = on_left if tree.threshold[i] >= 0.0 else on_right
        elif reached is not None and not reached[left[i]]:
            stands_for[i] = on_right
        elif (reached is not None and not reached[right[i]]) or _same_output(
            tree, on_left, on_right
        ):
            stands_for[i] = on_left
    order = [stands_for[0]]
    for node in order:  # grows while it is read: breadth-first
        if left[node] >= 0:
            order += [stands_for[left[node]], stands_for[right[node]]]
    return _selected(tree, np.array(order), stands_for)


def _same_output(tree, a, b):
    """Whether two nodes are leaves of the same output."""
    if tree.children_left[a] >= 0 or tree.children_left[b] >= 0:
        return False
    value = tree.leaf_value
    return tree.leaf_label[a] == tree.leaf_label[b] and (
        value is None or np.array_equal(value[a], value[b])
    )


def _selected(tree, order, stands_for):
    """The tree of the nodes `order`, where node i's place is taken by stands_for[i]."""
    number = np.full(tree.n_nodes, -1)
    number[order] = np.arange(len(order))

    def renumber(children):
        children = children[order]
        return np.where(children < 0, -1, number[stands_for[children]])

    return tree.from_splits(
        renumber(tree.children_left),
        renumber(tree.children_right),
        [tree.split(i) for i in order],
        tree.threshold[order],
        tree.leaf_label[order],
        tree.n_features,
        None if tree.leaf_value is None else tree.leaf_value[order],
    )
