"""Estimators calibrated by out-of-fold scores."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import deciban
from deciban.errors import DecibanWarning, InputError, UndefinedError
from deciban.metrics.calibration_fit import fit_platt
from deciban.scores.explanation import DECIBAN
from tests.estimators.examples import EXAMPLES

METHODS = ["temperature", "platt", "isotonic"]


def draw_redundant_columns(n=240, seed=0):
    """Return six columns with the information of two, and three classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return np.repeat(y[:, None] + rng.normal(0, 1.2, (n, 2)), 3, axis=1), np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_every_estimator_is_calibrated_explained_and_saved(example, method, tmp_path):
    X, y = example.data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DecibanWarning)
        model = example.make().calibrated(X, y, method, folds=5)
        result = model.predict_proba(X)
        why = model.explain(X)
    assert model.calibration_.method == method
    np.testing.assert_allclose(result.sum(axis=1), 1, rtol=1e-12)
    assert (model.predict(X) == model.classes_[result.argmax(axis=1)]).all()
    evidence = np.asarray(why.evidence.sum(axis=1)).reshape(-1)
    added = why.prior + evidence + sum(why.extras.values())
    first, second = np.sort(model.predict_log_proba(X), axis=1)[:, [-1, -2]].T
    sound = np.isfinite(added)
    assert sound.mean() > 0.5
    np.testing.assert_allclose(added[sound], ((first - second) * DECIBAN)[sound], atol=1e-8)
    model.save(tmp_path / "m")
    assert (deciban.load(tmp_path / "m").predict_proba(X) == result).all()
    assert (pickle.loads(pickle.dumps(model)).predict_proba(X) == result).all()


def test_the_map_is_fitted_to_scores_of_scikit_learns_folds():
    X, y = draw_redundant_columns()
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    model = deciban.GaussianNB().calibrated(X, y, "platt", folds=cv)
    L = cross_val_predict(deciban.GaussianNB(), X, y, cv=cv, method="predict_log_proba")
    expected = fit_platt(L, np.unique(y, return_inverse=True)[1], np.ones(len(y)), np.log(model.class_prior_))
    np.testing.assert_allclose(model.calibration_.map.bias, expected.bias, atol=1e-6)
    assert model.calibration_.map.slope == pytest.approx(expected.slope, rel=1e-6)


def test_calibration_lowers_the_log_loss_of_rows_never_seen():
    X, y = draw_redundant_columns()
    new, truth = draw_redundant_columns(900, seed=1)
    place = np.searchsorted(["a", "b", "c"], truth)

    def loss(model):
        return -model.predict_log_proba(new)[np.arange(900), place].mean()

    plain, mended = deciban.GaussianNB().fit(X, y), deciban.GaussianNB().calibrated(X, y)
    assert loss(mended) < loss(plain) - 0.1
    assert mended.calibration_.after == pytest.approx(loss(mended), abs=0.1)


def test_the_estimator_itself_is_not_changed():
    X, y = draw_redundant_columns()
    model = deciban.GaussianNB()
    model.calibrated(X, y)
    assert not hasattr(model, "classes_")
    model.fit(X, y)
    before = model.predict_proba(X)
    model.calibrated(X, y, "isotonic")
    assert (model.predict_proba(X) == before).all()
    assert model.calibration_ is None


@pytest.mark.parametrize("make", [deciban.NaiveBayes, deciban.TextClassifier])
def test_calibrate_is_an_argument_that_clones_keep(make):
    X, y = draw_redundant_columns(120)
    if make is deciban.TextClassifier:
        X = [" ".join(["low", "mid", "high"][int(np.clip(v, 0, 2))] for v in row) for row in X]
    model = make(calibrate="platt").fit(X, y)
    assert model.calibration_.method == "platt"
    assert clone(model).get_params()["calibrate"] == "platt"
    same = make().calibrated(X, y, "platt")
    assert same.get_params()["calibrate"] == "platt"
    np.testing.assert_allclose(same.predict_proba(X), model.predict_proba(X), rtol=1e-12)
    with pytest.raises(ValueError, match="calibrate"):
        make(calibrate="magic").fit(X, y)


@pytest.mark.parametrize("priors", [None, [0.5, 0.3, 0.2]])
@pytest.mark.parametrize("method", METHODS)
def test_the_curve_of_a_calibrated_model_is_where_its_probabilities_meet(method, priors):
    X, y = draw_redundant_columns()
    model = deciban.GaussianNB().calibrated(X, y, method)
    model = model if priors is None else model.with_priors(priors)
    if method == "isotonic":
        with pytest.raises(UndefinedError, match="bends the scores"):
            model.quadratic_form()
        return
    form = model.quadratic_form()
    A = form.A if form.A.ndim == 3 else np.stack([np.diag(a) for a in form.A])
    score = np.einsum("ni,kij,nj->nk", X, A, X) + X @ form.weights.T + form.bias
    result = model.predict_log_proba(X)
    np.testing.assert_allclose(score[:, 1:] - score[:, :1], result[:, 1:] - result[:, :1], atol=1e-9)


def test_the_bayes_error_is_that_of_the_uncalibrated_model():
    X, y = draw_redundant_columns()
    model, plain = deciban.GaussianNB().calibrated(X, y, "platt"), deciban.GaussianNB().fit(X, y)
    assert model.bayes_error(2000) == plain.bayes_error(2000)


def test_rows_of_weight_zero_are_absent():
    X, y = draw_redundant_columns()
    w = np.where(np.arange(len(y)) % 4, 1.0, 0.0)
    some = w > 0
    a = deciban.GaussianNB().calibrated(X, y, "platt", sample_weight=w)
    b = deciban.GaussianNB().calibrated(X[some], y[some], "platt")
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-6)


def test_other_priors_move_what_was_calibrated():
    X, y = draw_redundant_columns()
    model = deciban.GaussianNB().calibrated(X, y, "isotonic")
    now = model.with_priors({"a": 0.6, "b": 0.3, "c": 0.1})
    expected = model.predict_proba(X) * np.array([0.6, 0.3, 0.1]) / model.class_prior_
    np.testing.assert_allclose(now.predict_proba(X), expected / expected.sum(axis=1, keepdims=True), rtol=1e-9)


@pytest.mark.parametrize(
    "change",
    [
        lambda m, X, y: m.partial_fit(X, y),
        lambda m, X, y: m.forget(X[:3], y[:3]),
        lambda m, X, y: m.decay(0.5),
        lambda m, X, y: m.merge(copy.copy(m)),
        lambda m, X, y: m + m,
        lambda m, X, y: 2 * m,
    ],
)
def test_learning_more_keeps_the_map_and_says_so(change):
    X, y = draw_redundant_columns()
    model = deciban.GaussianNB().calibrated(X, y, "temperature")
    before = model.calibration_.map
    changed = change(model, X, y)
    assert changed.calibration_.map == before
    assert "rows of then" in str(changed.calibration_)


def test_one_more_batch_leaves_the_log_loss_about_as_it_was():
    X, y = draw_redundant_columns()
    new, truth = draw_redundant_columns(900, seed=1)
    place = np.searchsorted(["a", "b", "c"], truth)
    model = deciban.GaussianNB().calibrated(X, y)
    before = -model.predict_log_proba(new)[np.arange(900), place].mean()
    after = -model.partial_fit(X[:5], y[:5]).predict_log_proba(new)[np.arange(900), place].mean()
    assert after == pytest.approx(before, rel=0.05)
    assert model.forget(X[:5], y[:5], exact=True).calibration_ is None


def test_a_batch_is_not_calibrated_with_a_warning():
    X, y = draw_redundant_columns()
    with pytest.warns(DecibanWarning, match="partial_fit leaves the probabilities as they are"):
        model = deciban.NaiveBayes(calibrate="auto").partial_fit(X, y, classes=["a", "b", "c"])
    assert model.calibration_ is None


def test_fitting_again_forgets_the_map_without_a_word():
    X, y = draw_redundant_columns()
    model = deciban.GaussianNB().calibrated(X, y, "temperature")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.fit(X, y).calibration_ is None


def test_a_refused_operation_keeps_the_map():
    X, y = draw_redundant_columns()
    model = deciban.GaussianNB().calibrated(X, y, "temperature")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for refused in (lambda: model.forget(X + 1e9, y), lambda: model.partial_fit(X[:, :1], y)):
            with pytest.raises(ValueError):
                refused()
    assert model.calibration_.method == "temperature"


@pytest.mark.parametrize(
    ("X", "y", "method", "what"),
    [
        ([[1.0], [2.0]], [0, 0], "auto", "two classes"),
        ([[1.0], [2.0]], [0, 1], "magic", "calibrate must be"),
        ([[1.0], [2.0]], [0, 1], None, "calibrates nothing"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(X, y, method, what):
    with pytest.raises((InputError, ValueError), match=what):
        deciban.GaussianNB().calibrated(X, y, method, folds=2)
