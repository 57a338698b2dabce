"""The least and greatest values that were learned, after any additions and subtractions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deciban.ledger import extremes
from deciban.ledger.extremes import N_VALUES, Extremes

CHUNKS = [extremes.CHUNK_ROWS, 2]
"""Rows of a chunk: so many that a few rows are one, and so few that they are many."""

VALUES = st.lists(st.sampled_from([-3.0, -1.5, 0.0, 1.0, 2.5, 4.0, 7.0, 100.0, np.nan]), max_size=30)


@pytest.fixture(scope="module", autouse=True, params=CHUNKS)
def chunk_rows(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extremes, "CHUNK_ROWS", request.param)
        patch.setattr(extremes, "FIRST_ROWS", request.param)
        yield


def of(values, name="x"):
    return Extremes.of([name], [np.array(values, dtype=np.float64)])


def assert_same(a, b):
    assert a.names == b.names
    for name in ("value", "rows", "limit"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@given(VALUES, VALUES, VALUES)
@settings(deadline=None)
def test_any_split_in_any_order_has_the_extremes_of_all_rows(a, b, c):
    whole = of([*a, *b, *c])
    for together in (of(a) + of(b) + of(c), of(c) + (of(a) + of(b)), of(b).add_rows([np.array([*c, *a])])):
        np.testing.assert_array_equal(together.value, whole.value)
        np.testing.assert_array_equal(together.rows, whole.rows)
        assert together.ranges() == whole.ranges()
    assert_same(of(a) + Extremes.empty(["x"]), of(a))


@given(VALUES, VALUES)
@settings(deadline=None)
def test_no_learned_value_is_outside_the_range_after_others_are_forgotten(kept, forgotten):
    left = of([*kept, *forgotten]) - of(forgotten)
    known = [value for value in kept if value == value]
    if known:
        low, high = left.ranges()["x"]
        assert low <= min(known) <= max(known) <= high


@given(VALUES, VALUES)
@settings(deadline=None)
def test_forgetting_fewer_values_than_are_kept_at_an_end_gives_the_range_of_the_others(kept, forgotten):
    known = [value for value in kept if value == value]
    if known and len({value for value in forgotten if value == value}) < N_VALUES:
        assert (of([*kept, *forgotten]) - of(forgotten)).ranges()["x"] == (min(known), max(known))


def test_a_value_of_many_rows_is_not_taken_for_forgotten(monkeypatch):
    monkeypatch.setattr(extremes, "MAX_COUNTED_ROWS", 5)
    many = of([0.0] * 9 + [1.0, 2.0, 9.0])
    assert many.rows[0].tolist() == [[5, 0, 0, 0]]
    assert (many - of([0.0] * 9)).ranges() == {"x": (0.0, 9.0)}
    assert (many + of([-1.0])).ranges() == {"x": (-1.0, 9.0)}
    assert_same(of([0.0, 0.0, 1.0]) + of([0.0] * 3), of([1.0] + [0.0] * 5))


def test_columns_in_another_order_are_matched_by_name():
    a = Extremes.of(["x", "y"], [np.array([1.0]), np.array([10.0])])
    b = Extremes.of(["y", "x"], [np.array([20.0]), np.array([2.0])])
    assert (a + b).ranges() == {"x": (1.0, 2.0), "y": (10.0, 20.0)}


@pytest.mark.parametrize("n", [3000, 100_000])
def test_large_columns_are_searched_beyond_their_first_rows(n):
    rng = np.random.default_rng(n)
    x = np.round(rng.normal(size=n), 2)
    x[n // 2], x[n - 1] = -50.0, 70.0
    assert of(x).ranges() == {"x": (-50.0, 70.0)}
    values, rows = np.unique(x, return_counts=True)
    found = of(x)
    assert found.value[0, 0].tolist() == values[:N_VALUES].tolist()
    assert found.rows[0, 0].tolist() == rows[:N_VALUES].tolist()
    assert (-found.value[1, 0]).tolist() == values[::-1][:N_VALUES].tolist()


def test_a_column_without_values_has_no_range():
    assert of([]).ranges() == of([np.nan]).ranges() == {}
    assert Extremes.of([], []).ranges() == {}
