"""Numbers by bins: their cuts against brute force and published cuts, and the scores of the bins."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from deciban.families.binned import Binned, best_cuts
from deciban.ledger import Grid
from deciban.ledger.grid import cell_numbers, cell_widths, edges
from tests.timing import least_seconds

number = st.floats(allow_nan=False, allow_infinity=False)


def cuts_of(table):
    """The cuts of one column alone."""
    return best_cuts(table, np.array([0, table.shape[1]])).tolist()


def entropy(rows):
    """Return the entropy of a list of (value, class, weight), in bits."""
    total = sum(w for _, _, w in rows)
    shares = [sum(w for _, c, w in rows if c == k) / total for k in {c for _, c, _ in rows}]
    return -sum(p * np.log2(p) for p in shares)


def brute(rows):
    """Fayyad & Irani's rule as the paper has it, rows by rows: the values that begin a new bin."""
    values = sorted({x for x, _, _ in rows})
    total = sum(w for _, _, w in rows)
    best = None
    for cut in values[1:]:
        sides = [r for r in rows if r[0] < cut], [r for r in rows if r[0] >= cut]
        mean = sum(entropy(side) * sum(w for _, _, w in side) for side in sides) / total
        if best is None or mean < best[0] - 1e-12:
            best = mean, cut, sides
    if best is None:
        return []
    mean, cut, sides = best
    c, c1, c2 = (len({k for _, k, _ in part}) for part in (rows, *sides))
    delta = np.log2(3**c - 2) - (c * entropy(rows) - c1 * entropy(sides[0]) - c2 * entropy(sides[1]))
    if entropy(rows) - mean <= (np.log2(max(total - 1, 1)) + delta) / total:
        return []
    return sorted([*brute(sides[0]), cut, *brute(sides[1])])


@pytest.mark.parametrize("weights", [[1.0], [0.5, 1.0, 3.0], [0.1, 0.7]], ids=["unit", "dyadic", "fractions"])
@given(seed=st.integers(0, 10**6))
def test_cuts_are_those_of_the_papers_rule(weights, seed):
    rng = np.random.default_rng(seed)
    n, m, K = rng.integers(1, 80), rng.integers(1, 12), rng.integers(1, 5)
    x = rng.integers(0, m, n)
    y = np.where(rng.random(n) < 0.7, x * K // m, rng.integers(0, K, n))
    w = rng.choice(weights, n) * rng.uniform(1, 1.001, n) ** (weights != [1.0])  # no two cuts are equally good
    values = np.unique(x)
    table = np.array([[w[(x == v) & (y == k)].sum() for v in values] for k in range(K)])
    assert values[cuts_of(table)].tolist() == brute(list(zip(x.tolist(), y.tolist(), w.tolist())))


def test_iris_is_cut_where_the_literature_cuts_it():
    """Petal length at 2.45 and 4.75, petal width at 0.8 and 1.75, to within a cell of the grid."""
    X, y = load_iris(return_X_y=True)
    form = Binned().solve(Grid.of(X[:, 2:], y.astype(np.int32), None, 3))
    cuts = [form.cuts[a:b].tolist() for a, b in pairwise(form.start)]
    assert cuts[0] == pytest.approx([2.45, 4.75], rel=1 / 128)
    assert cuts[1] == pytest.approx([0.8, 1.75], rel=1 / 128)
    bins = form.bins(X[:, 2:])
    assert (bins[:, 0] == np.searchsorted([2.45, 4.75], X[:, 2])).all()
    assert (bins[:, 1] == np.searchsorted([0.8, 1.75], X[:, 3])).all()


@pytest.mark.parametrize("K", [2, 700, 5000])
def test_any_number_of_classes_is_cut(K):
    """3^c overflows at 647 classes."""
    table = np.zeros((K, 2))
    table[: K // 2, 0] = table[K // 2 :, 1] = 1e4
    assert cuts_of(table) == [1]
    assert cuts_of(np.ones((K, 2))) == []


@pytest.mark.parametrize("fraction", [1.0, 0.7])
def test_columns_are_cut_together_as_each_is_alone(fraction):
    rng = np.random.default_rng(7)
    sizes = [0, 1, 40, 7, 0, 300]
    tables = [rng.integers(0, 9, (3, n)) * fraction * (1.0 + (np.arange(n) > n / 2) * [[0], [3], [9]]) for n in sizes]
    offset = np.cumsum([0, *sizes])
    alone = [cut + start for table, start in zip(tables, offset) for cut in cuts_of(table)]
    assert len(alone) >= 3
    assert best_cuts(np.concatenate(tables, axis=1), offset).tolist() == alone


def test_a_column_of_large_whole_weights_does_not_change_the_cuts_of_the_next():
    """Sums above 2⁵³ are rounded: a running sum over both columns would lose the weights of the second."""
    small = np.array([[9.0, 9.0, 0.0, 0.0], [0.0, 0.0, 9.0, 9.0]])
    large = np.full((2, 2), 2.0**70)
    together = best_cuts(np.concatenate([large, small], axis=1), np.array([0, 2, 6])).tolist()
    assert cuts_of(small) == [2]
    assert together == [*cuts_of(large), 2 + 2]


def test_nothing_to_cut():
    assert cuts_of(np.zeros((2, 0))) == []
    assert cuts_of(np.zeros((2, 3))) == []
    assert cuts_of(np.array([[5.0], [5.0]])) == []
    assert cuts_of(np.array([[5.0, 9.0], [0.0, 0.0]])) == []
    assert cuts_of(np.array([[0.3, 0.0], [0.0, 0.3]])) == []


def test_shares_are_counts_by_bin_with_pseudo_counts():
    x = np.array([1.0, 2, 3, 4, 10, 11, 12, 13, 2.5, np.nan])[:, None]
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 0], np.int32)
    form = Binned(alpha=0.5).solve(Grid.of(np.hstack([x, np.ones_like(x)]), y, None, 2))
    assert form.cuts.tolist() == [7.0]  # half-way between 4 and 10, at the beginning of a cell
    assert form.start.tolist() == [0, 1, 1]
    np.testing.assert_allclose(np.exp(form.log_theta), [[4.5 / 5, 0.5 / 5, 1], [1.5 / 6, 4.5 / 6, 1]])


def test_a_class_without_rows_says_what_all_say_and_a_column_without_values_nothing():
    x, y = np.array([[1.0, np.nan]] * 5 + [[9.0, np.nan]] * 5), np.repeat([0, 1], 5).astype(np.int32)
    for alpha in (0.0, 1.0):
        form = Binned(alpha).solve(Grid.of(x, y, None, 3))
        shares = np.exp(form.log_theta)
        np.testing.assert_allclose(shares[2], [0.5, 0.5, 1])
        assert shares[:, 2].tolist() == [1, 1, 1]
    draws = Binned().sample(Grid.of(x, y, None, 3), np.array([0, 1, 2]), np.random.default_rng(0))
    assert np.isnan(draws[:, 1]).all()
    assert np.isfinite(draws[:, 0]).all()


def test_rows_drawn_lie_in_the_cells_seen():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500).astype(np.int32)
    x = np.stack([rng.normal(4.0 * y, 1), -rng.lognormal(y, 1), rng.integers(0, 5, 500) * 1e300], axis=1)
    part = Grid.of(x, y, None, 2)
    draws = Binned().sample(part, y, rng)
    for j in range(3):
        seen = part.cell[part.offset[j] : part.offset[j + 1]]
        assert set(cell_numbers(draws[:, j], part.bits[j]).tolist()) <= set(seen.tolist())


def test_the_count_of_parameters_is_that_of_the_bins():
    X, y = load_iris(return_X_y=True)
    part = Grid.of(X, y.astype(np.int32), None, 3)
    form = Binned().solve(part)
    assert Binned().n_parameters(part) == 3 * len(form.cuts) > 0


def test_learning_more_and_forgetting_it_gives_the_same_cuts():
    X, y = load_iris(return_X_y=True)
    codes = y.astype(np.int32)
    whole, some = Grid.of(X, codes, None, 3), Grid.of(X[::3], codes[::3], None, 3)
    rest = np.delete(np.arange(150), np.arange(0, 150, 3))
    for left, right in [(whole - some, Grid.of(X[rest], codes[rest], None, 3)), (whole * 3.0, whole + whole + whole)]:
        np.testing.assert_array_equal(Binned().solve(left).cuts, Binned().solve(right).cuts)


def test_many_cells_and_classes_are_cut_in_a_moment():
    rng = np.random.default_rng(0)
    cell = np.tile(np.arange(5000) << 45, 50)
    means = rng.integers(0, 5000, (10, 50, 1))
    rate = np.exp(-(((np.arange(5000) - means) / 700) ** 2)) * 5
    part = Grid(cell, np.arange(51) * 5000, 1.0 + rng.poisson(rate).reshape(10, -1), np.full(50, 7))
    assert len(Binned().solve(part).cuts) > 200
    assert least_seconds(lambda: Binned().solve(part), 5.0) <= 5.0  # well under a second on an idle machine


every_resolution = pytest.mark.parametrize("bits", [7, 23, 52])


@every_resolution
@given(x=number, y=number)
def test_cells_keep_the_order_of_numbers(bits, x, y):
    a, b = cell_numbers(np.array([x, y]), bits).tolist()
    assert (a <= b) if x <= y else (a >= b)


@every_resolution
@given(x=number | st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1.0, -1.0, 1.7e308, -1.7976931348623157e308]))
def test_a_number_is_at_or_above_an_edge_exactly_if_its_cell_is(bits, x):
    (cell,) = cell_numbers(np.array([x]), bits)
    low, high = edges(np.array([cell, cell + cell_widths(bits)]))
    assert low <= x
    assert x < high or high == np.finfo(float).max
    assert cell_numbers(np.array([low]), bits)[0] == cell
    assert low == -np.finfo(float).max or cell_numbers(np.array([np.nextafter(low, -np.inf)]), bits)[0] < cell
    assert x == 0 or abs(high - low) <= abs(x) / 2 ** (bits - 1) or abs(x) < 1e-290


def test_zero_has_one_cell_whatever_its_sign():
    assert cell_numbers(np.array([0.0, -0.0])).tolist() == [0, 0]
    assert edges(np.array([0])).tolist() == [0.0]


def test_small_counts_beside_huge_ones_give_no_warning():
    """They vanish from the cumulative sums, so that a segment may have no rows."""
    table = np.array([[1e300, 1.0, 2.0, 3.0], [1e300, 5.0, 0.0, 1.0]])
    with np.errstate(all="raise", under="ignore"):
        assert best_cuts(table, np.array([0, 4])).tolist() == []
