"""Helpers of all packages: matrices, options, threads, compilation, warnings."""
