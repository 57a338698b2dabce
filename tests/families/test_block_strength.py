"""The strength of a block of numbers, against rows drawn from their Gaussians."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from deciban.families.feature_strength import block_strength, strengths
from deciban.families.gaussian import Gaussian
from deciban.ledger import Moments, Scatter

PRIOR = np.array([0.5, 0.3, 0.2])


def scatter(n=4000, d=2, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.sort(rng.integers(0, 3, n)).astype(np.int32)
    mix = rng.normal(size=(3, d, d))
    X = np.stack([mix[k] @ rng.normal(size=d) + k for k in codes])
    return X, codes, Scatter.of(X, codes, None, 3)


def test_it_is_the_mean_evidence_of_rows_drawn_from_the_gaussians():
    _, _, part = scatter()
    form = Gaussian("full").solve(part)
    rng = np.random.default_rng(1)
    gaussians = [multivariate_normal(form.mean[k], form.covariance[k]) for k in range(3)]
    expected = 0.0
    for k in range(3):
        rows = gaussians[k].rvs(200_000, random_state=rng)
        for l in set(range(3)) - {k}:
            kl = (gaussians[k].logpdf(rows) - gaussians[l].logpdf(rows)).mean()
            expected += PRIOR[k] * PRIOR[l] / (1 - PRIOR[k]) * kl
    found = block_strength(Gaussian("full"), part, PRIOR, np.random.default_rng(0))
    assert found.value[0] == pytest.approx(expected, rel=0.02)
    assert found.low[0] < found.value[0] < found.high[0]


def test_of_one_number_it_is_the_strength_of_that_number():
    X, codes, part = scatter(d=1)
    alone = strengths(Gaussian(), Moments.of(X, codes, None, 3), PRIOR, np.random.default_rng(0))
    together = block_strength(Gaussian("full"), part, PRIOR, np.random.default_rng(0))
    assert together.value == pytest.approx(alone.value, rel=1e-9)
    assert together.low == pytest.approx(alone.low, rel=0.1)
    assert together.high == pytest.approx(alone.high, rel=0.1)


def test_more_rows_leave_less_doubt():
    spans = []
    for n in (60, 6000):
        found = block_strength(Gaussian("full"), scatter(n)[2], PRIOR, np.random.default_rng(0))
        spans.append((found.high[0] - found.low[0]) / found.value[0])
    assert spans[1] < spans[0] / 3


def test_a_class_without_rows_is_left_out_and_one_class_has_no_strength():
    X, codes, _ = scatter(90)
    part = Scatter.of(X[codes < 2], codes[codes < 2], None, 3)
    found = block_strength(Gaussian("full"), part, PRIOR, np.random.default_rng(0))
    assert np.isfinite(found.value[0])
    one = Scatter.of(X[codes == 0], codes[codes == 0], None, 3)
    assert block_strength(Gaussian("full"), one, PRIOR, np.random.default_rng(0)).value[0] == 0
