"""EvidenceRegression as an estimator: documents and counts, explanations, telltales, files, refusals."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn import linear_model
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import normalize
from sklearn.utils.estimator_checks import parametrize_with_checks

import deciban
from deciban import EvidenceRegression, TextClassifier, Words
from deciban.errors import DecibanError, DecibanWarning, InputError, ModelFileError, UndefinedError
from deciban.linear import evidence_weights_of_words as word_weights
from tests.estimators.copies import through_joblib
from tests.estimators.corpora import ASKED, LABELS, MAIL

TIGHT = {"tol": 1e-9, "max_iter": 2000}
KINDS = {
    "as it comes": {},
    "counts as they are": {"presence": False, "length": False, "common": None},
    "pairs, in between": {"words": Words(ngrams=2), "beta": 0.25, "alpha": 0.5},
    "hashed": {"words": {"hashed": 8, "tokens": "whitespace"}},
    "chosen": {"C": "auto", "alpha": "auto"},
}
every_kind = pytest.mark.parametrize("kind", KINDS)
THREE = [
    "tea and milk",
    "milk tea",
    "pot of tea",
    "go to sea",
    "sea and sail",
    "to sail",
    "red leaf",
    "a leaf fell",
] * 3
OF_THREE = ["cup", "cup", "cup", "sea", "sea", "sea", "tree", "tree"] * 3


NEGATIVE = {"check_decision_proba_consistency": "its rows have values below 0, which are no counts"}


@parametrize_with_checks([EvidenceRegression()], expected_failed_checks=lambda _: NEGATIVE)
def test_the_estimator_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_documents_and_their_counts_give_the_same_model():
    counter = CountVectorizer().fit(MAIL)
    texts = EvidenceRegression(words="classic", **TIGHT).fit(MAIL, LABELS)
    counts = EvidenceRegression(**TIGHT).fit(counter.transform(MAIL), LABELS)
    dense = EvidenceRegression(**TIGHT).fit(counter.transform(MAIL).toarray(), LABELS)
    expected = texts.predict_proba(ASKED)
    np.testing.assert_allclose(counts.predict_proba(counter.transform(ASKED)), expected, rtol=1e-6)
    np.testing.assert_allclose(dense.predict_proba(counter.transform(ASKED).toarray()), expected, rtol=1e-6)


def test_the_weights_are_those_of_scikit_learn_on_the_same_scaled_features():
    counter = CountVectorizer(binary=True).fit(MAIL)
    X, y = counter.transform(MAIL).toarray().astype(float), np.array(LABELS) == "spam"
    n = np.stack([X[~y].sum(axis=0), X[y].sum(axis=0)]) + 1
    e = np.log(n[1] / n[1].sum()) - np.log(n[0] / n[0].sum())
    size = np.sqrt((X**2).sum() / len(X))
    F = normalize(X) * size * e
    V, rho = X.shape[1], 0.1
    F = np.column_stack([F, F.sum(axis=1) / np.sqrt(rho * V)])
    peer = linear_model.LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000).fit(F, y)
    ours = EvidenceRegression(C=2.0, words="classic", presence=True, **TIGHT).fit(MAIL, LABELS)
    np.testing.assert_allclose(ours.decision_function(MAIL), peer.decision_function(F), atol=1e-5)
    trust = peer.coef_[0, :-1] + peer.coef_[0, -1] / np.sqrt(rho * V)
    known = [counter.vocabulary_[word] for word in ours.vocabulary_]
    np.testing.assert_allclose(ours.trust_[0], trust[known], atol=1e-5)
    np.testing.assert_allclose(ours.coef_[0], (trust * e * size)[known], atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-5)


@every_kind
@pytest.mark.parametrize("data", [(MAIL * 3, LABELS * 3), (THREE, OF_THREE)], ids=["two", "three"])
def test_explanations_add_up_to_the_log_odds(kind, data):
    model = EvidenceRegression(**KINDS[kind]).fit(*data)
    result = model.explain(data[0])
    shown = model.predict_log_proba(data[0])
    ordered = np.sort(shown, axis=1)
    nats = np.log(10) / 10
    np.testing.assert_allclose(result.total * nats, ordered[:, -1] - ordered[:, -2], atol=1e-9)
    parts = np.asarray(result.evidence.sum(axis=1)).ravel() + result.prior + result.extras["bias"]
    np.testing.assert_allclose(parts, result.total, atol=1e-9)


def test_an_explanation_says_where_the_words_stand():
    model = EvidenceRegression().fit(MAIL, LABELS)
    text = "Lunch, or cheap pills?"
    for passage in model.explain([text]).places():
        assert text[passage.start : passage.end].lower() == passage.word


def test_telltales_have_evidence_weight_times_evidence_in_decibans():
    model = EvidenceRegression().fit(THREE, OF_THREE)
    first, *_ = result = model.telltales("sea", 3)
    assert len(result) == 3
    assert first.word in ("sea", "sail", "to")
    assert first.decibans == pytest.approx(first.evidence * first.trust)
    assert [one.decibans for one in result] == sorted((one.decibans for one in result), reverse=True)
    with pytest.raises(InputError, match="moon"):
        model.telltales("moon")


def test_beta_0_gives_all_words_one_evidence_weight():
    alike = EvidenceRegression(beta=0.0, common=None).fit(THREE, OF_THREE).trust_
    assert np.ptp(alike) < 1e-9
    separate = EvidenceRegression(beta=1.0, **TIGHT).fit(THREE, OF_THREE)
    plain = EvidenceRegression(**TIGHT).fit(THREE, OF_THREE)
    np.testing.assert_allclose(separate.trust_, plain.trust_, rtol=1e-6)


def test_evidence_weight_1_everywhere_would_be_the_naive_model():
    model = EvidenceRegression(words="classic", presence=False, length=False).fit(MAIL, LABELS)
    naive = TextClassifier().fit(MAIL, LABELS)
    result = naive.linear_form()
    weights = result.weights[1] - result.weights[0]
    np.testing.assert_allclose(model.coef_[0] / model.trust_[0], weights)


@every_kind
def test_a_saved_model_answers_explains_and_tells_the_same(kind, tmp_path):
    model = EvidenceRegression(**KINDS[kind]).fit(MAIL * 3, LABELS * 3)
    model.save(tmp_path / "a.model")
    again = deciban.load(tmp_path / "a.model")
    assert type(again) is EvidenceRegression
    np.testing.assert_array_equal(again.predict_log_proba(ASKED), model.predict_log_proba(ASKED))
    assert again.explain(ASKED).text() == model.explain(ASKED).text()
    np.testing.assert_array_equal(again.trust_, model.trust_)
    for figure in ("C_", "alpha_", "common_trust_", "n_iter_", "n_parameters_", "n_features_in_"):
        assert getattr(again, figure) == getattr(model, figure)


def test_a_saved_model_of_counts_keeps_its_columns(tmp_path):
    frame = pd.DataFrame(CountVectorizer().fit_transform(MAIL).toarray()).add_prefix("word ")
    model = EvidenceRegression().fit(frame, LABELS)
    model.save(tmp_path / "a.model")
    again = deciban.load(tmp_path / "a.model")
    assert again.feature_names_in_.tolist() == list(frame.columns)
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_a_model_whose_arguments_were_changed_since_is_not_saved(tmp_path):
    model = EvidenceRegression().fit(MAIL, LABELS).set_params(length=False)
    expected = EvidenceRegression().fit(MAIL, LABELS).predict_proba(ASKED)
    np.testing.assert_array_equal(model.predict_proba(ASKED), expected)
    with pytest.raises(ModelFileError, match="fit again"):
        model.save(tmp_path / "a.model")


@pytest.mark.parametrize("journey", [lambda model: pickle.loads(pickle.dumps(model)), through_joblib])
def test_a_pickled_model_answers_the_same(journey):
    model = EvidenceRegression(words=Words(ngrams=2)).fit(MAIL, LABELS)
    np.testing.assert_array_equal(journey(model).predict_proba(ASKED), model.predict_proba(ASKED))


def test_searches_and_containers():
    search = GridSearchCV(EvidenceRegression(), {"C": [0.1, 1.0], "words": [None, Words(ngrams=2)]}, cv=3)
    search.fit(MAIL * 4, LABELS * 4)
    assert search.predict(["cheap pills"]).tolist() == ["spam"]
    for container in (np.array(MAIL * 4, dtype=object), pd.Series(MAIL * 4), pa.array(MAIL * 4)):
        model = EvidenceRegression().fit(container, LABELS * 4)
        np.testing.assert_array_equal(model.predict(ASKED), clone(model).fit(MAIL * 4, LABELS * 4).predict(ASKED))
    assert np.isfinite(cross_val_score(EvidenceRegression(), pd.Series(MAIL * 4), LABELS * 4, cv=3)).all()


def test_cross_validation_and_calibration_work_on_documents():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DecibanWarning)
        report = deciban.cross_validate(EvidenceRegression(), THREE, OF_THREE, folds=3)
        mended = EvidenceRegression().calibrated(THREE, OF_THREE, folds=3)
    assert report.accuracy > 0.9
    np.testing.assert_allclose(mended.predict_proba(THREE).sum(axis=1), 1)


@pytest.mark.parametrize("C", [1.0, "auto"])
def test_a_document_of_weight_zero_is_not_there(C):
    w = np.array([1.0, 2.0, 1.0, 1.5, 1.0, 0.0, 0.0])
    model = EvidenceRegression(C=C).fit([*MAIL, "unheard words", "buy"], [*LABELS, "ham", "spam"], w)
    other = EvidenceRegression(C=C).fit(MAIL, LABELS, w[:5])
    assert list(model.vocabulary_) == list(other.vocabulary_)
    np.testing.assert_array_equal(model.predict_proba(ASKED), other.predict_proba(ASKED))


@pytest.mark.parametrize("heavy", [1e200, 1e300, 1e-200])
def test_the_weight_of_all_documents_matters_only_relative_to_the_penalty(heavy):
    plain = EvidenceRegression(**TIGHT).fit(MAIL, LABELS)
    ours = EvidenceRegression(alpha=heavy, C=1 / heavy, tol=1e-6).fit(MAIL, LABELS, np.full(len(MAIL), heavy))
    np.testing.assert_allclose(ours.predict_proba(ASKED), plain.predict_proba(ASKED), atol=1e-5)


def test_a_weight_of_two_is_a_document_that_comes_twice():
    twice = EvidenceRegression(length=False, **TIGHT).fit([*MAIL, MAIL[0]], [*LABELS, LABELS[0]])
    weighed = EvidenceRegression(length=False, **TIGHT).fit(MAIL, LABELS, [2.0, 1.0, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(weighed.predict_proba(ASKED), twice.predict_proba(ASKED), rtol=1e-6)


def test_threads_change_no_bit():
    one, three = (EvidenceRegression(n_jobs=n).fit(THREE, OF_THREE) for n in (1, 3))
    np.testing.assert_array_equal(one.coef_, three.coef_)


def test_unknown_words_leave_the_prior_with_a_warning():
    model = EvidenceRegression().fit(MAIL, LABELS)
    with pytest.warns(DecibanWarning, match="no word that the model knows"):
        p = model.predict_proba(["xyzzy"])
    assert p.sum() == pytest.approx(1)


REFUSED = {
    "one class": (MAIL, ["spam"] * 5, {}, "at least 2 classes"),
    "no document": ([], [], {}, "0 sample"),
    "a missing document": (["a b", None], [0, 1], {}, "missing"),
    "one text": ("cheap pills", ["spam"], {}, "not a collection"),
    "labels that do not fit": (MAIL, LABELS[:3], {}, "inconsistent"),
    "no weight": (MAIL, LABELS, {"sample_weight": np.zeros(5)}, "non-zero"),
    "negative counts": ([[1, -2], [0, 1]], [0, 1], {}, "Negative values"),
    "NaN": ([[1, np.nan], [0, 1]], [0, 1], {}, "NaN"),
    "huge": ([[1e300, 0.0], [0.0, 1e300]], [0, 1], {}, "rescale"),
    "infinity": ([[1, np.inf], [0, 1]], [0, 1], {}, "infinity"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_changes_nothing(case):
    X, y, more, words = REFUSED[case]
    model = EvidenceRegression(presence=False).fit(MAIL, LABELS)
    expected = model.predict_proba(ASKED)
    with pytest.raises((DecibanError, ValueError), match=words):
        model.fit(X, y, **more)
    np.testing.assert_array_equal(model.predict_proba(ASKED), expected)


def test_questions_of_the_other_kind_are_refused():
    texts = EvidenceRegression().fit(MAIL, LABELS)
    counts = EvidenceRegression().fit(csr_array(CountVectorizer().fit_transform(MAIL)), LABELS)
    with pytest.raises(InputError, match="list of texts"):
        texts.predict([[1.0, 2.0]])
    with pytest.raises(ValueError):
        counts.predict(MAIL)
    with pytest.raises(ValueError, match="Negative"):
        counts.predict(-np.ones((1, 11)))
    with pytest.raises(UndefinedError, match="rows of counts"):
        _ = counts.vocabulary_
    with pytest.raises(UndefinedError, match="linear_form"):
        texts.quadratic_form()
    for C in (0.0, -1.0, "some"):
        with pytest.raises(ValueError, match="C"):
            EvidenceRegression(C=C).fit(MAIL, LABELS)


ODD = {
    "more columns than rows": (np.eye(6, 40), np.arange(6) % 2, {}),
    "constant": (np.ones((6, 3)), np.arange(6) % 2, {}),
    "nothing at all": (np.zeros((6, 3)), np.arange(6) % 3, {}),
    "separable, with a weak penalty": (np.eye(6), np.arange(6) % 2, {"C": 1e9}),
    "held back altogether": (np.eye(6), np.arange(6) % 2, {"C": 1e-9}),
    "huge, but there or not is all that counts": (1e300 * np.eye(6), np.arange(6) % 3, {}),
    "large": (1e90 * np.eye(6), np.arange(6) % 3, {"presence": False}),
    "tiny": (1e-300 * np.eye(6), np.arange(6) % 3, {"presence": False}),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_counts_have_sound_answers(case):
    X, y, more = ODD[case]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # no overflow on the way
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = EvidenceRegression(**more).fit(X, y)
        p = model.predict_proba(X)
    assert np.isfinite(model.coef_).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)
    if case in ("constant", "nothing at all", "held back altogether"):
        shares = np.bincount(y) / len(y)
        np.testing.assert_allclose(p, np.broadcast_to(shares, p.shape), atol=1e-4)


@pytest.mark.thorough(reason="many rows, classes or draws: seconds")
def test_a_thousand_classes_of_fifty_words_share_each_word_alike():
    X, y = np.tile(np.eye(50), (40, 1)), np.arange(2000) % 1000
    model = EvidenceRegression().fit(X, y)
    assert model._check_fitted().account.converged
    p, own = model.predict_proba(X[:50]), np.arange(1000)[None, :] % 50 == np.arange(50)[:, None]
    np.testing.assert_allclose(p[own], p[0, 0], rtol=1e-6)  # the twenty classes of a word cannot be separated
    np.testing.assert_allclose(p[~own], p[0, 1], rtol=1e-6)
    assert p[0, 0] > 100 * p[0, 1]
    np.testing.assert_allclose(20 * p[0, 0] + 980 * p[0, 1], 1.0)


def test_a_search_that_was_stopped_says_so():
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        EvidenceRegression(max_iter=1, tol=1e-12).fit(MAIL, LABELS)


def test_held_out_evidence_is_that_of_the_counts_of_all_other_documents():
    rows = texts_as_rows(presence=True)
    own = word_weights.compute_own_evidence(rows, 0.3)
    evidence = word_weights.count_word_evidence(rows, 0.3)
    for i in range(len(rows.codes)):
        others = np.delete(np.arange(len(rows.codes)), i)
        total = rows.take(others).count_by_class() + 0.3
        theta = np.log(total / total.sum(axis=1, keepdims=True))
        expected = float((rows.scored[[i]] @ (theta[1] - theta[0]))[0]) * rows.size
        found = float((rows.scored[[i]] @ evidence[:, 0])[0]) * rows.size
        found += own[i] if rows.codes[i] == 0 else -own[i]
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def texts_as_rows(**arguments):
    model = EvidenceRegression(words="classic", **arguments).fit(MAIL, LABELS)
    codes = (np.array(LABELS) == "spam").astype(np.int32)
    return model._count_words(model._check_input(MAIL), codes, None)[2]
