"""The one numba switch: how every kernel of both packages is compiled."""

import functools
import os
import warnings

import numba
import numpy as np
from numba import types
from numba.core.caching import FunctionCache
from numba.core.sigutils import normalize_signature
from numba.extending import overload

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
    kernel = numba.njit(function, **options)
    if _CACHE and not numba.config.DISABLE_JIT:
        try:
            kernel._cache = _CheckedCache(function)  # as ``cache=True`` does with numba's own
        except RuntimeError:  # numba finds no folder that it can write to
            _warn_once()
    return kernel


class _CheckedCache(FunctionCache):
    """Numba's cache on disk, where two processes may write the file of another signature."""

    def load_overload(self, sig, target_context):
        """Return the compiled code of a signature; None if the file holds another signature."""
        found = super().load_overload(sig, target_context)
        is_right = found is None or tuple(found.signature.args) == normalize_signature(sig)[0]
        return found if is_right else None


def chosen_by(is_first, first, second):
    """Two functions behind one name, for kernels to call: which one the first argument tells.

    Parameters
    ----------
    is_first : callable(type or value of the first argument) -> bool
    first, second : functions of the same parameters, not compiled yet

    Returns
    -------
    function, which only kernels can call; under NUMBA_DISABLE_JIT everybody can
    """

    def choose(*arguments):
        return first if is_first(arguments[0]) else second

    if numba.config.DISABLE_JIT:
        return lambda *arguments: choose(*arguments)(*arguments)

    def name(*arguments):
        raise NotImplementedError("Only kernels can call this.")

    overload(name, strict=False)(choose)
    return name


def _is_array(X):
    return isinstance(X, (types.Array, np.ndarray))


# A function for an array and one for the tuple (data, indices, indptr) of a sparse matrix.
by_layout = functools.partial(chosen_by, _is_array)


@functools.cache
def _warn_once():
    warnings.warn(
        "Compiled kernels cannot be kept: no folder for them is writable. Set NUMBA_CACHE_DIR to "
        "one, or TAO_CLUSTER_CACHE=0 to compile in every process without this warning.",
        RuntimeWarning,
        stacklevel=4,
    )
