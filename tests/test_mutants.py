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


def test_each_list_has_the_mutants_of_its_folder():
    for path in mutants.LISTS:
        for mutant in mutants.read(path.read_text("utf-8")):
            package, part, *_ = *mutant.where.split("/"), ""
            part = package if package == "greedy" or part.endswith(".py") else part.strip("_")
            assert path.stem == part, mutant.name


def test_a_word_that_no_mutant_has_raises(capsys):
    with pytest.raises(SystemExit):
        mutants.main(["--only", "no such word"])
    assert "no mutant has 'no such word'" in capsys.readouterr().err


def test_a_list_without_a_meaning_raises():
    with pytest.raises(ValueError, match="Neither a mutant nor a heading"):
        mutants.read("file: a.py\n* b")


@pytest.mark.sweep
def test_mutants_die(capsys):
    n_alive = mutants.main([])
    assert n_alive == 0, capsys.readouterr().out
