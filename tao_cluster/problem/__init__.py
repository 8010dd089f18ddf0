"""The problem that a fit solves: checked inputs, distinct rows, scaling and free clustering."""
