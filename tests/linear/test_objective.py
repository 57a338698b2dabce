import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deciban.kernels import logistic_loss as kernel
from deciban.linear.solvers.logistic_objective import (
    compute_losses,
    compute_margins,
    compute_probabilities,
    compute_residuals,
)

SIZES = pytest.mark.parametrize("n_scores", [1, 2, 3, 7])


def some(n_scores: int, seed: int = 0, spread: float = 3.0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(40, n_scores)) * spread
    return scores, rng.integers(max(n_scores, 2), size=40).astype(np.int32)


@SIZES
def test_residuals_are_the_slopes_of_the_losses(n_scores):
    scores, codes = some(n_scores)
    step = 1e-6
    for k in range(n_scores):
        nudge = np.zeros(n_scores)
        nudge[k] = step
        slope = (compute_losses(scores + nudge, codes) - compute_losses(scores - nudge, codes)) / (2 * step)
        np.testing.assert_allclose(compute_residuals(scores, codes)[:, k], slope, atol=1e-8)


@SIZES
def test_a_loss_is_the_surprise_at_the_class(n_scores):
    scores, codes = some(n_scores)
    p = compute_probabilities(scores)
    computed = np.where(codes == 1, p[:, 0], 1 - p[:, 0]) if n_scores == 1 else p[np.arange(40), codes]
    np.testing.assert_allclose(compute_losses(scores, codes), -np.log(computed), rtol=1e-9)


def test_two_scores_are_one_log_odds():
    scores, codes = some(2)
    odds = scores[:, 1:] - scores[:, :1]
    np.testing.assert_allclose(compute_losses(scores, codes), compute_losses(odds, codes), rtol=1e-12)
    np.testing.assert_allclose(compute_probabilities(scores)[:, 1:], compute_probabilities(odds), rtol=1e-12)
    np.testing.assert_allclose(compute_residuals(scores, codes)[:, 1:], compute_residuals(odds, codes), rtol=1e-12)


def test_the_sigmoid_mirrors_itself():
    s = np.linspace(-40, 40, 41)[:, None]
    np.testing.assert_allclose(compute_probabilities(s) + compute_probabilities(-s), 1.0, rtol=1e-15)
    np.testing.assert_allclose(compute_probabilities(s), 0.5 * (1 + np.tanh(s / 2)), atol=1e-15)


@pytest.mark.parametrize("n_scores", [2, 3, 7])
def test_a_common_shift_changes_nothing_and_residuals_sum_to_nothing(n_scores):
    scores, codes = some(n_scores)
    np.testing.assert_allclose(compute_losses(scores + 700.0, codes), compute_losses(scores, codes), rtol=1e-10)
    np.testing.assert_allclose(compute_residuals(scores, codes).sum(axis=1), 0.0, atol=1e-15)


@SIZES
def test_huge_scores_neither_overflow_nor_lose_the_small(n_scores):
    scores, codes = some(n_scores, spread=1e5)
    found = compute_losses(scores, codes)
    assert np.isfinite(found).all()
    assert np.isfinite(compute_residuals(scores, codes)).all()
    certain = np.array([[50.0] + [0.0] * (n_scores - 1)])
    assert compute_losses(certain, np.array([0 if n_scores > 1 else 1], dtype=np.int32))[0] == pytest.approx(
        max(n_scores - 1, 1) * np.exp(-50.0), rel=1e-12
    )


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 3, 5]), st.floats(0, 1))
def test_the_loss_is_convex_along_every_segment(seed, n_scores, share):
    a, codes = some(n_scores, seed)
    b, _ = some(n_scores, seed + 1)
    between = compute_losses(share * a + (1 - share) * b, codes)
    assert (between <= share * compute_losses(a, codes) + (1 - share) * compute_losses(b, codes) + 1e-12).all()


@SIZES
@pytest.mark.parametrize("weighted", [False, True])
def test_the_kernel_is_the_definition(n_scores, weighted):
    for spread in (1.0, 30.0, 1e5):
        scores, codes = some(n_scores, spread=spread)
        weight = np.random.default_rng(1).random(40) if weighted else np.empty(0)
        w = weight if weighted else np.ones(40)
        expected = compute_residuals(scores, codes) * w[:, None]
        loss = w @ compute_losses(scores, codes)
        assert kernel.loss_and_residuals_inplace(scores, codes, weight) == pytest.approx(loss, rel=1e-12)
        np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-300)


def test_a_margin_is_below_zero_where_a_row_is_predicted_wrongly():
    scores = np.array([[2.0, 1.0, 0.0], [2.0, 1.0, 5.0]])
    assert compute_margins(scores, np.array([0, 0], dtype=np.int32)).tolist() == [1.0, -3.0]
    assert compute_margins(np.array([[2.0], [2.0]]), np.array([1, 0], dtype=np.int32)).tolist() == [2.0, -2.0]
