"""Learning, merging, forgetting and fading are + − × on one ledger: the laws, for every estimator."""

import pickle
from copy import deepcopy

import numpy as np
import pytest

import deciban
from deciban.errors import DecibanError, ForgetError, SchemaError, UndefinedError
from tests.estimators.examples import CLASSES, EXAMPLES, GENERATIVE, IDS

every_estimator = pytest.mark.parametrize("example", EXAMPLES, **IDS)
generative = pytest.mark.parametrize("example", GENERATIVE, **IDS)


def assert_same_model(example, actual, expected):
    """Equal ledgers where counts make that exact; equal scores in any case."""
    if example.exact:
        assert actual.ledger_ == expected.ledger_
    X, _ = example.data()
    np.testing.assert_allclose(
        actual.predict_joint_log_proba(X), expected.predict_joint_log_proba(X), rtol=1e-9, atol=1e-9
    )


def fit_parts(example, cut=23):
    """Return all rows, the model of all, and the models of the rows before and after the cut."""
    X, y = example.data()
    learn = lambda rows: example.make().partial_fit(X[rows], y[rows], classes=CLASSES)  # noqa: E731
    return (X, y), example.make().fit(X, y), learn(slice(None, cut)), learn(slice(cut, None))


@every_estimator
@pytest.mark.parametrize("cuts", [[1, 2, 3], [30], [10, 11, 50]], ids=str)
def test_any_split_in_any_order_is_one_pass(example, cuts):
    X, y = example.data()
    model = example.make()
    for rows in reversed(np.split(np.arange(60), cuts)):
        assert model.partial_fit(X[rows], y[rows], classes=CLASSES) is model
    assert_same_model(example, model, example.make().fit(X, y))


@every_estimator
def test_merging_is_learning_from_both_and_changes_self(example):
    _, whole, first, second = fit_parts(example)
    assert first.merge(second) is first
    assert_same_model(example, first, whole)


@every_estimator
def test_adding_makes_a_new_model_in_either_order(example):
    _, whole, first, second = fit_parts(example)
    before = deepcopy((first.ledger_, second.ledger_))
    assert_same_model(example, first + second, whole)
    assert_same_model(example, second + first, whole)
    assert (first.ledger_, second.ledger_) == before


@every_estimator
def test_forgetting_undoes_learning(example):
    (X, y), whole, first, second = fit_parts(example)
    assert_same_model(example, whole - second, first)
    assert whole.forget(X[:23], y[:23]) is whole
    assert_same_model(example, whole, second)


@every_estimator
def test_forgetting_with_weights_undoes_learning_with_weights(example):
    X, y = example.data()
    w = np.arange(60) % 5 + 1.0
    model = example.make().fit(X, y, sample_weight=w)
    model.forget(X[:20], y[:20], sample_weight=w[:20])
    assert_same_model(example, model, example.make().fit(X[20:], y[20:], sample_weight=w[20:]))


@every_estimator
@pytest.mark.parametrize("factor", [0.5, 0.25, 2])
def test_fading_is_learning_every_row_with_that_weight(example, factor):
    X, y = example.data()
    expected = example.make().fit(X, y, sample_weight=np.full(60, float(factor)))
    model = example.make().fit(X, y)
    before = deepcopy(model.ledger_)
    assert_same_model(example, model * factor, expected)
    assert_same_model(example, factor * model, expected)
    assert model.ledger_ == before
    assert model.decay(factor) is model
    assert_same_model(example, model, expected)


@every_estimator
def test_forgetting_a_faded_row_needs_its_faded_weight(example):
    (X, y), whole, first, _ = fit_parts(example)
    whole.decay(0.5).forget(X[23:], y[23:], sample_weight=np.full(37, 0.5))
    assert_same_model(example, whole, first * 0.5)


@every_estimator
def test_weight_two_is_a_row_twice(example):
    X, y = example.data()
    weighted = example.make().fit(X, y, sample_weight=np.full(60, 2))
    assert_same_model(example, weighted, example.make().fit(np.vstack([X, X]), np.r_[y, y]))


@every_estimator
def test_fitting_again_discards_what_was_learned(example):
    X, y = example.data(seed=1)
    assert_same_model(example, example.make_fitted(seed=0).fit(X, y), example.make().fit(X, y))


@generative
def test_new_priors_replace_the_old_in_a_new_model(example):
    X, _ = example.data()
    model = example.make_fitted()
    before = model.predict_proba(X)
    p = np.array([0.7, 0.2, 0.1])
    expected = before * p * 3  # the classes were equally common
    changed = model.with_priors(p)
    np.testing.assert_allclose(
        changed.predict_proba(X), expected / expected.sum(1, keepdims=True), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert type(changed) is type(model)


@pytest.mark.parametrize("p", [[0.5, 0.5], [0.5, 0.6, 0.2], [1.2, -0.1, -0.1]], ids=str)
def test_priors_that_are_not_a_distribution_over_the_classes_are_refused(p):
    with pytest.raises(ValueError, match="riors"):
        EXAMPLES[0].make_fitted().with_priors(p)


REFUSED_BY_COMPLEMENT = {
    "with_priors": lambda model, X, y: model.with_priors([0.2, 0.3, 0.5]),
    "score_samples": lambda model, X, y: model.score_samples(X),
    "log_likelihood": lambda model, X, y: model.log_likelihood(X, y),
    "sample": lambda model, X, y: model.sample(3),
}


@pytest.mark.parametrize("question", REFUSED_BY_COMPLEMENT)
def test_the_complement_is_no_likelihood_and_says_so(question):
    example = next(f for f in EXAMPLES if not f.likelihood)
    with pytest.raises(UndefinedError, match=r"(?i)complement"):
        REFUSED_BY_COMPLEMENT[question](example.make_fitted(), *example.data())


def fit_without_last_column(example):
    X, y = example.data()
    return example.make().fit(X[:, :-1], y)


def set_last_row(X, value):
    X = X.copy()
    X[-1, 0] = value
    return X


REFUSED = {
    "an undeclared label": lambda f, m, X, y: m.partial_fit(X[:2], ["ant", "wasp"]),
    "an infinity in the last row": lambda f, m, X, y: m.partial_fit(set_last_row(X, np.inf), y),
    "a batch too narrow": lambda f, m, X, y: m.partial_fit(X[:, :-1], y),
    "labels too few": lambda f, m, X, y: m.partial_fit(X, y[:-1]),
    "a weight too few": lambda f, m, X, y: m.partial_fit(X, y, sample_weight=np.ones(59)),
    "forgetting an unknown label": lambda f, m, X, y: m.forget(X[:2], ["ant", "wasp"]),
    "forgetting more than was learned": lambda f, m, X, y: m.forget(X, y, sample_weight=np.full(60, 1.5)),
    "forgetting twice the rows": lambda f, m, X, y: m.forget(np.vstack([X, X]), np.r_[y, y]),
    "merging a narrower model": lambda f, m, X, y: m.merge(fit_without_last_column(f)),
    "fading by a negative factor": lambda f, m, X, y: m.decay(-1.0),
}


@every_estimator
@pytest.mark.parametrize("deed", REFUSED)
def test_a_refused_operation_changes_nothing(example, deed):
    X, y = example.data()
    model = example.make_fitted()
    before, state, scores = deepcopy(model.ledger_), pickle.dumps(model), model.predict_joint_log_proba(X)
    with pytest.raises((DecibanError, ValueError)):
        REFUSED[deed](example, model, X, y)
    assert model.ledger_ == before
    np.testing.assert_array_equal(model.predict_joint_log_proba(X), scores)
    np.testing.assert_array_equal(pickle.loads(state).predict_joint_log_proba(X), scores)


@every_estimator
def test_forgetting_what_was_never_learned_is_a_forget_error(example):
    X, y = example.data()
    with pytest.raises(ForgetError):
        example.make_fitted().forget(X, y, sample_weight=np.full(60, 2.0))


@every_estimator
@pytest.mark.parametrize("operation", ["__add__", "__sub__", "merge"])
def test_models_of_unequal_width_do_not_mix(example, operation):
    with pytest.raises(SchemaError):
        getattr(example.make_fitted(), operation)(fit_without_last_column(example))


@every_estimator
def test_models_of_unequal_hyper_parameters_do_not_mix_and_the_difference_is_named(example):
    name, value = ("parameter_prior", 2.0) if "Gaussian" in example.name else ("alpha", 0.125)
    with pytest.raises(SchemaError, match=name):
        example.make_fitted() + example.make_fitted(**{name: value})


def test_models_of_unequal_columns_do_not_mix_and_the_difference_is_named():
    pandas = pytest.importorskip("pandas")
    X, y = EXAMPLES[0].data()
    first, second = (
        deciban.BernoulliNB().fit(pandas.DataFrame(X, columns=list(names)), y) for names in ("abcd", "abcz")
    )
    with pytest.raises(SchemaError, match="z"):
        first + second


def test_models_of_different_kinds_do_not_mix():
    X, y = EXAMPLES[0].data()
    with pytest.raises((SchemaError, TypeError)):
        deciban.BernoulliNB().fit(X, y) + deciban.GaussianNB().fit(X, y)


@pytest.mark.parametrize("model", [deciban.CategoricalNB, deciban.JointBayes], ids=lambda c: c.__name__)
def test_levels_first_met_in_a_later_batch_are_aligned(model):
    X, y = np.array([[0, 1], [1, 0], [4, 1], [0, 3]]), np.array(["ant", "bee", "ant", "bee"])
    late = model(alpha=1.0).partial_fit(X[:2], y[:2], classes=["ant", "bee"]).partial_fit(X[2:], y[2:])
    merged = model(alpha=1.0).fit(X[:2], y[:2]) + model(alpha=1.0).fit(X[2:], y[2:])
    expected = model(alpha=1.0).fit(X, y).predict_log_proba(X)
    np.testing.assert_allclose(late.predict_log_proba(X), expected, rtol=1e-12)
    np.testing.assert_allclose(merged.predict_log_proba(X), expected, rtol=1e-12)
