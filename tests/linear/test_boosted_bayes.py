"""BoostedBayes: against scikit-learn's AdaBoostClassifier, a textbook SAMME.R, and its own sums."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from scipy.special import log_softmax
from sklearn import naive_bayes as peers
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.ensemble import AdaBoostClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import deciban
from deciban import BernoulliNB, BoostedBayes, CategoricalNB, GaussianBayes, GaussianNB, MultinomialNB
from deciban.errors import InputError, ModelFileError, UndefinedError

from .boosted import additive, every_algorithm, random_rows


@pytest.mark.parametrize("K", [2, 3, 6])
@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("weighed", [False, True], ids=["plain", "weights"])
def test_votes_are_those_of_scikit_learn(K, rate, weighed):
    X, y = random_rows(K)
    weight = np.random.default_rng(1).uniform(0, 3, len(y)) * (np.arange(len(y)) % 7 > 0) if weighed else None
    ours = BoostedBayes(n_estimators=20, learning_rate=rate).fit(X, y, weight)
    peer = AdaBoostClassifier(peers.GaussianNB(), n_estimators=20, learning_rate=rate).fit(X, y, weight)
    rounds = ours.n_estimators_
    assert rounds == len(peer.estimators_)
    np.testing.assert_allclose(ours.estimator_weights_, peer.estimator_weights_[:rounds], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.estimator_errors_, peer.estimator_errors_[:rounds], rtol=1e-9)
    assert ours.predict(X).tolist() == peer.predict(X).tolist()
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), rtol=1e-9, atol=1e-9)
    for mine, theirs in zip(ours.staged_predict(X), peer.staged_predict(X), strict=True):
        assert mine.tolist() == theirs.tolist()
    for mine, theirs in zip(ours.staged_predict_proba(X), peer.staged_predict_proba(X), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)
    np.testing.assert_allclose(list(ours.staged_score(X, y)), list(peer.staged_score(X, y)))


def test_a_pseudo_count_means_in_every_round_what_it_means_in_the_first():
    """scikit-learn's rows weigh 1 together, so that its pseudo-counts must be as many times smaller."""
    X, y = random_rows(3)
    ours = BoostedBayes(BernoulliNB(alpha=1.0), n_estimators=15, learning_rate=0.5).fit(X, y)
    peer = AdaBoostClassifier(peers.BernoulliNB(alpha=1 / len(y)), n_estimators=15, learning_rate=0.5).fit(X, y)
    np.testing.assert_allclose(ours.estimator_weights_, peer.estimator_weights_[: ours.n_estimators_], rtol=1e-8)
    assert ours.predict(X).tolist() == peer.predict(X).tolist()


@pytest.mark.parametrize(
    "learner", [GaussianNB(), GaussianBayes(covariance="tied"), GaussianBayes()], ids=["naive", "tied", "full"]
)
@pytest.mark.parametrize("K", [2, 4])
def test_scikit_learn_boosts_our_estimators_to_equal_models(learner, K):
    X, y = random_rows(K)
    ours = BoostedBayes(learner, n_estimators=8, learning_rate=0.5).fit(X, y)
    peer = AdaBoostClassifier(clone(learner), n_estimators=8, learning_rate=0.5).fit(X, y)
    np.testing.assert_allclose(ours.estimator_errors_, peer.estimator_errors_[: ours.n_estimators_], rtol=1e-8)
    assert ours.predict(X).tolist() == peer.predict(X).tolist()


def textbook_real(X, y, K, rounds, rate):
    """SAMME.R as Zhu, Zou, Rosset and Hastie have it (algorithm 4), with a learning rate; no shortcuts."""
    n = len(y)
    w = np.full(n, 1 / n)
    code = np.full((n, K), -1 / (K - 1))
    code[np.arange(n), y] = 1
    total = np.zeros((n, K))
    for m in range(1, rounds + 1):
        pi = np.array([w[y == k].sum() for k in range(K)]) / w.sum()
        mean = np.stack([np.average(X[y == k], axis=0, weights=w[y == k]) for k in range(K)])
        square = np.stack([np.average((X[y == k] - mean[k]) ** 2, axis=0, weights=w[y == k]) for k in range(K)])
        variance = square + 1e-9 * np.average((X - np.average(X, axis=0, weights=w)) ** 2, axis=0, weights=w).max()
        joint = np.log(pi) - 0.5 * (
            np.log(2 * np.pi * variance).sum(axis=1) + ((X[:, None] - mean) ** 2 / variance).sum(axis=2)
        )
        log_p = log_softmax(joint, axis=1)
        total += (K - 1) * (log_p - log_p.mean(axis=1, keepdims=True))
        yield total / m, w
        w = w * np.exp(-rate * (K - 1) / K * (code * log_p).sum(axis=1))
        w = np.maximum(w / w.sum(), np.finfo(float).eps)


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_real_boosting_is_that_of_the_textbook(K, rate):
    X, y = random_rows(K)
    model = BoostedBayes(n_estimators=10, learning_rate=rate, algorithm="SAMME.R").fit(X, y)
    book = [(score, w / w.sum()) for score, w in textbook_real(X, y, K, 10, rate)]
    for scores, (expected, _) in zip(model.staged_predict_proba(X), book, strict=True):
        np.testing.assert_allclose(np.log(scores), log_softmax(expected / (K - 1), axis=1), rtol=1e-6, atol=1e-6)
    for weight, (_, expected) in zip(model.staged_weights(X, y), book, strict=True):
        np.testing.assert_allclose(weight, expected, rtol=1e-5, atol=1e-14)


@pytest.mark.parametrize("K", [2, 3])
def test_fitted_shares_make_the_log_loss_least_along_each_learner(K):
    X, y = random_rows(K)
    model = BoostedBayes(n_estimators=4, learning_rate=1.0, algorithm="logistic").fit(X, y)
    total = np.zeros((len(y), K))
    for learner, share in zip(model.estimators_, model.estimator_weights_, strict=True):
        h = learner.predict_joint_log_proba(X)

        def loss(t, total=total, h=h):
            return -log_softmax(total + t * h, axis=1)[np.arange(len(y)), y].mean()

        best = minimize_scalar(loss, bounds=(0, 16), method="bounded", options={"xatol": 1e-9}).x
        assert share == pytest.approx(best, abs=1e-5)
        total = total + share * h
    np.testing.assert_allclose(model.predict_log_proba(X), log_softmax(total, axis=1), rtol=1e-8, atol=1e-8)


def test_fitted_shares_lower_the_loss_of_naive_bayes():
    for X, y in (random_rows(2), random_rows(5), load_wine(return_X_y=True)):
        boosted = BoostedBayes(n_estimators=10, learning_rate=0.5, algorithm="logistic").fit(X, y)
        plain = GaussianNB().fit(X, y)
        own = [-m.predict_log_proba(X)[np.arange(len(y)), y].mean() for m in (boosted, plain)]
        assert own[0] < own[1]


@pytest.mark.parametrize("K", [2, 4])
def test_rows_of_fitted_shares_weigh_by_what_the_sum_has_missed(K):
    X, y = random_rows(K)
    model = BoostedBayes(n_estimators=4, algorithm="logistic").fit(X, y)
    weights = list(model.staged_weights(X, y))
    np.testing.assert_allclose(weights[0], 1 / len(y))
    for weight, proba in zip(weights[1:], model.staged_predict_proba(X)):
        missed = 1 - proba[np.arange(len(y)), y]
        np.testing.assert_allclose(weight, missed / missed.sum(), rtol=1e-8, atol=1e-12)


@every_algorithm
def test_each_learner_is_the_estimator_fitted_to_its_weights(algorithm):
    X, y = random_rows(3)
    model = BoostedBayes(n_estimators=5, learning_rate=0.3, algorithm=algorithm).fit(X, y)
    for learner, weight in zip(model.estimators_, model.staged_weights(X, y), strict=True):
        alone = GaussianNB().fit(X, y, weight * len(y))
        np.testing.assert_allclose(learner.theta_, alone.theta_, rtol=1e-9)
        np.testing.assert_allclose(learner.var_, alone.var_, rtol=1e-9)
        assert learner.predict(X).tolist() == alone.predict(X).tolist()


LEARNERS = {
    "naive": (GaussianNB(), lambda X: X),
    "holed": (GaussianNB(), lambda X: np.where(np.random.default_rng(2).random(X.shape) < 0.1, np.nan, X)),
    "full": (GaussianBayes(), lambda X: X),
    "tied": (GaussianBayes(covariance="tied"), lambda X: X),
    "tied diagonal": (GaussianBayes(covariance="tied_diagonal"), lambda X: X),
    "flags": (BernoulliNB(), lambda X: X),
    "bags": (MultinomialNB(), lambda X: np.round(np.abs(X))),
    "sparse bags": (MultinomialNB(), lambda X: csr_array(np.round(np.abs(X)))),
    "sparse flags": (BernoulliNB(), lambda X: csr_array(np.round(np.abs(X)))),
    "levels": (CategoricalNB(), lambda X: np.clip(np.round(X + 3), 0, 6)),
    "counts": (deciban.PoissonNB(), lambda X: np.round(np.abs(X))),
    "combinations": (deciban.JointBayes(alpha=0.5), lambda X: (X[:, :2] > 0) * 1.0),
}
every_learner = pytest.mark.parametrize("learner", LEARNERS)


@additive
@every_learner
def test_the_score_is_the_sum_of_the_learners_scores(algorithm, learner):
    estimator, read = LEARNERS[learner]
    X, y = random_rows(3)
    X = read(X)
    model = BoostedBayes(estimator, n_estimators=4, learning_rate=0.1, algorithm=algorithm).fit(X, y)
    shares = model.estimator_weights_ / (model.estimator_weights_.sum() if algorithm == "SAMME.R" else 1.0)
    total = sum(t * one.predict_joint_log_proba(X) for t, one in zip(shares, model.estimators_))
    np.testing.assert_allclose(model.predict_log_proba(X), log_softmax(total, axis=1), rtol=1e-7, atol=1e-7)


@every_algorithm
@every_learner
def test_reasons_add_up_to_the_log_odds(algorithm, learner):
    estimator, read = LEARNERS[learner]
    X, y = random_rows(3)
    X = read(X)
    model = BoostedBayes(estimator, n_estimators=4, learning_rate=0.1, algorithm=algorithm).fit(X, y)
    result = model.explain(X[:50])
    log_p = np.sort(model.predict_log_proba(X[:50]), axis=1)
    np.testing.assert_allclose(result.total, (log_p[:, -1] - log_p[:, -2]) * 10 / np.log(10), rtol=1e-6, atol=1e-6)
    extras = sum(result.extras.values()) + result.prior
    np.testing.assert_allclose(np.asarray(result.evidence.sum(axis=1)).reshape(-1) + extras, result.total, atol=1e-7)
    wide = len(model.estimators_) if algorithm == "SAMME" else X.shape[1]
    assert result.evidence.shape == (50, wide)


@additive
def test_lines_and_curves_are_those_of_the_sum(algorithm):
    X, y = random_rows(3)
    scores = {"linear": GaussianBayes(covariance="tied"), "quadratic": GaussianNB()}
    for form, learner in scores.items():
        model = BoostedBayes(learner, n_estimators=4, learning_rate=0.1, algorithm=algorithm).fit(X, y)
        found = getattr(model, f"{form}_form")()
        squares = (X**2) @ found.A.T if form == "quadratic" else 0.0
        np.testing.assert_allclose(
            log_softmax(squares + X @ found.weights.T + found.bias, axis=1), model.predict_log_proba(X), atol=1e-7
        )


def test_votes_have_no_weights():
    model = BoostedBayes(n_estimators=3).fit(*random_rows())
    for form in (model.linear_form, model.quadratic_form):
        with pytest.raises(UndefinedError, match=r"vote.*Hint: algorithm='logistic'"):
            form()


@every_algorithm
def test_boosting_stops_early_and_keeps_the_best_rounds(algorithm):
    X, y = random_rows(2, n=400, seed=3)
    plain = {"learning_rate": 1.0 if algorithm != "SAMME.R" else 0.1, "algorithm": algorithm}
    model = BoostedBayes(n_estimators=60, n_iter_no_change=3, validation_fraction=0.3, random_state=0, **plain).fit(
        X, y
    )
    assert model.n_estimators_ < 60
    again = BoostedBayes(n_estimators=60, n_iter_no_change=3, validation_fraction=0.3, random_state=0, **plain).fit(
        X, y
    )
    assert model.estimator_weights_.tolist() == again.estimator_weights_.tolist()
    assert np.isfinite(model._scorer.account.loss)
    assert model._scorer.rows.sum() == round(len(y) * 0.7)


def test_few_rows_cannot_be_held_out():
    with pytest.raises(InputError, match=r"holds out none.*Hint"):
        BoostedBayes(n_iter_no_change=2).fit([[1.0], [2.0], [3.0]], [0, 1, 2])


@every_algorithm
def test_a_row_that_weighs_two_is_two_rows_and_none_is_none(algorithm):
    X, y = random_rows(3)
    weight = np.arange(len(y)) % 3
    ours = {"n_estimators": 6, "learning_rate": 0.2, "algorithm": algorithm}
    weighed = BoostedBayes(**ours).fit(X, y, weight)
    repeated = BoostedBayes(**ours).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighed.estimator_weights_, repeated.estimator_weights_, rtol=1e-7)
    np.testing.assert_allclose(weighed.predict_proba(X), repeated.predict_proba(X), rtol=1e-6, atol=1e-9)


@every_algorithm
def test_the_number_of_threads_changes_no_bit(algorithm):
    X, y = random_rows(3, n=3000)
    found = [
        BoostedBayes(n_estimators=4, learning_rate=0.1, algorithm=algorithm, n_jobs=jobs).fit(X, y).predict_proba(X)
        for jobs in (1, 2)
    ]
    assert (found[0] == found[1]).all()


@every_algorithm
@every_learner
def test_a_model_comes_back_from_its_file(algorithm, learner, tmp_path):
    estimator, read = LEARNERS[learner]
    X, y = random_rows(3, n=200)
    X = read(X)
    model = BoostedBayes(estimator, n_estimators=3, learning_rate=0.1, algorithm=algorithm).fit(X, y)
    model.save(tmp_path / "boosted")
    read = deciban.load(tmp_path / "boosted")
    assert isinstance(read, BoostedBayes)
    assert type(read.estimator) is type(estimator)
    assert read.estimator.get_params() == estimator.get_params()
    np.testing.assert_array_equal(read.predict_proba(X), model.predict_proba(X))
    assert read.estimator_weights_.tolist() == model.estimator_weights_.tolist()
    assert read.estimator_errors_.tolist() == model.estimator_errors_.tolist()
    for mine, theirs in zip(read.staged_predict_proba(X), model.staged_predict_proba(X), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    result, before = read.explain(X[:5]), model.explain(X[:5])
    np.testing.assert_array_equal(result.total, before.total)


def test_a_file_whose_rounds_are_not_sound_is_refused(tmp_path):
    from deciban.persistence.generative_models import read_scorer, write_scorer

    model = BoostedBayes(n_estimators=3).fit(*random_rows())
    for change in (
        lambda rounds: rounds.arrays.__setitem__("rounds/shares", -model.estimator_weights_),
        lambda rounds: rounds.arrays.__setitem__("rounds/errors", np.full(model.n_estimators_, 2.0)),
        lambda rounds: rounds.header["rounds"].__setitem__("learners", []),
        lambda rounds: rounds.header["learned"]["account"]["settings"].__setitem__("algorithm", "magic"),
    ):
        section = write_scorer(model._scorer)
        change(section)
        with pytest.raises(ModelFileError):
            read_scorer(section)


def test_calibration_comes_with_every_estimator(tmp_path):
    X, y = random_rows(2)
    model = BoostedBayes(n_estimators=5).calibrated(X, y, method="temperature")
    assert model.calibration_.method == "temperature"
    model.save(tmp_path / "calibrated")
    np.testing.assert_array_equal(deciban.load(tmp_path / "calibrated").predict_proba(X), model.predict_proba(X))
    result, log_p = model.explain(X[:20]), np.sort(model.predict_log_proba(X[:20]), axis=1)
    np.testing.assert_allclose(result.total, (log_p[:, 1] - log_p[:, 0]) * 10 / np.log(10), atol=1e-8)


@parametrize_with_checks([BoostedBayes(n_estimators=3), BoostedBayes(n_estimators=3, algorithm="logistic")])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
