"""The search for a tree: starts, tree step, descent, penalty method, paths and goals."""
