"""The sparse kernels against their definitions in plain NumPy, on rows as awkward as CSR allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from deciban.engines import sparse as engine
from deciban.engines import sparse_totals as tally
from deciban.kernels import execution, tallies
from deciban.ledger import Needs
from deciban.scores import SparseLinear

KINDS = [
    (np.float64, np.int32),
    (np.float64, np.int64),
    (np.float32, np.int32),
    (np.int64, np.int32),
    (np.uint8, np.int32),
    (np.bool_, np.int32),
]


@pytest.fixture(autouse=True, scope="module")
def threads_for_small_inputs() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally, "ENTRIES_PER_THREAD", 1)
        yield


@dataclass
class Case:
    X: sparse.csr_array
    codes: np.ndarray
    weight: np.ndarray | None
    n_classes: int
    threshold: float | None

    @property
    def rows(self) -> np.ndarray:
        return np.repeat(np.arange(self.X.shape[0]), np.diff(self.X.indptr))

    @property
    def values(self) -> np.ndarray:
        x = self.X.data.astype(np.float64)
        return x if self.threshold is None else (x > self.threshold).astype(np.float64)

    @property
    def dense(self) -> np.ndarray:
        """The rows as a full matrix, entries that share a place added up."""
        full = np.zeros(self.X.shape)
        np.add.at(full, (self.rows, self.X.indices), self.values)
        return full

    def totals(self) -> np.ndarray:
        weight = np.ones(self.codes.size) if self.weight is None else self.weight
        totals = np.zeros((self.n_classes, self.X.shape[1]))
        np.add.at(totals, (self.codes[self.rows], self.X.indices), weight[self.rows] * self.values)
        return totals

    def args(self) -> tuple:
        return self.X, self.codes, self.weight, self.n_classes, self.threshold


@st.composite
def cases(draw, weights=(0.0, 0.3, 1.0, 2.0, 7.5)) -> Case:
    """Any rows (none, empty, unsorted, with duplicates and stored zeros), classes (one, unused) and weights."""
    dtype, index = draw(st.sampled_from(KINDS))
    n_features, n_classes = draw(st.integers(1, 7)), draw(st.integers(1, 9))
    lengths = draw(st.lists(st.integers(0, 11), max_size=8))
    n, entries = len(lengths), sum(lengths)
    threshold = draw(st.sampled_from([None, 0.0, 1.0]))
    values = [0, 1, 1, 2, 3]
    if np.dtype(dtype).kind == "f":
        values += [0.1, 2.7] if threshold is None else [0.1, -1.5]

    def some(elements: st.SearchStrategy, size: int) -> list:
        return draw(st.lists(elements, min_size=size, max_size=size))

    X = sparse.csr_array((n, n_features), dtype=dtype)
    X.data = np.array(some(st.sampled_from(values), entries), dtype)
    X.indices = np.array(some(st.integers(0, n_features - 1), entries), index)
    X.indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(index)
    codes = np.array(some(st.integers(0, n_classes - 1), n), np.int32)
    weight = np.array(some(st.sampled_from(weights), n), np.float64) if draw(st.booleans()) else None
    return Case(X, codes, weight, n_classes, threshold)


def feature_lists(totals: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A full table as lists of classes: what `tally_sparse` promises."""
    feature, class_code = np.nonzero(totals.T)
    start = np.concatenate([[0], np.cumsum(np.bincount(feature, minlength=totals.shape[1]))])
    return start, class_code.astype(np.int32), totals[class_code, feature]


def numbers(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


@settings(deadline=None)
@given(cases(), st.integers(1, 3))
def test_a_full_tally_is_the_weighted_sum_over_the_rows_of_each_class(case: Case, n_threads: int) -> None:
    totals, bad = tally.tally_dense(*case.args(), n_threads)
    assert bad == -1
    assert totals.flags.c_contiguous
    np.testing.assert_array_equal(case.totals(), totals)


@settings(deadline=None)
@given(cases(), st.integers(1, 3))
def test_a_listed_tally_holds_the_nonzero_totals_in_class_order(case: Case, n_threads: int) -> None:
    *lists, bad = tally.tally_sparse(*case.args(), n_threads)
    assert bad == -1
    assert [a.dtype for a in lists] == [np.int64, np.int32, np.float64]
    for expected, actual in zip(feature_lists(case.totals()), lists):
        np.testing.assert_array_equal(expected, actual)


@settings(deadline=None)
@given(cases(weights=(-1.0, 1.0, 2.0)))
def test_totals_that_cancel_are_left_out_of_the_lists(case: Case) -> None:
    *lists, _ = tally.tally_sparse(*case.args(), 2)
    for expected, actual in zip(feature_lists(case.totals()), lists):
        np.testing.assert_array_equal(expected, actual)


@settings(deadline=None)
@given(cases(), st.integers(1, 3), st.data())
def test_the_first_entry_that_cannot_be_counted_or_scored_is_named(case: Case, n_threads: int, data) -> None:
    assume(case.X.data.size and case.X.data.dtype.kind == "f")
    worst = [np.nan, np.inf, -np.inf] if case.threshold is not None else [np.nan, np.inf, -np.inf, -1.0]
    places = data.draw(st.lists(st.integers(0, case.X.data.size - 1), min_size=1, max_size=3))
    for place in places:
        case.X.data[place] = data.draw(st.sampled_from(worst))
    assert tally.tally_dense(*case.args(), n_threads)[-1] == min(places)
    assert tally.tally_sparse(*case.args(), n_threads)[-1] == min(places)
    unfit = np.flatnonzero(~np.isfinite(case.X.data))
    expected = int(unfit[0]) if unfit.size else -1
    (n, V), K = case.X.shape, case.n_classes
    out, zeros, nothing = np.empty((n, K)), np.zeros(K), feature_lists(np.zeros((K, V)))
    assert tally.score_dense(case.X, np.zeros((V, K)), zeros, case.threshold, out, n_threads) == expected
    lines = (zeros, zeros, np.zeros(V), zeros)
    assert tally.score_sparse(case.X, *nothing, *lines, case.threshold, out, n_threads) == expected


@settings(deadline=None)
@given(cases(), st.integers(0, 99), st.integers(1, 3))
def test_full_weights_score_a_row_by_the_dot_product(case: Case, seed: int, n_threads: int) -> None:
    weights_t, bias = numbers(seed, case.X.shape[1], case.n_classes), numbers(seed + 1, case.n_classes)
    out, winner = np.empty((case.X.shape[0], case.n_classes)), np.empty(case.X.shape[0], np.int32)
    bad = tally.score_dense(case.X, weights_t, bias, case.threshold, out, n_threads, winner=winner)
    assert bad == -1
    np.testing.assert_allclose(out, bias + case.dense @ weights_t, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(out.argmax(axis=1), winner)


@settings(deadline=None)
@given(cases(), st.integers(0, 99), st.integers(1, 3))
def test_listed_weights_score_as_the_full_table_they_stand_for(case: Case, seed: int, n_threads: int) -> None:
    V, K = case.X.shape[1], case.n_classes
    delta = numbers(seed, K, V) * (numbers(seed + 1, K, V) > 0)
    bias, slope, scale, base = (numbers(seed + j, size) for j, size in enumerate((K, K, K, V), start=2))
    out, winner = np.empty((case.X.shape[0], K)), np.empty(case.X.shape[0], np.int32)
    form = (*feature_lists(delta), bias, slope, base, scale, case.threshold)
    assert tally.score_sparse(case.X, *form, out, n_threads) == -1
    assert tally.score_sparse(case.X, *form, None, 1, winner=winner) == -1
    full = slope[:, None] + scale[:, None] * base + delta
    np.testing.assert_allclose(out, bias + case.dense @ full.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(out.argmax(axis=1), winner)


@settings(deadline=None)
@given(cases(), st.integers(0, 99), st.integers(1, 3), st.data())
def test_mute_words_are_as_if_they_were_absent(case: Case, seed: int, n_threads: int, data) -> None:
    (n, V), K = case.X.shape, case.n_classes
    delta = numbers(seed, K, V) * (numbers(seed + 1, K, V) > 0)
    lines = [numbers(seed + j, size) for j, size in enumerate((K, K, V, K), start=2)]
    mute = np.array(data.draw(st.lists(st.booleans(), min_size=V, max_size=V)))
    form = SparseLinear(*feature_lists(delta), *lines, threshold=case.threshold, mute=mute)
    out, winner = np.empty((n, K)), np.empty(n, np.int32)
    lists = form.start, form.class_code, form.delta, *lines, case.threshold
    assert tally.score_sparse(case.X, *lists, out, n_threads, mute=mute) == -1
    assert tally.score_sparse(case.X, *lists, None, n_threads, winner=winner, mute=mute) == -1
    bias, slope, base, scale = lines
    full = np.where(mute, 0.0, slope[:, None] + scale[:, None] * base + delta)
    np.testing.assert_allclose(out, bias + case.dense @ full.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(out, form.log_likelihoods_without_carrier(case.X), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(out.argmax(axis=1), winner)


def test_a_form_with_mute_words_takes_the_quick_path(monkeypatch) -> None:
    case = larger_case()
    rng, mute = np.random.default_rng(1), np.arange(400) % 3 == 0
    lines = rng.normal(size=30), rng.normal(size=30), rng.normal(size=400), np.ones(30)
    form = SparseLinear(*feature_lists(case.totals()), *lines, mute=mute)
    needs, prior = Needs("counts", signed=False, skips=False), np.log(np.full(30, 1 / 30))
    slow = {wanted: engine.apply(form, case.X, needs, prior, wanted, 2) for wanted in ("joint", "winner")}
    monkeypatch.setattr(execution, "MIN_KERNEL_STEPS", 1)
    monkeypatch.setattr(SparseLinear, "log_likelihoods_without_carrier", None)
    for wanted, expected in slow.items():
        found = engine.apply(form, case.X, needs, prior, wanted, 2)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@settings(deadline=None)
@given(cases(), st.integers(0, 99))
def test_full_rows_for_common_features_change_no_bit(case: Case, seed: int) -> None:
    V, K, zeros = case.X.shape[1], case.n_classes, np.zeros(case.n_classes)
    form = (*feature_lists(numbers(seed, K, V) * (numbers(seed + 1, K, V) > -1)), zeros, zeros, np.zeros(V), zeros)
    scores = []
    for share in (0.0, 0.5, 1.0):
        out = np.empty((case.X.shape[0], K))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tally, "COMMON_SHARE", share)
            tally.score_sparse(case.X, *form, case.threshold, out, 1)
        scores.append(out)
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])


def larger_case() -> Case:
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random((900, 400)) * (rng.random((900, 400)) < 0.05))
    return Case(X, rng.integers(0, 30, 900).astype(np.int32), rng.random(900), 30, None)


@pytest.mark.parametrize("n_threads", [2, 3, 8])
def test_the_number_of_threads_changes_no_bit(n_threads: int) -> None:
    case = larger_case()
    for count in (tally.tally_dense, tally.tally_sparse):
        for one, many in zip(count(*case.args(), 1), count(*case.args(), n_threads)):
            np.testing.assert_array_equal(one, many)
    zeros, outs = np.zeros(30), np.empty((2, 900, 30))
    form = (*feature_lists(case.totals()), zeros, zeros, np.zeros(400), zeros, None)
    for score, args in ((tally.score_dense, (case.totals().T.copy(), zeros, None)), (tally.score_sparse, form)):
        score(case.X, *args, outs[0], 1)
        score(case.X, *args, outs[1], n_threads)
        np.testing.assert_array_equal(outs[0], outs[1])


def test_of_equal_scores_the_lowest_class_wins() -> None:
    X, winner, zeros = sparse.csr_array(np.ones((1, 2))), np.empty(1, np.int32), np.zeros(3)
    tally.score_dense(X, np.array([[0.0, 1, 1], [0, 1, 1]]), zeros, None, None, 1, winner=winner)
    assert winner.tolist() == [1]


def test_a_stored_zero_says_nothing_even_about_impossible_classes() -> None:
    X = sparse.csr_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    out = np.empty((1, 2))
    tally.score_dense(X, np.array([[-np.inf, 0.0], [1.0, 2.0]]), np.zeros(2), None, out, 1)
    assert out.tolist() == [[1.0, 2.0]]


def test_read_only_rows_need_no_second_compilation() -> None:
    case = larger_case()
    before, _ = tally.tally_dense(*case.args(), 1)
    compiled = len(tallies.tally_classes.signatures)
    for array in (case.X.data, case.X.indices, case.X.indptr, case.codes, case.weight):
        array.flags.writeable = False
    after, _ = tally.tally_dense(*case.args(), 1)
    np.testing.assert_array_equal(before, after)
    assert len(tallies.tally_classes.signatures) == compiled


@settings(deadline=None)
@given(
    st.lists(st.one_of(st.integers(0, 9000).map(float), st.floats(0, 1e12)), max_size=40),
    st.sampled_from([1.0, 0.5, 1e-10, 3.7]),
)
def test_smoothing_by_table_agrees_with_numpy(totals: list[float], alpha: float) -> None:
    total, class_code = np.array(totals, np.float64), (np.arange(len(totals)) % 3).astype(np.int32)
    sums, delta, table = np.zeros(3), np.empty(len(totals)), np.log1p(np.arange(4096) / alpha)
    tallies.smooth_entries(class_code, total, alpha, table, sums, delta)
    np.testing.assert_allclose(delta, np.log1p(total / alpha), rtol=1e-15)
    np.testing.assert_allclose(sums, np.bincount(class_code, total, 3), rtol=1e-12)
