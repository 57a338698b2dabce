"""Learning, merging, forgetting, fading and selecting documents are sums of one ledger, solved again."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

from deciban import TextClassifier, Words
from deciban.errors import ForgetError, SchemaError
from tests.estimators.corpora import ADDITIVE, ASKED, LABELS, MAIL, assert_same_scores, corpora, few, without_warnings

every_kind = pytest.mark.parametrize("kind", ADDITIVE)


def fit_kind(kind, documents, labels):
    return TextClassifier(**ADDITIVE[kind]).partial_fit(documents, labels, classes=[*"abc"])


@every_kind
@few
@given(corpus=corpora(), cut=st.integers(1, 2))
def test_any_split_any_order_and_any_merging_give_the_same_model(kind, corpus, cut):
    documents, labels, questions = corpus
    whole = TextClassifier(**ADDITIVE[kind]).fit(documents, labels)
    first, second = fit_kind(kind, documents[:cut], labels[:cut]), fit_kind(kind, documents[cut:], labels[cut:])
    for other in (
        first + second,
        second + first,
        clone(first).partial_fit(documents[:cut], labels[:cut], classes=[*"abc"]).merge(second),
        TextClassifier(**ADDITIVE[kind]).fit(documents[::-1], labels[::-1]),
        first.partial_fit(documents[cut:], labels[cut:]),
    ):
        assert other.ledger_ == whole.ledger_
        assert_same_scores(other, whole, questions)


@every_kind
@few
@given(corpus=corpora())
def test_forgetting_undoes_learning(kind, corpus):
    documents, labels, questions = corpus
    before, after = fit_kind(kind, documents[:3], labels[:3]), fit_kind(kind, documents, labels)
    for other in (after - fit_kind(kind, documents[3:], labels[3:]), after.forget(documents[3:], labels[3:])):
        assert other.ledger_ == before.ledger_
        assert_same_scores(other, before, questions)


@pytest.mark.thorough(reason="many rows, classes or draws: seconds")
@every_kind
@few
@given(corpus=corpora())
def test_a_document_of_weight_two_is_that_document_twice(kind, corpus):
    documents, labels, questions = corpus
    twice = TextClassifier(**ADDITIVE[kind]).fit([*documents, *documents[:2]], [*labels, *labels[:2]])
    weight = [2.0] * 2 + [1.0] * (len(documents) - 2)
    heavy = TextClassifier(**ADDITIVE[kind]).fit(documents, labels, sample_weight=weight)
    assert heavy.ledger_ == twice.ledger_
    assert_same_scores(heavy, twice, questions)
    weight = [0.0] + [1.0] * (len(documents) - 1)
    absent = TextClassifier(**ADDITIVE[kind]).partial_fit(documents, labels, [*"abc"], sample_weight=weight)
    assert absent.ledger_ == fit_kind(kind, documents[1:], labels[1:]).ledger_


def test_fading_is_scaling_and_scaling_is_weighing():
    model = TextClassifier().fit(MAIL, LABELS)
    half = TextClassifier().fit(MAIL, LABELS, sample_weight=[0.5] * 5)
    assert (model * 0.5).ledger_ == half.ledger_
    assert model.decay(0.5).ledger_ == half.ledger_


def test_a_forgotten_word_is_no_longer_known():
    model = TextClassifier().fit(MAIL, LABELS).forget(MAIL[1:2], LABELS[1:2])
    assert "watches" not in model.vocabulary_
    assert model.n_features_in_ == len(model.vocabulary_) == 10
    with pytest.raises(ForgetError, match="word 'watches'"):
        model.forget(["watches"], ["spam"])
    assert model.ledger_ == TextClassifier().fit([*MAIL[:1], *MAIL[2:]], [*LABELS[:1], *LABELS[2:]]).ledger_


DIFFERENT = [
    ({"words": Words(ngrams=2)}, r"ngrams is \[1, 1\] in one and \[1, 2\] in the other"),
    ({"words": Words(lower=False)}, "lower is True in one and False in the other"),
    ({"words": Words(stop=["tea"])}, r"stop is None in one and \['tea'\] in the other"),
    ({"words": Words(hashed=12)}, "hashed is None in one and 12 in the other"),
    ({"event": "boolean"}, "differ in event: 'multinomial' and 'boolean'"),
    ({"alpha": 0.5}, "differ in alpha"),
    ({"most": 3}, "differ in most: None and 3"),
]


@pytest.mark.parametrize(("arguments", "says"), DIFFERENT)
def test_models_that_read_or_count_differently_are_not_merged(arguments, says):
    one, other = TextClassifier().fit(MAIL, LABELS), TextClassifier(**arguments).fit(MAIL, LABELS)
    before = one.ledger_
    for combine in (one.merge, one.__add__, one.__sub__):
        with pytest.raises(SchemaError, match=says):
            combine(other)
    assert one.ledger_ is before


def test_a_reading_that_was_changed_afterwards_is_not_learned_with():
    model = TextClassifier().fit(MAIL, LABELS)
    before = model.predict_proba(ASKED)
    model.set_params(words=Words(ngrams=2))
    with pytest.raises(SchemaError, match="ngrams is"):
        model.partial_fit(MAIL, LABELS)
    np.testing.assert_array_equal(model.predict_proba(ASKED), before)
    assert model.fit(MAIL, LABELS).n_features_in_ > 11


@pytest.mark.parametrize("by", ["information", "chi2"])
@few
@given(corpus=corpora(), k=st.integers(1, 6))
def test_a_selected_model_is_the_model_of_the_selected_words(by, corpus, k):
    documents, labels, questions = corpus
    model = TextClassifier().fit(documents, labels)
    before = model.ledger_
    mute = model.select(k, by=by)._scorer.solved.forms[0].mute
    words = [w for i, w in enumerate(model.vocabulary_) if mute is None or not mute[i]]
    assert len(words) == min(k, len(model.vocabulary_))
    vectorizer = CountVectorizer(vocabulary=sorted(words))
    other = MultinomialNB().fit(vectorizer.transform(documents), labels)
    mine, theirs = (
        without_warnings(model.predict_log_proba, questions),
        other.predict_log_proba(vectorizer.transform(questions)),
    )
    np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)
    assert model.ledger_ is before
    assert model.get_params()["most"] == k
    assert_same_scores(TextClassifier(most=k, by=by).fit(documents, labels), model, questions)
    assert_same_scores(model.select(None), TextClassifier(by="information").fit(documents, labels), questions)


@given(corpora(), st.integers(1, 4))
def test_words_of_few_documents_are_left_out_when_solving(corpus, least):
    documents, labels, questions = corpus
    vectorizer = CountVectorizer(min_df=least)
    try:
        other = MultinomialNB().fit(vectorizer.fit_transform(documents), labels)
    except ValueError:  # no word is left
        assume(False)
    model = TextClassifier(least=least).fit(documents, labels)
    mine, theirs = (
        without_warnings(model.predict_log_proba, questions),
        other.predict_log_proba(vectorizer.transform(questions)),
    )
    np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


def test_a_selection_that_cannot_be_is_refused_and_nothing_changes():
    model = TextClassifier().fit(MAIL, LABELS)
    for arguments in ((0,), (-1,), (2.5,), (3, "luck"), (3, "chi2", -1)):
        with pytest.raises(ValueError, match="parameter of TextClassifier must be"):
            model.select(*arguments)
    assert model.get_params() == TextClassifier().get_params()
