"""The search over structures of axis-aligned trees: a sketch of the rows, kernels, moves."""
