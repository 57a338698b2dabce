"""Odd and bad input of the learners that are fitted: the right answer or a clear refusal, no NaN, no overflow."""

import warnings
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from deciban import LogisticRegression
from deciban.errors import DecibanError, DecibanWarning

PARTNERS = {
    "logistic": LogisticRegression,
    "logistic from bayes": partial(LogisticRegression, start="bayes"),
    "logistic, sizes": partial(LogisticRegression, l1_ratio=1.0),
    "logistic, C chosen": partial(LogisticRegression, C="auto"),
    "logistic, free": partial(LogisticRegression, C=np.inf),
}
every_partner = pytest.mark.parametrize("partner", PARTNERS)


def numbers(n=60, d=3, K=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % K)
    return rng.normal(size=(n, d)) + 0.8 * rng.normal(size=(K, d))[y], y


def learned(partner, X, y, weight=None):
    """The model, sound: finite weights, and probabilities that are some."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", DecibanWarning)
        warnings.simplefilter("error", RuntimeWarning)  # no overflow on the way
        model = PARTNERS[partner]().fit(X, y, weight)
        p = model.predict_proba(X)
    assert np.isfinite(model.coef_).all()
    absent = model._fitted().rows[-len(model.intercept_) :] == 0  # a class without rows is impossible
    assert (np.isfinite(model.intercept_) | absent).all()
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    return model


@every_partner
@pytest.mark.parametrize("labels", [["a"] * 60, [1] * 60, [True] * 60], ids=["texts", "numbers", "flags"])
def test_one_class_is_refused_by_its_name(partner, labels):
    X, _ = numbers()
    model = PARTNERS[partner]()
    with pytest.raises(DecibanError, match=f"only one class: {labels[0]!r}. Hint"):
        model.fit(X, labels)
    assert not hasattr(model, "classes_")


@every_partner
def test_one_class_of_any_weight_is_one_class(partner):
    X, y = numbers()
    with pytest.raises(DecibanError, match="only one class"):
        PARTNERS[partner]().fit(X, y, (y == 1).astype(float))


@every_partner
@pytest.mark.parametrize("value", [0.0, 7.0, 1e8], ids=str)
def test_constant_columns_say_nothing(partner, value):
    X, y = numbers()
    more = np.hstack([X, np.full((60, 1), value)])
    model, plain = learned(partner, more, y), learned(partner, X, y)
    np.testing.assert_allclose(model.predict_proba(more), plain.predict_proba(X), atol=2e-3)


@every_partner
def test_nothing_but_constant_columns_leaves_the_shares_of_the_classes(partner):
    y = np.arange(60) % 4 == 0
    model = learned(partner, np.full((60, 2), 3.0), y)
    np.testing.assert_allclose(model.predict_proba([[3.0, 3.0]])[0], [0.75, 0.25], atol=1e-3)


@every_partner
@pytest.mark.parametrize("K", [2, 3])
def test_perfectly_separable_classes_are_told_apart_by_finite_weights(partner, K):
    y = np.repeat(np.arange(K), 20)
    X = np.column_stack([y * 10.0 + np.linspace(0, 1, len(y)), np.cos(y)])
    model = learned(partner, X, y)
    np.testing.assert_array_equal(model.predict(X), y)


@pytest.mark.parametrize("K", [2, 3])
def test_separable_classes_without_a_penalty_are_warned_about(K):
    y = np.repeat(np.arange(K), 20)
    X = (y * 10.0 + np.linspace(0, 1, len(y)))[:, None]
    with pytest.warns(DecibanWarning, match="Hint: C=1"):
        model = LogisticRegression(C=np.inf).fit(X, y)
    assert np.isfinite(model.coef_).all()


@every_partner
@pytest.mark.parametrize("factor", [1e300, 1e-300, 1e150], ids=str)
def test_huge_and_tiny_values_are_answered_or_refused(partner, factor):
    X, y = numbers()
    try:
        model = learned(partner, X * factor, y)
    except DecibanError as error:
        assert "Hint" in str(error)  # noqa: PT017
        return
    if factor > 1:  # so large that no penalty holds the weights back
        free = learned("logistic, free", X, y)
        assert (model.predict(X * factor) == free.predict(X)).mean() > 0.9


@every_partner
def test_one_huge_value_among_others_does_not_overflow(partner):
    X, y = numbers()
    X[5, 1] = 1e300
    try:
        learned(partner, X, y)
    except DecibanError as error:
        assert "Hint" in str(error)  # noqa: PT017


@every_partner
def test_columns_far_from_zero_are_weighed_as_if_they_were_near(partner):
    X, y = numbers()
    far, near = learned(partner, X + 1e8, y), learned(partner, X, y)
    np.testing.assert_allclose(far.predict_proba(X + 1e8), near.predict_proba(X), atol=2e-2)


@every_partner
@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_infinite_values_are_refused_where_they_stand(partner, value, kind):
    X, y = numbers()
    X[5, 1] = value
    model = PARTNERS[partner]()
    with pytest.raises(DecibanError, match="column 1, row 5"):
        model.fit(kind(X), y)
    assert not hasattr(model, "classes_")
    model = learned(partner, *numbers())
    with pytest.raises(DecibanError, match="column 1, row 5"):
        model.predict(kind(X))


@every_partner
def test_missing_cells_rows_and_columns_are_answered(partner):
    X, y = numbers()
    X[5, 1] = X[7] = X[:, 2] = np.nan
    model = learned(partner, X, y)
    assert np.isfinite(model.predict_proba([[np.nan] * 3])).all()


@pytest.mark.parametrize("partner", ["logistic", "logistic from bayes"])
def test_a_thousand_classes_are_learned(partner):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(1000), 3)
    X = rng.normal(size=(1000, 5))[y] * 3 + 0.1 * rng.normal(size=(3000, 5))
    model = learned(partner, X, y)
    assert model.coef_.shape == (1000, 5)
    assert model.score(X, y) > 0.3


@every_partner
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_more_columns_than_rows_are_learned(partner, kind):
    X, y = numbers(n=30, d=200, K=3)
    model = learned(partner, kind(X), y)
    assert model.score(kind(X), y) == 1.0


@every_partner
def test_rows_of_no_weight_are_absent_whatever_they_hold(partner):
    X, y = numbers()
    strange = np.vstack([X, [[1e300, np.inf, np.nan]]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", DecibanWarning)
        model = PARTNERS[partner]().fit(strange, np.append(y, 1), np.append(np.ones(60), 0.0))
    np.testing.assert_allclose(model.coef_, learned(partner, X, y).coef_, atol=1e-9)


@every_partner
def test_a_class_without_weight_has_no_probability(partner):
    X, y = numbers(K=3)
    model = learned(partner, X, y, (y != 2).astype(float))
    assert model.classes_.tolist() == [0, 1, 2]
    assert (model.predict_proba(X)[:, 2] == 0).all()
    assert 2 not in model.predict(X)


@every_partner
def test_no_weight_at_all_is_refused(partner):
    X, y = numbers()
    with pytest.raises(ValueError, match=r"non-zero|nothing to learn"):
        PARTNERS[partner]().fit(X, y, np.zeros(60))


MALFORMED = {
    "no rows": lambda X, y: (X[:0], y[:0]),
    "no columns": lambda X, y: (X[:, :0], y),
    "one dimension": lambda X, y: (X[:, 0], y),
    "labels too few": lambda X, y: (X, y[:-1]),
    "labels missing": lambda X, y: (X, None),
    "labels that are numbers of any kind": lambda X, y: (X, X[:, 0]),
    "a label NaN": lambda X, y: (X, np.r_[np.nan, np.arange(59) % 2]),
    "words": lambda X, y: (np.full(X.shape, "word"), y),
    "complex numbers": lambda X, y: (X + 1j, y),
}


@every_partner
@pytest.mark.parametrize("fault", MALFORMED)
def test_malformed_rows_are_refused_and_leave_the_model_unfitted(partner, fault):
    model = PARTNERS[partner]()
    with pytest.raises((ValueError, TypeError)):
        model.fit(*MALFORMED[fault](*numbers()))
    assert not hasattr(model, "classes_")


@every_partner
def test_two_rows_are_enough(partner):
    model = learned(partner, [[0.0], [1.0]], ["no", "yes"])
    assert model.predict([[-1.0], [2.0]]).tolist() in (["no", "yes"], ["yes", "yes"], ["no", "no"])
