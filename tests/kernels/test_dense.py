"""The kernels over dense rows against their definitions, on awkward shapes and kinds of number."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from deciban.engines import dense as arrays
from deciban.engines import kernel_dispatch as fast
from deciban.engines.kernel_arrays import to_kernel_array, to_level_codes
from deciban.kernels import moments, score, value_counts
from deciban.ledger import Counts, Levels, Needs
from deciban.scores import BoundedDiagonal, Diagonal, Linear, Lookup, Steps, finish, log_sum_exp
from deciban.scores.form_algebra import scale_form
from tests.kernels.matrix import (
    BAG,
    COUNTS,
    GRID,
    INDICATOR,
    KINDS,
    LEVELS,
    MOMENTS,
    UNIT,
    assert_statistic,
    remove_values,
    spoilt,
    tables,
)
from tests.laws.matrix import assert_same


def assert_near(actual, expected, size):
    """Within 1e-12 of the sum of what was added up."""
    np.testing.assert_array_less(np.abs(actual - expected), 1e-12 * size + 1e-300)


@given(table=tables(kinds=[np.float64, np.float32], top=None, offset=3.0))
def test_moments_of_measurements(table):
    assert_statistic(MOMENTS, table)


@pytest.mark.thorough(reason="compiles a kernel for every kind of number: seconds")
@given(table=tables())
def test_moments_of_any_kind_of_number(table):
    assert_statistic(MOMENTS, table)


@given(table=tables(kinds=[np.float64], top=None, offset=1e8))
def test_moments_far_from_zero(table):
    assert_statistic(MOMENTS, table)


@given(table=tables())
def test_counts(table):
    assert_statistic(BAG, table)


@given(table=tables(), threshold=st.sampled_from([-1.0, 0.0, 0.5, 1.0, 3.0, 254.5, 255.0, 300.0, 1e6]))
def test_indicators(table, threshold):
    assert_statistic(Needs("counts", threshold=threshold), table)


@given(table=tables(kinds=[np.int64, np.uint8, np.float64]))
def test_levels(table):
    assert_statistic(LEVELS, table)


@pytest.mark.parametrize("needs", [MOMENTS, COUNTS, INDICATOR, LEVELS, GRID], ids=lambda n: f"{n.kind} {n.threshold}")
@given(table=tables(kinds=[np.float64, np.float32]), seed=st.integers(0, 999))
def test_statistics_of_rows_with_missing_values(needs, table, seed):
    X, *rest = table
    assert_statistic(needs, (remove_values(X, seed), *rest))


@given(table=tables(kinds=[np.float64, np.float32], top=None, offset=1e3))
def test_scatter(table):
    assert_statistic(Needs("scatter"), table)


@pytest.mark.parametrize("rows", [65534, 65535, 65536, 65537, 131070, 131071])
def test_small_counters_do_not_overflow(rows):
    X = np.ones((rows, 1), np.uint8)
    total = np.zeros((1, 1), np.int64)
    value_counts.count_small(to_kernel_array(X), np.zeros(rows, np.int32), 0, total)
    assert total.item() == rows


@pytest.mark.parametrize("rows", [32767, 32768, 32769, 65537])
@pytest.mark.parametrize("columns", [1, 2])
def test_moments_across_the_blocks_of_the_kernel(rows, columns):
    rng = np.random.default_rng(rows)
    X, codes = rng.normal(1e8, 1, (rows, columns)), np.sort(rng.integers(0, 3, rows)).astype(np.int32)
    assert_statistic(MOMENTS, (X, codes, None, 4))


@pytest.mark.parametrize("rows", [63, 64, 65, 129])
def test_moments_of_rows_wider_than_the_cache(rows):
    rng = np.random.default_rng(rows)
    assert_statistic(MOMENTS, (rng.normal(5, 2, (rows, 1100)), rng.integers(0, 3, rows).astype(np.int32), None, 3))


def test_levels_that_appear_only_in_late_rows_are_counted():
    X = np.zeros((5000, 2), np.int64)
    X[4999] = [7, 3]
    part = fast.summarise_by_kernel(moments, LEVELS, X, np.zeros(5000, np.int32), None, 1)
    assert part == Levels.of(X, np.zeros(5000, np.int32), None, 1)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1.0, -1e-300])
@pytest.mark.parametrize(
    "needs", [MOMENTS, BAG, INDICATOR, LEVELS, GRID], ids=["moments", "counts", "indicators", "levels", "grid"]
)
@given(table=tables(kinds=[np.float64, np.float32]), seed=st.integers(0, 999))
def test_what_a_kernel_cannot_count_it_leaves_to_the_definition(needs, value, table, seed):
    X, codes, _, K = table
    assume(X.size)
    X = spoilt(X, np.random.default_rng(seed), value)
    stored = X.dtype.type(value)  # single precision may have no number so small
    fine = needs.skips if np.isnan(stored) else np.isfinite(stored) and (needs.signed or stored >= 0)
    quick = fast.summarise_by_kernel(moments, needs, X, codes, None, K)
    assert (quick is not None) == fine
    if fine:
        assert_same(quick, arrays.summarise_by_definition(needs, X, codes, None, K))


def test_a_negative_code_of_whole_numbers_is_left_to_the_definition():
    X = np.array([[0], [-1]])
    assert fast.summarise_by_kernel(moments, LEVELS, X, np.zeros(2, np.int32), None, 1) is None
    table, offset = np.zeros((1, 1)), np.array([0, 1])
    assert value_counts.fill_levels(to_level_codes(X), np.zeros(2, np.int32), UNIT, offset, False, table) == -1
    assert value_counts.fill_levels(to_level_codes(X), np.zeros(2, np.int32), UNIT, offset, True, table) == 0
    assert value_counts.fill_levels(to_level_codes(X + 5), np.zeros(2, np.int32), UNIT, offset, True, table) == 1


def diagonal_form(rng, K, d):
    return Diagonal(rng.normal(1, 3, (K, d)), rng.uniform(0.1, 9, (K, d)))


def bounded_form(rng, K, d, weighted=False):
    mean, variance, weight = rng.normal(1, 3, (K, d)), rng.uniform(0.1, 9, (K, d)), rng.uniform(0, 2, d).round()
    return BoundedDiagonal(mean, variance, weight if weighted else None, log_tail=rng.uniform(-6, -2, d))


def linear_form(rng, K, d, threshold):
    return Linear(rng.normal(-3, 2, (K, d)), rng.normal(size=K), rng.normal(size=(K, d)), threshold=threshold)


def lookup_form(rng, K, d):
    offset = np.concatenate([[0], np.cumsum(rng.integers(0, 5, d))]).astype(np.int64)
    return Lookup(rng.normal(-2, 1, (K, offset[-1])), offset, rng.normal(-3, 1, (K, d)))


def steps_form(rng, K, d):
    sizes = rng.choice([0, 1, 2, 3, 8, 9, 40], d)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    cuts = np.concatenate([np.zeros(0), *(np.sort(rng.integers(-4, 5, size) / 2) for size in sizes)])
    return Steps(cuts, start, rng.normal(-2, 1, (K, len(cuts) + d)))


def score_rows(form, X, needs, K, wanted="joint"):
    """(the kernel's answer, whether it gave one), added to what was there."""
    out = np.full((len(X), K), 0.5)
    return out, fast.score_by_kernel(score, form, X, needs, wanted, out)


@given(table=tables(), seed=st.integers(0, 999), holes=st.booleans())
def test_diagonal_scores(table, seed, holes):
    X, _, _, K = table
    X = remove_values(X, seed) if holes and X.dtype.kind == "f" else X
    form = diagonal_form(np.random.default_rng(seed), K, X.shape[1])
    out, done = score_rows(form, X, MOMENTS, K)
    assert done == bool(X.size)
    if done:
        squares = np.nansum((X[:, None].astype(float) - form.mean) ** 2 * form.precision, axis=2)
        assert_near(out, 0.5 + form.log_likelihoods(X), 0.5 + np.abs(form.log_norm).sum(axis=1) + squares)


@given(table=tables(), seed=st.integers(0, 999), holes=st.booleans(), weighted=st.booleans())
def test_bounded_scores(table, seed, holes, weighted):
    X, _, _, K = table
    X = remove_values(X, seed) if holes and X.dtype.kind == "f" else X
    form = bounded_form(np.random.default_rng(seed), K, X.shape[1], weighted)
    out, done = score_rows(form, X, MOMENTS, K)
    assert done == bool(X.size)
    if done:
        assert_near(out, 0.5 + form.log_likelihoods(X), 0.5 + 40.0 * X.shape[1])


def test_a_bounded_kernel_takes_numbers_whose_squares_overflow_and_leaves_the_rest_to_the_definition():
    form = bounded_form(np.random.default_rng(0), 3, 2)
    far = np.array([[1e200, -1e300], [1.0, np.nan]])
    out, done = score_rows(form, far, MOMENTS, 3)
    assert done
    np.testing.assert_allclose(out, 0.5 + form.log_likelihoods(far), rtol=1e-12)
    assert not score_rows(scale_form(form, [1.0, -1.0]), far, MOMENTS, 3)[1]
    shares = np.array([[1.0, 0.5], [0.0, 0.5], [0.0, 0.0]])
    assert not score_rows(replace(form, shares=shares), far, MOMENTS, 3)[1]


@given(
    table=tables(), seed=st.integers(0, 999), threshold=st.sampled_from([None, 0.0, 1.0, 2.5]), holes=st.booleans()
)
def test_linear_scores(table, seed, threshold, holes):
    X, _, _, K = table
    X = remove_values(X, seed) if holes and X.dtype.kind == "f" else X
    form = linear_form(np.random.default_rng(seed), K, X.shape[1], threshold)
    out, done = score_rows(form, X, COUNTS if threshold is None else INDICATOR, K)
    assert done == bool(X.size)
    if done:
        size = (
            0.5
            + np.abs(form.bias)
            + np.abs(form.offsets).sum(axis=1)
            + np.nan_to_num(form.read_values(X)) @ np.abs(form.weights).T
        )
        assert_near(out, 0.5 + form.log_likelihoods(X), size)


@given(table=tables(kinds=[np.float64, np.int64]), seed=st.integers(0, 999))
def test_linear_scores_with_the_part_no_class_changes(table, seed):
    X, _, _, K = table
    assume(X.size)
    rng = np.random.default_rng(seed)
    form = Linear(rng.normal(size=(K, X.shape[1])), rng.normal(size=K), carrier="log_factorial")
    out, done = score_rows(form, X, BAG, K)
    assert done
    np.testing.assert_allclose(out, 0.5 + form.log_likelihoods(X), rtol=1e-11, atol=1e-9)
    without, done = score_rows(form, X, BAG, K, "posterior")
    assert done
    np.testing.assert_allclose(without - without[:, :1], out - out[:, :1], rtol=0, atol=1e-9)


@given(table=tables(kinds=[np.int64, np.float64, np.uint8]), seed=st.integers(0, 999), holes=st.booleans())
def test_lookup_scores_of_known_unseen_and_missing_levels(table, seed, holes):
    X, _, _, K = table
    rng = np.random.default_rng(seed)
    if holes and X.dtype.kind == "f":
        X = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    form = lookup_form(rng, K, X.shape[1])
    out, done = score_rows(form, X, LEVELS, K)
    assert done == bool(X.size)
    if done:
        assert_near(out, 0.5 + form.log_likelihoods(to_level_codes(X)), 0.5 + 12.0 * X.shape[1])


@given(table=tables(), seed=st.integers(0, 999), holes=st.booleans())
def test_scores_by_bins(table, seed, holes):
    X, _, _, K = table
    X = remove_values(X, seed) if holes and X.dtype.kind == "f" else X
    form = steps_form(np.random.default_rng(seed), K, X.shape[1])
    out, done = score_rows(form, X, GRID, K)
    assert done == bool(X.size)
    if done:
        assert_near(out, 0.5 + form.log_likelihoods(X), 0.5 + 12.0 * X.shape[1])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1.0])
@given(table=tables(kinds=[np.float64, np.float32]), seed=st.integers(0, 999))
def test_rows_a_kernel_cannot_score_it_leaves_to_the_definition(value, table, seed):
    X, _, _, K = table
    assume(X.size)
    rng = np.random.default_rng(seed)
    X = spoilt(X, rng, value)
    d = X.shape[1]
    known = not np.isinf(value)  # a missing value says nothing, an infinite one has no meaning
    assert score_rows(diagonal_form(rng, K, d), X, MOMENTS, K)[1] == known
    assert score_rows(bounded_form(rng, K, d), X, MOMENTS, K)[1] == known
    assert score_rows(linear_form(rng, K, d, 0.0), X, INDICATOR, K)[1] == known
    assert not score_rows(linear_form(rng, K, d, None), X, BAG, K)[1]
    assert score_rows(lookup_form(rng, K, d), X, LEVELS, K)[1] == np.isnan(value)
    assert score_rows(steps_form(rng, K, d), X, GRID, K)[1] == known
    assert score_rows(steps_form(rng, K, d), X, Needs("grid", skips=False), K)[1] == np.isfinite(value)


JOINTS = st.sampled_from([-np.inf, -np.inf, -1e17, -745.2, -3.0, 0.0, 0.5, 700.0])


@st.composite
def joints(draw):
    n, K = draw(st.sampled_from([0, 1, 3, 65])), draw(st.sampled_from([1, 2, 5]))
    return np.array(draw(st.lists(JOINTS, min_size=n * K, max_size=n * K)), dtype=float).reshape(n, K)


@given(joint=joints())
@example(joint=np.full((2, 3), -np.inf))
@example(joint=np.full((1, 2), -1e308))
def test_finishing_joint_scores(joint):
    n, K = joint.shape
    log_prior = np.log(np.arange(1.0, K + 1) / (K * (K + 1) / 2))
    for wanted in ("posterior", "log_posterior", "winner", "density"):
        expected, lost = finish(joint.copy(), log_prior, wanted)
        work = joint.copy()
        out = work if expected.ndim == 2 else np.empty(n, expected.dtype)
        assert fast.finish_by_kernel(score, work, log_prior, wanted, out) == lost
        np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scores_that_are_no_number_are_reported(value):
    log_prior = np.log(np.full(3, 1 / 3))
    for column in range(3):
        joint = np.zeros((2, 3))
        joint[1, column] = value
        assert score.normalise(joint.copy(), log_prior, False) == -1
        assert score.normalise(joint.copy(), log_prior, True) == -1
        assert score.find_best_classes(joint, log_prior, np.empty(2, np.intp)) == -1
        assert score.compute_log_densities(joint, np.empty(2)) == -1


def test_the_density_kernel_is_the_one_log_sum_exp():
    joint = np.array([[0.0, -1e5], [-1e300, -1e300], [700.0, 700.0], [-np.inf, -np.inf]])
    out = np.empty(4)
    assert score.compute_log_densities(joint, out) == 0
    np.testing.assert_allclose(out, log_sum_exp(joint), rtol=1e-15)


def test_bytes_and_booleans_count_as_numbers_do():
    X = np.array([[0, 1], [1, 1], [1, 0]])
    codes = np.zeros(3, np.int32)
    for kind in KINDS:
        part = fast.summarise_by_kernel(moments, Needs("counts", threshold=0.0), X.astype(kind), codes, None, 1)
        assert part == Counts(np.array([[2.0, 2.0]]), np.array([[3.0]])), kind


@pytest.mark.parametrize("threshold", [1e20, 2.0**63, -1e20])
@pytest.mark.parametrize("kind", [np.uint8, np.float64])
def test_thresholds_beyond_every_whole_number(threshold, kind):
    X = np.array([[0, 1], [1, 1]]).astype(kind)
    part = fast.summarise_by_kernel(moments, Needs("counts", threshold=threshold), X, np.zeros(2, np.int32), None, 1)
    assert part.total.tolist() == [[0, 0] if threshold > 0 else [2, 2]]
