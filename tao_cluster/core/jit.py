"""The one numba switch: how every kernel of both packages is compiled."""

import functools
import os
import warnings

import numba

# Compiled kernels are kept on disk between runs; TAO_CLUSTER_CACHE=0 turns that off
# (several Python builds that share one directory, say).
_CACHE = os.environ.get("TAO_CLUSTER_CACHE", "1") != "0"


def jit(function=None, **options):
    """Compile a kernel at its first call, without the GIL.

    Lazy signatures: C, Fortran, strided, read-only, float32 and float64 inputs all compile.
    No fastmath: the order of every sum is part of what a tree means near its hyperplanes.

    Parameters
    ----------
    function : callable; without it, the decorator with these options
    **options
        Further options of :func:`numba.njit`.

    Warns
    -----
    RuntimeWarning
        Once, if there is nowhere to keep compiled kernels: neither beside the package, nor in a
        cache folder of the user, nor in NUMBA_CACHE_DIR. Then every process compiles anew.
    """
    if function is None:
        return functools.partial(jit, **options)
    options = {"nogil": True, "no_cfunc_wrapper": True, **options}  # no C code calls kernels
    if _CACHE:
        try:
            return numba.njit(function, cache=True, **options)
        except RuntimeError:
            _tell_once()
    return numba.njit(function, **options)


@functools.cache
def _tell_once():
    warnings.warn(
        "Compiled kernels cannot be kept: no folder for them is writable. Set NUMBA_CACHE_DIR to "
        "one, or TAO_CLUSTER_CACHE=0 to compile in every process without this warning.",
        RuntimeWarning,
        stacklevel=4,
    )
