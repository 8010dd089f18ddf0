"""Compilation of kernels: kept where that can be, done all the same where it cannot."""

import warnings

import pytest

from tao_cluster.core import jit as switch


@pytest.fixture
def nowhere():
    """A function without a file beside which, or for which, compiled code could be kept."""
    scope = {}
    exec("def double(x):\n    return 2 * x\n", scope)  # noqa: S102
    switch._tell_once.cache_clear()
    return scope["double"]


def test_without_a_folder_kernels_compile_and_one_warning_says_so(nowhere):
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR") as caught:
        double, again = switch.jit(nowhere), switch.jit(error_model="numpy")(nowhere)
    assert len(caught) == 1
    assert double(3.0) == again(3.0) == 6.0


def test_the_cache_can_be_turned_off(nowhere, monkeypatch):
    monkeypatch.setattr(switch, "_CACHE", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert switch.jit(nowhere)(3.0) == 6.0
