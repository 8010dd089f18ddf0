"""Axis-aligned trees for explainable clustering, built greedily from reference centres."""

__all__: list[str] = []
