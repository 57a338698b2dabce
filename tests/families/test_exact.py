"""Parameters and posteriors of every family against exact fractions, with missing values, weights, empty classes."""

import math
from fractions import Fraction as Q

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from deciban.families.count_families import Bernoulli, Complement, Multinomial, Poisson
from deciban.families.family import ClassPrior
from deciban.families.gaussian import Gaussian
from deciban.families.level_families import Categorical, Joint
from deciban.ledger import Cells, Counts, Levels, Moments, Tallies
from tests import oracle

K = 3
SIZES = [2, 3, 2]
ALPHAS = st.sampled_from([0, Q(1, 2), 1, 2])


@st.composite
def tables(draw, value, missing=None, dtype=float):
    """(rows with None where missing, the same as an array, class codes, weights)."""
    n, d = draw(st.integers(1, 10)), len(SIZES)
    cells = st.lists(st.one_of(value, st.just(None)) if missing is not None else value, min_size=d, max_size=d)
    rows = draw(st.lists(cells, min_size=n, max_size=n))
    X = np.array([[missing if x is None else x for x in row] for row in rows], dtype=dtype)
    y = draw(arrays(np.int32, n, elements=st.integers(0, K - 1)))
    w = draw(st.lists(st.sampled_from([Q(1, 2), Q(1), Q(3)]), min_size=n, max_size=n))
    return rows, X, y, w


def floats(w):
    return np.array([float(x) for x in w])


def ln(p):
    return math.log(p) if p > 0 else -math.inf


def assert_scores(form, X, likelihood):
    """Compare ln p(x|k) of every row and class with exact likelihoods."""
    expected = [[ln(likelihood(k, i)) for k in range(K)] for i in range(len(X))]
    np.testing.assert_allclose(form.log_likelihoods(X), expected, rtol=1e-12, atol=1e-12)


flag, count, level = st.integers(0, 1), st.integers(0, 4), st.integers(0, 1)


@given(table=tables(flag, np.nan), alpha=ALPHAS)
def test_bernoulli(table, alpha):
    rows, X, y, w = table
    part = Counts.of(X, y, floats(w), K, 0.0)
    has = [[any(y[i] == k and rows[i][j] is not None for i in range(len(X))) for j in range(3)] for k in range(K)]
    theta = oracle.bernoulli(rows, y, range(K), w, alpha)
    together = oracle.bernoulli(rows, [0] * len(y), [0], w, alpha)[0]
    if alpha == 0:  # a class that never had the feature says what all say; nobody had it: it says nothing
        theta = [[theta[k][j] if has[k][j] else together[j] for j in range(3)] for k in range(K)]
    family = Bernoulli(alpha=float(alpha))
    silent = [alpha == 0 and not any(has[k][j] for k in range(K)) for j in range(3)]
    shown = [[float(t) for t in row] for row in theta]
    np.testing.assert_allclose(family.theta(part), shown, rtol=1e-14)
    rows = [[None if silent[j] else x for j, x in enumerate(row)] for row in rows]
    assert_scores(family.solve(part), X, lambda k, i: oracle.p_bernoulli(theta[k], rows[i]))


@given(table=tables(count), alpha=ALPHAS)
def test_multinomial_dense_and_sparse(table, alpha):
    rows, X, y, w = table
    part = Counts.of(X, y, floats(w), K)
    theta = oracle.multinomial(rows, y, range(K), w, alpha)
    if alpha == 0:
        together = oracle.multinomial(rows, [0] * len(y), [0], w)[0]
        theta = [together if not any(row) else row for row in theta]
    for form in (Multinomial(float(alpha)).solve(part), Multinomial(float(alpha)).solve(Tallies.from_counts(part))):
        assert_scores(form, X, lambda k, i: oracle.p_multinomial(theta[k], rows[i]))


@given(table=tables(count), alpha=st.sampled_from([Q(1, 2), 1, 2]), norm=st.booleans())
def test_complement_dense_and_sparse(table, alpha, norm):
    rows, X, y, w = table
    part = Counts.of(X, y, floats(w), K)
    theta = oracle.complement(rows, y, range(K), w, alpha)
    logs = np.array([[-math.log(t) for t in row] for row in theta])
    expected = logs / logs.sum(axis=1, keepdims=True) if norm else logs
    family = Complement(float(alpha), norm)
    for form in (family.solve(part), family.solve(Tallies.from_counts(part))):
        np.testing.assert_allclose(form.log_likelihoods(X), X @ expected.T, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("norm", [False, True])
def test_complement_of_counts_that_alpha_does_not_change(norm):
    """The 1 of 1e20 + 1 is lost in doubles; scores stay finite, dense and sparse alike, and those of fractions."""
    rows, y = [[10**20, 0, 0], [0, 10**20, 0], [0, 0, 10**20]], [0, 1, 1]
    part = Counts.of(np.array(rows, dtype=float), np.array(y), np.ones(3), 2)
    logs = np.array([[-math.log(t) for t in row] for row in oracle.complement(rows, y, range(2), [1] * 3, 1)])
    expected = logs / logs.sum(axis=1, keepdims=True) if norm else logs
    for form in (Complement(1.0, norm).solve(part), Complement(1.0, norm).solve(Tallies.from_counts(part))):
        np.testing.assert_allclose(form.log_likelihoods(np.eye(3)), expected.T, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("total", [1e20, 3.0])
def test_sparse_bernoulli_of_more_occurrences_than_rows(total):
    """A model file may contain such counts; the sparse scores equal the dense ones, and are finite."""
    part = Counts(np.array([[total, 0.0], [1.0, 1.0]]), np.array([[1.0], [2.0]]))
    sparse = Bernoulli(1.0).solve(Tallies.from_counts(part)).log_likelihoods(np.eye(2))
    np.testing.assert_allclose(sparse, Bernoulli(1.0).solve(part).log_likelihoods(np.eye(2)), rtol=1e-12)
    assert np.isfinite(sparse).all()


@given(table=tables(count, np.nan), alpha=ALPHAS)
def test_poisson(table, alpha):
    rows, X, y, w = table
    part = Counts.of(X, y, floats(w), K)
    rate = oracle.poisson(rows, y, range(K), w, alpha)
    whole = oracle.poisson(rows, [0] * len(y), [0], w)[0]
    has = [[any(y[i] == k and rows[i][j] is not None for i in range(len(X))) for j in range(3)] for k in range(K)]
    rate = [[r if has[k][j] or alpha else whole[j] for j, r in enumerate(row)] for k, row in enumerate(rate)]
    shown = np.array([[float(r) for r in row] for row in rate])
    np.testing.assert_allclose(Poisson(float(alpha)).rates(part), shown, rtol=1e-13)
    form = Poisson(float(alpha)).solve(part)

    def log_p(k, x):
        parts = [0 if v is None or not whole[j] else ln_poisson(v, rate[k][j]) for j, v in enumerate(x)]
        return sum(parts)

    np.testing.assert_allclose(
        form.log_likelihoods(X), [[log_p(k, x) for k in range(K)] for x in rows], rtol=1e-12, atol=1e-12
    )


def ln_poisson(x, rate):
    if rate == 0:
        return 0.0 if x == 0 else -math.inf
    return x * math.log(rate) - float(rate) - math.lgamma(x + 1)


@given(table=tables(level, -1, np.int64), alpha=ALPHAS, smooth=st.booleans())
def test_categorical(table, alpha, smooth):
    rows, X, y, w = table
    part = Levels.of(X, y, floats(w), K)
    sizes = SIZES + np.array([smooth] * 3)  # smoothing an unseen level is one level more
    theta = oracle.categorical(rows, y, range(K), sizes.tolist(), w, alpha)
    together = oracle.categorical(rows, [0] * len(y), [0], sizes.tolist(), w, 0)[0]
    has = [[any(y[i] == k and rows[i][j] is not None for i in range(len(X))) for j in range(3)] for k in range(K)]
    if alpha == 0:
        theta = [[t if has[k][j] else together[j] for j, t in enumerate(row)] for k, row in enumerate(theta)]
    family = Categorical(float(alpha), "smooth" if smooth else "ignore", min_levels=tuple(SIZES))
    assert_scores(family.solve(part), X, lambda k, i: oracle.p_categorical(theta[k], rows[i]))
    if smooth and alpha:
        unseen = np.array(SIZES)[None]
        expected = [sum(math.log(theta[k][j][SIZES[j]]) for j in range(3)) for k in range(K)]
        np.testing.assert_allclose(family.solve(part).log_likelihoods(unseen)[0], expected, rtol=1e-12)


@given(table=tables(level, dtype=np.int64), alpha=ALPHAS)
def test_joint(table, alpha):
    rows, X, y, w = table
    part = Cells.of(X, y, floats(w), K)
    theta = oracle.joint(rows, y, range(K), SIZES, w, alpha)
    if alpha == 0:
        together = oracle.joint(rows, [0] * len(y), [0], SIZES, w)[0]
        theta = [theta[k] if k in set(y.tolist()) else together for k in range(K)]
    form = Joint(float(alpha), min_levels=tuple(SIZES)).solve(part)
    assert_scores(form, X, lambda k, i: theta[k][tuple(rows[i])])


number = st.integers(-20, 20).map(lambda x: x / 4)


@given(table=tables(number, np.nan))
def test_gaussian(table):
    rows, X, y, w = table
    part = Moments.of(X, y, floats(w), K)
    exact = oracle.gaussian(rows, y, range(K), w)
    form = Gaussian().solve(part)
    whole = oracle.gaussian(rows, [0] * len(y), [0], w)[0]
    for k in range(K):
        for j in range(3):
            has = any(y[i] == k and rows[i][j] is not None for i in range(len(X)))
            mean, variance = exact[k][j]
            assert form.mean[k, j] == pytest.approx(float(mean if has else whole[j][0]), rel=1e-13, abs=1e-13)
            if has and variance > 0:
                assert form.variance[k, j] == pytest.approx(float(variance), rel=1e-12)
            assert form.variance[k, j] > 0
    assert np.isfinite(form.log_likelihoods(X)).all()


@given(
    n=arrays(np.float64, 4, elements=st.integers(0, 50)),
    alpha=st.sampled_from([0, 1, 3]),
)
def test_class_priors(n, alpha):
    assume(n.sum() + alpha > 0)
    y = [k for k in range(4) for _ in range(int(n[k]))]
    exact = [float(p) for p in oracle.class_prior(y, range(4), alpha=alpha)]
    np.testing.assert_allclose(ClassPrior("smoothed", alpha=float(alpha)).solve(n), exact, rtol=1e-14)
    if not alpha:
        np.testing.assert_allclose(ClassPrior("empirical").solve(n), exact, rtol=1e-14)
    assert ClassPrior("uniform").solve(n).tolist() == [0.25] * 4
    assert ClassPrior("given", given=(0.1, 0.2, 0.3, 0.4)).solve(n).tolist() == [0.1, 0.2, 0.3, 0.4]


def test_before_any_row_no_class_is_preferred():
    assert ClassPrior("empirical").solve(np.zeros(4)).tolist() == [0.25] * 4


@given(w=arrays(np.float64, 8, elements=st.floats(0.01, 1)))
def test_forgetting_fractional_weights_never_makes_a_probability_negative(w):
    X, codes = np.repeat([[1.0], [0.0]], 4, axis=0), np.zeros(8, np.int32)
    left = Counts.of(X, codes, w, 1) - Counts.of(X[4:], codes[4:], w[4:], 1)
    present, absent = Bernoulli(alpha=0.0).solve(left).log_likelihoods(np.array([[1.0], [0.0]]))[:, 0]
    assert present == pytest.approx(0.0, abs=1e-12)
    assert absent < -30
