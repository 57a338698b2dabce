"""Text estimators: explanations with positions, telltales, sampled documents, likelihoods and the linear form."""

import math
import pickle
from fractions import Fraction as Q

import numpy as np
import pytest
from hypothesis import given
from sklearn.feature_extraction.text import CountVectorizer

from deciban import TextClassifier, Words
from deciban.errors import InputError, UndefinedError
from tests.estimators.corpora import ADDITIVE, ASKED, LABELS, MAIL, assert_same_scores, corpora, few, without_warnings

EXPLAINED = ADDITIVE | {
    "tfidf": {"weighting": "tfidf"},
    "twcnb": {"weighting": "twcnb"},
    "log": {"words": Words(values="log")},
}


@pytest.mark.parametrize("kind", EXPLAINED)
@few
@given(corpus=corpora())
def test_an_explanation_adds_up_and_knows_the_places(kind, corpus):
    documents, labels, questions = corpus
    model = TextClassifier(**EXPLAINED[kind]).fit(documents, labels)
    result = without_warnings(model.explain, questions)
    odds = np.sort(without_warnings(model.predict_log_proba, questions), axis=1)
    np.testing.assert_allclose(result.total, 10 / math.log(10) * (odds[:, -1] - odds[:, -2]), atol=1e-9)
    for row, text in enumerate(questions):
        entries, places = result.entries(row), result.places(row)
        assert sum(value for _, value in entries) == pytest.approx(result.total[row], abs=1e-9)
        assert all(text[place.start : place.end].lower() == place.word for place in places)
        assert places == sorted(places, key=lambda place: place.start)
        words = sum(value for name, value in entries if name not in ("prior", "absent"))
        assert sum(place.decibans for place in places) == pytest.approx(words, abs=1e-9)
        assert str(result[row]) == result.text(row)
        assert max(map(len, result.text(row).splitlines())) <= 80


def test_an_explanation_reads_well():
    result = (
        TextClassifier().fit(MAIL, LABELS).explain(["BUY cheap,\n\t cheap \x1b[31mlunch now, " + "and so on " * 9])
    )
    assert result.text(most=2).splitlines() == [
        "spam rather than ham",
        "  cheap               2×    +10.88 dB  BUY [cheap], cheap [31mlunch now, and so…",
        "  now                 1×     +3.68 dB  … cheap [31mlunch [now], and so on and s…",
        "  everything else            +0.67 dB  (2 more)",
        "  total                     +15.23 dB  (33.3 to 1)",
    ]


def test_a_hashed_model_explains_by_the_words_of_the_document():
    result = TextClassifier(words=Words(hashed=2)).fit(MAIL, LABELS).explain(["buy the lunch"])
    names = [name for name, _ in result.entries() if name != "prior"]
    assert sorted(word for name in names for word in name.split(" / ")) == ["buy", "lunch", "the"]
    assert {place.word for place in result.places()} == {"buy", "lunch", "the"}


def test_two_classes_may_be_named_and_one_row_taken():
    model = TextClassifier().fit(MAIL, LABELS)
    result = model.explain(ASKED, classes=("spam", "ham"))
    assert result.winner.tolist() == ["spam"] * 3
    assert result[1].texts == ASKED[1:2]
    assert result[-1].entries() == result.entries(2)
    assert pickle.loads(pickle.dumps(result)).text(1) == result.text(1)


@pytest.mark.parametrize("kind", ["multinomial", "bernoulli", "complement", "idf"])
def test_telltales_name_the_words_and_what_they_rest_on(kind):
    model = TextClassifier(**ADDITIVE[kind]).fit(MAIL, LABELS)
    result = {t.word: t for t in model.telltales("spam", n=20)}
    assert set(result) == {"cheap", "pills", "buy", "now", "watches"}
    assert result["buy"][4:] == (2.0, 1.0, 2.0, 1.0)
    assert all(t.low < t.decibans < t.high for t in result.values())
    assert model.telltales("spam", 1)[0].word == "cheap"
    assert len(model.telltales("ham", 3)) == 3
    if kind == "multinomial":  # 2 of 7 words against 0 of 10, of 11 different ones, under α = 1
        assert result["cheap"].decibans == pytest.approx(10 * math.log10(Q(3, 18) / Q(1, 21)))


def test_telltales_of_no_class_or_no_words_are_refused():
    model = TextClassifier().fit(MAIL, LABELS)
    for label in ("eggs", 3, None):
        with pytest.raises(InputError, match=r"none of the 2 classes\. Hint: one of ham, spam"):
            model.telltales(label)
    with pytest.raises(UndefinedError, match="words are hashed"):
        TextClassifier(words=Words(hashed=5)).fit(MAIL, LABELS).telltales("ham")


@pytest.mark.parametrize("event", ["multinomial", "boolean", "bernoulli"])
def test_drawn_documents_are_like_those_learned(event):
    model = TextClassifier(event=event, alpha=0.01).fit(MAIL, LABELS)
    documents, labels = model.sample(4000, random_state=1)
    again = TextClassifier(event=event, alpha=0.01).fit(documents, labels)
    assert set(again.vocabulary_) <= set(model.vocabulary_)
    at = again.vocabulary_.places(["buy", "cheap", "noon", "lunch"])
    here = model.vocabulary_.places(["buy", "cheap", "noon", "lunch"])
    np.testing.assert_allclose(
        np.exp(again.feature_log_prob_[:, at]), np.exp(model.feature_log_prob_[:, here]), atol=0.06
    )
    assert model.sample(3, random_state=7)[0] == model.sample(3, random_state=7)[0]
    assert 0 < model.bayes_error(2000) < 0.5


UNDRAWN = [
    ({"event": "complement"}, "not a probability of x"),
    ({"words": Words(ngrams=2)}, "overlap"),
    ({"words": Words(tokens="characters")}, "overlap"),
    ({"words": Words(hashed=9)}, "no words were kept"),
    ({"words": Words(values="log")}, "not whole numbers"),
    ({"words": Words(length="l2")}, "not whole numbers"),
    ({"idf": True}, "not whole numbers"),
    ({"weighting": "tfidf"}, "not whole numbers"),
]


@pytest.mark.parametrize(("arguments", "why"), UNDRAWN)
def test_documents_that_cannot_be_drawn_are_refused_with_the_reason(arguments, why):
    with pytest.raises(UndefinedError, match=why):
        TextClassifier(**arguments).fit(MAIL, LABELS).sample(2)


@pytest.mark.parametrize("kind", [kind for kind in EXPLAINED if kind not in ("complement", "twcnb")])
def test_the_likelihood_of_what_was_learned_follows_from_the_ledger(kind):
    model = TextClassifier(**EXPLAINED[kind]).fit(MAIL, LABELS)
    own = model.predict_joint_log_proba(MAIL)[np.arange(5), np.searchsorted(model.classes_, LABELS)]
    assert model.log_likelihood() == pytest.approx(own.sum(), rel=1e-12)
    assert model.log_likelihood(MAIL, LABELS) == pytest.approx(own.sum(), rel=1e-12)
    weighed = model.log_likelihood(MAIL, LABELS, sample_weight=[0, 0, 2, 0, 0])
    assert weighed == pytest.approx(2 * own[2], rel=1e-12)
    density = np.logaddexp.reduce(model.predict_joint_log_proba(ASKED), axis=1)
    np.testing.assert_allclose(model.score_samples(ASKED), density)


def test_a_complement_model_has_no_density_prior_or_likelihood():
    model = TextClassifier(event="complement").fit(MAIL, LABELS)
    for ask in (
        lambda: model.score_samples(ASKED),
        lambda: model.with_priors("uniform"),
        lambda: model.log_likelihood(),
        lambda: model.bayes_error(),
    ):
        with pytest.raises(UndefinedError, match="not a probability of x"):
            ask()


def test_the_linear_form_is_the_score_of_the_words():
    model = TextClassifier(class_prior=[0.25, 0.75], most=6).fit(MAIL, LABELS)
    form = model.linear_form()
    rows = CountVectorizer(vocabulary=list(model.vocabulary_)).transform(ASKED)
    scores = rows @ form.weights.T + form.bias
    np.testing.assert_allclose(scores, model.predict_joint_log_proba(ASKED), rtol=1e-12)
    with pytest.raises(UndefinedError, match="linear_form"):
        model.quadratic_form()
    assert model.n_parameters_ == 2 * 5 + 1


def test_other_priors_and_given_ones():
    model = TextClassifier().fit(MAIL, LABELS)
    other = model.with_priors({"ham": 0.25, "spam": 0.75})
    shift = np.log([0.25, 0.75]) - np.log([0.6, 0.4])
    np.testing.assert_allclose(
        other.predict_joint_log_proba(ASKED), model.predict_joint_log_proba(ASKED) + shift, rtol=1e-12
    )
    assert_same_scores(TextClassifier(class_prior=[0.25, 0.75]).fit(MAIL, LABELS), other, ASKED)
    uniform = TextClassifier(fit_prior=False).fit(MAIL, LABELS)
    np.testing.assert_allclose(uniform.class_log_prior_, np.log([0.5, 0.5]))
    assert model.class_count_.tolist() == [3.0, 2.0]
