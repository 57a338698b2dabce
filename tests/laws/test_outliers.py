"""Forgetting an outlier leaves the statistics of the other rows: to 1e-12 of what they are, up to 1e8 deviations."""

import operator
import warnings
from fractions import Fraction as Q
from functools import reduce

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deciban.engines import kernel_dispatch as fast
from deciban.errors import PrecisionWarning
from deciban.kernels import moments
from deciban.ledger import Block, Counts, Ledger, Moments, Needs, Scatter, Schema, Tallies
from deciban.ledger.double_double import Pair, matrix_product
from deciban.ledger.statistic import ROUNDING_FRACTION
from tests import oracle
from tests.thorough import thorough_beyond

EXACT = Q(1, 10**12)
SHIFTS = [0.0, 1e8, -1e8]
WEIGHTS = [1.0, 0.1, 0.3, 2.5]


def exact_scatter(X, w):
    """Weight, mean and co-moment of each pair of features in fractions, over the rows that have both."""

    def pair(i, j):
        rows = [(oracle.exact(x[i]), oracle.exact(x[j]), Q(c)) for x, c in zip(X.tolist(), w.tolist())]
        rows = [row for row in rows if row[0] is not None and row[1] is not None]
        n = sum(c for *_, c in rows)
        a, b = (oracle.ratio(sum(row[side] * row[2] for row in rows), n) for side in (0, 1))
        return n, a, sum(c * (x - a) * (y - b) for x, y, c in rows)

    d = X.shape[1]
    return [[pair(i, j) for j in range(d)] for i in range(d)]


def value(high, low):
    return Q(float(high)) + Q(float(low))


def assert_exact(part, X, w):
    """Weights, means and squares of the one class of a statistic are those of the rows, to 1e-12."""
    exact, d = exact_scatter(X, w), X.shape[1]
    deviation = [float(exact[i][i][2] / (exact[i][i][0] or 1)) ** 0.5 for i in range(d)]
    own = part.moments if isinstance(part, Scatter) else part
    shape = (1, d)
    n, n_low = (np.broadcast_to(a, shape) for a in (own.weight, own.weight_rest))
    for i in range(d):
        weight, mean, m2 = exact[i][i]
        assert abs(value(n[0, i], n_low[0, i]) - weight) <= EXACT * weight
        if weight:
            assert abs(value(own.mean[0, i], own.rest[0, i]) - mean) <= EXACT * Q(deviation[i]) + Q(1, 10**22) * abs(
                mean
            )
            assert abs(value(own.m2[0, i], own.m2_rest[0, i]) - m2) <= EXACT * m2, (i, own.m2, float(m2))
    if isinstance(part, Scatter):
        for i in range(d):
            for j in range(d):
                n_pair, _, product = exact[i][j]
                tolerance = EXACT * Q(deviation[i] * deviation[j]) * max(exact[i][i][0], exact[j][j][0])
                got = value(part.comoment[0, i, j], part.comoment_rest[0, i, j])
                assert abs(got - product) <= tolerance, (i, j, float(got), float(product), float(n_pair))


@st.composite
def rows_with_outliers(draw):
    """Rows of one class, some of them 10^k deviations of the others away; weights; in which batch each is learned."""
    n, d = draw(st.integers(4, 12)), draw(st.integers(1, 3))
    far = draw(st.integers(1, n // 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    shift = draw(st.sampled_from(SHIFTS))
    X = shift + rng.integers(-24, 25, (n, d)) / 8
    w = rng.choice(WEIGHTS, n) if draw(st.booleans()) else np.ones(n)
    if draw(st.booleans()):
        X[rng.random((n, d)) < 0.2] = np.nan
    left = exact_scatter(X[far:], w[far:])
    assume(all(left[i][i][2] > 0 for i in range(d)))
    deviation = np.array([float(left[i][i][2] / left[i][i][0]) ** 0.5 for i in range(d)])
    size = 10.0 ** np.array(draw(st.lists(st.integers(0, 8), min_size=far, max_size=far)))
    sign = rng.choice([-1.0, 1.0], (far, d))
    X[:far] = np.where(np.isnan(X[:far]), np.nan, shift + sign * size[:, None] * deviation)
    return X, w, far, rng.permutation(n), draw(st.integers(1, n)), rng.permutation(far)


@pytest.mark.parametrize("of", [Moments.of, Scatter.of], ids=["moments", "scatter"])
@given(case=rows_with_outliers())
def test_forgotten_outliers_leave_the_other_rows(of, case):
    X, w, far, order, size, removal = case
    codes = np.zeros(len(X), np.int32)
    batches = [order[i : i + size] for i in range(0, len(X), size)]
    learned = reduce(operator.add, (of(X[b], codes[b], w[b], 1) for b in batches))
    for i in removal:
        learned = learned - of(X[i : i + 1], codes[:1], w[i : i + 1], 1)
    assert_exact(learned, X[far:], w[far:])


@pytest.mark.parametrize("of", [Moments.of, Scatter.of], ids=["moments", "scatter"])
@given(case=rows_with_outliers())
def test_outliers_that_stay_leave_the_other_rows_when_these_are_merged_later(of, case):
    X, w, far, *_ = case
    codes = np.zeros(len(X), np.int32)
    outliers = of(X[:far], codes[:far], w[:far], 1)
    whole = outliers + of(X[far:], codes[far:], w[far:], 1)
    assert_exact(whole - outliers, X[far:], w[far:])
    assert_exact((whole * 0.5) - (outliers * 0.5), X[far:], w[far:] * 0.5)


def many_rows(k, seed, missing, weighted, d=4, shift=0.0, n=3000):
    """Rows in which one in a hundred is 10^k away."""
    rng = np.random.default_rng(seed)
    X, w = shift + rng.normal(size=(n, d)), rng.choice(WEIGHTS, n) if weighted else np.ones(n)
    far = np.zeros(n, dtype=bool)
    far[rng.choice(n, n // 100, replace=False)] = True
    X[far] = shift + 10.0**k * rng.choice([-1, 1, 0.5], (far.sum(), d))
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, w, far


@pytest.mark.parametrize("weighted", [False, True], ids=["unit weights", "weights"])
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize(("kind", "d"), [("moments", 4), ("moments", 1), ("scatter", 3)])
@pytest.mark.parametrize(
    "k", thorough_beyond(2, [0, 1, 2, 3, 4, 6, 8], "rows in exact fractions: half a second each")
)
def test_kernels_keep_the_digits_of_the_other_rows(k, kind, d, missing, weighted):
    shift = 1e8 if k % 2 else 0.0
    X, w, far = many_rows(k, k, missing, weighted, d, shift)
    codes, weight = np.zeros(len(X), np.int32), w if weighted else None
    part = fast.summarise_by_kernel(moments, Needs(kind), X, codes, weight, 1)
    if part is None:  # full covariances with missing values have no kernel
        assert kind == "scatter"
        part = Scatter.of(X, codes, weight, 1)
    for i in np.flatnonzero(far):
        part = part - type(part).of(X[i : i + 1], codes[:1], w[i : i + 1], 1)
    assert_exact(part, X[~far], w[~far])


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
def test_kernels_and_definition_agree_about_outliers(kind):
    rng = np.random.default_rng(3)
    X = rng.integers(-5, 6, (500, 5)).astype(kind)
    X[[7, 300], 2] = 10**8
    X[:, 4] = 0  # a column that is nearly always the same
    X[[100, 200], 4] = [3, 10**7]
    codes = rng.integers(0, 3, 500).astype(np.int32)
    quick, slow = (
        fast.summarise_by_kernel(moments, Needs("moments"), X, codes, None, 3),
        Moments.of(X, codes, None, 3),
    )
    for k in range(3):
        for j in range(5):
            a, b = value(quick.m2[k, j], quick.m2_rest[k, j]), value(slow.m2[k, j], slow.m2_rest[k, j])
            assert abs(a - b) <= Q(1, 10**12) * b
    rest = np.setdiff1d(np.arange(500), [7, 300, 200])
    left = quick
    for i in (7, 300, 200):
        left = left - Moments.of(X[i : i + 1], codes[i : i + 1], None, 3)
    np.testing.assert_allclose(left.m2, Moments.of(X[rest], codes[rest], None, 3).m2, rtol=1e-12, atol=0)


def ledger(part):
    """A ledger of one feature and as many classes as the statistic has."""
    own = part.moments if isinstance(part, Scatter) else part
    block = Block("scatter" if isinstance(part, Scatter) else "moments", 1, ("height",))
    return Ledger(Schema(("tall", "short")[: part.n_classes], (block,)), own.weight[:, 0], (part,))


@pytest.mark.parametrize("of", [Moments.of, Scatter.of], ids=["moments", "scatter"])
@pytest.mark.parametrize(("k", "digits"), [(8, None), (10, 9), (11, 7), (15, 0), (20, 0)])
def test_beyond_1e8_deviations_a_warning_gives_the_digits_that_are_left(of, k, digits):
    x, far = np.array([[-1.0], [1.0], [0.5], [0.25], [3.0], [4.0]]), np.array([[10.0**k]])
    codes = np.array([0, 0, 0, 0, 1, 1], np.int32)
    whole = ledger(of(np.concatenate([x, far]), np.append(codes, 0).astype(np.int32), None, 2))
    outlier = ledger(of(far, codes[:1], None, 2))
    if digits is None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            left = whole - outlier
    else:
        message = f"only {digits} digits are left" if digits else "no digit is left"
        with pytest.warns(PrecisionWarning, match=f"class 'tall', feature 'height', {message}"):
            left = whole - outlier
    if digits is None or digits:
        own = left.parts[0].moments if isinstance(left.parts[0], Scatter) else left.parts[0]
        exact = of(x, codes, None, 2)
        m2 = (exact.moments if isinstance(exact, Scatter) else exact).m2
        np.testing.assert_allclose(own.m2, m2, rtol=10.0 ** -(digits or 12))


@pytest.mark.parametrize("of", [Moments.of, Scatter.of], ids=["moments", "scatter"])
@pytest.mark.parametrize("rest", [[0.0], [0.1], [0.0, 0.0, 0.0], [0.1, 0.1, 0.1]])
def test_rows_that_are_all_the_same_are_left_without_a_warning_and_can_be_forgotten(of, rest):
    x = np.array([*rest, 0.7, 0.3, -0.45])[:, None]
    codes = np.zeros(len(x), np.int32)
    left = ledger(of(x, codes, None, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for row in reversed(x[len(rest) :]):
            left = left - ledger(of(row[None], codes[:1], None, 1))
        own = left.parts[0].moments if isinstance(left.parts[0], Scatter) else left.parts[0]
        assert own.m2.item() <= 1e-16
        assert own.mean.item() == pytest.approx(rest[0], abs=1e-16)
        for row in x[: len(rest)]:
            left = left - ledger(of(row[None], codes[:1], None, 1))
    assert left == left.empty()


@pytest.mark.parametrize("of", [Moments.of, Scatter.of], ids=["moments", "scatter"])
def test_weights_that_cancel_are_nothing_however_many_rows_they_were(of):
    """With plain sums 1500 fractional weights left 1e-13 of nothing, and a variance of rounding over it."""
    X, w, _ = many_rows(0, 1, True, True, 2, n=1500)
    w = np.where(w == 1.0, 0.7, w)
    codes = np.zeros(len(X), np.int32)
    left = of(X, codes, w, 1)
    stays = np.flatnonzero(np.isnan(X[:, 0]))[:5]
    for i in np.setdiff1d(np.arange(len(X)), stays):
        left = left - of(X[i : i + 1], codes[:1], w[i : i + 1], 1)
    own = left.moments if isinstance(left, Scatter) else left
    assert np.broadcast_to(own.weight, (1, 2))[0, 0] == 0
    assert (own.mean[0, 0], own.m2[0, 0]) == (0, 0)
    if isinstance(left, Scatter):
        assert left.weight[0, 0, 1] == left.comoment[0, 0, 1] == 0
    assert_exact(
        Moments(*(np.broadcast_to(a, (1, 2))[:, 1:] for a in own.arrays().values())), X[stays][:, 1:], w[stays]
    )


def test_counts_of_whole_numbers_are_exact_and_fractions_are_to_1e12_of_the_sum_before():
    """The promise of sums that are single doubles, dense and sparse."""
    rng = np.random.default_rng(2)
    X, codes = rng.integers(0, 9, (200, 3)).astype(float), np.zeros(200, np.int32)
    X[7] = 1e12
    keep = np.arange(200) != 7
    for weight, tolerance in ((np.ones(200), 0.0), (rng.choice(WEIGHTS, 200), 1e-12)):
        whole, row, rest = (Counts.of(X[r], codes[r], weight[r], 1) for r in (slice(None), slice(7, 8), keep))
        for made in (whole - row, (Tallies.from_counts(whole) - Tallies.from_counts(row)).to_dense()):
            assert (np.abs(made.total - rest.total) <= tolerance * whole.total).all()
            assert (np.abs(made.weight - rest.weight) <= tolerance * whole.weight).all()
    left = Counts.of(X[8:], codes[8:], np.full(192, 0.1), 1)
    for i in range(8, 200):
        left = left - Counts.of(X[i : i + 1], codes[:1], np.full(1, 0.1), 1)
    assert (left.total <= ROUNDING_FRACTION).all()
    assert (left.weight <= ROUNDING_FRACTION).all()


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_a_fractional_count_that_loses_most_of_its_digits_gives_a_warning(sparse):
    def ledger(X, w):
        part = Counts.of(X, np.zeros(len(X), np.int32), w, 1)
        block = Block("counts", 2, ("a", "b"))
        return Ledger(Schema(("k",), (block,)), part.weight[:, 0], (Tallies.from_counts(part) if sparse else part,))

    X, w = np.array([[1.0, 3.0], [0.0, 1e11]]), np.array([0.3, 0.1])
    whole, row = ledger(X, w), ledger(X[1:], w[1:])
    with pytest.warns(PrecisionWarning, match="count of class 'k', feature 'b', only 5 digits are left"):
        whole - row
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ledger(X, np.ones(2)) - ledger(X[1:], np.ones(1)) == ledger(X[:1], np.ones(1))


@pytest.mark.thorough(reason="many rows, classes or draws: seconds")
@given(seed=st.integers(0, 10**6), rows=st.sampled_from([1, 5, 5000]))
def test_products_of_matrices_in_pairs_are_those_of_fractions(seed, rows):
    rng = np.random.default_rng(seed)
    a, b = (rng.normal(size=(rows, 2)) * 10.0 ** rng.integers(-8, 9, (rows, 2)) for _ in range(2))
    made = matrix_product(Pair.of(a), Pair.of(b))
    for i in range(2):
        for j in range(2):
            exact = sum(Q(x) * Q(y) for x, y in zip(a[:, i].tolist(), b[:, j].tolist()))
            largest = Q(float(np.abs(a[:, i]).max() * np.abs(b[:, j]).max()))
            assert abs(value(made.high[i, j], made.low[i, j]) - exact) <= largest * rows / 2**100
