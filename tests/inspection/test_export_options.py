"""Options of the exports that are none: one sentence each, at once."""

import itertools

import pytest

from tao_cluster import Tree
from tao_cluster.export import to_dataframe, to_dot, to_rules, to_sql, to_text

TREE = Tree.from_splits(
    [1, -1, -1], [2, -1, -1], [([0, 1], [1.0, -2.0]), None, None], [0.5, 0, 0], [-1, 0, 1], 2
)
EXPORTS = [to_text, to_rules, to_dot, to_dataframe]
PRECISIONS = [-1, 0, 1.5, "3", 10**9, None, float("nan")]
TERMS = [-1, 0, 1.5, "3"]


@pytest.mark.parametrize("write", EXPORTS)
@pytest.mark.parametrize(
    ("option", "value"),
    [*(("precision", value) for value in PRECISIONS), *(("max_terms", value) for value in TERMS)],
)
def test_what_no_option_is_gets_a_sentence(write, option, value):
    with pytest.raises(ValueError, match=f"The '{option}' parameter of {write.__name__} must be"):
        write(TREE, **{option: value})


@pytest.mark.parametrize("write", [*EXPORTS, to_sql])
@pytest.mark.parametrize("names", [0, "ab", itertools.count(), (name for name in "ab"), 1.5])
def test_names_are_a_sequence(write, names):
    """A generator may have no end."""
    with pytest.raises(ValueError, match="Feature names must be a sequence of 2 strings, got"):
        write(TREE, names)


def test_a_table_has_a_name():
    with pytest.raises(ValueError, match="The 'table' parameter of to_sql must be"):
        to_sql(TREE, table=3)


@pytest.mark.parametrize("write", EXPORTS)
def test_all_digits_that_a_float_has(write):
    assert "0.5" in str(write(TREE, precision=17))
