"""Ways down: passes at one lambda, refits, regrowth; the direct form and the penalty method."""
