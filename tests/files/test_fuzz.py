"""Thousands of harmed files: none does worse than a ModelFileError, none takes long or much memory."""

import contextlib
import os
import resource
import time
import warnings
from collections import Counter

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.estimators.facades import FACADES
from tests.files.mutate import MUTATIONS
from tests.tables import clinic
from tests.tables.reviews import reviews

import deciban
from deciban.errors import DecibanError, ModelFileError
from deciban.files import opened

PER_MODEL = 90
MANY = 1000
"""Where there is time."""

SLOWEST = 5.0
"""Seconds of work; a hang is what must not be, and the machine may be busy with something else."""

MOST_MEMORY = 512 << 20
"""Address space beyond what the process has when it begins."""

WIDEST = 1 << 20
"""Rows of more features than this take that memory themselves; a large file tells its width before its arrays."""


def use_table(model):
    """The same for a model of a table."""
    rows = reviews(12) if "text" in model.roles.values() else clinic.patients(12)
    asked = [
        lambda: model.ledger + model.ledger,
        lambda: model.telltales(model.classes[0]),
        lambda: model.predict(rows, allow_missing_columns=True),
        lambda: model.predict_proba(rows, allow_missing_columns=True),
        lambda: model.predict(rows, allow_missing_columns=True, reject_novel=0.1),
        lambda: str(model.explain(rows, allow_missing_columns=True)),
        lambda: str(model.describe()),
        lambda: model.sample(3, random_state=0),
        lambda: model.with_priors("uniform").predict(rows),
        lambda: model.forget(rows),
        lambda: model.add(rows).predict(rows),
        lambda: repr(model),
    ]
    for ask in asked:
        with contextlib.suppress(DecibanError):
            ask()


def use_texts(model):
    """The same for a model of documents."""
    documents, labels = ["tea pot", "", "milk tea zebra"], np.resize(model.classes_, 3)
    asked = [
        lambda: model.ledger_ + model.ledger_,
        lambda: model.predict(documents),
        lambda: model.predict_proba(documents),
        lambda: str(model.explain(documents)),
        lambda: model.telltales(labels[0]),
        lambda: model.sample(3, random_state=0),
        lambda: model.n_parameters_,
        lambda: model.select(2).predict(documents),
        lambda: model.forget(documents, labels),
        lambda: model.partial_fit(documents, labels).predict(documents),
        lambda: repr(model),
    ]
    for ask in asked:
        with contextlib.suppress(DecibanError):
            ask()


def use_fitted(model, X):
    """The same for weights that were fitted, which do not add."""
    asked = [
        lambda: model.predict(X),
        lambda: model.predict_proba(X),
        lambda: model.predict(X, reject_novel=0.1),
        lambda: model.explain(X),
        lambda: model.n_parameters_,
        lambda: repr(model),
    ]
    for ask in asked:
        with contextlib.suppress(DecibanError):
            ask()


def use(model):
    """Everything that a model read from a file may be asked; it may refuse, in our own words."""
    if isinstance(model, deciban.Model):
        use_table(model)
        return
    if isinstance(model, deciban.TextClassifier):
        use_texts(model)
        return
    if model.n_features_in_ > WIDEST:
        return
    X = np.vstack([np.zeros(model.n_features_in_), np.ones(model.n_features_in_)])
    if not hasattr(model, "forget"):
        use_fitted(model, X)
        return
    y = np.resize(model.classes_, 2)
    asked = [
        lambda: model.ledger_ + model.ledger_,
        lambda: model.predict(X),
        lambda: model.predict_proba(X),
        lambda: model.predict(X, reject_novel=0.1),
        lambda: model.explain(X),
        lambda: model.n_parameters_,
        lambda: model.forget(X, y),
        lambda: model.partial_fit(X, y).predict(X),
        lambda: repr(model),
    ]
    for ask in asked:
        with contextlib.suppress(DecibanError):
            ask()


@pytest.fixture
def bounded(monkeypatch):
    """Little memory, no waiting for the disk, and no word about strange numbers."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    with open("/proc/self/statm") as statm:
        now = int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + MOST_MEMORY, before[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def kept_sparse():
    X = csr_array(np.random.default_rng(0).poisson(0.1, (60, 40)).astype(float))
    return deciban.MultinomialNB().fit(X, np.arange(60) % 20)


def with_missing():
    facade = next(f for f in FACADES if f.name == "GaussianBayes-full")
    X, y = facade.data()
    X[::7, 0] = np.nan
    return facade.make().fit(X, y)


def with_imagined():
    facade = next(f for f in FACADES if f.name == "CategoricalNB")
    return facade.fitted(alpha=facade.fitted(9, seed=5).ledger_)


def table_with_texts(**arguments):
    roles = {"text": "text", "stars": "number", "head": "skip", "country": "category"}
    return deciban.train(reviews(30), target="verdict", roles=roles, **arguments)


def of_texts(**arguments):
    documents = ["tea pot tea", "milk, cup and pot", "", "sugar leaf leaf", "tea with milk", "go to the pot"]
    return deciban.TextClassifier(**arguments).fit(documents, [*"abcabc"])


def calibrated(name, method):
    """A facade that is calibrated and knows what is usual."""
    facade = next(f for f in FACADES if f.name == name)
    X, y = facade.data()
    return facade.make().calibrated(X, y, method, folds=3).fit_novelty(X, y)


MODELS = {facade.name: facade.fitted for facade in FACADES} | {
    "kept sparse": kept_sparse,
    "with missing": with_missing,
    "with imagined": with_imagined,
    "table": lambda: deciban.train(clinic.patients(80), target="diagnosis", prior={"ill": 0.5, "well": 0.5}),
    "table with blocks": lambda: deciban.train(
        clinic.patients(80), target="diagnosis", blocks=[["age", "dose"], ["smoker", "code"]], numbers="number"
    ),
    "calibrated, temperature": lambda: calibrated("GaussianNB", "temperature"),
    "calibrated, isotonic": lambda: calibrated("CategoricalNB", "isotonic"),
    "table, calibrated": lambda: deciban.train(clinic.patients(80), target="diagnosis", calibrate="platt"),
    "table in bins": lambda: deciban.train(clinic.patients(80), target="diagnosis", numbers="binned"),
    "table, auto": lambda: deciban.train(clinic.patients(80), target="diagnosis", alpha="auto", judge=False),
    "table, logistic": lambda: deciban.train(clinic.patients(80), target="diagnosis", learner="logistic", C=1.0),
    "table, boosted": lambda: deciban.train(clinic.patients(80), target="diagnosis", learner="boosted", judge=False),
    "table with texts, evidence": lambda: table_with_texts(learner="evidence", C=1.0, judge=False),
    "table, tied": lambda: deciban.train(
        clinic.patients(80), target="diagnosis", blocks="numbers", covariance="tied", judge=False
    ),
    "table with texts": lambda: table_with_texts(words={"ngrams": 2, "stop": ["a"]}),
    "table with texts, hashed": lambda: table_with_texts(words={"hashed": 5}, prior="uniform"),
    "levels, auto": lambda: deciban.CategoricalNB(alpha="auto").fit(np.arange(60).reshape(20, 3) % 4, [0, 1] * 10),
    "texts": of_texts,
    "texts, presence": lambda: of_texts(event="bernoulli", words=deciban.Words(ngrams=2, stop=["the"]), most=5),
    "texts, hashed": lambda: of_texts(event="complement", words={"hashed": 4, "tokens": "whitespace"}),
    "texts, tfidf": lambda: of_texts(weighting="tfidf", alpha=0.1),
    "logistic": lambda: deciban.LogisticRegression(class_weight={0: 1.0, 1: 2.0}).fit(
        np.arange(60.0).reshape(30, 2) % 7, [0, 1] * 15
    ),
    "NaiveBayes": lambda: deciban.NaiveBayes(numbers="binned").fit(np.arange(60.0).reshape(30, 2) ** 2, [0, 1] * 15),
}


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("files", [PER_MODEL, pytest.param(MANY, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", MODELS)
def test_a_harmed_file_does_no_worse_than_a_model_file_error(name, files, tmp_path, monkeypatch):
    monkeypatch.setattr("deciban.engines.sparse.DENSE_CELLS", 100)
    rng = np.random.default_rng(list(name.encode()))
    whole, harmed = tmp_path / "whole", tmp_path / "harmed"
    MODELS[name]().save(whole)
    met = Counter()
    for number in range(files):
        mutate = MUTATIONS[number % len(MUTATIONS)]
        try:
            mutate(rng, whole, harmed)
        except ModelFileError:  # such a file is not even written
            continue
        mapped = number // len(MUTATIONS) % 2  # every other round as if the file were large, and read as it is used
        monkeypatch.setattr(opened, "CHECKED_AT_ONCE", 0 if mapped else 1 << 24)
        start = time.process_time()
        try:
            model = deciban.load(harmed)
            met["read"] += 1
            use(model)
        except ModelFileError:
            met["refused"] += 1
        except BaseException as worse:
            worse.add_note(f"{mutate.__name__}, number {number}")
            raise
        assert time.process_time() - start < SLOWEST
    assert met["refused"] > met["read"] > 0


def test_there_are_more_than_two_thousand_such_files():
    assert PER_MODEL * len(MODELS) >= 2000
