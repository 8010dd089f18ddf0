"""Cuts that part two classes against plain searches over all cuts, in every form of X."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from greedy.cuts import code_dense, code_stored
from greedy.cutting import Cutter
from greedy.points import columns_of

FORMS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "float32": lambda X: X.astype(np.float32),
    "sparse": sp.csr_matrix,
    "columns": sp.csc_matrix,
    "sparse32": lambda X: sp.csr_matrix(X.astype(np.float32)),
}


def plain_best(X, goes_right, weight, price=0.0):
    """(saving, feature, threshold, is_flipped) by trying every cut in the order of ties."""
    total, best = weight.sum(), None
    constant = min(weight[goes_right].sum(), weight[~goes_right].sum())
    for feature, column in enumerate(X.T):
        order = np.argsort(column, kind="stable")
        signed = np.where(goes_right, -weight, weight)[order]
        excess = np.cumsum(signed)
        for at in np.flatnonzero(np.diff(column[order], append=np.inf) > 0):
            wrong = weight[~goes_right].sum() - excess[at]
            for is_flipped in (False, True):
                saving = constant - (total - wrong if is_flipped else wrong)
                if saving > (price if best is None else best[0]):
                    best = (saving, feature, column[order[at]], is_flipped)
    return best


def columns_of_kinds(rng, n):
    """Columns with many, few, one and two values, with many zeros and with ties."""
    normal = rng.normal(size=n)
    kinds = [
        normal,
        np.round(normal, 2),
        rng.integers(-2, 3, n),
        normal * (rng.random(n) < 0.3),
        np.where(rng.random(n) < 0.4, 0.25, rng.normal(size=n)),
        np.exp(8 * rng.normal(size=n)),
        np.full(n, 3.0),
        np.zeros(n),
        rng.random(n) < 0.1,
        rng.permutation(n) % 256,
        rng.permutation(n) % 257,
        np.abs(normal) * (rng.random(n) < 0.02),
    ]
    X = np.column_stack(kinds)[:, rng.permutation(len(kinds))[: rng.integers(1, 13)]]
    return X.astype(np.float32).astype(float)


def labels(rng, X):
    """Classes that a cut of some column parts badly, well, or not at all."""
    column = X[:, rng.integers(X.shape[1])]
    goes_right = column > column[rng.integers(len(X))]
    goes_right ^= rng.random(len(X)) < rng.choice([0.0, 0.1, 0.4, 0.5])
    return goes_right


def as_tuple(cut):
    return cut and (cut.gain, cut.feature, cut.threshold, cut.is_flipped)


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 10**6),
    n=st.sampled_from([2, 7, 60, 600, 1500]),
    share=st.sampled_from([0.05, 0.5, 1.0]),
    price=st.sampled_from([0.0, 0.5, 4.0]),
)
def test_best_cut_of_all_in_every_form(seed, n, share, price):
    """Bit by bit with whole weights, whose sums are exact."""
    rng = np.random.default_rng(seed)
    X = columns_of_kinds(rng, n)
    rows = np.sort(rng.choice(n, max(2, int(share * n)), replace=False))
    goes_right = labels(rng, X)[rows]
    weight = rng.integers(1, rng.choice([2, 5, 1000]), len(rows)).astype(float)
    best = plain_best(X[rows], goes_right, weight, price)
    expected = best and (best[0] - price, *best[1:])
    for name, form in FORMS.items():
        found = Cutter(form(X)).best(rows, goes_right, weight, price)
        assert as_tuple(found) == expected, name


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n_columns=st.sampled_from([30, 33, 120, 400]),
    share=st.sampled_from([0.02, 0.2, 1.0]),
    noise=st.sampled_from([0.0, 0.3, 0.5]),
)
def test_best_cut_of_wide_sparse_rows(seed, n_columns, share, noise):
    """More columns than are looked at by what they promise, many of which keep no promise."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(150, n_columns)), 1)
    X *= rng.random(X.shape) < 0.9 * rng.random(n_columns) ** 2
    rows = np.sort(rng.choice(150, max(2, int(share * 150)), replace=False))
    goes_right = (X[:, rng.integers(n_columns)] != 0) ^ (rng.random(150) < noise)
    weight = rng.integers(1, rng.choice([2, 5, 1000]), len(rows)).astype(float)
    best = plain_best(X[rows], goes_right[rows], weight)
    for form in ("sparse", "columns", "C"):
        assert as_tuple(Cutter(FORMS[form](X)).best(rows, goes_right[rows], weight)) == best, form


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6), digits=st.sampled_from([0, 3, 6, 12, 40]))
def test_weights_of_any_scale(seed, digits):
    """What is saved is right to the precision of the least loss, not of the largest weight."""
    rng = np.random.default_rng(seed)
    X = columns_of_kinds(rng, 400)
    goes_right = labels(rng, X)
    weight = rng.random(400) * 10.0 ** rng.integers(-digits, digits + 1)
    few = rng.random(400) < 0.02
    weight[few & goes_right] *= 10.0**digits
    total = sorted((weight[goes_right].sum(), weight[~goes_right].sum()))
    found = Cutter(X).best(np.arange(400), goes_right, weight)
    best = plain_best(X, goes_right, weight)
    tolerance = 1e-9 * total[0] + 1e-14 * total[1]  # the plain search has float sums
    assert (found.gain if found else 0) == pytest.approx(best[0] if best else 0, abs=tolerance)
    if found:
        on_left = X[:, found.feature] <= found.threshold
        wrong = on_left == goes_right
        wrong = ~wrong if found.is_flipped else wrong
        assert total[0] - weight[wrong].sum() == pytest.approx(found.gain, abs=tolerance)
        assert found.threshold in X[:, found.feature]


def test_tiny_weights_beside_huge_ones():
    """A row that nothing may cost leaves the order of the others to be found."""
    X = np.arange(6.0)[:, None]
    goes_right = np.array([False, True, False, True, True, True])
    weight = np.array([1.0, 3.0, 2.0, 1.0, 1.0, 1e30])
    cut = Cutter(X).best(np.arange(6), goes_right, weight)
    assert as_tuple(cut) == (1.0, 0, 0.0, False)
    weight[5] = 1e300
    assert Cutter(X).best(np.arange(6), goes_right, weight) == cut
    same = Cutter(X).best(np.arange(6), goes_right, weight * 2.0**-80)
    assert as_tuple(same) == (2.0**-80, 0, 0.0, False)


def test_ties_go_to_the_lowest_feature_then_threshold():
    rng = np.random.default_rng(0)
    column = rng.permutation(1000) / 7.0  # more values than bins
    few = np.floor(column / 20)  # fewer values
    for pair in ([few, column], [column, few]):
        X = np.column_stack([np.zeros(1000), *pair, column]).astype(np.float32).astype(float)
        goes_right = column > column[np.argsort(few)][500]
        for truth in (few >= 4, few < 4, goes_right, ~goes_right):
            expected = plain_best(X, truth, np.ones(1000))
            for form in FORMS.values():
                cut = Cutter(form(X)).best(np.arange(1000), truth, np.ones(1000))
                assert as_tuple(cut) == expected
    # Equal savings at several thresholds of one feature, the first of them inside a bin.
    column = np.arange(2000.0)
    goes_right = np.ones(2000, bool)
    goes_right[[100, 101, 1500, 1501]] = False
    weight = np.ones(2000)
    weight[:102] = 0.01
    weight[[100, 101]] = 10.0
    expected = plain_best(column[:, None], goes_right, weight)
    cut = Cutter(column[:, None]).best(np.arange(2000), goes_right, weight)
    assert (cut.feature, cut.threshold) == expected[1:3]


def test_threshold_is_a_value_of_the_node():
    """Bins without rows of the node, before and after its cut, do not move the threshold."""
    X = np.arange(200.0)[:, None]
    rows = np.array([10, 20, 150, 160])
    goes_right = np.array([False, False, True, True])
    for form in FORMS.values():
        for wide in (X, np.arange(4000.0)[:, None] / 20):
            data = form(wide)
            some = rows * (len(wide) // 200)
            cut = Cutter(data).best(some, goes_right, np.ones(4))
            assert as_tuple(cut) == (2.0, 0, 20.0, False)


def test_nothing_to_cut():
    X = np.column_stack([np.ones(300), np.zeros(300)])
    goes_right = np.arange(300) % 3 == 0
    for form in FORMS.values():
        cutter = Cutter(form(X))
        assert cutter.best(np.arange(300), goes_right, np.ones(300)) is None
        assert cutter.best(np.arange(300), np.ones(300, bool), np.ones(300)) is None
        assert cutter.best(np.arange(1), np.ones(1, bool), np.ones(1)) is None
    useful = Cutter(np.arange(10.0)[:, None])
    wanted = np.arange(10) > 4
    assert useful.best(np.arange(10), wanted, np.ones(10), 5.0) is None
    assert useful.best(np.arange(10), wanted, np.ones(10), 1e300) is None
    assert useful.best(np.arange(10), wanted, np.ones(10), 4.5).gain == 0.5


@pytest.mark.parametrize("n", [5, 600, 9000])
@pytest.mark.parametrize("form", ["C", "sparse"])
def test_bins_hold_the_values_they_say(n, form):
    """Few values have a bin each, even rare ones; so have values of many rows."""
    rng = np.random.default_rng(n)
    rare = np.zeros(n)
    rare[rng.integers(0, n, 200)] = rng.integers(1, 200, 200)  # hardly any in a sample
    often = np.where(rng.random(n) < 0.5, 0.5, rng.normal(size=n))
    X = np.column_stack([rng.permutation(n) % 256, rare, often, rng.normal(size=(n, 40))])
    stored = columns_of(sp.csr_matrix(X))
    codes = code_dense(X) if form == "C" else code_stored(stored, X.shape)
    for f, column in enumerate(X.T):
        if form == "C":
            code = codes.codes[f // codes.width][:, f % codes.width]
        else:
            code, own = np.full(n, codes.zero[f]), slice(stored[2][f], stored[2][f + 1])
            code[stored[1][own]] = codes.codes[own]
        bins = slice(codes.first[f], codes.first[f + 1])
        low, high = codes.low[bins], codes.high[bins]
        assert 1 <= len(low) <= 256
        assert np.all((column >= low[code]) & (column <= high[code]))
        used = high >= low
        assert np.all(low[used][1:] > high[used][:-1])
        assert codes.is_exact[f] == np.all(low[used] == high[used])
        if len(np.unique(column)) <= 256:
            assert codes.is_exact[f]
        if f == 2:
            assert np.all(column[code == code[often == 0.5][0]] == 0.5)
