"""Threads of our own, one thread for the libraries below, and where Ctrl-C may strike."""

from .interrupts import uninterrupted
from .limits import one_thread
from .pools import fixed_parts, map_in_threads, n_threads

__all__ = ["fixed_parts", "map_in_threads", "n_threads", "one_thread", "uninterrupted"]
