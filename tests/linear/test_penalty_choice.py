"""C="auto": the C whose models without each fold lose least on it, as separate fits tell it."""

import math
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import log_loss

from deciban import EvidenceRegression, LogisticRegression
from deciban.linear import penalty_choice
from deciban.linear.penalty_choice import (
    FoldedRows,
    choose_C_by_folds,
    exclude_single_fold_classes,
    is_clearly_lower,
    sample_choice_rows,
    search_C,
)
from deciban.validation.splits import StratifiedAssigner


def brute_force(X, y, C, weight=None):
    """Σ over five folds of the loss of scikit-learn's model of the others."""
    classes, codes = np.unique(y, return_inverse=True)
    fold, total = StratifiedAssigner(5).assign(codes), 0.0
    for f in range(5):
        rest, test = fold != f, fold == f
        w = None if weight is None else weight[rest]
        model = linear_model.LogisticRegression(C=C, tol=1e-7, max_iter=10_000).fit(X[rest], y[rest], w)
        w = None if weight is None else weight[test]
        total += log_loss(y[test], model.predict_proba(X[test]), labels=classes, normalize=False, sample_weight=w)
    return total


def noisy(n=300, d=20, K=2, seed=0):
    """Few columns matter, and the labels are far from certain: a small C is best."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    chance = X[:, :2] @ rng.normal(size=(2, K)) + rng.gumbel(size=(n, K))
    return X, chance.argmax(axis=1)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_C_chosen_is_that_of_separate_fits_over_a_wide_grid(K, weighted):
    X, y = noisy(K=K)
    weight = np.random.default_rng(5).random(len(y)) + 0.5 if weighted else None
    model = LogisticRegression(C="auto", tol=1e-6, max_iter=1000).fit(X, y, weight)
    grid = [10.0 ** (e / 2) for e in range(-8, 9)]
    best = min(brute_force(X, y, C, weight) for C in grid)
    assert brute_force(X, y, model.C_, weight) <= best * (1 + 1e-4)
    assert 1e-4 < model.C_ < 1


def test_the_model_is_that_of_the_C_chosen():
    X, y = noisy()
    chosen = LogisticRegression(C="auto", tol=1e-9, max_iter=1000).fit(X, y)
    given = LogisticRegression(C=chosen.C_, tol=1e-9, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(chosen.coef_, given.coef_, atol=1e-7)
    assert chosen.get_params()["C"] == "auto"


@pytest.mark.parametrize("factor", [1e-4, 1.0, 1e4])
def test_the_scale_of_the_columns_does_not_matter(factor):
    X, y = noisy()
    model = LogisticRegression(C="auto").fit(X * factor, y)
    plain = LogisticRegression(C="auto").fit(X, y)
    assert abs(math.log10(model.C_ * factor**2 / plain.C_)) < 0.51  # other numbers are dealt to other folds
    best = min(brute_force(X, y, 10.0 ** (e / 2)) for e in range(-8, 5))
    assert brute_force(X, y, model.C_ * factor**2) <= best * 1.02


def test_noise_is_held_back_and_a_clear_pattern_is_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 10))
    nothing = LogisticRegression(C="auto").fit(X, rng.integers(0, 2, 200))
    assert np.abs(nothing.predict_proba(X) - 0.5).max() < 0.2
    clear = LogisticRegression(C="auto").fit(X, X[:, 0] > 0)
    assert clear.score(X, X[:, 0] > 0) > 0.95
    assert clear.C_ > 10 * nothing.C_


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_columns_of_very_different_scales_are_all_reached(load):
    X, y = load(return_X_y=True)
    model = LogisticRegression(C="auto", max_iter=2000).fit(X, y)
    assert model.score(X, y) > 0.93


@pytest.mark.parametrize("r", [0.5, 1.0])
def test_it_chooses_for_penalties_on_sizes_too(r):
    X, y = noisy()
    model = LogisticRegression(C="auto", l1_ratio=r).fit(X, y)
    held = (model.coef_ == 0).sum()
    assert held >= 5
    assert (model.coef_[0, :2] != 0).any()


def test_it_chooses_for_sparse_rows_as_for_dense():
    X, y = noisy()
    X = np.where(X > 0.5, X, 0.0)
    assert LogisticRegression(C="auto").fit(sparse.csr_matrix(X), y).C_ == LogisticRegression(C="auto").fit(X, y).C_


TINY = {
    "two rows": ([[0.0], [1.0]], [0, 1]),
    "three rows": ([[0.0], [1.0], [2.0]], [0, 1, 1]),
    "each class once": ([[0.0], [1.0], [2.0]], [0, 1, 2]),
    "a constant column": ([[5.0]] * 6, [0, 1, 0, 1, 0, 1]),
}


@pytest.mark.parametrize("case", TINY)
def test_it_chooses_something_where_there_is_next_to_nothing_to_choose_by(case):
    X, y = TINY[case]
    model = LogisticRegression(C="auto").fit(X, y)
    assert model.C_ > 0
    assert np.isfinite(model.predict_proba(X)).all()


def test_the_path_starts_from_what_was_learned_before_and_ends_when_the_loss_keeps_rising():
    starts, asked = [], []

    def refit(f, C, before):
        starts.append(before)
        asked.append(C)
        return C

    found = search_C(refit, lambda f, C: abs(math.log10(C) + 2), [0], 1e-4, 1e6)
    assert found.C == 0.01
    np.testing.assert_allclose(asked, [1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10**-2.5, 10**-1.5])
    assert starts == [None, *asked[:4], 0.01, 0.01]
    assert [C for C, _ in found.path] == sorted(asked)


def test_a_loss_that_is_the_same_everywhere_chooses_the_smallest():
    assert search_C(lambda f, C, before: C, lambda f, C: 1.0, [0, 1], 1.0, 100.0).C == 10**-0.5


PARTNERS = {
    "numbers": (LogisticRegression, noisy()),
    "sparse numbers": (LogisticRegression, (sparse.csr_array(np.maximum(noisy()[0], 0.0)), noisy()[1])),
    "words": (partial(EvidenceRegression, held_out=False), (np.maximum(noisy()[0], 0.0).round(), noisy()[1])),
}


@pytest.mark.parametrize("case", PARTNERS)
def test_the_names_of_classes_do_not_change_the_C(case):
    partner, (X, y) = PARTNERS[case]
    names = np.array([f"{9 - k} of {k}" for k in range(y.max() + 1)])
    assert partner(C="auto").fit(X, y).C_ == partner(C="auto").fit(X, names[y]).C_


def test_a_class_that_one_fold_alone_has_is_known_to_every_model_and_held_out_by_none():
    codes = np.array([0, 0, 1, 1, 2, 2], dtype=np.int32)
    fold = np.array([0, 1, 0, 1, 0, 0], dtype=np.int32)
    assert exclude_single_fold_classes(codes, fold).tolist() == [0, 1, 0, 1, -1, -1]
    refitted = []

    def refit(f, C, before):
        refitted.append(f)
        return C

    fits = refit, lambda f, C: np.zeros((2, 3))
    found = choose_C_by_folds(FoldedRows(codes, None, fold), lambda index, rows: fits, 1.0, 1.0)
    assert set(refitted) == {0, 1}
    assert dict(found.path)[1.0] == pytest.approx(4 * math.log(3))  # four rows, three classes alike


def test_where_no_row_can_be_held_out_C_is_one():
    codes = np.array([0, 1, 2], dtype=np.int32)
    for fold in ([0, 1, 2], [-1, -1, -1], [0, 0, 0]):
        assert choose_C_by_folds(FoldedRows(codes, None, np.array(fold, dtype=np.int32)), None).C == 1.0


@pytest.mark.parametrize(("prefers_default", "C", "log_odds"), [(False, 10.0, 0.0), (True, 1.0, -0.1)])
def test_the_losses_are_those_of_the_C_chosen_also_where_the_default_is_preferred(prefers_default, C, log_odds):
    codes, fold = np.arange(8, dtype=np.int32) % 2, np.arange(8, dtype=np.int32) // 4

    def prepare(index, rows):  # the best C is 10, but not clearly
        return lambda f, C, before: C, lambda f, C: np.full((4, 1), 0.1 * (math.log10(C) - 1))

    rows = FoldedRows(codes, None, fold)
    found = choose_C_by_folds(rows, prepare, prefers_default=prefers_default, keeps_losses=True)
    assert found.C == C
    np.testing.assert_allclose(found.losses, np.logaddexp(0.0, np.where(codes == 1, -log_odds, log_odds)))


def test_of_many_rows_a_fair_sample_is_asked_and_every_class_is_in_it(monkeypatch):
    monkeypatch.setattr(penalty_choice, "MAX_PENALTY_ROWS", 100)
    codes = np.arange(10_000, dtype=np.int32) % 2
    codes[[17, 4711, 9999]] = 2
    index = sample_choice_rows(codes, 100)
    assert 100 <= len(index) <= 103
    assert {17, 4711, 9999} <= set(index.tolist())
    assert 30 < (codes[index] == 0).sum() < 70  # by position, every hundredth row would be of one class
    np.testing.assert_array_equal(index, np.unique(index))


@pytest.mark.filterwarnings("error")
def test_a_loss_of_fewer_than_two_rows_is_never_clearly_lower():
    assert not is_clearly_lower(np.array([0.0]), np.array([1.0]))
    assert not is_clearly_lower(np.empty(0), np.empty(0))
    assert is_clearly_lower(np.array([0.0, 0.1]), np.array([1.0, 1.2]))


def test_the_C_of_a_sample_is_about_that_of_all_rows(monkeypatch):
    X, y = noisy(n=3000)
    whole = LogisticRegression(C="auto").fit(X, y).C_
    monkeypatch.setattr(penalty_choice, "MAX_PENALTY_ROWS", 1500)
    assert abs(math.log10(LogisticRegression(C="auto").fit(X, y).C_ / whole)) <= 1.01
