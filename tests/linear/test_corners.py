"""Extreme rows of logistic regression: huge and tiny units, constant columns, separable classes, empty input."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests.linear.fitting import fit_matrix


def random_rows():
    """Rows, and classes of two and of three kinds that depend on them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    two = (X[:, 0] + 0.5 * rng.normal(size=300) > 0).astype(np.int32)
    three = np.digitize(X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=300), [-0.5, 0.5]).astype(np.int32)
    return X, two, three


def wide_rows():
    """Rows of more columns than rows, with random classes."""
    rng = np.random.default_rng(1)
    return rng.normal(size=(30, 200)), rng.integers(3, size=30).astype(np.int32)


X, Y, Y3 = random_rows()


@pytest.mark.parametrize(("y", "n_classes"), [(Y, 2), (Y3, 3)], ids=["two", "three"])
def test_a_far_away_middle_changes_nothing_but_the_bias(y, n_classes):
    here = fit_matrix(X, y, None, n_classes, l2=1.0, tol=1e-8)
    far = fit_matrix(X + 1e8, y, None, n_classes, l2=1.0, tol=1e-8)
    assert far.n_iter <= here.n_iter + 3
    np.testing.assert_allclose(far.weights, here.weights, atol=1e-5)


@pytest.mark.parametrize(("y", "n_classes"), [(Y, 2), (Y3, 3)], ids=["two", "three"])
@pytest.mark.parametrize("size", [1e300, 1e150, 1e-150, 1e-300])
def test_without_a_penalty_the_unit_of_a_column_is_of_no_account(size, y, n_classes):
    here = fit_matrix(X, y, None, n_classes, l2=0.0, tol=1e-8)
    there = fit_matrix(X * size, y, None, n_classes, l2=0.0, tol=1e-8)
    assert there.converged
    assert there.loss == pytest.approx(here.loss, rel=1e-9)
    np.testing.assert_allclose(there.weights * size, here.weights, rtol=1e-4, atol=1e-4)


def test_one_huge_cell_does_no_harm():
    huge = X.copy()
    huge[3, 2] = 1e300
    fit = fit_matrix(huge, Y, None, 2, l2=1.0)
    assert fit.converged
    assert np.isfinite(fit.weights).all()


@pytest.mark.parametrize("l2", [0.0, 1.0])
def test_constant_and_repeated_columns(l2):
    fit = fit_matrix(np.hstack([X, X[:, :1], np.full((300, 1), 3.0)]), Y, None, 2, l2=l2, tol=1e-8)
    alone = fit_matrix(X, Y, None, 2, l2=l2, tol=1e-8)
    assert fit.converged
    assert fit.loss <= alone.loss + 1e-6
    assert fit.weights[0, 6] == pytest.approx(0.0, abs=1e-6)
    assert fit.weights[0, 0] == pytest.approx(fit.weights[0, 5], rel=1e-4)


SEPARABLE = [
    pytest.param(X, (X[:, 0] > 0).astype(np.int32), 2, id="two"),
    pytest.param(X, X[:, :3].argmax(axis=1).astype(np.int32), 3, id="three"),
    pytest.param(*wide_rows(), 3, id="wide"),
    pytest.param(
        sp.random_array((60, 500), density=0.1, format="csr", rng=1),
        np.arange(60, dtype=np.int32) % 2,
        2,
        id="sparse",
    ),
]


@pytest.mark.parametrize(("rows", "y", "n_classes"), SEPARABLE)
def test_separable_rows_without_a_penalty_have_finite_weights_and_are_reported(rows, y, n_classes):
    fit = fit_matrix(rows, y, None, n_classes, l2=0.0)
    assert fit.separable
    assert fit.converged
    assert np.isfinite(fit.weights).all()
    assert np.isfinite(fit.bias).all()
    assert np.abs(fit.weights).max() < 1e5
    assert not fit_matrix(rows, y, None, n_classes, l2=1e-3).separable


def test_rows_on_the_boundary_alone_do_not_hide_that_the_others_are_separable():
    some, y = X[:, :1].copy(), (X[:, 0] > 0).astype(np.int32)
    some[:20], y[:20] = 0.0, np.arange(20) % 2
    fit = fit_matrix(some, y, None, 2, l2=0.0)
    assert fit.separable
    assert fit.loss == pytest.approx(20 * np.log(2), rel=1e-3)


def test_overlapping_rows_are_not_separable():
    assert not fit_matrix(X, Y, None, 2, l2=0.0).separable
    assert not fit_matrix(X, Y3, None, 3, l2=0.0).separable


def test_no_weight_at_all_learns_nothing():
    fit = fit_matrix(X, Y, np.zeros(300), 2, l2=1.0)
    assert fit.converged
    assert not fit.weights.any()


@pytest.mark.thorough(reason="fits a thousand classes: seconds")
def test_a_thousand_classes():
    rng = np.random.default_rng(2)
    y = (np.arange(3000) % 1000).astype(np.int32)
    fit = fit_matrix(rng.normal(size=(3000, 4)) + y[:, None] % 7, y, None, 1000, l2=1.0)
    assert fit.converged
    assert fit.weights.shape == (1000, 4)
    assert fit.loss < 3000 * np.log(1000)


def test_one_row_no_column_and_a_class_without_rows():
    assert fit_matrix(X[:1], Y[:1], None, 2, l2=1.0).converged
    none = fit_matrix(X[:, :0], Y, None, 2, l2=1.0, tol=1e-8)
    assert none.bias[0] == pytest.approx(np.log(Y.mean() / (1 - Y.mean())), abs=1e-6)
    fit = fit_matrix(X, Y, None, 3, l2=1.0)
    assert fit.converged
    assert fit.bias[2] < fit.bias[:2].min() - 3


def test_small_fits_load_no_kernels():
    import subprocess
    import sys

    code = (
        "import sys, numpy as np; from deciban.linear.solvers.logistic import Dense, fit_parts;"
        "part, y = Dense(np.arange(40.0).reshape(20, 2), 1.0), (np.arange(20) % 2).astype(np.int32);"
        "fit_parts([part], y, None, 2);"
        "assert 'numba' not in sys.modules and 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
