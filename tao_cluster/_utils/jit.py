"""The decorator that compiles every numba kernel of both packages."""

import contextlib
import functools
import gc
import hashlib
import os
import warnings

import numba
import numpy as np
from numba import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.sigutils import normalize_signature
from numba.extending import overload

# Compiled kernels are cached on disk. TAO_CLUSTER_CACHE=0 disables the cache, for example if
# several Python builds share one directory.
_CACHE = os.environ.get("TAO_CLUSTER_CACHE", "1") != "0"

# Kernels are not called from C. No kernel expects an error at a division by 0: the check of each
# division takes time to compile and to run.
_OPTIONS = {"nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}


def jit(function=None, **options):
    """Return a numba kernel that is compiled at its first call and releases the GIL.

    The kernel is compiled for the types of each call, so inputs may be C-ordered, Fortran-ordered,
    strided or read-only, and float32 or float64. Fastmath is off, because the order of
    summation decides on which side of a hyperplane a row lies.

    Parameters
    ----------
    function : callable, optional
        The function to compile. If it is omitted, `jit` returns a decorator with the given options.
    **options
        Further options of :func:`numba.njit`.

    Warns
    -----
    RuntimeWarning
        If no cache folder is writable: neither the package, nor the cache folder of the user, nor
        NUMBA_CACHE_DIR; or if writing fails, for example because the disk is full. Then every
        process compiles the kernels again. The warning is issued once per process.
    """
    if function is None:
        return functools.partial(jit, **options)
    kernel = numba.njit(function, **_OPTIONS | options)
    if numba.config.DISABLE_JIT:
        return kernel
    kernel._compiler.compile = _without_collections(kernel._compiler.compile)
    kernel.get_call_template = _without_literals(kernel.get_call_template)
    if _CACHE:
        try:
            kernel._cache = _CheckedCache(function)  # ``cache=True`` has no such check
        except RuntimeError:
            _warn_once("no cache folder is writable")
    return kernel


def _without_collections(function):
    """Return the compiler of a kernel, which then collects no garbage.

    It creates many objects that stay, so that collections would take 7 % of its time.
    """

    @functools.wraps(function)
    def compiled(*arguments):
        if not gc.isenabled():
            return function(*arguments)
        try:
            gc.disable()
            return function(*arguments)
        finally:
            gc.enable()

    return compiled


def _without_literals(resolve):
    """Return the function that finds the code for a call by another kernel, for types alone.

    Otherwise, the call f(0) would compile `f` for the constant 0, besides the code for an int.
    """

    @functools.wraps(resolve)
    def resolved(args, kws):
        return resolve(tuple(map(types.unliteral, args)), kws)

    return resolved


class _FilesOfThisNumba(CompileResultCacheImpl):
    """Cache files whose names contain the version of numba.

    Without it, two environments that share the package's folder write to the same files, and one
    may read code of the other's compiler.
    """

    def get_filename_base(self, fullname, abiflags):
        """Return the name of the files of one kernel, without its ending."""
        return f"{super().get_filename_base(fullname, abiflags)}-numba{numba.__version__}"


class _CheckedCache(FunctionCache):
    """Numba's disk cache, in which no state of its files can end a fit."""

    _impl_class = _FilesOfThisNumba

    def _index_key(self, sig, codegen):
        # Numba looks at the file of the kernel alone, not at the kernels that it calls.
        return (*super()._index_key(sig, codegen), _digest(self._py_func))

    def load_overload(self, sig, target_context):
        """Return the cached code for a signature, or None if it has to be compiled.

        If several processes write to the cache at the same time, a file may contain the code of
        another signature than its name says. A process that was killed, or a full disk, may leave
        an empty or truncated file; `flush` then lets the next compilation replace it.
        """
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # reading a damaged pickle can raise an exception of any type
            with contextlib.suppress(OSError):
                self.flush()
            return None
        is_right = found is None or tuple(found.signature.args) == normalize_signature(sig)[0]
        return found if is_right else None

    def save_overload(self, sig, data):
        """Write the compiled code; if that fails, warn."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _warn_once(f"writing to {self.cache_path} fails ({error.strerror})")


@functools.cache
def _digest(function):
    """Return a digest of the code and the constants of a function and of the kernels it calls."""
    digest, waiting, seen = hashlib.sha256(repr(_OPTIONS).encode()), [function], set()
    while waiting:
        one = waiting.pop()
        one = getattr(one, "py_func", one)
        if one in seen:
            continue
        seen.add(one)
        code = one.__code__
        used = [one.__globals__.get(name) for name in code.co_names]
        constants = [code.co_consts, *(value for value in used if isinstance(value, int | float))]
        digest.update(code.co_code + repr(constants).encode())
        for value in used:
            waiting += getattr(value, "choices", [value] if hasattr(value, "py_func") else [])
    return digest.hexdigest()


def chosen_by(is_first, first, second):
    """Return a function that calls `first` or `second`, depending on the type of its argument 0.

    Parameters
    ----------
    is_first : callable(type or value of the first argument) -> bool
        If it returns True, `first` is called, otherwise `second`.
    first, second : functions with the same parameters, not compiled

    Returns
    -------
    function
        Only compiled kernels can call this function, except if NUMBA_DISABLE_JIT is set.
    """

    def choose(*arguments):
        return first if is_first(arguments[0]) else second

    if numba.config.DISABLE_JIT:
        return lambda *arguments: choose(*arguments)(*arguments)

    def name(*arguments):
        raise NotImplementedError("Only compiled kernels can call this function.")

    overload(name, strict=False)(choose)
    name.choices = first, second
    return name


def _is_array(X):
    return isinstance(X, (types.Array, np.ndarray))


# by_layout(first, second) returns a function that calls `first` if its first argument is an array,
# and `second` if it is the tuple (data, indices, indptr) of a sparse matrix.
by_layout = functools.partial(chosen_by, _is_array)


@functools.cache
def _warn_once(reason):
    warnings.warn(
        f"Compiled kernels cannot be cached, because {reason}. Set NUMBA_CACHE_DIR to a "
        "writable folder, or TAO_CLUSTER_CACHE=0 to compile in every process without this warning.",
        RuntimeWarning,
        stacklevel=4,
    )
