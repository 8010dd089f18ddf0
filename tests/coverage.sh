#!/usr/bin/env bash
# Line coverage of both packages: the quick tests, and some on small data with kernels as Python.
# Numba's wrapped sums warn there; about ten minutes of one core.
set -euo pipefail
cd "$(dirname "$0")/.."
export MPLBACKEND=Agg
coverage erase
coverage run -m pytest -q
NUMBA_DISABLE_JIT=1 coverage run -m pytest -q -W ignore::RuntimeWarning \
  tests/tree/test_tree.py tests/problem tests/solvers/test_node_solvers.py \
  tests/greedy/test_{greedy_cuts,purest_cuts}.py \
  tests/greedy/baselines/test_{exkcenter,exsinglelink,random_cuts}.py
coverage combine
coverage report
