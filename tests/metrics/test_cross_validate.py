"""`cross_validate`: which model scores which rows, the contents of the report, and errors."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import deciban
from deciban.errors import DecibanWarning, InputError
from deciban.estimators.cross_validate import out_of_fold
from deciban.validation.splits import StratifiedAssigner, assign_by_group, assign_by_order
from tests.estimators.examples import EXAMPLES, IDS

GAUSS = next(example for example in EXAMPLES if example.name == "GaussianNB")


def test_folds_of_each_class_differ_by_one_row_at_most():
    codes = np.random.default_rng(0).integers(0, 5, 203)
    fold = StratifiedAssigner(10).assign(codes)
    table = np.array([np.bincount(fold[codes == k], minlength=10) for k in range(5)])
    assert (np.ptp(table, axis=1) <= 1).all()
    assert np.ptp(np.bincount(fold)) <= 5


def test_pieces_are_assigned_as_the_whole():
    codes = np.random.default_rng(0).integers(-1, 5, 203)
    pieces = StratifiedAssigner(7)
    assigned = np.concatenate([pieces.assign(codes[a:b]) for a, b in [(0, 1), (1, 50), (50, 50), (50, 203)]])
    assert assigned.tolist() == StratifiedAssigner(7).assign(codes).tolist()
    assert ((assigned == -1) == (codes == -1)).all()


def test_groups_stay_together_and_folds_are_even():
    groups = np.repeat(np.arange(12), [30, 1, 1, 1, 1, 1, 5, 5, 5, 5, 5, 5])
    fold = assign_by_group(groups, 2)
    assert all(len(set(fold[groups == g])) == 1 for g in range(12))
    assert np.bincount(fold).tolist() == [33, 32]


def test_rows_of_one_time_are_in_one_fold():
    fold = assign_by_order([3, 1, 1, 2, 2, 2, 9, 8], 4)
    assert fold.tolist() == [2, 0, 0, 1, 1, 1, 3, 3]
    times = np.array(["2026-01-02", "2025-01-01", "2026-03-01", "2026-02-01"], dtype="datetime64[D]")
    assert assign_by_order(times, 2).tolist() == [0, 0, 1, 1]


def test_the_report_has_every_row_where_it_was():
    X, y = GAUSS.data(60)
    report = deciban.cross_validate(deciban.GaussianNB(), X, y, 5)
    fold = report.folds
    expected = cross_val_predict(deciban.GaussianNB(), X, y, cv=PredefinedSplit(fold), method="predict_log_proba")
    np.testing.assert_allclose(report.log_proba, expected, atol=1e-9)
    assert report.truth.tolist() == y.tolist()
    assert report.predictions.tolist() == cross_val_predict(GAUSS.make(), X, y, cv=PredefinedSplit(fold)).tolist()
    assert report.accuracy == np.mean(report.predictions == y)
    assert "exact 5-fold" in report.measured


@pytest.mark.parametrize("example", EXAMPLES, **IDS)
def test_the_estimator_stays_as_it_is(example):
    X, y = example.data()
    unfitted, fitted = example.make(), example.make_fitted(40)
    before = fitted.predict_log_proba(X), fitted.ledger_
    for model in (unfitted, fitted):
        deciban.cross_validate(model, X, y, 3)
    assert not hasattr(unfitted, "classes_")
    assert np.array_equal(fitted.predict_log_proba(X), before[0])
    assert fitted.ledger_ is before[1]


def test_groups_are_scored_by_the_others():
    X, y = GAUSS.data(60)
    groups = np.random.default_rng(0).integers(0, 9, 60)
    report = deciban.cross_validate(GAUSS.make(), X, y, 4, groups=groups)
    assert all(len(set(report.folds[groups == g])) == 1 for g in range(9))
    alone = deciban.cross_validate(GAUSS.make(), X, y, "loo", groups=groups)
    assert np.array_equal(alone.folds, groups)
    expected = cross_val_predict(GAUSS.make(), X, y, cv=PredefinedSplit(groups), method="predict_log_proba")
    np.testing.assert_allclose(alone.log_proba, expected, atol=1e-9)


def test_in_order_a_fold_is_scored_by_those_before_it():
    X, y = GAUSS.data(60)
    when = np.random.default_rng(0).permutation(60)
    report = deciban.cross_validate(GAUSS.make(), X, y, 4, order=when)
    for f in (1, 2, 3):
        before, now = (when // 15 < f), (when // 15 == f)
        model = clone(GAUSS.make()).fit(X[before], y[before])
        np.testing.assert_allclose(report.log_proba[now], model.predict_log_proba(X[now]), atol=1e-9)
    assert report.rows == 45
    assert np.isnan(report.log_proba[when < 15]).all()
    assert (report.folds[when < 15] == -1).all()
    assert {p for p, w in zip(report.predictions, when) if w < 15} == {None}


def test_folds_may_be_given_and_rows_may_be_in_none():
    X, y = GAUSS.data(60)
    fold = np.arange(60) % 4 - 1
    report = deciban.cross_validate(GAUSS.make(), X, y, fold)
    assert report.rows == 45
    for f in range(3):
        model = GAUSS.make().fit(X[fold != f], y[fold != f])
        np.testing.assert_allclose(report.log_proba[fold == f], model.predict_log_proba(X[fold == f]), atol=1e-9)
    named = deciban.cross_validate(GAUSS.make(), X, y, np.array(["x", "y"])[np.arange(60) % 2])
    assert named.folds.tolist() == (np.arange(60) % 2).tolist()


@pytest.mark.parametrize("train", [[3, 3, 4, 5, 6, 7] * 5, [*range(5), *range(15, 40)]], ids=["repeats", "leaks"])
def test_a_model_learns_the_rows_that_are_named_and_no_others(train):
    rng = np.random.default_rng(0)
    X, y, test = rng.normal(size=(40, 2)), np.arange(40) % 2, np.arange(30, 40)
    train = np.array(train)
    report = deciban.cross_validate(deciban.GaussianNB(), X, y, [(train, test)])
    expected = deciban.GaussianNB().fit(X[train], y[train]).predict_log_proba(X[test])
    np.testing.assert_allclose(report.log_proba[test], expected, atol=1e-9)
    assert not report.measured.startswith("exact")


def test_pairs_of_row_numbers_are_folds_too():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    expected = deciban.cross_validate(deciban.GaussianNB(), X, y, KFold(4)).log_proba
    for pairs in (list(KFold(4).split(X)), KFold(4).split(X)):
        found = deciban.cross_validate(deciban.GaussianNB(), X, y, pairs)
        np.testing.assert_array_equal(found.log_proba, expected)


def test_a_fold_without_rows_to_learn_from_is_refused():
    with pytest.raises(InputError, match="no rows to learn from"):
        deciban.cross_validate(deciban.GaussianNB(), np.eye(4), [0, 1, 0, 1], [([], [0, 1, 2, 3])])


@pytest.mark.parametrize("splitter", [KFold(3, shuffle=True, random_state=0), GroupKFold(3), TimeSeriesSplit(3)])
def test_splitters_of_scikit_learn_define_who_is_scored_by_whom(splitter):
    X, y = GAUSS.data(60)
    groups = np.arange(60) % 7 if isinstance(splitter, GroupKFold) else None
    report = deciban.cross_validate(GAUSS.make(), X, y, splitter, groups=groups)
    for train, test in splitter.split(X, y, groups):
        model = GAUSS.make().fit(X[train], y[train])
        np.testing.assert_allclose(report.log_proba[test], model.predict_log_proba(X[test]), atol=1e-9)


def test_rows_of_weight_zero_are_absent():
    X, y = GAUSS.data(60)
    weight = (np.arange(60) % 5 > 0).astype(float)
    X[weight == 0] = np.inf
    for folds in (3, "loo"):
        report = deciban.cross_validate(GAUSS.make(), X, y, folds, sample_weight=weight)
        kept = deciban.cross_validate(GAUSS.make(), X[weight > 0], y[weight > 0], folds)
        assert report.rows == kept.rows == 48
        np.testing.assert_allclose(report.log_proba[weight > 0], kept.log_proba, atol=1e-12)
        assert report.log_loss == pytest.approx(kept.log_loss, rel=1e-12)


def test_a_class_with_one_row_is_an_error_outside_the_log_loss():
    X, y = GAUSS.data(31)
    y = np.where(np.arange(31) == 0, "zebra", y)
    report = deciban.cross_validate(GAUSS.make(), X, y, "loo")
    others = deciban.cross_validate(GAUSS.make(), X, y, np.where(np.arange(31) == 0, -1, np.arange(31)))
    assert report.unknown == 1
    assert report.accuracy == pytest.approx(others.accuracy * 30 / 31)
    assert report.log_loss == pytest.approx(others.log_loss, rel=1e-9)


def test_other_classifiers_are_refitted():
    X, y = GAUSS.data(60)
    X = StandardScaler().fit_transform(X)  # unscaled, a logistic regression takes thousands of steps
    model = make_pipeline(StandardScaler(), LogisticRegression())
    report = deciban.cross_validate(model, X, y, 4)
    expected = cross_val_predict(model, X, y, cv=PredefinedSplit(report.folds), method="predict_log_proba")
    np.testing.assert_allclose(report.log_proba, expected, atol=1e-12)
    assert "refitted" in report.measured
    weight = np.random.default_rng(0).random(60)
    weighed = deciban.cross_validate(LogisticRegression(), X, y, 3, sample_weight=weight)
    model = LogisticRegression().fit(*(a[weighed.folds != 0] for a in (X, y, weight)))
    np.testing.assert_allclose(
        weighed.log_proba[weighed.folds == 0], model.predict_log_proba(X[weighed.folds == 0]), atol=1e-12
    )


def test_names_of_columns_are_no_hindrance():
    pd = pytest.importorskip("pandas")
    X, y = GAUSS.data(60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = deciban.cross_validate(GAUSS.make(), pd.DataFrame(X, columns=list("abcd")), pd.Series(y), 3)
    assert np.array_equal(named.log_proba, deciban.cross_validate(GAUSS.make(), X, y, 3).log_proba)


@pytest.mark.parametrize("kind", [csr_array, csr_matrix])
@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB", "BernoulliNB"])
def test_entries_stored_twice_stay_as_they_were_given(name, kind):
    """Sums are made of a copy: whoever gave the rows may know them by the places of their entries."""
    parts = np.array([1.0, 2, 1, 3, 1, 1, 2, 1]), np.array([2, 0, 2, 1, 1, 0, 2, 2]), np.array([0, 3, 4, 6, 8])
    X, Y = kind(tuple(part.copy() for part in parts), shape=(4, 3)), np.array([0, 1, 0, 1])
    deciban.cross_validate(getattr(deciban, name)(), X, Y, "loo")
    if name != "ComplementNB":
        getattr(deciban, name)().fit(X, Y).fit_novelty(X, Y)
    for kept, given in zip((X.data, X.indices, X.indptr), parts):
        assert kept.tolist() == given.tolist()


X, Y = GAUSS.data(12)
REFUSED = [
    ({"folds": 1}, "at least 2, not 1"),
    ({"folds": True}, "at least 2, not True"),
    ({"folds": 2.5}, "at least 2, not 2.5"),
    ({"folds": 13}, "12 rows cannot be split into 13 folds"),
    ({"folds": "ten"}, "not 'ten'"),
    ({"folds": [0, 1]}, "shape .2,. for 12 rows"),
    ({"folds": [0] * 12}, "all rows are in one fold"),
    ({"folds": [-2, 0] * 6}, "−1: learned from"),
    ({"folds": [0.5, 0.0] * 6}, "numbered 0, 1, 2"),
    ({"folds": ShuffleSplit(3, test_size=0.6, random_state=0)}, "scored once"),
    ({"folds": 3, "groups": [1, 2] * 6}, "folds=2"),
    ({"groups": [1, 2]}, "groups has 2 values for 12 rows"),
    ({"folds": 2, "groups": [1, None] * 6}, "row 1 has no group"),
    ({"folds": 2, "order": [1.0, np.nan] * 6}, "row 1 has no place in the order"),
    ({"folds": 2, "order": pd.array(["a", None] * 6, dtype="string")}, "row 1 has no place"),
    ({"folds": 2, "order": [1] * 12}, "too few different values"),
    ({"folds": "loo", "order": range(12)}, "at least 2, not 'loo'"),
    ({"folds": 2, "order": range(12), "groups": range(12)}, "not by both"),
    ({"folds": 2, "sample_weight": [-1] * 12}, "row 0 weighs -1"),
    ({"folds": [(range(6, 12), range(6))], "sample_weight": [0] * 6 + [1] * 6}, "none scores a row of weight"),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_has_no_meaning_is_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        deciban.cross_validate(GAUSS.make(), X, Y, **arguments)


@pytest.mark.parametrize("folds", [2, "loo"])
def test_a_single_row_is_refused(folds):
    with pytest.raises(InputError, match="two rows or more"):
        deciban.cross_validate(GAUSS.make(), X[:1], Y[:1], folds)


def test_classifiers_without_probabilities_are_refused():
    with pytest.raises(InputError, match="CalibratedClassifierCV"):
        deciban.cross_validate(Perceptron(), X, Y, 2)
    with pytest.raises(InputError, match="takes no weights"):
        deciban.cross_validate(make_pipeline(LogisticRegression()), X, Y, 2, sample_weight=np.ones(12))


def test_too_many_rows_without_a_closed_form_are_refused_before_anything_is_solved(monkeypatch):
    monkeypatch.setattr("deciban.validation.fold_models.MAX_REFITTED_ROWS", 10)
    with pytest.raises(InputError, match="folds=10"):
        deciban.cross_validate(deciban.GaussianBayes(shrinkage="oas"), X, Y, "loo")
    assert deciban.cross_validate(deciban.GaussianNB(), X, Y, "loo").rows == 12


@pytest.mark.parametrize("store", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("example", EXAMPLES, **IDS)
def test_closed_forms_leave_next_to_nothing_to_the_definition(example, store, monkeypatch):
    monkeypatch.setattr("deciban.validation.fold_models.MAX_REFITTED_ROWS", 2)
    rows, labels = example.data(300)
    assert deciban.cross_validate(example.make(), store(rows), labels, "loo").rows == 300


@pytest.mark.parametrize("event", ["multinomial", "boolean", "bernoulli", "complement"])
def test_closed_forms_serve_documents(event, monkeypatch):
    monkeypatch.setattr("deciban.validation.fold_models.MAX_REFITTED_ROWS", 0)
    documents = [f"tea {'red' if i % 2 else 'blue'} word{i // 3} only{i}" for i in range(30)]
    model = deciban.TextClassifier(event=event, least=2)
    assert deciban.cross_validate(model, documents, np.arange(30) % 2, "loo").rows == 30


def test_folds_that_do_not_fit_into_memory_are_fitted_one_after_the_other(monkeypatch):
    expected = deciban.cross_validate(GAUSS.make(), X, Y, 3).log_proba
    monkeypatch.setattr("deciban.estimators.fold_estimators.MAX_LEDGER_CELLS", 0)
    np.testing.assert_allclose(deciban.cross_validate(GAUSS.make(), X, Y, 3).log_proba, expected, atol=1e-9)


def test_a_calibration_that_is_no_argument_is_reported_to_be_left_out():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), np.arange(80) % 2
    cross_validated = deciban.GaussianNB().fit(X, y).calibrated(X, y, "temperature")
    with pytest.warns(DecibanWarning, match="scored by a model without any"):
        report = deciban.cross_validate(cross_validated, X, y)
    np.testing.assert_array_equal(report.log_proba, deciban.cross_validate(deciban.GaussianNB(), X, y).log_proba)


def test_refits_give_a_class_that_a_fold_has_not_learned_the_probability_zero():
    X, y = np.arange(12.0).reshape(-1, 1), [0] * 6 + [1] * 5 + [2]
    scored = out_of_fold(LogisticRegression(), X, y, 3, wanted="posterior")
    np.testing.assert_allclose(scored.scores.sum(axis=1), 1)
    assert scored.scores[-1, 2] == 0
