"""The kernels that go through one column at a time against their definitions: moments of a column, grids."""

import operator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban.engines import dense as arrays
from deciban.engines import kernel_dispatch as fast
from deciban.kernels import moments
from deciban.kernels.execution import MIN_KERNEL_STEPS, part_of_work
from deciban.ledger import Grid, Moments, Needs
from deciban.ledger.grid import MAX_FILLED_CELLS, cell_numbers
from tests.kernels.matrix import GRID, MOMENTS, assert_statistic, remove_values, tables
from tests.laws.matrix import assert_same


@pytest.mark.parametrize("rows", [1, 2, 3, 15, 16, 17, 31, 33, 2401, 70_001])
@pytest.mark.parametrize("K", [1, 2, 20, 300])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.uint8])
def test_moments_of_a_single_column(rows, K, kind):
    rng = np.random.default_rng(rows + K)
    X = rng.normal(100, 3, (rows, 1)).astype(kind)
    codes, weight = rng.integers(0, K, rows).astype(np.int32), rng.choice([0.0, 0.3, 1.0, 2.5], rows)
    for order in (codes, np.sort(codes)):
        for w in (None, weight):
            assert_statistic(MOMENTS, (X, order, w, K))
            if kind != np.uint8:
                assert_statistic(MOMENTS, (remove_values(np.repeat(X, 2, axis=1), rows)[:, :1], order, w, K))


def test_moments_of_a_column_that_is_missing_throughout():
    part = fast.summarise_by_kernel(moments, MOMENTS, np.full((300, 1), np.nan), np.zeros(300, np.int32), None, 2)
    assert part == Moments.empty(2, 1)


def test_moments_of_a_column_with_missing_values_are_refused_where_none_may_be():
    X, codes = np.arange(300.0)[:, None], np.zeros(300, np.int32)
    strict = Needs("moments", skips=False)
    assert fast.summarise_by_kernel(moments, strict, X, codes, None, 1) is not None
    for row in (0, 1, 299):
        for value in (np.nan, np.inf, -np.inf):
            odd = np.where(np.arange(300)[:, None] == row, value, X)
            assert fast.summarise_by_kernel(moments, strict, odd, codes, None, 1) is None


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize(("lone", "others"), [(0, 1), (20_000, 20_001), (10, 20_000)], ids=["first", "late", "alone"])
def test_a_class_whose_first_value_lies_far_out_keeps_its_digits(lone, others, weights):
    rng = np.random.default_rng(5)
    x, weight = rng.normal(size=40_000), rng.choice([0.3, 1.0, 2.5], 40_000)
    x[lone] = 1e6
    codes = (np.arange(40_000) >= others).astype(np.int32)
    codes[lone] = 1
    part = fast.summarise_by_kernel(moments, MOMENTS, x[:, None], codes, weight if weights else None, 2)
    exact = [Fraction(v) for v in x[codes == 1].tolist()]
    w = [Fraction(v) if weights else Fraction(1) for v in weight[codes == 1].tolist()]
    mean = sum(map(operator.mul, w, exact)) / sum(w)
    squares = sum(a * (v - mean) ** 2 for a, v in zip(w, exact))
    assert abs((Fraction(part.mean[1, 0]) + Fraction(part.rest[1, 0])) / mean - 1) < 1e-12
    assert abs(Fraction(part.m2[1, 0]) / squares - 1) < 1e-12


@given(table=tables(), scale=st.sampled_from([1.0, -3.0, 1e-300, 1e300]))
def test_grids_of_any_kind_of_number(table, scale):
    X, *rest = table
    assert_statistic(GRID, (X if X.dtype != np.float64 else X * scale, *rest))


@given(table=tables(kinds=[np.float64, np.float32], top=None))
def test_grids_of_measurements(table):
    assert_statistic(GRID, table)


@pytest.mark.parametrize("rows", [1023, 1024, 1025, 9000])
@pytest.mark.parametrize("columns", [1, 15, 16, 17, 33])
def test_grids_across_the_blocks_of_the_kernel(rows, columns):
    rng = np.random.default_rng(rows)
    X = np.where(rng.random((rows, columns)) < 0.1, np.nan, rng.normal(size=(rows, columns)))
    X[:, 0] = np.nan
    assert_statistic(GRID, (X, rng.integers(0, 3, rows).astype(np.int32), None, 4))


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize(("rows", "K"), [(90_000, 1), (9000, 70)])
def test_grids_with_more_cells_than_slots(rows, columns, K):
    rng = np.random.default_rng(K)
    X = rng.choice([-1.0, 1.0], (rows, columns)) * np.exp(rng.uniform(-300, 300, (rows, columns)))
    assert min(len(np.unique(cell_numbers(x, 7))) for x in X.T) > 4 * MAX_FILLED_CELLS
    assert_statistic(GRID, (X, rng.integers(0, K, rows).astype(np.int32), None, K))
    assert_statistic(GRID, (X, rng.integers(0, K, rows).astype(np.int32), rng.choice([0.0, 0.5, 2.0], rows), K))


STEPS = np.float64(2.0) ** np.array([-1074, -1023, -1022, -1, 0, 1, 7, 8, 9, 11, 12, 13, 1022])
CORNERS = np.concatenate([STEPS, np.nextafter(STEPS, 0), np.nextafter(STEPS, np.inf), [2000.0, 2000.5, 1e-310, 0.0]])


def test_grids_at_the_ends_of_cells_and_of_the_numbers():
    X = np.concatenate([CORNERS, -CORNERS, CORNERS * 1.5, -CORNERS * 1.5, [np.nan, -np.nan, 1.79e308, -1.79e308]])
    codes = np.arange(len(X), dtype=np.int32) % 3
    assert np.signbit(X[X == 0]).any()
    for x in (X, X[::-1].copy()):
        assert_statistic(GRID, (x[:, None], codes, None, 3))


@given(x=st.lists(st.floats(allow_infinity=False), min_size=1, max_size=40))
def test_grids_of_any_number_at_all(x):
    X, codes = np.array(x)[:, None], np.arange(len(x), dtype=np.int32) % 2
    with part_of_work(MIN_KERNEL_STEPS):
        assert_same(arrays.summarise(GRID, X, codes, None, 2, 1), Grid.of(X, codes, None, 2))


def test_infinity_is_left_to_the_definition_and_the_largest_numbers_are_not():
    X, codes = np.array([[-np.finfo(float).max], [np.finfo(float).max], [1.0]]), np.zeros(3, np.int32)
    assert fast.summarise_by_kernel(moments, GRID, X, codes, None, 1) == Grid.of(X, codes, None, 1)
    for value in (np.inf, -np.inf):
        assert (
            fast.summarise_by_kernel(moments, GRID, np.vstack([X, [[value]]]), codes[[0, 0, 0, 0]], None, 1) is None
        )


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("few", [0, 1023, 1024])
def test_a_sample_of_a_column_that_has_fewer_values_than_the_rest_does_not_decide_its_cells(few, scale):
    rng = np.random.default_rng(few)
    x = scale * (100 + rng.normal(size=40_000))
    x[:: 40_000 // fast.GRID_SAMPLE_ROWS] = x[0] + scale * np.arange(4445) % max(1, few)
    for some in (slice(None), slice(None, 9000), slice(8, 9)):
        codes = rng.integers(0, 3, 40_000).astype(np.int32)[some]
        assert_statistic(GRID, (x[some][:, None], codes, rng.choice([0.0, 1.0], len(codes)), 3))
