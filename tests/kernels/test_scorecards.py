"""Kernels of validation against definitions: scores by fold, leave-one-out scores, scorecards of posteriors."""

import numpy as np
import pytest

import deciban
from deciban.estimators.cross_validate import out_of_fold
from deciban.kernels import execution
from deciban.metrics import scorecard as metrics
from deciban.metrics.scorecard import Scorecard

K, D = 4, 70


@pytest.fixture
def either(monkeypatch):
    """Return the result of a call by the definition, and by kernels."""

    def both(call):
        monkeypatch.setattr(execution, "MIN_KERNEL_STEPS", 1 << 60)
        plain = call()
        monkeypatch.setattr(execution, "MIN_KERNEL_STEPS", 0)
        return plain, call()

    return both


def rows(n=500, dtype=np.float64, scale=1.0):
    rng = np.random.default_rng(3)
    y = rng.integers(0, K, n)
    X = (rng.normal(size=(n, D)) * (1 + y[:, None]) + rng.normal(size=(K, D))[y]) * np.linspace(1, scale, D)
    return X.astype(dtype), y, rng.uniform(0.1, 2.0, n)


@pytest.mark.parametrize("weighed", [False, True], ids=["unit", "weighed"])
@pytest.mark.parametrize("wanted", ["log_posterior", "posterior", "joint", "density"])
@pytest.mark.parametrize("folds", [7, "loo"])
def test_rows_are_scored_alike(either, folds, wanted, weighed):
    X, y, w = rows()
    weight = w if weighed else None
    plain, quick = either(
        lambda: out_of_fold(deciban.GaussianNB(), X, y, folds, sample_weight=weight, wanted=wanted).scores
    )
    np.testing.assert_allclose(quick, plain, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("prior", ["empirical", "smoothed", "uniform", [0.1, 0.2, 0.3, 0.4]], ids=str)
def test_priors_follow_the_rows_that_are_left(either, prior):
    X, y, w = rows()
    plain, quick = either(lambda: out_of_fold(deciban.GaussianNB(priors=prior), X, y, "loo", sample_weight=w).scores)
    np.testing.assert_allclose(quick, plain, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("smoothing", [0.0, 1e-9, 1e-3])
def test_smoothing_by_the_widest_column_is_noticed_where_it_matters(either, smoothing):
    """Columns whose variances lie 1e8 apart: ε moves with every row, and the narrow columns with it."""
    X, y, w = rows(scale=1e4)
    plain, quick = either(
        lambda: out_of_fold(deciban.GaussianNB(var_smoothing=smoothing), X, y, "loo", sample_weight=w).scores
    )
    np.testing.assert_allclose(quick, plain, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("folds", [7, "loo"])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_other_kinds_of_number_are_scored_alike(either, folds, dtype):
    X, y, _ = rows(dtype=dtype)
    plain, quick = either(lambda: out_of_fold(deciban.GaussianNB(), X, y, folds).scores)
    np.testing.assert_allclose(quick, plain, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("folds", [7, "loo"])
def test_rows_that_no_kernel_knows_are_left_to_the_definition(either, folds):
    X, y, _ = rows()
    X[[3, 400], 5] = np.nan
    plain, quick = either(lambda: out_of_fold(deciban.GaussianNB(), X, y, folds).scores)
    np.testing.assert_allclose(quick, plain, rtol=1e-10, atol=1e-9)


def test_rows_that_no_model_scores_stay_without_scores(either):
    X, y, _ = rows()
    fold = np.arange(500) % 6 - 1
    plain, quick = either(lambda: out_of_fold(deciban.GaussianNB(), X, y, fold).scores)
    assert np.array_equal(np.isnan(quick[:, 0]), fold < 0)
    np.testing.assert_allclose(quick, plain, rtol=1e-10, atol=1e-9)


def test_far_rows_and_small_classes_are_computed_without_the_row(either):
    X, y, _ = rows()
    X[9] = 1e7
    y[:3] = [K, K + 1, K + 1]
    plain, quick = either(lambda: out_of_fold(deciban.GaussianNB(), X, y, "loo").scores)
    np.testing.assert_allclose(quick, plain, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("known", ["all", "some", "by row"])
@pytest.mark.parametrize("weighed", [False, True], ids=["unit", "weighed"])
def test_kernels_and_definition_give_equal_scorecards(either, known, weighed, monkeypatch):
    monkeypatch.setattr(metrics, "KERNEL_BLOCK_ROWS", 128)
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(1000, K)) * 20
    scores -= np.logaddexp.reduce(scores, axis=1)[:, None]
    scores[5, 2] = -np.inf
    scores[7] = np.log([0.4, 0.4, 0.1, 0.1])
    truth, weight = rng.integers(-1, K, 1000), rng.uniform(0.0, 2.0, 1000) if weighed else None
    known_classes = {"all": None, "some": np.arange(K) != 1, "by row": rng.random((1000, K)) < 0.9}[known]
    plain, quick = either(lambda: Scorecard.of(scores, truth, weight, known_classes))
    assert plain.rows.tolist() == quick.rows.tolist()
    for name in ("confusion", "unknown", "bins", "squares"):
        np.testing.assert_allclose(getattr(quick, name), getattr(plain, name), rtol=1e-12)
    for name in ("weight", "mean", "m2"):
        np.testing.assert_allclose(getattr(quick.losses, name), getattr(plain.losses, name), rtol=1e-12)


def test_confidence_on_the_edge_of_a_bin_is_in_the_bin_below(either):
    share = np.array([[1.0, 0.0], [0.6, 0.4], [0.8, 0.2], [0.5, 0.5]])
    with np.errstate(divide="ignore"):
        scores = np.log(share)
    plain, quick = either(lambda: Scorecard.of(scores, np.zeros(4, dtype=int), bins=5))
    assert np.array_equal(plain.bins, quick.bins)


def test_what_is_no_number_is_refused_by_the_definition(monkeypatch):
    monkeypatch.setattr(execution, "MIN_KERNEL_STEPS", 0)
    with pytest.raises(deciban.errors.InputError, match="row 1 has no posterior"):
        metrics.Scorecard.of(np.array([[0.0, -np.inf], [np.nan, np.nan]]), np.array([0, 1]))
