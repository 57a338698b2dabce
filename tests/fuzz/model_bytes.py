"""Model files of every kind: a damaged or forged one is refused, or whatever it is asked is answered."""

import contextlib
import random
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

import deciban
from deciban.engines import sparse
from deciban.errors import DecibanError, ModelFileError
from deciban.persistence import container
from tests.estimators.examples import EXAMPLES
from tests.fuzz.mutation import memory_folder, write_input
from tests.persistence.mutate import MUTATIONS
from tests.tables import clinic
from tests.tables.reviews import reviews

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


def kept_sparse():
    X = csr_array(np.random.default_rng(0).poisson(0.1, (60, 40)).astype(float))
    return deciban.MultinomialNB().fit(X, np.arange(60) % 20)


def with_missing():
    example = next(f for f in EXAMPLES if f.name == "GaussianBayes-full")
    X, y = example.data()
    X[::7, 0] = np.nan
    return example.make().fit(X, y)


def with_imagined():
    example = next(f for f in EXAMPLES if f.name == "CategoricalNB")
    return example.make_fitted(alpha=example.make_fitted(9, seed=5).ledger_)


def table_with_texts(**arguments):
    roles = {"text": "text", "stars": "number", "head": "skip", "country": "category"}
    return deciban.train(reviews(30), target="verdict", roles=roles, **arguments)


def of_texts(**arguments):
    documents = ["tea pot tea", "milk, cup and pot", "", "sugar leaf leaf", "tea with milk", "go to the pot"]
    return deciban.TextClassifier(**arguments).fit(documents, [*"abcabc"])


def calibrated(name, method):
    """A example that is calibrated and knows what is usual."""
    example = next(f for f in EXAMPLES if f.name == name)
    X, y = example.data()
    return example.make().calibrated(X, y, method, folds=3).fit_novelty(X, y)


MODELS = {example.name: example.make_fitted for example in EXAMPLES} | {
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


@cache
def seeds() -> list[bytes]:
    sparse.DENSE_CELLS = 100
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        saved = []
        for name, make in MODELS.items():
            make().save(Path(folder, name))
            saved.append(Path(folder, name).read_bytes())
    return saved


def mutate(raw: bytes, rng: random.Random) -> bytes:
    with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
        whole, damaged = Path(folder, "whole"), Path(folder, "damaged")
        whole.write_bytes(raw)
        try:
            rng.choice(MUTATIONS)(np.random.default_rng(rng.getrandbits(64)), whole, damaged)
        except ModelFileError:  # such a file is not even written
            return raw
        return damaged.read_bytes()


def check(raw: bytes) -> None:
    container.EAGER_CHECK_BYTES = 0 if len(raw) % 2 else 1 << 24  # half of the files as if they were large
    use(deciban.load(write_input("model.deciban", raw)))
