"""Unusual documents, and arguments that contradict each other."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

from deciban import TextClassifier, Words
from deciban.errors import DecibanWarning, ForgetError, InputError, ModelFileError
from tests.thorough import thorough

MAIL = ["cheap pills, buy now", "buy cheap watches", "lunch at noon?", "the report is at noon", "buy lunch"]
LABELS = ["spam", "spam", "ham", "ham", "ham"]
EVENTS = ["multinomial", "boolean", "bernoulli", "complement"]
every_event = pytest.mark.parametrize("event", EVENTS)


@pytest.fixture
def model():
    return TextClassifier().fit(MAIL, LABELS)


@every_event
def test_empty_documents_and_documents_without_words_are_documents(event):
    documents = [*MAIL, "", "   \n", "!!! ...", "a b c"]
    labels = [*LABELS, "spam", "spam", "spam", "spam"]
    model = TextClassifier(event=event).fit(documents, labels)
    assert model.class_count_.tolist() == [3.0, 6.0]
    assert len(model.vocabulary_) == 11
    assert model.predict_proba(["lunch buy"]).sum() == pytest.approx(1)
    if event in ("multinomial", "boolean"):
        prior = np.log(TextClassifier(event=event).fit(MAIL, LABELS).predict_proba(["lunch"])) - np.log([0.6, 0.4])
        np.testing.assert_allclose(
            np.diff(np.log(model.predict_proba(["lunch"])) - np.log([1 / 3, 2 / 3])), np.diff(prior), rtol=1e-12
        )


@every_event
def test_a_class_without_words_is_a_class(event):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TextClassifier(event=event).fit([*MAIL, "", "?"], [*LABELS, "void", "void"])
        proba = model.predict_proba(MAIL)
        result = model.explain(MAIL[:1], classes=("spam", "void"))
    assert np.isfinite(proba).all()
    assert (proba > 0).all()
    assert np.isfinite(result.total).all()


@every_event
@pytest.mark.parametrize("alpha", [1.0, 1e-10])
def test_documents_without_a_single_word_leave_the_prior(event, alpha):
    model = TextClassifier(event=event, alpha=alpha).fit(["", "?", "!"], [0, 1, 1])
    assert len(model.vocabulary_) == model.n_features_in_ == 0
    with pytest.warns(DecibanWarning, match="no word that the model knows"):
        proba = model.predict_proba(["anything", ""])
    expected = [0.5, 0.5] if event == "complement" else [1 / 3, 2 / 3]
    np.testing.assert_allclose(proba, [expected] * 2)
    assert sorted(model.partial_fit(["tea time"], [0]).vocabulary_) == ["tea", "time"]


def test_without_a_pseudo_count_an_unknown_word_excludes_a_class():
    model = TextClassifier(alpha=0).fit(MAIL, LABELS)
    assert model.predict_proba(["pills lunch cheap cheap cheap"])[0].max() <= 1.0
    np.testing.assert_array_equal(model.predict_proba(["cheap"]), [[0.0, 1.0]])


LONG = 5_000_000


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        thorough("one character", 1, reason="one word of megabytes, as n-grams: nine seconds"),
        ("one letter, spaced", 0),
        ("words", 4),
        ("spaces", 0),
        ("binary", None),
        ("NUL", 0),
    ],
)
def test_a_document_of_megabytes_is_a_document(kind, words):
    rng = np.random.default_rng(0)
    text = {
        "one character": lambda: "x" * LONG,
        "one letter, spaced": lambda: "x " * (LONG // 2),
        "words": lambda: "tea pot and milk " * (LONG // 17),
        "spaces": lambda: " " * LONG,
        "binary": lambda: rng.bytes(LONG // 5).decode("latin-1"),
        "NUL": lambda: "\0" * LONG,
    }[kind]()
    model = TextClassifier().fit([text, "tea", ""], ["long", "short", "short"])
    if words is not None:
        assert len(set(model.vocabulary_) - {"tea"}) == words - (kind == "words")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isfinite(model.predict_log_proba([text])).all()
    if kind == "words":
        times = LONG // 17
        assert model.feature_count_[0, model.vocabulary_.index("milk")] == times
        assert model.predict(["milk " * 9]).tolist() == ["long"]
        assert model.forget([text], ["long"]).ledger_.n_rows == 2.0


@pytest.mark.thorough(reason="many rows, classes or draws: seconds")
def test_megabytes_without_a_word_are_documents():
    model = TextClassifier().fit([" " * LONG, "", "?"], [0, 1, 1])
    assert len(model.vocabulary_) == 0
    with pytest.warns(DecibanWarning, match="1 document has no word"):
        np.testing.assert_allclose(model.predict_proba([" " * LONG]), [[1 / 3, 2 / 3]])


@pytest.mark.thorough(reason="many rows, classes or draws: seconds")
def test_a_large_vocabulary_is_counted_merged_and_forgotten():
    words = np.array([f"w{i:x}" for i in range(200_000)])
    documents = [" ".join(part) for part in words.reshape(400, 500)]
    model = TextClassifier().fit(documents, np.arange(400) % 2)
    assert len(model.vocabulary_) == len(words)
    half = TextClassifier().fit(documents[:200], np.arange(200) % 2)
    other = TextClassifier().fit(documents[200:], np.arange(200) % 2)
    assert (half + other).ledger_ == model.ledger_
    assert model.forget(documents[200:], np.arange(200) % 2).ledger_ == half.ledger_
    vectorizer = CountVectorizer()
    peer = MultinomialNB().fit(vectorizer.fit_transform(documents[:200]), np.arange(200) % 2)
    expected = peer.predict_joint_log_proba(vectorizer.transform(documents[:20]))
    np.testing.assert_allclose(model.predict_joint_log_proba(documents[:20]), expected, rtol=1e-10)


def test_bytes_that_are_no_utf_8_are_refused_or_replaced():
    data = [b"fine words", b"broken \xff\xfe words"]
    with pytest.raises(InputError, match=r"document 1 is not utf-8: byte 0xff at place 7.*errors='replace'"):
        TextClassifier().fit(data, [0, 1])
    model = TextClassifier(errors="replace").fit(data, [0, 1])
    assert sorted(model.vocabulary_) == ["broken", "fine", "words"]
    with pytest.raises(InputError, match=r"document 0 is not utf-8"):
        model.set_params(errors="strict").predict([b"\xff"])
    latin = TextClassifier(encoding="latin-1").fit([b"caf\xe9", b"th\xe9"], [0, 1])
    assert sorted(latin.vocabulary_) == ["café", "thé"]
    for unknown in ("klingon", "hex", "\ud800", "a\0b"):
        with pytest.raises(InputError, match=r"encoding .* is not known"):
            TextClassifier(encoding=unknown).fit(data, [0, 1])


@pytest.mark.parametrize(
    "text", ["\ud800 half", "nul\0nul", "İstanbul ΟΔΟΣ", "👩‍🚀 e\u0301a", "ﬁne ǅ", "\u2028\x85words"]
)
def test_odd_characters_are_learned_explained_and_shown(text):
    model = TextClassifier().fit([text, "plain words"], [0, 1])
    assert sorted(model.vocabulary_) == sorted(set(CountVectorizer().build_analyzer()(text)) | {"plain", "words"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = model.explain([text])
    result.text().encode()
    assert sum(value for _, value in result.entries()) == pytest.approx(result.total[0])


@pytest.mark.parametrize("verb", ["predict", "predict_proba", "score_samples", "explain"])
def test_where_no_word_is_known_the_prior_speaks_and_one_warning_says_so(verb, model):
    asked = ["cheap", "zebra", "", "lunch", "xylophone zebra"]
    with pytest.warns(DecibanWarning, match="no word that the model knows") as caught:
        getattr(model, verb)(asked)
    assert len(caught) == 1
    assert str(caught[0].message).startswith("3 of 5 documents have no word that the model knows (first: document 1)")
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(model.predict_proba(["zebra"]), [[0.6, 0.4]])
        assert model.explain(["zebra"]).entries() == [("prior", pytest.approx(10 * np.log10(1.5)))]


def test_words_that_were_not_selected_are_no_known_words(model):
    with pytest.warns(DecibanWarning, match="1 document has no word that the model knows"):
        model.select(1).predict(["watches"])


@every_event
def test_a_document_of_known_words_is_answered_without_a_word(event):
    model = TextClassifier(event=event).fit(MAIL, LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict(["cheap pills, unheard of"]) == ["spam"]


MISSING = {
    "list": ["a text", None, "more"],
    "objects": np.array(["a text", None, "more"], dtype=object),
    "pandas": pd.Series(["a text", None, "more"]),
    "NaN": ["a text", float("nan"), "more"],
}


@pytest.mark.parametrize("kind", MISSING)
def test_a_missing_document_is_refused_by_its_place(kind, model):
    says = r"1 document is missing \(first: document 1\).*Hint: leave such documents out, or write ''"
    with pytest.raises(InputError, match=says):
        TextClassifier().fit(MISSING[kind], [0, 1, 0])
    with pytest.raises(InputError, match=says):
        model.predict(MISSING[kind])
    with pytest.raises(InputError, match="3 documents are missing"):
        model.predict([None] * 3)


ODD = [
    ("one text", "one text is not a collection of documents"),
    (b"bytes", "one text is not a collection"),
    ([], r"0 sample\(s\)"),
    (5, "documents come as"),
    ([1, 2, 3], "document 0 is 1, of type int"),
    (["text", ["list"]], "document 1 is"),
    (np.eye(2), "2 dimensions"),
    (np.arange(3), "holds int64"),
    (pd.DataFrame({"text": MAIL}), "a table is not a column"),
]


@pytest.mark.parametrize(("X", "says"), ODD, ids=[says for _, says in ODD])
def test_what_is_no_collection_of_documents_is_refused(X, says, model):
    before = model.ledger_
    with pytest.raises(InputError, match=says):
        TextClassifier().fit(X, ["a", "b", "a"])
    for ask in (model.predict, model.explain, lambda X: model.partial_fit(X, ["ham"] * 5)):
        with pytest.raises(InputError, match=says):
            ask(X)
    assert model.ledger_ is before


def test_labels_and_weights_must_fit(model):
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[5, 2\]"):
        TextClassifier().fit(MAIL, LABELS[:2])
    with pytest.raises(InputError, match="requires y to be passed"):
        TextClassifier().fit(MAIL, None)
    with pytest.raises(ValueError, match="sample_weight"):
        TextClassifier().fit(MAIL, LABELS, sample_weight=[1, 2])
    with pytest.raises(InputError, match="row 1 weighs -1"):
        TextClassifier().fit(MAIL, LABELS, sample_weight=[1, -1, 1, 1, 1])
    with pytest.raises(ValueError, match="zero"):
        TextClassifier().fit(MAIL, LABELS, sample_weight=np.zeros(5))
    with pytest.raises(InputError, match="do not exist in the initial classes"):
        model.forget(["cheap"], ["eggs"])
    with pytest.raises(InputError, match="classes must be passed"):
        TextClassifier().partial_fit(MAIL, LABELS)
    with pytest.raises(ValueError, match="continuous"):
        TextClassifier().fit(MAIL, np.linspace(0, 1, 5))


CONTRADICTIONS = [
    ({"event": "boolean", "words": Words(values="log")}, "event='boolean'.*values='log'"),
    ({"event": "bernoulli", "words": Words(values="log")}, "event='bernoulli'.*values='log'"),
    ({"event": "bernoulli", "words": Words(length="l2")}, "length='l2'"),
    ({"event": "bernoulli", "idf": True}, "idf=True has nothing to weight"),
    ({"event": "bernoulli", "weighting": "tfidf"}, "weighting='tfidf' has nothing to weight"),
    ({"event": "boolean", "weighting": "twcnb"}, "not event='boolean'"),
    ({"weighting": "tfidf", "idf": True}, "includes idf"),
    ({"weighting": "twcnb", "words": Words(values="log")}, "values='log'"),
    ({"weighting": "twcnb", "words": Words(length="l1")}, "length='l1'"),
    ({"norm": True}, "norm=True divides the weights of event='complement'"),
    ({"event": "complement", "alpha": 0}, "alpha > 0"),
    ({"words": {"token": "words"}}, "not specified by 'token'"),
    ({"words": {"stop": 5}}, "stop must be 'english' or a list of words"),
]


@pytest.mark.parametrize(("arguments", "says"), CONTRADICTIONS)
def test_arguments_that_contradict_each_other_are_refused_by_name(arguments, says):
    model = TextClassifier(**arguments)
    with pytest.raises(InputError, match=re.compile(f"{says}.*Hint|{says}", re.DOTALL)):
        model.fit(MAIL, LABELS)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    "arguments",
    [
        {"event": "gaussian"},
        {"alpha": -1},
        {"alpha": [1, 2]},
        {"weighting": "bm25"},
        {"most": 0},
        {"by": "luck"},
        {"least": -1},
        {"errors": "shrug"},
        {"words": "words"},
        {"norm": "yes"},
    ],
)
def test_arguments_out_of_range_are_refused_as_scikit_learn_words_it(arguments):
    (name,) = arguments
    with pytest.raises(ValueError, match=f"The '{name}' parameter of TextClassifier must be"):
        TextClassifier(**arguments).fit(MAIL, LABELS)


def test_what_was_not_fitted_says_so():
    for ask in (
        lambda m: m.predict(MAIL),
        lambda m: m.explain(MAIL),
        lambda m: m.telltales("ham"),
        lambda m: m.select(3),
        lambda m: m.sample(),
        lambda m: m.vocabulary_,
        lambda m: m.merge(TextClassifier().fit(MAIL, LABELS)),
        lambda m: m.forget(MAIL, LABELS),
    ):
        with pytest.raises(NotFittedError):
            ask(TextClassifier())


def test_a_refused_batch_changes_nothing(model):
    before = dict(vars(model))
    for X, y in ((["x", None], ["ham", "ham"]), (["x"], ["eggs"]), ([b"\xff"], ["ham"])):
        with pytest.raises(ValueError):
            model.partial_fit(X, y)
    assert vars(model) == before


def test_one_class_is_enough_to_fit_and_too_few_to_explain():
    model = TextClassifier().fit(MAIL, ["mail"] * 5)
    assert model.predict(["cheap"]).tolist() == ["mail"]
    with pytest.raises(InputError, match="compares two classes"):
        model.explain(["cheap"])


@pytest.mark.parametrize("changed", [{"weighting": "tfidf"}, {"event": "bernoulli"}, {"words": {"ngrams": 2}}])
def test_a_model_whose_reading_was_changed_after_learning_is_not_saved(changed, tmp_path):
    model = TextClassifier().fit(["aa bb", "cc"], ["x", "y"]).set_params(**changed)
    with pytest.raises(ModelFileError, match=r"changed after the documents were learned.*fit again"):
        model.save(tmp_path / "m.deciban")


@pytest.mark.parametrize("event", ["multinomial", "bernoulli"])
def test_a_document_that_plainly_was_not_learned_is_not_forgotten(event):
    """Two documents of x, both with "aa": one without it cannot have been among them."""
    model = TextClassifier(event=event).fit(["aa bb", "aa bb", "cc"], ["x", "x", "y"])
    before = model.ledger_
    with pytest.raises(ForgetError, match=r"number of documents that lack it of class 'x'.* is 0, and 1 would be"):
        model.forget([""], ["x"])
    assert model.ledger_ == before


@pytest.mark.parametrize("n", [2.5, None, -3, True])
def test_a_number_of_telltales_is_a_whole_one(n):
    with pytest.raises(InputError, match="n must be a whole number"):
        TextClassifier().fit(["aa bb", "cc"], ["x", "y"]).telltales("x", n)
