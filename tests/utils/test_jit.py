"""Compilation of kernels: kept where that can be, done all the same where it cannot."""

import importlib
import sys
import warnings

import numba
import pytest

from tao_cluster._utils import jit as switch


@pytest.fixture
def nowhere():
    """A function without a file beside which, or for which, compiled code could be kept."""
    scope = {}
    exec("def double(x):\n    return 2 * x\n", scope)  # noqa: S102
    switch._warn_once.cache_clear()
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


def test_compiled_kernels_are_kept_and_another_signature_is_not_taken(tmp_path, monkeypatch):
    script, folder = tmp_path / "kernel.py", tmp_path / "kept"
    script.write_text("def double(x):\n    return 2 * x\n", encoding="utf-8")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "kernel", raising=False)
    function = importlib.import_module("kernel").double

    def n_from_disk():
        double = switch.jit(function)
        assert (double(3.0), double(4)) == (6.0, 8)
        return sum(double.stats.cache_hits.values())

    assert (n_from_disk(), n_from_disk()) == (0, 2)
    one, other = sorted(folder.rglob("*.nbc"))
    other.write_bytes(one.read_bytes())  # as two processes do that save at the same moment
    assert (n_from_disk(), n_from_disk()) == (1, 2)


def test_two_versions_of_numba_do_not_share_files(tmp_path, monkeypatch):
    (tmp_path / "kernel.py").write_text("def double(x):\n    return 2 * x\n", encoding="utf-8")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "kernel", raising=False)
    function = importlib.import_module("kernel").double
    for version in ("0.1", "0.2"):
        monkeypatch.setattr(numba, "__version__", version)
        switch.jit(function)(3.0)
    monkeypatch.setattr(numba, "__version__", "0.1")
    kernel = switch.jit(function)
    assert kernel(3.0) == 6.0
    assert sum(kernel.stats.cache_hits.values()) == 1


def test_kernels_are_plain_functions_without_a_compiler(nowhere, monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert switch.jit(nowhere) is nowhere
