"""Every score form: its densities against scipy and brute force, its pieces against its own score."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import bernoulli, multivariate_normal, norm, poisson

from deciban.errors import UndefinedError
from deciban.scores import (
    BoundedDiagonal,
    BoundedRates,
    Diagonal,
    Full,
    LimitedFull,
    Linear,
    Lookup,
    SparseLinear,
    Steps,
    Table,
)
from deciban.scores.linear import ImpossibleValues

K, D, N = 4, 3, 40
NAN = np.nan


def generator(seed):
    """Return the generator of one constant, so that none depends on the others."""
    return np.random.default_rng([7, seed])


def remove_values(X, missing):
    return np.where(generator(0).random(X.shape) < 0.3, missing, X)


def covariances(n):
    roots = generator(n).normal(size=(n, D, D))
    return roots @ np.swapaxes(roots, 1, 2) + 0.5 * np.eye(D)


MEAN = generator(11).normal(size=(K, D))
NUMBERS = remove_values(generator(12).normal(size=(N, D)), NAN)
NUMBERS[0], NUMBERS[1] = NAN, 1.0  # nothing there, and nothing missing
WIDE_NUMBERS = NUMBERS * generator(27).choice([1.0, 4.0, 1e3, 1e200], (N, D), p=[0.5, 0.3, 0.1, 0.1])
TAIL = np.array([-4.0, -5.0, -6.0])
LIMITS = np.array([[-2.0, -3.0, -1.0], [2.0, 1.0, 3.0]])
CLASS_SHARES = np.array([[0.5, 0.2, 0.0], [0.5, 0.3, 1.0], [0.0, 0.1, 0.0], [0.0, 0.4, 0.0]])
FLAGS = remove_values(generator(13).integers(0, 2, (N, D)).astype(float), NAN)
COUNTS = remove_values(generator(14).poisson(2, (N, D)).astype(float), NAN)
WIDE_COUNTS = COUNTS * generator(28).choice([1.0, 30.0, 1e9], (N, D), p=[0.7, 0.2, 0.1])
CODES = remove_values(generator(15).integers(0, 4, (N, D)), -1)  # 3 is a level never seen
WORDS = generator(16).poisson(0.8, (N, D)).astype(float)
THETA = generator(17).uniform(0.1, 0.9, (K, D))
RATE = generator(18).uniform(0.5, 4, (K, D))
START, KLASS = np.array([0, 2, 2, 5]), np.array([1, 3, 0, 1, 2], np.int32)
LISTS = START, KLASS, generator(19).normal(size=5)
HARD = np.array([True, False, True])
LINES = (
    generator(20).normal(size=K),
    generator(21).normal(size=K),
    generator(22).normal(size=D),
    generator(23).normal(size=K),
)
LEVEL_SCORES, UNSEEN_SCORES = generator(24).normal(size=(K, 9)), generator(25).normal(size=(K, D))
BIN_SCORES = generator(26).normal(size=(K, 7))
CELLS = np.array([[0, 0, 0], [0, 1, 2], [2, 1, 0], [2, 2, 2]])
CELL_COUNTS = np.array([[3.0, 1, 0, 2], [0, 0, 0, 0], [1, 1, 1, 1], [0, 5, 0, 0]])
IMPOSSIBLE_FLAGS = ImpossibleValues((MEAN > 1) * 1.0, (MEAN < -1) * 1.0)

with np.errstate(divide="ignore"):
    IMPOSSIBLE = np.log(CELL_COUNTS[:, [0, 1, 2, 3, 0, 1, 2, 3, 1]])

FORMS = {
    "linear": (Linear(MEAN, MEAN[:, 0]), WORDS),
    "linear, bernoulli": (Linear(np.log(THETA / (1 - THETA)), np.zeros(K), np.log1p(-THETA), threshold=0.0), FLAGS),
    "linear, poisson": (Linear(np.log(RATE), np.zeros(K), -RATE, carrier="log_factorial"), COUNTS),
    "linear, limited": (Linear(MEAN, np.zeros(K), RATE, limits=np.array([[-1.0] * D, [0.0, 0.5, 1.0]])), NUMBERS),
    "linear, impossible": (Linear(MEAN, np.zeros(K), impossible=IMPOSSIBLE_FLAGS), FLAGS),
    "sparse linear": (SparseLinear(*LISTS, *LINES), csr_array(WORDS)),
    "sparse linear, hard": (SparseLinear(*LISTS, np.zeros(K), *LINES[1:3], np.zeros(K), hard=HARD), csr_array(WORDS)),
    "sparse linear, mute": (SparseLinear(*LISTS, *LINES, mute=HARD), csr_array(WORDS)),
    "sparse linear, mute bernoulli": (
        SparseLinear(*LISTS, *LINES, threshold=0.0, mute=HARD), csr_array(np.nan_to_num(FLAGS)),
    ),
    "lookup": (Lookup(LEVEL_SCORES, np.array([0, 3, 6, 9]), UNSEEN_SCORES), CODES),
    "lookup, impossible": (Lookup(IMPOSSIBLE, np.array([0, 3, 6, 9]), np.full((K, D), -np.inf)), CODES),
    "steps": (Steps(np.array([-1.0, 0.0, 1.0, 0.5]), np.array([0, 3, 3, 4]), BIN_SCORES), NUMBERS),
    "steps, impossible": (Steps(np.array([-1.0, 0.0]), np.array([0, 0, 1, 2]), IMPOSSIBLE[:, :5]), NUMBERS),
    "diagonal": (Diagonal(MEAN, RATE), NUMBERS),
    "full": (Full(MEAN, covariances(K)), NUMBERS),
    "full, shared": (Full(MEAN, covariances(1)), NUMBERS),
    "bounded": (BoundedDiagonal(MEAN, RATE, log_tail=TAIL), WIDE_NUMBERS),
    "bounded, absent classes": (BoundedDiagonal(MEAN, RATE, log_tail=TAIL, shares=CLASS_SHARES), WIDE_NUMBERS),
    "bounded, no tail": (BoundedDiagonal(MEAN, RATE, log_tail=np.full(D, -np.inf)), NUMBERS),
    "bounded rates": (BoundedRates(RATE, 1.0), WIDE_COUNTS),
    "limited full": (LimitedFull(MEAN, covariances(K), limits=LIMITS), WIDE_NUMBERS),
    "limited full, shared": (LimitedFull(MEAN, covariances(1), limits=LIMITS), WIDE_NUMBERS),
    "limited full, bounded": (LimitedFull(MEAN, covariances(K) / 1e4, limits=LIMITS), WIDE_NUMBERS),
    "limited full, shared and bounded": (LimitedFull(MEAN, covariances(1) / 1e4, limits=LIMITS), WIDE_NUMBERS),
    "table": (Table(CELLS, CELL_COUNTS, (3, 3, 3), 0.5), CODES),
    "table, smoothed": (Table(CELLS, CELL_COUNTS, (3, 3, 3), 0.5, smooth_unseen=True), CODES),
    "table, maximum likelihood": (Table(CELLS, CELL_COUNTS, (3, 3, 3), 0.0), CODES),
}  # fmt: skip
every_form = pytest.mark.parametrize("name", FORMS)


@every_form
def test_pieces_add_up_to_the_difference_of_scores(name):
    form, X = FORMS[name]
    rng = np.random.default_rng(0)
    k = rng.integers(0, K, N)
    l = (k + rng.integers(1, K, N)) % K
    joint, i = form.log_likelihoods(X), np.arange(N)
    features, extras = form.pieces(X, k, l)
    with np.errstate(invalid="ignore"):
        expected = joint[i, k] - joint[i, l]
        total = np.asarray(features.sum(axis=1)).reshape(-1) + sum(extras.values())
    np.testing.assert_allclose(total, expected, rtol=1e-11, atol=1e-11)
    assert features.shape == X.shape


@every_form
def test_scores_are_never_nan(name):
    form, X = FORMS[name]
    assert not np.isnan(form.log_likelihoods(X)).any()


@every_form
def test_rows_are_scored_alone_as_among_others(name):
    form, X = FORMS[name]
    whole = form.log_likelihoods(X)
    alone = np.concatenate([form.log_likelihoods(X[i : i + 1]) for i in range(N)])
    np.testing.assert_allclose(alone, whole, rtol=1e-12, atol=1e-12)
    assert form.log_likelihoods(X[:0]).shape == (0, K)


@pytest.mark.parametrize("name", ["diagonal", "full", "full, shared"])
def test_gaussian_scores_marginalise_as_scipy_does_on_the_features_present(name):
    form, X = FORMS[name]
    covariance = [np.diag(v) for v in RATE] if name == "diagonal" else np.broadcast_to(form.covariance, (K, D, D))
    expected = np.zeros((N, K))
    for i, k in product(range(N), range(K)):
        have = ~np.isnan(X[i])
        if have.any():
            normal = multivariate_normal(form.mean[k][have], covariance[k][np.ix_(have, have)])
            expected[i, k] = normal.logpdf(X[i][have])
    np.testing.assert_allclose(form.log_likelihoods(X), expected, rtol=1e-10, atol=1e-10)


def test_a_bounded_score_is_the_larger_of_density_and_tail():
    form, X = FORMS["bounded"]
    with np.errstate(over="ignore"):
        density = norm(MEAN, np.sqrt(RATE)).logpdf(X[:, None])
    expected = np.where(np.isnan(X)[:, None], 0.0, np.maximum(density, TAIL)).sum(axis=2)
    np.testing.assert_allclose(form.log_likelihoods(X), expected, rtol=1e-12)
    assert (density < TAIL).any()
    assert (density > TAIL).any()


def test_a_class_that_never_had_a_feature_has_the_density_of_all_by_their_shares():
    form, X = FORMS["bounded, absent classes"]
    with np.errstate(over="ignore"):
        density = np.maximum(norm(MEAN, np.sqrt(RATE)).pdf(X[:, None]), np.exp(TAIL))
    mixture = (CLASS_SHARES * density).sum(axis=1, keepdims=True)
    density = np.where(CLASS_SHARES == 0, mixture, density)
    expected = np.where(np.isnan(X)[:, None], 0.0, np.log(density)).sum(axis=2)
    np.testing.assert_allclose(form.log_likelihoods(X), expected, rtol=1e-12)


def test_a_feature_does_not_change_the_posterior_of_a_class_that_never_had_it():
    form, X = FORMS["bounded, absent classes"]
    alone = np.where(np.isnan(X[:, :1]), 0.3, X[:, :1])
    rows = np.column_stack([alone, np.full((N, 2), NAN)])
    prior = np.array([0.35, 0.35, 0.2, 0.1])  # classes 0 and 1 by their shares in the feature
    joint = np.exp(form.log_likelihoods(rows)) * prior
    np.testing.assert_allclose((joint / joint.sum(axis=1, keepdims=True))[:, 2:], np.tile(prior[2:], (N, 1)))


def test_a_bounded_count_is_no_less_probable_than_a_share_of_its_best_rate():
    form, X = FORMS["bounded rates"]
    x = X[:, None]
    with np.errstate(invalid="ignore"):
        best = np.where(x > 0, poisson.logpmf(x, np.where(x > 0, x, 1.0)), 0.0)
        expected = np.maximum(poisson.logpmf(x, RATE), best - form.bound)
    expected = np.where(np.isnan(x), 0.0, expected).sum(axis=2)
    np.testing.assert_allclose(form.log_likelihoods(X), expected, rtol=1e-6, atol=1e-9)
    small = np.where(X > 1e3, NAN, X)
    with np.errstate(invalid="ignore"):
        best = np.where(small > 0, poisson.logpmf(small, np.where(small > 0, small, 1.0)), 0.0)[:, None]
        terms = np.maximum(poisson.logpmf(small[:, None], RATE), best - form.bound)
    expected = np.where(np.isnan(small)[:, None], 0.0, terms).sum(axis=2)
    np.testing.assert_allclose(form.log_likelihoods(small), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", ["limited full", "limited full, shared"])
def test_joined_numbers_beyond_their_limits_count_as_missing(name):
    form, X = FORMS[name]
    inside = np.where((LIMITS[0] <= X) & (LIMITS[1] >= X), X, NAN)
    plain = Full(form.mean, form.covariance)
    np.testing.assert_array_equal(form.log_likelihoods(X), plain.log_likelihoods(inside))
    k, l = np.zeros(N, np.intp), np.ones(N, np.intp)
    np.testing.assert_array_equal(form.pieces(X, k, l).features, plain.pieces(inside, k, l).features)
    assert (np.isnan(inside) > np.isnan(X)).any()


@pytest.mark.parametrize(
    "name", ["bounded", "bounded, absent classes", "limited full", "limited full, shared", "bounded rates"]
)
def test_far_from_all_classes_nothing_is_evidence(name):
    form, _ = FORMS[name]
    far = np.array([[1e5, -1e5, 1e9], [1e200, NAN, 1e300]])
    far = np.abs(far) if name == "bounded rates" else far
    assert np.ptp(form.log_likelihoods(far), axis=1).tolist() == [0.0, 0.0]
    evidence, extras = form.pieces(far, np.array([0, 3]), np.array([1, 2]))
    assert not evidence.any()
    assert not any(value.any() for value in extras.values())


def test_count_scores_are_those_of_scipy():
    for name, each in {"linear, bernoulli": bernoulli(THETA), "linear, poisson": poisson(RATE)}.items():
        form, X = FORMS[name]
        expected = np.nansum(
            each.logpmf(np.where(np.isnan(X), -1, X)[:, None]) * np.where(np.isnan(X), NAN, 1)[:, None], axis=2
        )
        np.testing.assert_allclose(form.log_likelihoods(X), expected, rtol=1e-11, atol=1e-11)


def test_a_limited_score_goes_on_no_further():
    form, X = FORMS["linear, limited"]
    plain = Linear(form.weights, form.bias, form.offsets)
    np.testing.assert_allclose(form.log_likelihoods(X), plain.log_likelihoods(np.clip(X, *form.limits)))
    with np.errstate(invalid="ignore"):
        assert not np.isfinite(form.log_likelihoods(np.array([[np.inf, 0.0, 0.0]]))).any()


def test_diagonal_scores_are_sums_of_scipys_normal_log_densities():
    form, _ = FORMS["diagonal"]
    x = np.array([[0.3, -2.0, 1e3]])
    np.testing.assert_allclose(
        form.log_likelihoods(x)[0], norm(MEAN, np.sqrt(RATE)).logpdf(x).sum(axis=1), rtol=1e-12
    )


@pytest.mark.parametrize("name", ["steps", "steps, impossible"])
def test_a_number_scores_by_the_bin_it_is_in(name):
    form, X = FORMS[name]
    expected = np.zeros((N, K))
    for i, j in product(range(N), range(D)):
        cuts = form.cuts[form.start[j] : form.start[j + 1]]
        if not np.isnan(X[i, j]):
            expected[i] += form.log_theta[:, form.start[j] + j + sum(X[i, j] >= c for c in cuts)]
    np.testing.assert_allclose(form.log_likelihoods(X), expected, rtol=1e-12)


def test_a_number_on_a_cut_is_above_it():
    form = Steps(np.array([-0.0, 1.5]), np.array([0, 2]), np.arange(3.0)[None])
    X = np.array([-1e-300, -0.0, 0.0, np.nextafter(1.5, 0), 1.5, 9.0])
    assert form.log_likelihoods(X[:, None])[:, 0].tolist() == [0, 1, 1, 1, 2, 2]
    assert form.log_likelihoods(np.array([[1], [2]], dtype=np.int32))[:, 0].tolist() == [1, 2]


@pytest.mark.parametrize("name", ["steps", "diagonal"])
def test_a_form_of_whole_numbers_is_that_of_the_same_numbers(name):
    form, X = FORMS[name]
    whole = np.nan_to_num(X * 3).astype(np.int64)
    np.testing.assert_array_equal(form.log_likelihoods(whole), form.log_likelihoods(whole.astype(float)))


@pytest.mark.parametrize("name", ["table", "table, smoothed", "table, maximum likelihood"])
def test_a_table_sums_over_what_is_missing_or_unseen(name):
    form, X = FORMS[name]
    side = 4 if form.smooth_unseen else 3
    cells = list(product(range(side), repeat=D))
    count = np.array([[n + form.alpha for n in row] for row in np.array([_counts(cell) for cell in cells]).T])
    pooled = count.sum(axis=0) / count.sum()
    p = np.array([row / row.sum() if row.sum() else pooled for row in count])
    for x, scores in zip(X, form.log_likelihoods(X)):
        agree = [all(v < 0 or v >= side or c == v for c, v in zip(cell, x)) for cell in cells]
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(scores, np.log(p[:, agree].sum(axis=1)), rtol=1e-11, atol=1e-11)


def _counts(cell):
    at = np.flatnonzero((cell == CELLS).all(axis=1))
    return CELL_COUNTS[:, at[0]] if at.size else np.zeros(K)


@pytest.mark.parametrize("name", ["linear", "linear, bernoulli", "linear, poisson", "sparse linear", "full, shared"])
def test_linear_boundaries_give_the_score_differences_of_the_form(name):
    form, X = FORMS[name]
    X = (X.toarray() if hasattr(X, "toarray") else np.nan_to_num(X))[:5]
    line = form.linear()
    found = X @ line.weights.T + line.bias
    scores = form.log_likelihoods(csr_array(X) if name == "sparse linear" else X)
    np.testing.assert_allclose(found - found[:, :1], scores - scores[:, :1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["diagonal", "full", "full, shared", "linear"])
def test_a_conic_is_the_score(name):
    form, X = FORMS[name]
    X = np.nan_to_num(X)[:5]
    conic = form.quadratic()
    squares = np.einsum("ni,kij,nj->nk", X, conic.A, X) if conic.A.ndim == 3 else X**2 @ conic.A.T
    found = squares + X @ conic.weights.T + conic.bias
    scores = form.log_likelihoods(X)
    np.testing.assert_allclose(found - found[:, :1], scores - scores[:, :1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "name", ["linear, impossible", "sparse linear, hard", "lookup", "steps", "diagonal", "full", "table", "bounded"]
)
def test_a_form_without_finite_weights_says_so(name):
    with pytest.raises(UndefinedError):
        FORMS[name][0].linear()


@pytest.mark.parametrize("name", ["bounded", "bounded rates"])
def test_a_bounded_score_has_no_line_and_no_conic(name):
    for form in (FORMS[name][0].linear, FORMS[name][0].quadratic):
        with pytest.raises(UndefinedError, match=r"is bounded.*Hint: explain"):
            form()
