"""Compatibility of TextClassifier with scikit-learn: containers, searches, copies, threads."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import deciban
from deciban import TextClassifier, Words
from deciban.errors import DecibanError
from tests.estimators.copies import through_joblib
from tests.estimators.corpora import ASKED, LABELS, MAIL

KINDS = {
    "tuple": tuple,
    "generator": lambda documents: (text for text in documents),
    "bytes": lambda documents: [text.encode() for text in documents],
    "objects": lambda documents: np.array(documents, dtype=object),
    "texts": np.array,
    "variable texts": lambda documents: np.array(documents, dtype=np.dtypes.StringDType()),
    "arrow": pa.array,
    "arrow in chunks": lambda documents: pa.chunked_array([documents[:2], documents[2:]]),
    "arrow dictionary": lambda documents: pa.array(documents).dictionary_encode(),
    "pandas": pd.Series,
    "pandas, odd index": lambda documents: pd.Series(documents, index=[9, 9, 1, 0, 3]),
    "polars": pl.Series,
}


@pytest.mark.parametrize("kind", KINDS)
def test_documents_of_any_kind_give_the_same_model(kind):
    model = TextClassifier().fit(KINDS[kind](MAIL), LABELS)
    expected = TextClassifier().fit(MAIL, LABELS)
    assert model.ledger_ == expected.ledger_
    np.testing.assert_array_equal(model.predict_proba(KINDS[kind](MAIL)), expected.predict_proba(MAIL))


def test_latin_1_is_read_as_such():
    mail = [text.encode("latin-1") for text in ("café crème", "thé glacé")]
    model = TextClassifier(encoding="latin-1").fit(mail, [0, 1])
    assert sorted(model.vocabulary_) == ["café", "crème", "glacé", "thé"]


def test_a_search_runs_in_two_processes():
    grid = {
        "event": ["multinomial", "bernoulli", "complement"],
        "words": [None, Words(ngrams=2), {"tokens": "whitespace"}],
        "alpha": [0.1, 1.0],
    }
    documents, labels = MAIL * 4, LABELS * 4
    search = GridSearchCV(TextClassifier(), grid, cv=2, n_jobs=2, error_score="raise").fit(documents, labels)
    assert search.best_score_ == 1.0
    assert search.predict(["cheap pills"]).tolist() == ["spam"]
    for container in (documents, np.array(documents, dtype=object), pd.Series(documents)):
        assert np.isfinite(cross_val_score(TextClassifier(), container, labels, cv=3)).all()


def test_a_clone_has_the_parameters_and_nothing_learned():
    model = TextClassifier(words=Words(stop="english"), most=3, alpha=0.5).fit(MAIL, LABELS)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "classes_")
    assert copy.fit(MAIL, LABELS).ledger_ == model.ledger_
    assert is_classifier(model)
    assert "TextClassifier(" in repr(model)


@pytest.mark.parametrize("journey", [lambda model: pickle.loads(pickle.dumps(model)), through_joblib])
def test_a_pickled_model_answers_the_same_and_can_learn_on(journey):
    model = TextClassifier(idf=True, words=Words(ngrams=2)).fit(MAIL, LABELS)
    copy = journey(model)
    np.testing.assert_array_equal(copy.predict_proba(ASKED), model.predict_proba(ASKED))
    assert copy.partial_fit(ASKED, LABELS[:3]).ledger_ == model.partial_fit(ASKED, LABELS[:3]).ledger_


def test_it_stands_at_the_end_of_a_pipeline():
    strip = FunctionTransformer(lambda documents: [text.replace("!", "") for text in documents])
    pipeline = make_pipeline(strip, TextClassifier()).fit(MAIL, LABELS)
    assert pipeline.predict(["che!ap pi!lls"]).tolist() == ["spam"]
    assert pipeline.score(MAIL, LABELS) == 1.0


def test_the_tags_declare_that_it_takes_texts():
    tags = TextClassifier().__sklearn_tags__().input_tags
    assert (tags.one_d_array, tags.two_d_array, tags.string, tags.sparse) == (True, False, True, False)


def test_labels_come_back_as_they_were():
    for labels in ([3, 3, 1, 1, 1], [True, True, False, False, False], np.array(LABELS, dtype=object)):
        model = TextClassifier().fit(MAIL, labels)
        assert model.predict(["cheap pills"]).tolist() == [labels[0]]
        assert model.predict(["cheap"]).dtype == np.asarray(model.classes_).dtype


def test_a_class_that_is_named_but_has_no_documents_is_taken_along():
    model = TextClassifier().partial_fit(MAIL[:2], LABELS[:2], classes=["ham", "spam"])
    assert model.predict_proba(ASKED)[:, 1].tolist() == [1.0] * 3
    assert model.partial_fit(MAIL[2:], LABELS[2:]).ledger_ == TextClassifier().fit(MAIL, LABELS).ledger_
    with pytest.raises(DecibanError, match="eggs"):
        model.partial_fit(["x"], ["eggs"])


def draw_large_corpus():
    rng = np.random.default_rng(0)
    vocabulary = [f"word{i}" for i in range(3000)]
    documents = [" ".join(rng.choice(vocabulary, 40)) for _ in range(6000)]
    return documents, rng.integers(0, 4, len(documents)), rng.random(len(documents))


@pytest.mark.thorough(reason="compiles kernels: seconds")
def test_neither_size_nor_threads_nor_blocks_change_the_model(monkeypatch):
    documents, labels, weight = draw_large_corpus()
    one, two = (TextClassifier(n_jobs=n, words=Words(ngrams=2)).fit(documents, labels) for n in (1, 2))
    assert one.ledger_ == two.ledger_
    parts = TextClassifier(words=Words(ngrams=2))
    for a in range(0, 6000, 500):
        parts.partial_fit(documents[a : a + 500], labels[a : a + 500], classes=range(4))
    assert parts.ledger_ == one.ledger_
    np.testing.assert_array_equal(one.predict_joint_log_proba(documents), two.predict_joint_log_proba(documents))
    whole = one.predict_proba(documents)
    monkeypatch.setattr("deciban.estimators.text_base.MAX_BLOCK_BYTES", 1 << 18)
    np.testing.assert_allclose(one.predict_proba(documents), whole, rtol=1e-12)
    vectorizer = CountVectorizer(ngram_range=(1, 2))
    other = MultinomialNB().fit(vectorizer.fit_transform(documents), labels, sample_weight=weight)
    heavy = TextClassifier(words=Words(ngrams=2)).fit(documents, labels, sample_weight=weight)
    expected = other.predict_joint_log_proba(vectorizer.transform(documents[:500]))
    np.testing.assert_allclose(heavy.predict_joint_log_proba(documents[:500]), expected, rtol=1e-10)


@pytest.mark.thorough(reason="compiles kernels: seconds")
def test_a_small_fit_loads_no_compiler():
    script = f"""
import sys
from deciban import TextClassifier
model = TextClassifier().fit({MAIL!r}, {LABELS!r})
model.predict({ASKED!r}), model.partial_fit({MAIL!r}, {LABELS!r}), model.explain({ASKED!r}), model.select(3)
print("numba" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_public_names_are_there():
    assert {"TextClassifier", "Words"} <= set(deciban.__all__)
