"""The list of mutants is current; and, slowly, its mutants die."""

import mutants
import pytest


def test_every_mutant_applies_to_one_place():
    not_once, others = [], []
    for mutant in mutants.MUTANTS:
        if len(mutant.paths()) != 1:
            not_once.append(mutant.name)
            continue
        old, new = mutant.texts()
        exist = [(mutants.ROOT / test.split("::")[0]).exists() for test in mutant.tests]
        if old == new or not all(exist):
            others.append(mutant.name)
    assert (not_once, others) == ([], [])


def test_a_list_without_a_meaning_is_refused():
    with pytest.raises(ValueError, match="Neither a mutant nor a heading"):
        mutants.read("file: a.py\n* b")


@pytest.mark.sweep
def test_mutants_die(capsys):
    n_alive = mutants.main([])
    assert n_alive == 0, capsys.readouterr().out
