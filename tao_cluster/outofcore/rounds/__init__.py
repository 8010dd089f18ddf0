"""Rounds over all rows: what these say of a tree, and how it becomes better for them."""
