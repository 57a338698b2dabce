"""TextClassifier: the lecture's numbers, scikit-learn's, and Rennie et al.'s."""

import math
from collections import Counter
from fractions import Fraction as Q

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics import log_loss
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

from deciban import TextClassifier, Words
from deciban.errors import UndefinedError
from tests import oracle
from tests.estimators.corpora import ASKED, LABELS, MAIL, assert_same_scores, corpora, few, without_warnings


@given(corpora())
def test_the_lectures_training_algorithm_is_the_default(corpus):
    """p(C_k) = |D_k|/|D| and p(w|C_k) = (n_kw + 1)/(Σ_w n_kw + |V|), in fractions."""
    documents, labels, questions = corpus
    read = lambda text: [word for word in text.lower().split() if len(word) > 1]  # noqa: E731
    words = sorted({word for text in documents for word in read(text)})
    n = {k: Counter(w for text, label in zip(documents, labels) if label == k for w in read(text)) for k in "abc"}
    theta = {k: {w: Q(n[k][w] + 1, n[k].total() + len(words)) for w in words} for k in "abc"}
    prior = [Q(labels.count(k), len(labels)) for k in "abc"]
    likelihood = [
        [math.prod((theta[k][w] for w in read(text) if w in words), start=Q(1)) for k in "abc"] for text in questions
    ]
    model = TextClassifier().fit(documents, labels)
    expected = [[float(p) for p in oracle.posterior(prior, row)] for row in likelihood]
    np.testing.assert_allclose(without_warnings(model.predict_proba, questions), expected, rtol=1e-12)
    for k, column in zip("abc", np.exp(model.feature_log_prob_)):
        at = model.vocabulary_.places(words)
        np.testing.assert_allclose(column[at], [float(theta[k][w]) for w in words], rtol=1e-12)


PEERS = {
    "multinomial": (MultinomialNB, {}),
    "boolean": (MultinomialNB, {"binary": True}),
    "bernoulli": (BernoulliNB, {}),
    "complement": (ComplementNB, {}),
}
READINGS = {
    "plain": (Words(), {}),
    "bigrams": (Words(ngrams=2), {"ngram_range": (1, 2)}),
    "stop words": (Words(stop=["tea", "to"]), {"stop_words": ["tea", "to"]}),
    "whitespace": (Words(tokens="whitespace", lower=False), {"token_pattern": r"\S+", "lowercase": False}),
    "characters": (
        Words(tokens="characters in words", ngrams=(2, 3)),
        {"analyzer": "char_wb", "ngram_range": (2, 3)},
    ),
    "mapping": ({"ngrams": [2, 2]}, {"ngram_range": (2, 2)}),
}


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("event", PEERS)
@few
@given(corpus=corpora(), weights=st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.25]), min_size=12, max_size=12))
def test_it_says_what_scikit_learns_pipeline_says(event, reading, corpus, weights):
    (documents, labels, questions), (words, arguments) = corpus, READINGS[reading]
    peer, more = PEERS[event]
    vectorizer = CountVectorizer(**arguments, **more)
    X, w = vectorizer.fit_transform(documents), weights[: len(documents)]
    other = peer(alpha=0.7).fit(X, labels, sample_weight=w)
    model = TextClassifier(event=event, words=words, alpha=0.7).fit(documents, labels, sample_weight=w)
    assert sorted(model.vocabulary_) == sorted(vectorizer.vocabulary_)
    mine, theirs = (
        without_warnings(model.predict_log_proba, questions),
        other.predict_log_proba(vectorizer.transform(questions)),
    )
    np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("norm", [True, False])
def test_complement_weights_are_normalised_as_scikit_learn_does(norm):
    vectorizer = CountVectorizer()
    other = ComplementNB(norm=norm).fit(vectorizer.fit_transform(MAIL), LABELS)
    model = TextClassifier(event="complement", norm=norm).fit(MAIL, LABELS)
    expected = other.predict_joint_log_proba(vectorizer.transform(ASKED))
    mine = model.predict_joint_log_proba(ASKED)
    np.testing.assert_allclose(np.diff(mine), np.diff(expected), rtol=1e-12)


@pytest.mark.parametrize(("event", "peer"), [("multinomial", MultinomialNB), ("complement", ComplementNB)])
@given(corpus=corpora())
def test_tfidf_is_scikit_learns(event, peer, corpus):
    documents, labels, questions = corpus
    vectorizer = TfidfVectorizer()
    other = peer().fit(vectorizer.fit_transform(documents), labels)
    model = TextClassifier(event=event, weighting="tfidf").fit(documents, labels)
    mine, theirs = (
        without_warnings(model.predict_log_proba, questions),
        other.predict_log_proba(vectorizer.transform(questions)),
    )
    np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


@given(corpora())
def test_idf_when_solving_is_scikit_learns_without_a_length(corpus):
    documents, labels, questions = corpus
    vectorizer = TfidfVectorizer(norm=None)
    other = MultinomialNB().fit(vectorizer.fit_transform(documents), labels)
    model = TextClassifier(idf=True).fit(documents, labels)
    mine, theirs = (
        without_warnings(model.predict_log_proba, questions),
        other.predict_log_proba(vectorizer.transform(questions)),
    )
    np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)
    halves = TextClassifier(idf=True).partial_fit(documents[:3], labels[:3], classes=[*"abc"])
    if len(documents) > 3:
        halves.partial_fit(documents[3:], labels[3:])
    assert halves.ledger_ == model.ledger_
    assert_same_scores(halves, model, questions)


def twcnb(documents, labels, questions, alpha=1.0):
    """Rennie et al. (2003), table 4, step by step; the score of each class is Σ_i t_i w_ci, and the least wins.

    Unlike the paper's, t_i of a question is weighted as in the documents that were learned.
    """
    counted = [Counter(text.split()) for text in documents]
    df, n_documents = Counter(word for counts in counted for word in counts), len(documents)

    def weigh(counts):
        row = {w: math.log(n + 1) * math.log(n_documents / df[w]) for w, n in counts.items() if w in df}
        length = math.sqrt(sum(x * x for x in row.values())) or 1.0
        return {w: x / length for w, x in row.items()}

    d = [weigh(counts) for counts in counted]
    weights = {}
    for c in sorted(set(labels)):
        others = Counter()
        for row, label in zip(d, labels):
            if label != c:
                others.update(row)
        theta = {w: (others[w] + alpha) / (others.total() + alpha * len(df)) for w in df}
        size = sum(abs(math.log(t)) for t in theta.values())
        weights[c] = {w: math.log(t) / size for w, t in theta.items()}
    asked = [weigh(Counter(text.split())) for text in questions]
    return [[sum(weights[c][w] * x for w, x in row.items()) for c in sorted(weights)] for row in asked]


def test_twcnb_is_the_papers():
    documents = ["tea pot tea", "milk cup pot", "sugar leaf leaf leaf", "tea milk", "go to tea"]
    labels, questions = ["a", "b", "c", "a", "b"], ["tea tea pot", "leaf milk", "cup sugar go"]
    model = TextClassifier(weighting="twcnb").fit(documents, labels)
    scores = np.array(twcnb(documents, labels, questions))
    mine = model.predict_joint_log_proba(questions)
    np.testing.assert_allclose(mine - mine[:, :1], scores[:, :1] - scores, rtol=1e-12, atol=1e-15)
    assert model.predict(questions).tolist() == [["a", "b", "c"][k] for k in scores.argmin(axis=1)]


def test_probabilities_of_twcnb_are_calibrated_unless_that_is_refused():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    documents = [" ".join(f"w{v}" for v in rng.integers(0, 30, 8) * (1 + k % 3) % 31) for k in y]
    model = TextClassifier(weighting="twcnb").fit(documents, y)
    plain = TextClassifier(weighting="twcnb", calibrate="none").fit(documents, y)
    assert model.calibration_.method == "temperature"
    assert plain.calibration_ is None
    assert (model.predict(documents) == plain.predict(documents)).all()
    assert log_loss(y, model.predict_proba(documents)) < 0.9 * log_loss(y, plain.predict_proba(documents))
    assert plain.predict_proba(documents).max() < 0.4  # about one third each


@pytest.mark.parametrize("weighting", ["tfidf", "twcnb"])
def test_a_weighting_of_all_documents_refuses_sums_and_says_why(weighting):
    fit = lambda: TextClassifier(weighting=weighting).fit(MAIL, LABELS)  # noqa: E731
    model = fit()
    asked = [
        lambda: model.partial_fit(MAIL, LABELS),
        lambda: TextClassifier(weighting=weighting).partial_fit(MAIL, LABELS, classes=["ham", "spam"]),
        lambda: model.forget(MAIL, LABELS),
        lambda: model.merge(fit()),
        lambda: model.decay(0.5),
        lambda: model + fit(),
        lambda: model - fit(),
        lambda: 2 * model,
    ]
    for ask in asked:
        with pytest.raises(UndefinedError, match=r"idf of all documents together.*Hint: idf=True"):
            ask()
    assert model.ledger_ == fit().ledger_
    with pytest.raises(UndefinedError, match="cannot learn more"):
        model.set_params(weighting=None).partial_fit(MAIL, LABELS)
