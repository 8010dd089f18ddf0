"""The tables, a file each."""
