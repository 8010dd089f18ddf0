"""The list of mutants is current; and, slowly, its mutants die."""

import mutants
import pytest


@pytest.mark.parametrize("mutant", mutants.MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_applies_to_one_place(mutant):
    assert len(mutant.paths()) == 1
    old, new = mutant.texts()
    assert old != new
    for test in mutant.tests:
        assert (mutants.ROOT / test.split("::")[0]).exists(), test


def test_a_list_without_a_meaning_is_refused():
    with pytest.raises(ValueError, match="Neither a mutant nor a heading"):
        mutants.read("file: a.py\n* b")


@pytest.mark.sweep
def test_mutants_die(capsys):
    n_alive = mutants.main([])
    assert n_alive == 0, capsys.readouterr().out
