"""No leakage in learners on tables: inside the fit neither."""

import numpy as np
import pytest

import deciban
from deciban.errors import InputError
from tests.tables.test_blocks import people

LEARNERS = ["logistic", "evidence", "boosted"]


def noise_texts(n, seed):
    rng = np.random.default_rng(seed)
    return [" ".join(f"w{v}" for v in rng.integers(0, 500, 12)) for _ in range(n)]


@pytest.mark.thorough(reason="trains many models, or large ones: seconds")
def test_texts_of_noise_tell_nothing():
    y = np.random.default_rng(5).permutation(["a", "b"] * 100)
    rows = {"t": noise_texts(200, 1), "y": y}
    asked = {"target": "y", "learner": "evidence", "roles": {"t": "text"}}
    assert deciban.evaluate(rows, folds=5, **asked).log_loss == pytest.approx(np.log(2), abs=0.02)
    model = deciban.train(rows, judge=False, **asked)
    assert abs(model.account.trust["t"]) < 0.3
    fresh = np.asarray(model.predict_proba({"t": noise_texts(200, 2)}))
    assert fresh.max(axis=1).mean() < 0.6


@pytest.mark.thorough(reason="trains many models, or large ones: seconds")
def test_a_text_that_tells_something_makes_other_columns_no_worse():
    rng = np.random.default_rng(0)
    n = 150
    y = rng.integers(0, 2, n)
    result = [f"s{k}{v}" if rng.random() < 0.8 else "" for k, v in zip(y, rng.integers(0, 5, n))]
    rows = {
        "x": y + rng.normal(size=n),
        "t": [f"{words} {word}" for words, word in zip(noise_texts(n, 3), result)],
        "y": y.astype(str),
    }
    asked = {"target": "y", "learner": "evidence", "folds": 5}
    both = deciban.evaluate(rows, roles={"t": "text"}, **asked)
    alone = deciban.evaluate(rows, roles={"t": "skip"}, **asked)
    assert both.log_loss < alone.log_loss - 0.1


@pytest.mark.parametrize("numbers", ["number", "auto"])
@pytest.mark.parametrize("learner", ["logistic", "evidence"])
def test_many_columns_of_noise_tell_nothing(learner, numbers):
    rng = np.random.default_rng(3)
    rows = {f"c{j}": rng.normal(size=120) for j in range(100)} | {"y": rng.permutation(["a", "b"] * 60)}
    report = deciban.evaluate(rows, target="y", learner=learner, numbers=numbers, folds=3)
    assert report.log_loss < 0.72


@pytest.mark.parametrize("learner", ["evidence", "boosted"])
def test_where_no_row_can_be_left_out_nothing_is_claimed(learner):
    rows = {"x": [1.0, 2.0, 3.0], "y": ["a", "b", "c"]}
    predict = np.asarray(deciban.train(rows, target="y", learner=learner, judge=False).predict_proba({"x": [1.5]}))
    assert predict[0, 0] == pytest.approx(predict[0, 1])


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_class_whose_rows_weigh_nothing_is_impossible(learner):
    rows = people(120)
    rows["w"] = np.where(rows["group"] == "c", 0, 1)
    model = deciban.train(rows, target="group", learner=learner, weights="w", classes=["a", "b", "c"], judge=False)
    predict = np.asarray(model.predict_proba(rows))
    assert (predict[:, 2] == 0).all()
    assert predict.sum(axis=1) == pytest.approx(1.0)
    without = deciban.train(rows[rows["w"] > 0], target="group", learner=learner, weights="w", judge=False)
    assert predict[:, :2] == pytest.approx(np.asarray(without.predict_proba(rows)), abs=1e-6)


def test_a_model_like_another_is_learned_as_it_was():
    rows = people(90)[["hair", "age", "group"]]
    asked = {"target": "group", "judge": False}
    given = deciban.train(rows, learner="logistic", C=0.5, **asked)
    like = deciban.train(rows, like=given, **asked)
    assert (like.learner, like.account.settings["C"], like.account.settings["C_chosen"]) == ("logistic", 0.5, False)
    chosen = deciban.train(rows, like=deciban.train(rows, learner="evidence", **asked), **asked)
    assert (chosen.learner, chosen.account.settings["C_chosen"]) == ("evidence", True)
    assert deciban.train(rows, like=given, learner="bayes", **asked).learner == "bayes"
    assert deciban.train(rows, like=given, C=2.0, **asked).account.settings["C"] == 2.0


@pytest.mark.parametrize("learner", ["bayes", *LEARNERS])
def test_values_beyond_squares_are_refused_by_the_name_of_their_column(learner):
    rows = people(60)
    rows["vast"] = np.random.default_rng(0).normal(size=60) * 1e300
    with pytest.raises(InputError, match=r"column 'vast' holds values as large as .*e\+300.*Hint"):
        deciban.train(rows, target="group", learner=learner, roles={"vast": "number"}, judge=False)


@pytest.mark.parametrize("estimator", ["LogisticRegression", "EvidenceRegression", "BoostedBayes"])
def test_a_class_whose_rows_weigh_nothing_is_impossible_to_estimators(estimator):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (90, 3)).astype(float), np.repeat([0, 1, 2], 30)
    for more in [{}] if estimator != "BoostedBayes" else [{"algorithm": a} for a in ("SAMME", "SAMME.R", "logistic")]:
        model = getattr(deciban, estimator)(**more).fit(X, y, sample_weight=(y < 2).astype(float))
        predict = model.predict_proba(X)
        assert (predict[:, 2] == 0).all()
        assert predict.sum(axis=1) == pytest.approx(1.0)
