"""`train(covariance="mixed")`: shares of joined numbers are chosen from rows, stay with the model, and are shown."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import deciban
from deciban.errors import InputError, SchemaError

SETTINGS = {"target": "y", "blocks": "numbers", "covariance": "mixed"}


def flowers(step=1):
    X, y = load_iris(return_X_y=True)
    columns = {name: X[::step, j] for j, name in enumerate(["length", "width", "petal", "pistil"])}
    return {**columns, "y": np.array(["setosa", "versicolor", "virginica"])[y[::step]].tolist()}


def test_the_shares_are_those_of_the_estimator_with_the_same_prior():
    table = flowers()
    model = deciban.train(table, **SETTINGS, calibrate="none")
    X = np.column_stack([table[name] for name in sorted(["length", "width", "petal", "pistil"])])
    chosen = deciban.GaussianBayes(
        covariance="mixed", shrinkage="loo", shrinkage_target="diagonal", parameter_prior=1.0
    ).fit(X, table["y"])
    assert (model.options.mixing, model.options.shrinkage) == (chosen.mixing_, chosen.shrinkage_)
    assert model.held_out.accuracy >= 0.96
    np.testing.assert_allclose(model.predict_proba(table), chosen.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_models_of_one_choice_can_be_added_and_read_again(tmp_path):
    model = deciban.train(flowers(), **SETTINGS, judge=False)
    half = deciban.train(flowers(2), target="y", like=model, judge=False)
    assert half.options == model.options
    both = half + model
    both.save(tmp_path / "both.deciban")
    read = deciban.load(tmp_path / "both.deciban")
    assert read.options.mixing == model.options.mixing
    np.testing.assert_array_equal(read.predict_proba(flowers()), both.predict_proba(flowers()))
    other = deciban.train(flowers(7), **SETTINGS, judge=False)
    assert other.options.mixing != model.options.mixing
    with pytest.raises(SchemaError, match="differ in mixing"):
        other + model


def test_without_rows_to_leave_out_it_is_refused_with_the_way_out():
    with pytest.raises(InputError, match=r"none are\. Hint: blocks='numbers'"):
        deciban.train(flowers(), target="y", covariance="mixed")
    with pytest.raises(InputError, match="not for learner='logistic'"):
        deciban.train(flowers(), **SETTINGS, learner="logistic")
    with pytest.raises(InputError, match="folds=10"):
        deciban.evaluate(flowers(), **SETTINGS, folds="loo")
    assert deciban.evaluate(flowers(), **SETTINGS).accuracy >= 0.96
