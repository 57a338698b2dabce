"""L-BFGS in the span of rows: products of rows, extra features, single precision, threads."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from deciban.kernels import logistic_loss as kernel
from deciban.linear.design import Shared, Sparse, prepare_block
from deciban.linear.loss_pass import Rows
from deciban.linear.solvers import dual_lbfgs
from deciban.linear.solvers.gram import build_gram
from deciban.linear.solvers.logistic import fit_parts
from tests.linear.fitting import fit_matrix


def words(n=60, d=400, M=3, seed=0):
    rng = np.random.default_rng(seed)
    X = csr_array(rng.poisson(0.03, (n, d)) * rng.random((n, d)))
    return X, rng.integers(max(M, 2), size=n).astype(np.int32), rng.normal(size=(n, M))


def gram(X, codes, M, scale, extra, fast, threads=1):
    block = prepare_block(Sparse(X, 1.0, scale=scale), M, None, np.arange(len(codes)), True)
    return build_gram(Rows([block], codes, None, M, True, threads, fast), block, extra)


@pytest.mark.parametrize("fast", [None, kernel])
@pytest.mark.parametrize("M", [1, 3])
@pytest.mark.parametrize("scaled", [False, True])
def test_the_gram_product_is_the_product_of_their_features(fast, M, scaled):
    X, codes, a = words(M=M)
    rng = np.random.default_rng(1)
    scale, extra = rng.normal(size=(M, X.shape[1])) if scaled else None, rng.normal(size=(X.shape[0] * M, 2))
    x = X.toarray() if scaled else X.toarray() - X.toarray().mean(axis=0)
    of_score = [x * scale[k] if scaled else x for k in range(M)]
    expected = np.stack([of_score[k] @ (of_score[k].T @ a[:, k]) for k in range(M)], axis=1)
    expected += (extra @ (extra.T @ a.ravel())).reshape(a.shape)
    found = gram(X, codes, M, scale, extra, fast)
    np.testing.assert_allclose(found.multiply(a), expected, rtol=1e-11, atol=1e-11)
    found.use_single_precision()
    np.testing.assert_allclose(found.multiply(a), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scaled", [False, True])
def test_the_product_of_one_score_is_that_among_several_bit_for_bit(dtype, scaled):
    X, _, rows = words(n=300, d=900, M=2)
    C, rows = X.tocsc(), rows.astype(dtype)
    scale = np.random.default_rng(2).normal(size=(900, 2)) if scaled else np.empty((0, 0))
    found = []
    for columns in (slice(0, 1), slice(None)):
        out, mine = np.zeros_like(rows[:, columns]), np.ascontiguousarray(rows[:, columns])
        arrays = C.data.astype(dtype), C.indices, C.indptr
        kernel.add_gram_product(arrays, 0, 900, np.ascontiguousarray(scale[:, columns]), mine, out)
        found.append(out[:, 0])
    assert found[0].any()
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_threads_change_no_bit(tol):
    X, codes, _ = words(n=700, d=9000, M=5)
    one, three = (fit_matrix(X, codes, None, 5, l2=0.5, tol=tol, max_iter=500, threads=t) for t in (1, 3))
    np.testing.assert_array_equal(one.weights, three.weights)
    np.testing.assert_array_equal(one.bias, three.bias)


def test_single_precision_ends_where_double_does(monkeypatch):
    X, codes, _ = words(n=700, d=9000, M=5)
    rough = fit_matrix(X, codes, None, 5, l2=0.5, tol=1e-5, max_iter=500)
    monkeypatch.setattr(dual_lbfgs, "MAX_CURVATURE_RATIO", 0.0)
    exact = fit_matrix(X, codes, None, 5, l2=0.5, tol=1e-5, max_iter=500)
    assert rough.converged
    assert rough.objective == pytest.approx(exact.objective, rel=1e-9)


@pytest.mark.parametrize("K", [2, 4])
def test_a_feature_of_one_weight_added_to_words_has_the_weight_of_the_other_solver(K, monkeypatch):
    X, codes, _ = words(M=1 if K == 2 else K)
    parts = [Sparse(X, 1.0), Shared(np.random.default_rng(2).normal(size=(len(codes), 2, K)), 3.0)]
    found = fit_parts(parts, codes, None, K, tol=1e-9, max_iter=1000)
    monkeypatch.setattr(dual_lbfgs, "is_applicable", lambda *arguments: False)
    other = fit_parts(parts, codes, None, K, tol=1e-9, max_iter=1000)
    assert found.objective == pytest.approx(other.objective, rel=1e-10)
    for mine, theirs in zip(found.parts, other.parts):
        np.testing.assert_allclose(mine, theirs, atol=1e-4)


@pytest.mark.parametrize("weight", [1e-150, 1e-13, 1e-6, 1e20, 1e60, 1e200])
def test_weights_and_penalty_in_another_unit_change_nothing(weight):
    random = np.random.default_rng(0)
    X = csr_array(random.poisson(0.01, (200, 3000)) * (0.5 + random.random((200, 3000))))
    y = random.integers(3, size=200).astype(np.int32)
    plain = fit_matrix(X, y, None, 3, l2=1.0, tol=1e-4, max_iter=500)
    other = fit_matrix(X, y, np.full(200, weight), 3, l2=weight, tol=1e-4, max_iter=500)
    assert other.converged
    assert other.objective / weight == pytest.approx(plain.objective, rel=1e-7)


@pytest.mark.parametrize("intercept", [True, False])
def test_rows_without_a_number_leave_the_shares_of_the_classes(intercept):
    y = (np.arange(60) % 3 == 0).astype(np.int32)
    fit = fit_matrix(csr_array((60, 400)), y, None, 2, l2=0.0, intercept=intercept, tol=1e-6)
    assert not fit.weights.any()
    assert fit.bias[0] == pytest.approx(np.log(20 / 40) if intercept else 0.0, abs=1e-4)


def test_numbers_whose_squares_leave_a_double_are_not_called_converged():
    random = np.random.default_rng(0)
    X = csr_array(random.poisson(0.05, (60, 400)) * 1e150)
    fit = fit_matrix(X, (np.arange(60) % 2).astype(np.int32), None, 2, l2=1.0)
    assert np.isfinite(fit.objective)
    assert not fit.converged
