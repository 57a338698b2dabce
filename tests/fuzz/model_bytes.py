"""Model files of every kind: a damaged or forged one is refused, or every method of its model works or refuses."""

import contextlib
import random
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

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

MAX_FEATURES = 1 << 20
"""Rows of more features would take too much memory; the width of a large file is read before its arrays."""


def table_calls(model: Any) -> list[Callable[[], Any]]:
    """Return calls of the methods of a table model."""
    rows = reviews(12) if "text" in model.roles.values() else clinic.patients(12)
    return [
        lambda: model.ledger + model.ledger,
        lambda: model.telltales(model.classes[0]),
        lambda: model.predict(rows, allow_missing_columns=True),
        lambda: model.predict_proba(rows, allow_missing_columns=True),
        lambda: model.predict(rows, allow_missing_columns=True, reject_novel=0.1),
        lambda: str(model.explain(rows, allow_missing_columns=True)),
        lambda: model.find_unseen(rows, allow_missing_columns=True),
        lambda: str(model.describe()),
        lambda: model.sample(3, random_state=0),
        lambda: model.with_priors("uniform").predict(rows),
        lambda: model.forget(rows),
        lambda: model.add(rows).predict(rows),
    ]


def text_calls(model: Any) -> list[Callable[[], Any]]:
    """Return calls of the methods of a text classifier."""
    documents, labels = ["tea pot", "", "milk tea zebra"], np.resize(model.classes_, 3)
    return [
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
    ]


def matrix_calls(model: Any) -> list[Callable[[], Any]]:
    """Return calls of the methods of an estimator of matrices; fitted weights cannot be added."""
    if model.n_features_in_ > MAX_FEATURES:
        return []
    X, y = np.vstack([np.zeros(model.n_features_in_), np.ones(model.n_features_in_)]), np.resize(model.classes_, 2)
    calls: list[Callable[[], Any]] = [
        lambda: model.predict(X),
        lambda: model.predict_proba(X),
        lambda: model.predict(X, reject_novel=0.1),
        lambda: model.explain(X),
        lambda: model.n_parameters_,
    ]
    if not hasattr(model, "forget"):
        return calls
    more = [lambda: model.forget(X, y), lambda: model.partial_fit(X, y).predict(X)]
    return [lambda: model.ledger_ + model.ledger_, *calls, *more]


def use(model: Any) -> None:
    """Call every method of a model that was read from a file; it may raise deciban's own errors."""
    is_text = isinstance(model, deciban.TextClassifier)
    list_calls = table_calls if isinstance(model, deciban.Model) else text_calls if is_text else matrix_calls
    for call in [*list_calls(model), lambda: repr(model)]:
        with contextlib.suppress(DecibanError):
            call()


def sparse_counts():
    X = csr_array(np.random.default_rng(0).poisson(0.1, (60, 40)).astype(float))
    return deciban.MultinomialNB().fit(X, np.arange(60) % 20)


def find_example(name):
    return next(example for example in EXAMPLES if example.name == name)


def with_missing():
    example = find_example("GaussianBayes-full")
    X, y = example.data()
    X[::7, 0] = np.nan
    return example.make().fit(X, y)


def with_imagined():
    example = find_example("CategoricalNB")
    return example.make_fitted(alpha=example.make_fitted(9, seed=5).ledger_)


def table_with_texts(**arguments):
    roles = {"text": "text", "stars": "number", "head": "skip", "country": "category"}
    return deciban.train(reviews(30), target="verdict", roles=roles, **arguments)


def table_with_absent_class():
    rows = {"x": [1.0, 2.5, 4.0, None] * 6, "n": [0, 1, 5, 3] * 6, "level": [1, 2, 3, 3] * 6, "y": [*"abac"] * 6}
    return deciban.train(rows, target="y", roles={"x": "number", "n": "count"}, judge=False)


def text_model(**arguments):
    documents = ["tea pot tea", "milk, cup and pot", "", "sugar leaf leaf", "tea with milk", "go to the pot"]
    return deciban.TextClassifier(**arguments).fit(documents, [*"abcabc"])


def calibrate(name, method):
    """Return an estimator that is calibrated and has a novelty detector."""
    example = find_example(name)
    X, y = example.data()
    return example.make().calibrated(X, y, method, folds=3).fit_novelty(X, y)


def written_table():
    """A model that stores how the numbers and dates of its columns are written."""
    days = [f"{i % 28 + 1:02}.{i % 12 + 1:02}.2024" for i in range(60)]
    prices = [f"{i * 37 % 61 + 1}.{i:03},50 €" for i in range(60)]
    table = {"day": days, "price": prices, "y": ["a", "b"] * 30}
    return deciban.train(table, target="y", judge=False, numbers="number")


MODELS = {example.name: example.make_fitted for example in EXAMPLES} | {
    "kept sparse": sparse_counts,
    "with missing": with_missing,
    "with imagined": with_imagined,
    "table": lambda: deciban.train(clinic.patients(80), target="diagnosis", prior={"ill": 0.5, "well": 0.5}),
    "table with blocks": lambda: deciban.train(
        clinic.patients(80), target="diagnosis", blocks=[["age", "dose"], ["smoker", "code"]], numbers="number"
    ),
    "table, a class without a column": table_with_absent_class,
    "calibrated, temperature": lambda: calibrate("GaussianNB", "temperature"),
    "calibrated, isotonic": lambda: calibrate("CategoricalNB", "isotonic"),
    "table, calibrated": lambda: deciban.train(clinic.patients(80), target="diagnosis", calibrate="platt"),
    "table in bins": lambda: deciban.train(clinic.patients(80), target="diagnosis", numbers="binned"),
    "table, auto": lambda: deciban.train(clinic.patients(80), target="diagnosis", alpha="auto", judge=False),
    "table, tree": lambda: deciban.train(clinic.patients(80), target="diagnosis", structure="tan", judge=False),
    "table, aode": lambda: deciban.train(clinic.patients(80), target="diagnosis", learner="aode", judge=False),
    "table, logistic": lambda: deciban.train(clinic.patients(80), target="diagnosis", learner="logistic", C=1.0),
    "table, boosted": lambda: deciban.train(clinic.patients(80), target="diagnosis", learner="boosted", judge=False),
    "table with texts, evidence": lambda: table_with_texts(learner="evidence", C=1.0, judge=False),
    "table, tied": lambda: deciban.train(
        clinic.patients(80), target="diagnosis", blocks="numbers", covariance="tied", judge=False
    ),
    "table, mixed": lambda: deciban.train(
        clinic.patients(80), target="diagnosis", blocks="numbers", covariance="mixed", judge=False
    ),
    "principal components": lambda: deciban.GaussianBayes(
        covariance="mixed", shrinkage="loo", n_components="loo"
    ).fit(np.random.default_rng(0).normal(size=(40, 3)), [0, 1] * 20),
    "table with texts": lambda: table_with_texts(words={"ngrams": 2, "stop": ["a"]}),
    "table, written by people": written_table,
    "table with texts, hashed": lambda: table_with_texts(words={"hashed": 5}, prior="uniform"),
    "levels, auto": lambda: deciban.CategoricalNB(alpha="auto").fit(np.arange(60).reshape(20, 3) % 4, [0, 1] * 10),
    "texts": text_model,
    "texts, presence": lambda: text_model(event="bernoulli", words=deciban.Words(ngrams=2, stop=["the"]), most=5),
    "texts, hashed": lambda: text_model(event="complement", words={"hashed": 4, "tokens": "whitespace"}),
    "texts, tfidf": lambda: text_model(weighting="tfidf", alpha=0.1),
    "logistic": lambda: deciban.LogisticRegression(class_weight={0: 1.0, 1: 2.0}).fit(
        np.arange(60.0).reshape(30, 2) % 7, [0, 1] * 15
    ),
    "NaiveBayes": lambda: deciban.NaiveBayes(numbers="binned").fit(np.arange(60.0).reshape(30, 2) ** 2, [0, 1] * 15),
}


@cache
def seeds() -> list[bytes]:
    few_cells = patch.object(sparse, "DENSE_CELLS", 100)
    with few_cells, tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
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
        except ModelFileError:  # such a file is not written
            return raw
        return damaged.read_bytes()


def check(raw: bytes) -> None:
    container.EAGER_CHECK_BYTES = 0 if len(raw) % 2 else 1 << 24  # half of the files as if they were large
    use(deciban.load(write_input("model.deciban", raw)))
