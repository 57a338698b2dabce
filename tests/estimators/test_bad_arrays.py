"""Bad input is refused with a reason, unusual input is predicted, and no result is NaN."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import deciban
from deciban.errors import InputError
from tests.estimators.examples import EXAMPLES, GENERATIVE, IDS

every_estimator = pytest.mark.parametrize("example", EXAMPLES, **IDS)


def set_cell(X, value):
    X = X.copy()
    X[17, 1] = value
    return X


MALFORMED = {
    "no rows": lambda X, y: (X[:0], y[:0]),
    "no columns": lambda X, y: (X[:, :0], y),
    "one dimension": lambda X, y: (X[:, 0], y),
    "three dimensions": lambda X, y: (X[:, :, None], y),
    "labels too few": lambda X, y: (X, y[:-1]),
    "labels as a table": lambda X, y: (X, np.column_stack([y, y])),
    "labels missing": lambda X, y: (X, None),
    "a label None": lambda X, y: (X, np.array([None, *y[1:]], dtype=object)),
    "a label NaN": lambda X, y: (X, np.r_[np.nan, np.arange(59) % 2]),
    "words as features": lambda X, y: (np.full(X.shape, "word"), y),
    "an infinity": lambda X, y: (set_cell(X, np.inf), y),
    "a negative infinity": lambda X, y: (set_cell(X, -np.inf), y),
    "complex numbers": lambda X, y: (X + 1j, y),
}


@every_estimator
@pytest.mark.parametrize("fault", MALFORMED)
def test_malformed_training_data_is_refused_and_leaves_the_model_unfitted(example, fault):
    model = example.make()
    with pytest.raises((ValueError, TypeError)):
        model.fit(*MALFORMED[fault](*example.data()))
    with pytest.raises(NotFittedError):
        model.predict(example.data()[0])


UNANSWERABLE = ["no rows", "one dimension", "words as features", "an infinity", "a negative infinity"]


@every_estimator
@pytest.mark.parametrize("fault", UNANSWERABLE)
@pytest.mark.parametrize("method", ["predict", "predict_proba", "explain"])
def test_malformed_questions_are_refused(example, fault, method):
    X, _ = MALFORMED[fault](*example.data())
    with pytest.raises((ValueError, TypeError)):
        getattr(example.make_fitted(), method)(X)


@every_estimator
def test_a_question_of_another_width_is_refused_in_scikit_learns_words(example):
    X, _ = example.data()
    with pytest.raises(ValueError, match=r"features, but .* is expecting"):
        example.make_fitted().predict(X[:, :-1])


WEIGHTS = {
    "negative": np.r_[-1.0, np.ones(59)],
    "NaN": np.r_[np.nan, np.ones(59)],
    "infinite": np.r_[np.inf, np.ones(59)],
    "too few": np.ones(59),
    "a table": np.ones((60, 2)),
}


@every_estimator
@pytest.mark.parametrize("fault", WEIGHTS)
def test_bad_weights_are_refused(example, fault):
    X, y = example.data()
    with pytest.raises(ValueError):
        example.make().fit(X, y, sample_weight=WEIGHTS[fault])


@pytest.mark.parametrize("name", ["GaussianNB", "LogisticRegression", "BoostedBayes", "EvidenceRegression"])
def test_errors_count_rows_of_weight_zero(name):
    X, y = np.array([[1.0], [2.0], [np.inf]]), np.array([0, 0, 1])
    with pytest.raises(InputError, match="row 2 holds inf"):
        getattr(deciban, name)().fit(X, y, sample_weight=[0.0, 1.0, 1.0])


@every_estimator
def test_weights_that_are_all_zero_are_refused_or_answered_without_nan(example):
    """Weight 0 is a row absent, so this is learning from nothing."""
    X, y = example.data()
    try:
        model = example.make().fit(X, y, sample_weight=np.zeros(60))
    except ValueError:
        return
    assert np.isfinite(model.predict_proba(X)).all()


@every_estimator
def test_one_row_is_enough(example):
    X, y = example.data()
    model = example.make().fit(X[:1], y[:1])
    np.testing.assert_array_equal(model.predict(X), np.repeat(y[:1], 60))
    np.testing.assert_allclose(model.predict_proba(X), 1)


@every_estimator
def test_one_class_is_certain(example):
    X, _ = example.data()
    posterior = example.make().fit(X, np.repeat("ant", 60)).predict_proba(X)
    np.testing.assert_array_equal(posterior, np.ones((60, 1)))


@every_estimator
@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("value", [1e300, 1e-300, 1.7e308])
def test_extreme_values_are_refused_or_answered_without_nan(example, value):
    X, y = example.data()
    X = set_cell(X, value)
    try:
        model = example.make().fit(X, y)
        posterior = model.predict_proba(X)
    except ValueError:
        return
    assert not np.isnan(posterior).any()
    np.testing.assert_allclose(posterior.sum(1), 1)


@pytest.mark.parametrize("words", [1e6, 1e9, 1e12, 1e15, 1e17])
def test_a_posterior_sums_to_one_however_large_the_scores(words):
    """ln 2 is lost beside a score of −1e17, so normalise what is left after the largest score is taken off."""
    model = deciban.MultinomialNB().fit([[3, 1], [1, 3]], ["ant", "bee"])
    assert model.predict_proba([[words, words]]).sum() == pytest.approx(1, rel=1e-12)
    assert np.exp(model.predict_log_proba([[words, words]])).sum() == pytest.approx(1, rel=1e-12)


@every_estimator
def test_an_extreme_question_is_refused_or_answered_without_nan(example):
    X, _ = example.data()
    try:
        posterior = example.make_fitted().predict_proba(set_cell(X, 1e200))
    except ValueError:
        return
    assert not np.isnan(posterior).any()


@pytest.mark.parametrize("example", [f for f in EXAMPLES if f.draw.__name__ == "numbers"], **IDS)
@pytest.mark.parametrize("columns", ["constant", "repeated", "more than rows"])
def test_a_rank_deficient_class_never_gives_nan(example, columns):
    X, y = example.data()
    if columns == "constant":
        X = np.column_stack([X, np.full(60, 3.0)])
    elif columns == "repeated":
        X = np.column_stack([X, X[:, 0], X[:, 0] + X[:, 1]])
    else:
        X, y = np.random.default_rng(0).normal(size=(6, 40)), np.array(["ant", "bee", "cat"] * 2)
    model = example.make().fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.score_samples(X)).all()


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB", "PoissonNB"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_negative_count_is_named_with_its_column_and_value(name, container, method):
    example = next(f for f in EXAMPLES if f.name == name)
    X, y = example.data()
    extra = {"classes": np.unique(y)} if method == "partial_fit" else {}
    with pytest.raises(InputError, match=r"Negative values in data[\s\S]*1[\s\S]*-4[\s\S]*Gaussian"):
        getattr(example.make(), method)(container(set_cell(X, -4)), y, **extra)


@pytest.mark.parametrize("norm", [False, True])
def test_a_single_word_is_no_evidence_and_no_nan_for_the_complement(norm):
    model = deciban.ComplementNB(norm=norm).fit([[1], [2], [0]], ["ant", "ant", "bee"])
    np.testing.assert_allclose(model.predict_proba([[3]]), 0.5)


@pytest.mark.parametrize("name", ["CategoricalNB", "JointBayes"])
def test_codes_must_not_be_negative(name):
    example = next(f for f in EXAMPLES if f.name == name)
    X, y = example.data()
    with pytest.raises(ValueError, match="Negative values in data passed to"):
        example.make().fit(set_cell(X, -1), y)


UNFITTED = {
    "predict": lambda m, X, y: m.predict(X),
    "predict_proba": lambda m, X, y: m.predict_proba(X),
    "explain": lambda m, X, y: m.explain(X),
    "score_samples": lambda m, X, y: m.score_samples(X),
    "forget": lambda m, X, y: m.forget(X, y),
    "decay": lambda m, X, y: m.decay(0.5),
    "sample": lambda m, X, y: m.sample(3),
    "bayes_error": lambda m, X, y: m.bayes_error(),
}


@pytest.mark.parametrize("example", GENERATIVE, **IDS)
@pytest.mark.parametrize("deed", UNFITTED)
def test_an_unfitted_model_says_so(example, deed):
    with pytest.raises(NotFittedError):
        UNFITTED[deed](example.make(), *example.data())


BAD_PARAMETERS = [
    (deciban.BernoulliNB, {"alpha": -1.0}),
    (deciban.MultinomialNB, {"class_prior": "flat"}),
    (deciban.CategoricalNB, {"unseen": "guess"}),
    (deciban.CategoricalNB, {"missing": "drop"}),
    (deciban.GaussianNB, {"var_smoothing": -1.0}),
    (deciban.GaussianNB, {"parameter_prior": -1.0}),
    (deciban.GaussianBayes, {"covariance": "round"}),
    (deciban.GaussianBayes, {"shrinkage": 1.5}),
    (deciban.GaussianBayes, {"shrinkage": "lw"}),
    (deciban.PoissonNB, {"alpha": -0.5}),
    (deciban.PoissonNB, {"prior_alpha": -1.0}),
    (deciban.JointBayes, {"alpha": "one"}),
]


@pytest.mark.parametrize(("model", "parameters"), BAD_PARAMETERS)
def test_bad_parameters_are_refused_when_fitting_and_named(model, parameters):
    (name,) = parameters
    estimator = model(**parameters)
    with pytest.raises((ValueError, TypeError), match=name if name not in ("class_prior",) else "prior"):
        estimator.fit([[1, 0], [0, 1], [1, 1]], [0, 1, 1])


def negative_counts(rows):
    X = np.abs(np.random.default_rng(0).normal(size=(60, 3)))
    X[rows, 1] = -1.0
    return X, np.array(["p", "q"] * 30)


@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("folds", [3, "loo", [0, 1, 2] * 20])
@pytest.mark.parametrize("row", [40, 42], ids=["learned first", "scored first"])
@pytest.mark.parametrize(
    "make", [deciban.MultinomialNB, lambda: deciban.BoostedBayes(deciban.MultinomialNB(), n_estimators=3)]
)
def test_errors_in_cross_validation_number_the_rows_as_they_were_given(make, row, folds, weighted, sparse_rows):
    X, y = negative_counts(row)
    weight = np.repeat([0.0, 1.0], 30) if weighted else None
    with pytest.raises(InputError, match=rf"first: -1 in row {row}\)"):
        deciban.cross_validate(make(), sparse.csr_array(X) if sparse_rows else X, y, folds, sample_weight=weight)


@pytest.mark.parametrize("row", range(20, 60, 7))
def test_errors_of_boosting_number_the_rows_as_they_were_given(row):
    X, y = negative_counts(row)
    model = deciban.BoostedBayes(deciban.MultinomialNB(), n_iter_no_change=2, validation_fraction=0.4, random_state=0)
    with pytest.raises(InputError, match=rf"first: -1 in row {row}\)"):
        model.fit(X, y, np.repeat([0.0, 1.0], [20, 40]))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cell", [np.inf, "much"])
@pytest.mark.parametrize("calibrate", [None, "temperature"])
def test_errors_about_frames_number_the_rows_as_they_were_given(calibrate, cell, weighted):
    """They count from 1, as all errors about tables do."""
    X, y = np.random.default_rng(0).normal(size=(60, 3)).astype(object), np.array(["p", "q"] * 30)
    X[:, 1] = X[:, 1] if cell == np.inf else X[:, 1].astype(str)
    X[40, 1] = cell
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    weight = np.repeat([0.0, 1.0], 30) if weighted else None
    model = deciban.NaiveBayes(roles={"b": "number"}, calibrate=calibrate)
    with pytest.raises(InputError, match=r"'b' .*in row 41, which is not"):
        model.fit(frame, y, weight)
    for folds in (3, "loo", [0, 1, 2] * 20):
        with pytest.raises(InputError, match=r"'b' .*in row 41, which is not"):
            deciban.cross_validate(model, frame, y, folds, sample_weight=weight)


def test_an_error_about_a_row_passes_between_processes():
    with pytest.raises(InputError) as error:
        deciban.MultinomialNB().fit(*negative_counts(40))
    copy = pickle.loads(pickle.dumps(error.value))
    assert isinstance(copy, InputError)
    assert str(copy) == str(error.value)
