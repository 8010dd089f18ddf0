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


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """What calls a new kernel with two types: how many came from disk; and the folder."""
    script, folder = tmp_path / "kernel.py", tmp_path / "kept"
    script.write_text("def double(x):\n    return 2 * x\n", encoding="utf-8")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "kernel", raising=False)
    function = importlib.import_module("kernel").double

    def run():
        double = switch.jit(function)
        assert (double(3.0), double(4)) == (6.0, 8)
        return sum(double.stats.cache_hits.values())

    assert (run(), run()) == (0, 2)
    run.folder = folder
    return run


@pytest.mark.parametrize("part", [0, 0.5, 0.95])
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_cut_files_of_kernels_are_written_anew(kept, suffix, part):
    for file in kept.folder.rglob("*" + suffix):
        content = file.read_bytes()
        file.write_bytes(content[: int(part * len(content))])
    assert kept() < 2
    assert kept() == 2


def test_code_of_another_signature_is_not_taken(kept):
    """Two processes that save at once may give two signatures one file."""
    one, other = sorted(kept.folder.rglob("*.nbc"))
    other.write_bytes(one.read_bytes())
    assert kept() == 1
    assert kept() < 2
    assert kept() == 2


def test_a_disk_that_takes_no_more_stops_nothing(kept, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    for file in kept.folder.rglob("*.nb?"):
        file.unlink()
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    switch._tell_once.cache_clear()
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR"):
        assert kept() == 0


def test_kernels_are_plain_functions_without_a_compiler(nowhere, monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert switch.jit(nowhere) is nowhere
