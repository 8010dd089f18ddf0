"""Optimisation of trees: initial trees, tree steps, descent, penalty method, paths, size limits."""
