"""The one numba switch: how every kernel of both packages is compiled."""

import functools
import os

import numba

# Compiled kernels are kept on disk between runs; TAO_CLUSTER_CACHE=0 turns that off
# (read-only installations, or several Python builds that share one directory).
CACHE = os.environ.get("TAO_CLUSTER_CACHE", "1") != "0"

# Lazy signatures: C, Fortran, strided, read-only, float32 and float64 inputs all compile.
# No fastmath: the order of every sum is part of what a tree means near its hyperplanes.
jit = functools.partial(numba.njit, nogil=True, cache=CACHE)
