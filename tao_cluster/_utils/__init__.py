"""Helpers for all packages: matrices, options, threads, compilation, warnings."""
