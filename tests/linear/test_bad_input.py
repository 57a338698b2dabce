"""Odd and bad input of the learners that are fitted: the right answer or a clear refusal, no NaN, no overflow."""

import warnings
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from deciban import BoostedBayes, EvidenceRegression, LogisticRegression
from deciban.errors import DecibanError, DecibanWarning

LOGISTIC = {
    "logistic": LogisticRegression,
    "logistic from bayes": partial(LogisticRegression, start="bayes"),
    "logistic, sizes": partial(LogisticRegression, l1_ratio=1.0),
    "logistic, C chosen": partial(LogisticRegression, C="auto"),
    "logistic, free": partial(LogisticRegression, C=np.inf),
}
EVIDENCE = {
    "evidence": partial(EvidenceRegression, presence=True),
    "evidence, C chosen": partial(EvidenceRegression, presence=True, C="auto"),
    "evidence of counts": partial(EvidenceRegression, presence=False, length=False),
}
BOOSTED = {
    "boosted, votes": partial(BoostedBayes, n_estimators=5),
    "boosted, scores": partial(BoostedBayes, n_estimators=5, algorithm="SAMME.R"),
    "boosted, logistic": partial(BoostedBayes, n_estimators=5, algorithm="logistic"),
}
PARTNERS = {**LOGISTIC, **EVIDENCE, **BOOSTED}
every_learner = pytest.mark.parametrize("learner", PARTNERS)
every_number = pytest.mark.parametrize("learner", {**LOGISTIC, **BOOSTED})


def numbers(n=60, d=3, K=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % K)
    return rng.normal(size=(n, d)) + 0.8 * rng.normal(size=(K, d))[y], y


def sample_rows(learner, n=60, d=3, K=2):
    """Rows that the learner takes: numbers, or counts of words."""
    X, y = numbers(n, d, K)
    return (np.maximum(X, 0.0) if learner in EVIDENCE else X), y


def fit_learner(learner, X, y, weight=None):
    """The model, whatever it warns of but overflow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", DecibanWarning)
        warnings.simplefilter("error", RuntimeWarning)  # no overflow on the way
        return PARTNERS[learner]().fit(X, y, weight)


def learn(learner, X, y, weight=None):
    """The model, sound: finite weights, and probabilities that are some."""
    model = fit_learner(learner, X, y, weight)
    p = model.predict_proba(X)
    if learner not in BOOSTED:
        assert np.isfinite(model.coef_).all()
        absent = model._check_fitted().rows[-len(model.intercept_) :] == 0  # a class without rows is impossible
        assert (np.isfinite(model.intercept_) | absent).all()
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    return model


@pytest.mark.parametrize("learner", {**LOGISTIC, **EVIDENCE})
@pytest.mark.parametrize("labels", [["a"] * 60, [1] * 60, [True] * 60], ids=["texts", "numbers", "flags"])
def test_one_class_is_refused_by_its_name(learner, labels):
    X, _ = sample_rows(learner)
    model = PARTNERS[learner]()
    with pytest.raises(DecibanError, match=f"only one class: {labels[0]!r}. Hint"):
        model.fit(X, labels)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("learner", {**LOGISTIC, **EVIDENCE})
def test_one_class_of_any_weight_is_one_class(learner):
    X, y = sample_rows(learner)
    with pytest.raises(DecibanError, match="only one class"):
        PARTNERS[learner]().fit(X, y, (y == 1).astype(float))


@pytest.mark.parametrize("learner", BOOSTED)
def test_boosting_learns_one_class_as_what_it_boosts_does(learner):
    X, y = numbers()
    np.testing.assert_array_equal(learn(learner, X, ["a"] * 60).predict_proba(X), 1.0)
    np.testing.assert_array_equal(learn(learner, X, y, (y == 1).astype(float)).predict_proba(X), [[0.0, 1.0]] * 60)


@every_number
@pytest.mark.parametrize("value", [0.0, 7.0, 1e8], ids=str)
def test_constant_columns_say_nothing(learner, value):
    X, y = numbers()
    more = np.hstack([X, np.full((60, 1), value)])
    model, plain = learn(learner, more, y), learn(learner, X, y)
    np.testing.assert_allclose(model.predict_proba(more), plain.predict_proba(X), atol=2e-3)


@every_learner
def test_nothing_but_constant_columns_leaves_the_shares_of_the_classes(learner):
    """Or what boosting makes of them.

    A vote of one learner counts e² to one, as in scikit-learn; and after the first round both classes weigh alike, so
    that the mean of five scores is a fifth of ln 3.
    """
    y = np.arange(60) % 4 == 0
    model = learn(learner, np.full((60, 2), 3.0), y)
    rare = {"boosted, votes": 1 / (1 + np.e**2), "boosted, scores": 1 / (1 + 3**0.2)}.get(learner, 0.25)
    np.testing.assert_allclose(model.predict_proba([[3.0, 3.0]])[0], [1 - rare, rare], atol=1e-3)


@every_learner
@pytest.mark.parametrize("K", [2, 3])
def test_perfectly_separable_classes_are_separated_by_finite_weights(learner, K):
    y = np.repeat(np.arange(K), 20)
    X = np.eye(K)[y] * (10.0 + np.linspace(0, 1, len(y)))[:, None]
    model = learn(learner, X, y)
    np.testing.assert_array_equal(model.predict(X), y)


@pytest.mark.parametrize("K", [2, 3])
def test_separable_classes_without_a_penalty_are_warned_about(K):
    y = np.repeat(np.arange(K), 20)
    X = (y * 10.0 + np.linspace(0, 1, len(y)))[:, None]
    with pytest.warns(DecibanWarning, match="Hint: C=1"):
        model = LogisticRegression(C=np.inf).fit(X, y)
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("learner", LOGISTIC)
@pytest.mark.parametrize("factor", [1e300, 1e150], ids=str)
def test_weights_of_huge_numbers_are_so_small_that_no_penalty_holds_them_back(learner, factor):
    X, y = numbers()
    model, free = learn(learner, X * factor, y), learn("logistic, free", X, y)
    np.testing.assert_array_equal(model.predict(X * factor), free.predict(X))


@pytest.mark.parametrize("learner", LOGISTIC)
def test_weights_of_tiny_numbers_would_be_huge_and_are_held_back_unless_they_are_free(learner):
    X, y = numbers()
    model = learn(learner, X * 1e-300, y)
    if learner == "logistic, free":
        np.testing.assert_array_equal(model.predict(X * 1e-300), learn(learner, X, y).predict(X))
    else:
        np.testing.assert_allclose(model.predict_proba(X * 1e-300), 0.5)


@pytest.mark.parametrize("learner", EVIDENCE)
@pytest.mark.parametrize("factor", [1e300, 1e-300, 1e150], ids=str)
def test_presence_is_the_same_however_large_and_counts_of_1e300_are_refused(learner, factor):
    X, y = sample_rows(learner)
    if learner != "evidence of counts":
        same = learn(learner, X, y).predict_proba(X)
        np.testing.assert_allclose(learn(learner, X * factor, y).predict_proba(X * factor), same, atol=1e-6)
    elif factor > 1:
        with pytest.raises(DecibanError, match=r"cannot be counts of words\. Hint: rescale"):
            fit_learner(learner, X * factor, y)
    else:
        np.testing.assert_allclose(learn(learner, X * factor, y).predict_proba(X * factor), 0.5)


@pytest.mark.parametrize("learner", BOOSTED)
def test_gaussians_of_numbers_too_large_for_squares_are_refused_and_tiny_ones_have_no_evidence(learner):
    X, y = numbers()
    for factor in (1e300, 1e150):
        with pytest.raises(DecibanError, match=r"overflow.*Hint: rescale"):
            fit_learner(learner, X * factor, y)
    rare = 1 / (1 + np.e**2) if learner == "boosted, votes" else 0.5
    result = learn(learner, X * 1e-300, y).predict_proba(X * 1e-300)
    np.testing.assert_allclose(result, [[1 - rare, rare]] * 60, atol=1e-6)


@every_learner
def test_one_huge_value_among_others_is_scored_or_refused_but_never_overflows(learner):
    X, y = sample_rows(learner)
    X[5, 1] = 1e300
    if learner in BOOSTED or learner == "evidence of counts":
        with pytest.raises(DecibanError, match="Hint: rescale"):
            fit_learner(learner, X, y)
    elif learner in EVIDENCE:  # a word is there, or it is not
        model = learn(learner, X, y)
        np.testing.assert_allclose(model.predict_proba(X), model.predict_proba(X > 0), atol=1e-9)
    else:  # its column tells that row alone, and the other two columns all others
        model, others = learn(learner, X, y), np.arange(60) != 5
        without = learn(learner, X[others][:, [0, 2]], y[others]).score(X[others][:, [0, 2]], y[others])
        assert model.score(X[others], y[others]) == pytest.approx(without, abs=0.05)
        assert model.predict(X[[5]]) == y[[5]]


@every_number
def test_columns_far_from_zero_are_weighed_as_if_they_were_near(learner):
    X, y = numbers()
    far, near = learn(learner, X + 1e8, y), learn(learner, X, y)
    np.testing.assert_allclose(far.predict_proba(X + 1e8), near.predict_proba(X), atol=2e-2)


@every_learner
@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_infinite_values_are_refused_where_they_stand(learner, value, kind):
    X, y = sample_rows(learner)
    X[5, 1] = value
    model = PARTNERS[learner]()
    with pytest.raises(DecibanError, match="column 1, row 5"):
        model.fit(kind(X), y)
    assert not hasattr(model, "classes_")
    model = learn(learner, *sample_rows(learner))
    with pytest.raises(DecibanError, match="column 1, row 5"):
        model.predict(kind(X))


@every_number
def test_missing_cells_rows_and_columns_are_answered(learner):
    X, y = numbers()
    X[5, 1] = X[7] = X[:, 2] = np.nan
    model = learn(learner, X, y)
    assert np.isfinite(model.predict_proba([[np.nan] * 3])).all()
    known = np.arange(60) != 7
    assert model.score(X[known], y[known]) > 0.8


@pytest.mark.parametrize("learner", EVIDENCE)
def test_missing_counts_are_refused_where_they_stand(learner):
    X, y = sample_rows(learner)
    X[5, 1] = np.nan
    with pytest.raises(DecibanError, match=r"column 1, row 5\. Hint"):
        fit_learner(learner, X, y)
    with pytest.raises(DecibanError, match=r"column 1, row 5\. Hint"):
        learn(learner, *sample_rows(learner)).predict(X)


@pytest.mark.thorough(reason="fits a thousand classes: seconds")
@pytest.mark.parametrize("learner", ["logistic", "logistic from bayes", *BOOSTED])
def test_a_thousand_classes_are_learned(learner):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(1000), 3)
    X = rng.normal(size=(1000, 5))[y] * 3 + 0.1 * rng.normal(size=(3000, 5))
    model = learn(learner, X, y)
    assert model.score(X, y) > 0.95
    if learner not in BOOSTED:
        assert model.coef_.shape == (1000, 5)


@pytest.mark.thorough(reason="fits a thousand classes: seconds")
def test_a_thousand_classes_of_words_are_learned_to_the_end():
    """A class is two words of 46: the search ends, and tells every row."""
    first, second = np.triu_indices(46, 1)
    y = np.repeat(np.arange(1000), 2)
    X = np.zeros((2000, 46))
    X[np.arange(2000), first[y]] = X[np.arange(2000), second[y]] = 1.0
    model = EvidenceRegression().fit(X, y)
    assert model._check_fitted().account.converged
    assert model.coef_.shape == (1000, 46)
    assert model.score(X, y) == 1.0
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert p[np.arange(2000), y].min() > 0.5


@every_learner
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_more_columns_than_rows_are_learned(learner, kind):
    X, y = sample_rows(learner, n=30, d=200, K=3)
    model = learn(learner, kind(X), y)
    assert model.score(kind(X), y) == 1.0


@every_learner
def test_rows_of_no_weight_are_absent_whatever_they_hold(learner):
    X, y = sample_rows(learner)
    odd = np.vstack([X, [[1e300, np.inf, np.nan]]])
    model = fit_learner(learner, odd, np.append(y, 1), np.append(np.ones(60), 0.0))
    np.testing.assert_allclose(model.predict_proba(X), learn(learner, X, y).predict_proba(X), atol=1e-9)


@every_learner
def test_a_class_without_weight_has_no_probability(learner):
    X, y = sample_rows(learner, K=3)
    model = learn(learner, X, y, (y != 2).astype(float))
    assert model.classes_.tolist() == [0, 1, 2]
    assert (model.predict_proba(X)[:, 2] == 0).all()
    assert 2 not in model.predict(X)


@every_learner
def test_no_weight_at_all_is_refused(learner):
    X, y = sample_rows(learner)
    with pytest.raises(DecibanError, match=r"non-zero.*Hint"):
        PARTNERS[learner]().fit(X, y, np.zeros(60))


MALFORMED = {
    "no rows": lambda X, y: (X[:0], y[:0]),
    "no columns": lambda X, y: (X[:, :0], y),
    "one dimension": lambda X, y: (X[:, 0], y),
    "labels too few": lambda X, y: (X, y[:-1]),
    "labels missing": lambda X, y: (X, None),
    "labels that are numbers of any kind": lambda X, y: (X, X[:, 0] + 0.5),
    "a label NaN": lambda X, y: (X, np.r_[np.nan, np.arange(59) % 2]),
    "words": lambda X, y: (np.full(X.shape, "word"), y),
    "complex numbers": lambda X, y: (X + 1j, y),
}


@every_learner
@pytest.mark.parametrize("fault", MALFORMED)
def test_malformed_rows_are_refused_and_leave_the_model_unfitted(learner, fault):
    model = PARTNERS[learner]()
    with pytest.raises((ValueError, TypeError)):
        model.fit(*MALFORMED[fault](*sample_rows(learner)))
    assert not hasattr(model, "classes_")


SILENT = ("logistic, sizes", *EVIDENCE)
"""Learners without weights on two rows: L1 sets them to zero, and a single word has no evidence for any class."""


@every_learner
def test_two_rows_are_enough(learner):
    model = learn(learner, [[0.0], [1.0]], ["no", "yes"])
    assert model.predict([[0.0], [2.0]]).tolist() == (["no", "no"] if learner in SILENT else ["no", "yes"])
    if learner in SILENT:
        np.testing.assert_allclose(model.predict_proba([[0.0], [1.0]]), 0.5)
