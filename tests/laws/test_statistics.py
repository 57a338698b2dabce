"""Merging is a law: every statistic, split anywhere and merged in any order, is that of one pass."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban.errors import ForgetError
from deciban.ledger import Bags, Cells, Counts, Grid, Levels, Moments, Scatter, Tallies, grid
from deciban.ledger.grid import cell_numbers
from tests import oracle
from tests.laws.matrix import KINDS, Rows, assert_same, freeze, rows_of

SPARSE = {"tallies", "bags", "bags of presence"}

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@st.composite
def splits(draw, n):
    """The rows in any order, cut anywhere; parts may be empty."""
    order = draw(st.permutations(range(n)))
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=4)))
    return np.split(np.array(order, dtype=np.intp), cuts)


@every_kind
@given(data=st.data())
def test_any_split_merged_in_any_tree_is_one_pass(kind, data):
    rows = data.draw(rows_of(kind))
    parts = [rows.take(part).statistic() for part in data.draw(splits(len(rows)))]
    while len(parts) > 1:
        a = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
        b = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
        parts.append(freeze(a + b))
    assert_same(parts[0], rows.statistic())


@every_kind
@given(data=st.data())
def test_empty_is_neutral_on_either_side(kind, data):
    rows = data.draw(rows_of(kind))
    whole, empty = rows.statistic(), rows.empty()
    assert_same(empty + whole, whole)
    assert_same(whole + empty, whole)
    assert_same(whole - empty, whole)
    assert_same(whole - whole, empty, scale=whole)


@every_kind
@given(data=st.data())
def test_what_has_faded_to_nothing_is_neutral(kind, data):
    rows, others = data.draw(rows_of(kind)), data.draw(rows_of(kind))
    assert_same(freeze(rows.statistic() * 0.0), rows.empty())
    if (rows.d, rows.K) == (others.d, others.K):
        assert rows.statistic() * 0.0 + others.statistic() == others.statistic()


@every_kind
@given(data=st.data())
def test_weight_two_is_a_row_twice(kind, data):
    rows = data.draw(rows_of(kind))
    assert_same(rows.with_weight(rows.weight * 2).statistic(), rows.plus(rows).statistic())


@every_kind
@given(data=st.data())
def test_weight_zero_is_a_row_absent(kind, data):
    rows = data.draw(rows_of(kind, least=1))
    kept = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    expected = rows.take(np.flatnonzero(kept)).statistic()
    assert_same(rows.with_weight(np.where(kept, rows.weight, 0.0)).statistic(), expected)


@every_kind
@given(data=st.data())
def test_subtracting_undoes_adding(kind, data):
    rows = data.draw(rows_of(kind))
    cut = data.draw(st.integers(0, len(rows)))
    a, b = rows.take(np.arange(cut)).statistic(), rows.take(np.arange(cut, len(rows))).statistic()
    both = freeze(a + b)
    assert_same(both - b, a, scale=both)
    assert_same(rows.statistic() - a, b, scale=both)


@every_kind
@given(data=st.data(), factor=st.floats(1e-6, 1e6))
def test_scaling_there_and_back_changes_nothing_but_rounding(kind, data, factor):
    whole = data.draw(rows_of(kind)).statistic()
    back = (whole * factor) * (1 / factor)
    for name, array in whole.arrays().items():
        high = whole.arrays()[name.removesuffix("_rest")]  # the double whose remainder this is
        assert (np.abs(back.arrays()[name] - array) <= 1e-14 * np.abs(high)).all(), name


@every_kind
@given(data=st.data(), factor=st.sampled_from([0.5, 0.25, 2.0, 8.0]))
def test_scaling_is_learning_with_scaled_weights(kind, data, factor):
    rows = data.draw(rows_of(kind))
    assert_same(rows.statistic() * factor, rows.with_weight(rows.weight * factor).statistic())


@every_kind
@given(data=st.data())
def test_taking_away_what_was_never_learned_is_refused_and_changes_nothing(kind, data):
    rows = data.draw(rows_of(kind, least=1))
    if rows.kind.dtype is np.int64:
        rows = Rows(kind, np.abs(rows.X), rows.codes, rows.weight, rows.K)  # a missing code is nothing to take away
    rows = Rows(kind, np.nan_to_num(rows.X) + (1 if kind.name in SPARSE else 0), rows.codes, rows.weight, rows.K)
    few, many = rows.statistic(), rows.with_weight(rows.weight * 2).statistic()
    before = {name: array.copy() for name, array in few.arrays().items()}
    with pytest.raises(ForgetError, match="never learned"):
        few - many
    with pytest.raises(ForgetError, match="never learned"):
        rows.empty() - few
    for name, array in few.arrays().items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize("kind", [k for k in KINDS if not k.exact], ids=lambda kind: kind.name)
def test_rows_that_would_leave_negative_squares_are_refused(kind):
    codes, weight = np.zeros(3, np.int32), np.ones(3)
    learned = kind.of(np.array([[1.0], [1.5], [2.0]]), codes, weight, 1)
    with pytest.raises(ForgetError, match="sum of squares of class 0, feature 0"):
        learned - kind.of(np.array([[100.0], [-100.0]]), codes[:2], weight[:2], 1)


@every_kind
@given(data=st.data())
def test_moving_classes_and_features_is_counting_them_there(kind, data):
    rows = data.draw(rows_of(kind))
    order = np.array(data.draw(st.permutations(range(rows.d))), dtype=np.intp)
    index = np.array(data.draw(st.permutations(range(rows.K + 2)))[: rows.K], dtype=np.intp)
    moved = Rows(kind, rows.X[:, order], index[rows.codes].astype(np.int32), rows.weight, rows.K + 2)
    assert_same(rows.statistic().take_features(order).map_classes(index, rows.K + 2), moved.statistic())


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("learn"), st.lists(st.integers(0, 7), min_size=1, max_size=4)),
        st.tuples(st.just("forget"), st.integers(0, 9)),
        st.tuples(st.just("fade"), st.sampled_from([0.5, 0.25, 2.0])),
    ),
    max_size=12,
)


@every_kind
@given(data=st.data(), steps=STEPS)
def test_any_history_is_the_statistic_of_the_rows_still_known(kind, data, steps):
    rows = data.draw(rows_of(kind, least=1))
    ledger, known, peak = rows.empty(), [], rows.empty()
    for step, what in steps:
        if step == "learn":
            batch = rows.take(np.array(what) % len(rows))
            ledger, known = freeze(ledger + batch.statistic()), [*known, batch]
        elif step == "forget" and known:
            batch = known.pop(what % len(known))
            ledger = freeze(ledger - batch.statistic())
        elif step == "fade":
            ledger, peak = freeze(ledger * what), freeze(peak * max(what, 1.0))
            known = [batch.with_weight(batch.weight * what) for batch in known]
        peak = freeze(peak + ledger)
    still = rows.take([])
    for batch in known:
        still = still.plus(batch)
    assert_same(ledger, still.statistic(), scale=None if kind.exact else peak)


NUMBERS = {
    "any": st.floats(allow_nan=False, allow_infinity=False),
    "far from 0": st.floats(0, 1).map(lambda u: 1.78e9 + 1000 * u),
    "about 0": st.floats(-1, 1),
    "few": st.integers(0, 12).map(lambda v: v / 7),
    "missing": st.floats(1, 2) | st.just(np.nan),
}


@pytest.mark.parametrize("column", NUMBERS)
@given(data=st.data())
def test_cells_of_parts_merged_in_any_tree_are_those_of_one_pass(column, data):
    """With few cells allowed, parts have more bits than all rows, and parts of parts yet others."""
    x = np.array(data.draw(st.lists(NUMBERS[column], max_size=40)), dtype=np.float64)[:, None]
    codes = np.arange(len(x), dtype=np.int32) % 3
    with patch.object(grid, "MAX_FILLED_CELLS", data.draw(st.sampled_from([1, 4, 9]))):
        whole = Grid.of(x, codes, None, 3)
        assert ((whole.bits == 7) | (whole.sizes <= grid.MAX_FILLED_CELLS)).all()
        if len(x):  # one bit more would fill too many
            finer = np.unique(cell_numbers(x[~np.isnan(x)], min(whole.bits[0] + 1, 52)))
            assert whole.bits[0] == 52 or len(finer) > grid.MAX_FILLED_CELLS
        parts = [Grid.of(x[rows], codes[rows], None, 3) for rows in data.draw(splits(len(x)))]
        first, bits = parts[0], whole.bits
        while len(parts) > 1:
            a = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
            b = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
            parts.append(freeze(a + b))
        assert parts[0] == whole
        rest = whole - first
        assert (rest.bits == np.where(rest.sizes > 0, bits, 52)).all()
        assert rest + first == whole
        assert whole.take_features(np.array([0, 0])).take_features(np.array([1])) == whole


@pytest.mark.parametrize("kind", [k for k in KINDS if k.name.startswith("moments")], ids=lambda kind: kind.name)
@given(data=st.data())
def test_moments_are_those_of_exact_fractions(kind, data):
    rows = data.draw(rows_of(kind, least=1))
    X = [[None if np.isnan(x) else x for x in row] for row in rows.X.tolist()]
    exact = oracle.gaussian(X, rows.codes.tolist(), range(rows.K), rows.weight.tolist())
    part = rows.statistic()
    n = np.broadcast_to(part.weight, part.mean.shape)
    for k in range(rows.K):
        for j in range(rows.d):
            mean, variance = (float(v) for v in exact[k][j])
            assert part.mean[k, j] + part.rest[k, j] == pytest.approx(mean, rel=1e-14, abs=1e-13)
            assert part.m2[k, j] == pytest.approx(variance * n[k, j], rel=1e-12, abs=1e-20 * max(1, mean**2))


def test_a_variance_of_one_survives_a_mean_of_1e8():
    x = 1e8 + np.array([[-1.0], [1.0]] * 50_000)
    codes = np.zeros(len(x), np.int32)
    for part in (Moments.of(x, codes, None, 1), Scatter.of(x, codes, None, 1).moments):
        assert part.m2.item() / part.weight.item() == pytest.approx(1.0, rel=1e-9)
    pieces = [Moments.of(piece, codes[: len(piece)], None, 1) for piece in np.array_split(x, 977)]
    merged = sum(pieces[1:], start=pieces[0])
    assert merged.m2.item() / merged.weight.item() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("of", [Moments.of, Scatter.of])
def test_merging_never_overflows_what_one_pass_can_hold(of):
    x, codes = np.array([[1e200], [1e200]]), np.array([0, 1], np.int32)
    whole = of(x, codes, None, 2)
    parts = of(x[:1], codes[:1], None, 2) + of(x[1:], codes[1:], None, 2)
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(parts.arrays()[name], array)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Counts(np.ones((1, 1)), np.ones((1, 1))), Counts(np.ones((2, 3)), np.ones((2, 1)))),
        (Moments.empty(1, 1), Moments.empty(2, 3)),
        (Scatter.empty(1, 1), Scatter.empty(2, 3)),
        (Levels.empty(1, 1), Levels.empty(3, 1)),
        (Grid.empty(1, 1), Grid.empty(3, 1)),
        (Grid.of(np.ones((1, 1)), np.zeros(1, np.int32), None, 1), Grid.empty(1, 1)),
        (Tallies.empty(1, 1), Tallies.empty(2, 1)),
        (Bags.empty(1, 1), Bags.empty(1, 2)),
        (Cells.of(np.array([[0]]), np.zeros(1, np.int32), None, 1), Cells.empty(1, 1)),
    ],
    ids=lambda s: type(s).__name__,
)
def test_statistics_of_different_shapes_are_not_equal(one, other):
    assert one != other
    assert other != one


@pytest.mark.parametrize("presence", [False, True])
def test_pooled_classes_are_the_sums_of_their_neighbours(presence):
    rng = np.random.default_rng(0)
    total, weight = rng.integers(0, 3, (6, 40)).astype(float), np.arange(1.0, 7).reshape(6, 1)
    words, documents = (Tallies.from_counts(Counts(table, weight)) for table in (total, np.minimum(total, 1)))
    pooled = Bags(words, words if presence else documents).sum_consecutive_classes(3)
    assert pooled.presence == presence
    assert pooled.weight.tolist() == [[6.0], [15.0]]
    for part, table in [
        (pooled.occurrences, total),
        *([] if presence else [(pooled.documents, np.minimum(total, 1))]),
    ]:
        assert part.to_dense().total.tolist() == [table[:3].sum(axis=0).tolist(), table[3:].sum(axis=0).tolist()]
    assert Bags.empty(6, 4).sum_consecutive_classes(3) == Bags.empty(2, 4)
