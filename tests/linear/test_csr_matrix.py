"""The sparse matrix of fits to mail: as SciPy's, bit for bit."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from deciban.linear.csr_matrix import CsrMatrix
from deciban.linear.solvers.logistic import Shared, Sparse, fit_parts


def make(n, d, density, seed=0):
    random = np.random.default_rng(seed)
    dense = np.where(random.random((n, d)) < density, random.normal(size=(n, d)), 0.0)
    theirs = csr_array(dense)
    return CsrMatrix(theirs.data, theirs.indices, theirs.indptr, d), theirs, dense


@pytest.mark.parametrize("shape", [(5, 7), (40, 300), (300, 40), (1, 1), (3, 0), (0, 3)])
def test_products_slices_and_the_transpose_are_those_of_scipy(shape):
    ours, theirs, dense = make(*shape, 0.3)
    random = np.random.default_rng(1)
    for right in (random.normal(size=shape[1]), random.normal(size=(shape[1], 3))):
        assert np.array_equal(ours @ right, theirs @ right)
    left = random.normal(size=shape[0])
    assert np.array_equal(ours.T @ left, theirs.T @ left)
    assert np.array_equal(ours.toarray(), dense)
    assert np.array_equal(ours.T.tocsr().toarray(), dense.T)
    assert np.array_equal(ours[1:3].toarray(), dense[1:3])
    assert (ours.shape, ours.nnz) == (theirs.shape, theirs.nnz)


def test_other_values_in_the_same_places():
    ours, _, dense = make(20, 30, 0.2)
    assert np.array_equal(ours.T.toarray(), dense.T)
    changed = ours.with_data(3 * ours.data)
    for X, expected in ((changed, 3 * dense), (changed.T, 3 * dense.T), (ours, dense), (ours.T, dense.T)):
        assert np.array_equal(X.toarray(), expected)


def test_columns_are_taken_by_number():
    ours, _, dense = make(20, 30, 0.2)
    columns = np.array([0, 3, 4, 29])
    assert np.array_equal(ours.take_columns(columns).toarray(), dense[:, columns])


@pytest.mark.parametrize("shape", [(60, 900), (400, 500)])
def test_a_fit_is_that_with_scipys_matrix(shape):
    ours, theirs, dense = make(*shape, 0.05)
    y = (dense[:, :5].sum(axis=1) > 0).astype(np.int32)
    total = dense.sum(axis=1)
    shared = np.stack([-total / 2, total / 2], axis=1)[:, None, :]
    fits = [fit_parts([Sparse(X, 1.0), Shared(shared, 2.0)], y, None, 2, tol=1e-7) for X in (ours, theirs)]
    assert all(fit.converged for fit in fits)
    assert fits[0].objective == pytest.approx(fits[1].objective, rel=1e-9)
    for one, other in zip(fits[0].parts, fits[1].parts, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
