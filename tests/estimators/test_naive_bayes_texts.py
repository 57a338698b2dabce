"""NaiveBayes over tables with texts."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import deciban
from deciban import NaiveBayes
from deciban.errors import SchemaError, UndefinedError
from tests.tables.reviews import reviews

ROLES = {"text": "text", "stars": "number", "head": "text", "country": "category"}


def data(n=120, seed=0):
    frame = reviews(n, seed).to_pandas()
    return frame.drop(columns="verdict"), frame["verdict"]


def test_a_frame_with_texts_is_learned_as_a_table_is():
    X, y = data()
    model = NaiveBayes(roles=ROLES, words={"ngrams": 2}).fit(X, y)
    peer = deciban.train(reviews(120), target="verdict", roles=ROLES, words={"ngrams": 2}, judge=False)
    assert model.ledger_ == peer.ledger
    assert np.array_equal(model.predict_proba(X), np.asarray(peer.predict_proba(reviews(120))))
    assert model.explain(X[:3]).text(1) == peer.explain(reviews(120), rows=3).text(1)
    assert model.telltales("good", 3, "text") == peer.telltales("good", 3, "text")


def test_free_text_is_read_unasked():
    X, y = data()
    assert NaiveBayes().fit(X, y).roles_["text"] == "text"


def test_batches_sums_and_differences_are_exact():
    X, y = data()
    whole = NaiveBayes(roles=ROLES).fit(X, y)
    a, b = NaiveBayes(roles=ROLES).fit(X[:50], y[:50]), NaiveBayes(roles=ROLES).fit(X[50:], y[50:])
    batches = NaiveBayes(roles=ROLES).partial_fit(X[:50], y[:50], classes=["bad", "good"]).partial_fit(X[50:], y[50:])
    for found in (a + b, batches, NaiveBayes(roles=ROLES).fit(X[:50], y[:50]).merge(b)):
        assert found.ledger_.schema == whole.ledger_.schema
        assert found.ledger_.parts[-2:] == whole.ledger_.parts[-2:]
    assert (whole - b).ledger_.parts[-2:] == a.ledger_.parts[-2:]
    whole.forget(X[50:], y[50:])
    assert whole.ledger_.schema == a.ledger_.schema


def test_models_that_read_texts_differently_are_not_merged():
    X, y = data()
    a, b = NaiveBayes(roles=ROLES).fit(X, y), NaiveBayes(roles=ROLES, words={"values": "presence"}).fit(X, y)
    with pytest.raises(SchemaError, match="read texts differently: values is 'counts' in one"):
        a + b
    plain = {**ROLES, "text": "skip", "head": "skip"}
    assert NaiveBayes(roles=plain).fit(X, y) + NaiveBayes(roles=plain, words={"values": "presence"}).fit(X, y)


@pytest.mark.parametrize("words", [None, {"ngrams": (1, 2)}, deciban.Words(hashed=6)])
def test_a_file_gives_the_same_model_back(words, tmp_path):
    X, y = data()
    model = clone(NaiveBayes(roles=ROLES, words=words)).fit(X, y)
    model.save(tmp_path / "m")
    again = deciban.load(tmp_path / "m")
    assert again.ledger_ == model.ledger_
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.words == words or dict(again.words) == words


def test_drawn_rows_are_a_frame_with_texts():
    X, y = data()
    drawn, labels = NaiveBayes(roles=ROLES).fit(X, y).sample(5, random_state=0)
    assert isinstance(drawn, pd.DataFrame)
    assert list(drawn.columns) == list(X.columns)
    assert drawn["text"].str.len().gt(0).all()
    assert set(labels) <= {"good", "bad"}


def test_the_likelihood_from_the_ledger_is_that_of_the_rows():
    X, y = data()
    model = NaiveBayes(roles=ROLES, parameter_prior=0.0).fit(X, y)
    assert model.log_likelihood() == pytest.approx(model.log_likelihood(X, y))
    with pytest.raises(UndefinedError, match=r"beyond the bound.*Hint: log_likelihood\(X, y\)"):
        NaiveBayes(roles=ROLES).fit(X, y).log_likelihood()
