"""The tree step: a pass over a tree, the decisions it remembers, and trimming at the end."""
