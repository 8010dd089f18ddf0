"""The methods: pure functions from rows and reference centres to a tree, and rules of growth."""
