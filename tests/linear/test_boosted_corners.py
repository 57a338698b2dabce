"""Boosting that ends early, errors of boosting, and attributes that are kept."""

import warnings

import numpy as np
import pytest
from sklearn import naive_bayes as peers
from sklearn.datasets import load_iris

import deciban
from deciban import BoostedBayes, CategoricalNB, GaussianNB
from deciban.errors import DecibanWarning, InputError, UndefinedError

from .boosted import additive, every_algorithm, random_rows


def test_a_perfect_learner_ends_it():
    X, y = np.array([[0.0], [0.1], [5.0], [5.1]]), ["low", "low", "high", "high"]
    model = BoostedBayes().fit(X, y)
    assert (model.n_estimators_, model.estimator_weights_.tolist(), model.estimator_errors_.tolist()) == (
        1,
        [1.0],
        [0.0],
    )
    assert model.predict(X).tolist() == y


@every_algorithm
def test_columns_that_say_nothing_leave_a_learner_alone_and_a_word(algorithm):
    X, y = np.ones((8, 2)), [0, 1] * 4
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = BoostedBayes(GaussianNB(parameter_prior=1.0), n_estimators=3, algorithm=algorithm).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    if algorithm == "SAMME":
        assert model.n_estimators_ == 1
        assert any(
            isinstance(w.message, DecibanWarning) and "no better than chance" in str(w.message) for w in caught
        )


@every_algorithm
def test_one_class_is_all_there_is(algorithm):
    model = BoostedBayes(n_estimators=3, algorithm=algorithm).fit([[1.0], [2.0]], ["only", "only"])
    assert model.predict([[3.0]]).tolist() == ["only"]
    assert model.predict_proba([[3.0]]).tolist() == [[1.0]]
    assert next(iter(model.staged_predict([[3.0]]))).tolist() == ["only"]


@every_algorithm
def test_many_classes_and_more_columns_than_rows(algorithm):
    rng = np.random.default_rng(0)
    y = np.arange(400) % 100
    X = rng.normal(size=(400, 30)) + y[:, None] / 10
    assert BoostedBayes(n_estimators=3, learning_rate=0.1, algorithm=algorithm).fit(X, y).score(X, y) > 0.05
    wide = rng.normal(size=(6, 50))
    model = BoostedBayes(GaussianNB(parameter_prior=1.0), n_estimators=3, learning_rate=0.1, algorithm=algorithm)
    assert np.isfinite(model.fit(wide, [0, 1] * 3).predict_proba(wide)).all()


@every_algorithm
@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"X": np.full((600, 8), np.inf)}, "infinit"),
        ({"X": np.full((600, 8), 1e300)}, "overflow"),
        ({"sample_weight": np.zeros(600)}, "non-zero|nothing to learn"),
        ({"sample_weight": -np.ones(600)}, "Negative"),
        ({"y": np.zeros(599)}, "inconsistent"),
        ({"X": np.zeros((0, 8)), "y": []}, "0 sample"),
    ],
    ids=["infinite", "huge", "weightless", "negative weights", "lengths", "empty"],
)
def test_bad_rows_are_refused_and_change_nothing(algorithm, change, why):
    X, y = random_rows()
    model = BoostedBayes(n_estimators=2, learning_rate=0.1, algorithm=algorithm).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match=why):
        model.fit(**{"X": X, "y": y, **change})
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_estimators": 0},
        {"learning_rate": 0.0},
        {"learning_rate": -1},
        {"algorithm": "SAMME.X"},
        {"estimator": "magic"},
        {"estimator": peers.GaussianNB()},
        {"n_iter_no_change": 0},
        {"validation_fraction": 1.0},
    ],
    ids=str,
)
def test_arguments_that_nobody_can_take_are_refused(arguments):
    with pytest.raises(ValueError, match="parameter of BoostedBayes must be"):
        BoostedBayes(**arguments).fit(*random_rows())


def test_learners_of_tables_and_texts_are_refused():
    for learner in (deciban.NaiveBayes(), deciban.TextClassifier()):
        with pytest.raises(InputError, match=r"learners of matrices.*Hint"):
            BoostedBayes(learner).fit(*random_rows())


@additive
def test_scores_without_bounds_cannot_be_added(algorithm):
    X, y = np.array([[0.0], [0.0], [1.0], [2.0]]), [0, 0, 1, 1]
    with pytest.raises(UndefinedError, match=r"probability 0.*Hint: a pseudo-count"):
        BoostedBayes(CategoricalNB(alpha=0.0), algorithm=algorithm).fit(X, y)


@every_algorithm
def test_a_class_whose_rows_weigh_nothing_is_impossible(algorithm):
    X, y = random_rows()
    model = BoostedBayes(n_estimators=3, algorithm=algorithm).fit(X, y, (y != 1) * 1.0)
    scores = model.predict_proba(X)
    assert (scores[:, 1] == 0).all()
    if algorithm != "SAMME":  # a vote weighs by the number of classes
        others = BoostedBayes(n_estimators=3, algorithm=algorithm).fit(X[y != 1], y[y != 1]).predict_proba(X)
        np.testing.assert_allclose(np.delete(scores, 1, axis=1), others, atol=1e-9)


def test_what_the_learner_refuses_is_refused():
    X, y = random_rows()
    codes = np.clip(np.round(X + 3), 0, 6)
    model = BoostedBayes(CategoricalNB(unseen="error"), n_estimators=2).fit(codes, y)
    with pytest.raises(InputError, match="never learned"):
        model.predict(codes + 20)
    with pytest.raises(InputError, match="missing"):
        BoostedBayes(GaussianNB(missing="error"), n_estimators=2).fit(np.where(X > 2, np.nan, X), y)


def test_there_is_no_density_and_there_are_no_sums():
    model = BoostedBayes(n_estimators=2).fit(*load_iris(return_X_y=True))
    with pytest.raises(UndefinedError, match=r"has no p\(x\)"):
        model.fit_novelty(*load_iris(return_X_y=True))
    for name in ("partial_fit", "forget", "merge", "score_samples"):
        assert not hasattr(model, name)


def test_names_of_columns_are_kept(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = random_rows()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(8)])
    model = BoostedBayes(n_estimators=3, learning_rate=0.1, algorithm="logistic").fit(frame, y)
    assert list(model.explain(frame[:1]).features) == list(frame.columns)
    assert model.estimators_[0].feature_names_in_.tolist() == list(frame.columns)
