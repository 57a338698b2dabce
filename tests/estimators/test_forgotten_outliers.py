"""Learn an outlier and forget it, through everything that users call: the model is that of the other rows."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold

import deciban
from deciban import GaussianBayes, GaussianNB
from deciban.errors import ForgetError, PrecisionWarning
from deciban.estimators.cross_validate import out_of_fold

SHAPES = ["full", "tied", "diagonal", "tied_diagonal", "spherical", "tied_spherical", "identity"]
MODELS = {"GaussianNB": GaussianNB} | {
    f"GaussianBayes {shape}": lambda shape=shape: GaussianBayes(covariance=shape) for shape in SHAPES
}


def data(missing=False):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 3)), np.repeat(["a", "b", "c"], 20)
    X[:, 1] += 2 * (y == "b")
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    return X, y


def assert_same_model(model, expected, X):
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize("k", [2, 5, 8])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_a_model_that_learned_and_forgot_an_outlier_is_the_one_that_never_did(make, k, missing):
    X, y = data(missing)
    far, labels = 10.0**k * np.array([[1.0, -1.0, 0.5], [-0.3, 1.0, 1.0]]), ["a", "b"]
    expected = make().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        later = make().fit(X, y).partial_fit(far, labels).forget(far[:1], labels[:1]).forget(far[1:], labels[1:])
        at_once = make().fit(np.concatenate([far, X]), np.append(labels, y)).forget(far, labels)
        merged = make().partial_fit(far, labels, classes=["a", "b", "c"]).merge(make().fit(X, y)).forget(far, labels)
    for model in (later, at_once, merged):
        assert_same_model(model, expected, X)


@pytest.mark.thorough(reason="many rows, classes or draws: seconds")
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_outlier_of_1e8_among_many_rows_and_weights(kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30_000, 40)).astype(kind), rng.integers(0, 3, 30_000)
    w = rng.choice([0.1, 0.7, 1.0], len(X))
    far = np.full((1, 40), 1e8, dtype=kind)
    expected = GaussianNB().fit(X, y, sample_weight=w)
    model = GaussianNB().fit(np.concatenate([X, far]), np.append(y, 1), sample_weight=np.append(w, 0.3))
    model.forget(far, [1], sample_weight=[0.3])
    np.testing.assert_allclose(model.var_, expected.var_, rtol=1e-12)
    assert_same_model(model, expected, X[:100])


@pytest.mark.parametrize("make", [GaussianNB, GaussianBayes], ids=["GaussianNB", "GaussianBayes"])
def test_what_lies_further_out_is_forgotten_with_a_warning_that_says_how_many_digits_are_left(make):
    X, y = data()
    far = np.full((1, 3), 1e11)
    model = make().fit(X, y).partial_fit(far, ["a"])
    with pytest.warns(PrecisionWarning, match=r"variance of class 'a', feature \d, only \d digits are left"):
        model.forget(far, ["a"])
    np.testing.assert_allclose(model.predict_proba(X), make().fit(X, y).predict_proba(X), atol=1e-5)
    with pytest.warns(PrecisionWarning, match="no digit is left"):
        make().fit(X, y).partial_fit(far * 1e9, ["a"]).forget(far * 1e9, ["a"])


def test_an_outlier_in_a_file_is_forgotten(tmp_path):
    X, y = data()
    far = np.full((1, 3), 1e8)
    for make in (GaussianNB, GaussianBayes):
        make().fit(np.concatenate([X, far]), np.append(y, "a")).save(tmp_path / "m.deciban")
        assert_same_model(deciban.load(tmp_path / "m.deciban").forget(far, ["a"]), make().fit(X, y), X)


def table(X, y):
    return pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "group": y})


@pytest.mark.parametrize("roles", [{"x": "number", "y": "number"}], ids=["numbers"])
def test_a_table_model_forgets_an_outlier(roles):
    X, y = data()
    X = X.round(3)
    far = table(np.array([[1e8, -1e8, 0.0]]), ["a"])
    expected = deciban.train(table(X, y), target="group", roles=roles)
    model = deciban.train(table(X, y), target="group", roles=roles)
    model.add(far)
    model.forget(far)
    for part, same in zip(model.ledger.parts, expected.ledger.parts):
        np.testing.assert_allclose(part.m2, same.m2, rtol=1e-12)
        np.testing.assert_allclose(part.mean, same.mean, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("make", [GaussianNB, GaussianBayes], ids=["GaussianNB", "GaussianBayes"])
@pytest.mark.parametrize("size", [1e3, 1e8])
def test_models_of_folds_are_right_where_one_fold_has_an_outlier(make, size):
    X, y = data()
    X[5] = size
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    scores = out_of_fold(make(), X, y, folds).scores
    for train, test in folds.split(X, y):
        expected = make().fit(X[train], y[train]).predict_proba(X[test])
        np.testing.assert_allclose(np.exp(scores[test]), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shift", [0.1, 3.0, 1e9])
@pytest.mark.parametrize("kind", [GaussianNB, GaussianBayes])
def test_forgetting_as_many_rows_of_other_values_is_refused(kind, shift):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    model = kind().fit(X, y)
    with pytest.raises(ForgetError, match="never learned"):
        model.forget(X + shift, y)
    assert model.forget(X, y).ledger_.rows.tolist() == [0.0, 0.0]
