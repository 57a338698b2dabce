"""A TextClassifier is read from its file as it was written, without a look at its words."""

import copy
import pickle

import numpy as np
import pytest

import deciban
from deciban import TextClassifier, Words, persistence
from deciban.errors import ModelFileError, SchemaError
from deciban.ledger import Vocabulary
from deciban.persistence import container

DOCUMENTS = ["Tea pot, tea", "milk cup and pot", "", "sugar leaf leaf", "tea with milk", "go to the pot: thé \ud800x"]
LABELS = [*"abcabc"]
ASKED = ["tea and pot", "leaf to go", "the MILK cup thé"]

MODELS = {
    "plain": {},
    "boolean": {"event": "boolean"},
    "bernoulli": {"event": "bernoulli", "alpha": 0.5},
    "complement": {"event": "complement", "norm": True},
    "read its own way": {"words": Words(ngrams=2, stop="english", lower=False, values="log", length="l2")},
    "stop words of any kind": {"words": Words(stop=["\ud800", "thé"], tokens="whitespace", least_length=2)},
    "characters": {"words": Words(tokens="characters in words", ngrams=(2, 4))},
    "given as a mapping": {"words": {"tokens": "whitespace", "ngrams": [1, 2], "least_length": 2}},
    "given as texts": {"words": {"tokens": "whitespace"}},
    "hashed": {"words": Words(hashed=6)},
    "selected": {"most": 4, "by": "chi2", "least": 1},
    "without a pseudo-count": {"alpha": 0.0},
    "idf": {"idf": True},
    "tfidf": {"weighting": "tfidf"},
    "twcnb": {"weighting": "twcnb"},
    "priors": {"class_prior": [0.5, 0.25, 0.25], "encoding": "latin-1", "errors": "replace"},
}
every_model = pytest.mark.parametrize("name", MODELS)


def fit_model(name="plain"):
    return TextClassifier(**MODELS[name]).fit(DOCUMENTS, LABELS)


def save_and_load(model, path):
    model.save(path)
    return deciban.load(path)


@pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning")
@pytest.mark.usefixtures("size")
@every_model
def test_it_says_the_same_to_the_last_bit_and_learns_on(name, path):
    model = fit_model(name)
    read = save_and_load(model, path)
    assert type(read) is TextClassifier
    assert read.get_params() == model.get_params() or name == "given as a mapping"
    assert np.array_equal(read.predict_joint_log_proba(ASKED), model.predict_joint_log_proba(ASKED))
    assert read.predict(ASKED).dtype == model.predict(ASKED).dtype
    assert str(read.explain(ASKED)) == str(model.explain(ASKED))
    assert read.ledger_ == model.ledger_
    assert read.ledger_.schema.fingerprint == model.ledger_.schema.fingerprint
    assert read.n_features_in_ == model.n_features_in_
    if name != "hashed":
        assert read.vocabulary_ == model.vocabulary_
        assert read.telltales("a") == model.telltales("a")
    if model.weighting is None:
        assert read.partial_fit(ASKED, LABELS[:3]).ledger_ == model.partial_fit(ASKED, LABELS[:3]).ledger_
        assert np.array_equal(read.predict_proba(ASKED), model.predict_proba(ASKED))
        assert (read + read).ledger_ == (model + model).ledger_


@pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning")
@every_model
def test_it_can_be_saved_again_copied_and_pickled(name, path, tmp_path):
    model = fit_model(name)
    read = save_and_load(save_and_load(model, path), tmp_path / "second")
    for other in (read, copy.deepcopy(read), pickle.loads(pickle.dumps(read))):
        assert np.array_equal(other.predict_joint_log_proba(ASKED), model.predict_joint_log_proba(ASKED))


def test_models_of_no_words_and_of_many_come_back(path):
    empty = TextClassifier().fit(["", "?"], [0, 1])
    assert save_and_load(empty, path).ledger_ == empty.ledger_
    many = TextClassifier().fit([" ".join(f"w{i:x}" for i in range(50_000)), "x1 w0"], [0, 1])
    assert save_and_load(many, path).predict(["w4 w5 w6"]).tolist() == many.predict(["w4 w5 w6"]).tolist()


def test_opening_and_predicting_look_at_no_word_by_itself(path, monkeypatch):
    words = [f"w{i:x}" for i in range(5000)]
    TextClassifier().fit([" ".join(words), "w0 w1"], [0, 1]).save(path)
    monkeypatch.setattr(container, "EAGER_CHECK_BYTES", 0)

    def refuse(*arguments):
        raise AssertionError("a word was looked at")

    for name in ("__getitem__", "__iter__", "word"):
        monkeypatch.setattr(Vocabulary, name, refuse)
    read = deciban.load(path)
    read.predict(["w3 w4"])
    assert not {"ledger", "complete"} & vars(read._scorer).keys()


def rewrite_header(path, change):
    contents = persistence.read(path)
    header = copy.deepcopy(contents.header)
    change(header)
    persistence.write(path, header, {name: array.copy() for name, array in contents.arrays.items()})


CHANGES = {
    "reader": (lambda h: h.update(reader="0" * 16), "fingerprint of the reader"),
    "no reader": (lambda h: h.pop("reader"), "there is no 'reader'"),
    "other words": (
        lambda h: h["parameters"]["words"]["value"]["lower"].update(value=True),
        "fingerprint of the reader",
    ),
    "no words": (lambda h: h["parameters"]["words"]["value"]["ngrams"].update(value=[]), "not a tokenizer"),
    "hashed": (
        lambda h: h["parameters"]["words"]["value"]["hashed"].update(value=24),
        "fingerprint of the reader",
    ),
    "unknown event": (lambda h: h["parameters"]["event"].update(value="luck"), "the arguments are not sound"),
    "contradiction": (lambda h: h["parameters"]["idf"].update(value=True), "the arguments are not sound"),
    "another estimator": (
        lambda h: h.update(estimator="MultinomialNB"),
        "unexpected keyword argument|assumes something",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_file_whose_parts_do_not_belong_together_is_refused(name, path):
    words = Words(lower=False)
    TextClassifier(words=words, weighting="tfidf").fit(DOCUMENTS, LABELS).save(path)
    change, says = CHANGES[name]
    rewrite_header(path, change)
    with pytest.raises(ModelFileError, match=says):
        deciban.load(path)


def test_what_differs_is_still_refused_after_loading(path):
    read = save_and_load(fit_model(), path)
    with pytest.raises(SchemaError, match=r"ngrams is \[1, 1\] in one and \[1, 2\] in the other"):
        read.merge(TextClassifier(words=Words(ngrams=2)).fit(DOCUMENTS, LABELS))
    assert (read + fit_model()).ledger_ == (fit_model() * 2).ledger_
