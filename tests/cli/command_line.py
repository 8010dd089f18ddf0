"""The command line in this process, as ``python -m tao_cluster`` starts it."""

import runpy

import pytest


def main(arguments):
    """Run the command line with some arguments, and return its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["tao-cluster", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            runpy.run_module("tao_cluster", run_name="__main__")
    return end.value.code
