"""The models whose files of each format are kept. `python -m tests.persistence.fixture` wrote those of format 1.

The files are never written again: a new format gets files of its own.
"""

import datetime
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.sparse import csr_array

import deciban
import deciban.engines.sparse
from deciban.errors import DecibanWarning
from deciban.metrics.calibration_fit import METHODS
from tests.estimators.examples import EXAMPLES

HERE = Path(__file__).parent


def gaussian_model():
    """Return the model of `format-1.deciban`: column names, text labels, a missing value, given priors."""
    patients = pd.DataFrame(
        {
            "temperature °C": [36.6, 38.9, 39.4, 36.9, np.nan, 37.0, 36.4, 38.2, 38.8, 39.9, 36.8, 37.1],
            "pulse": [61.0, 98.0, 87.0, 70.0, 90.0, 66.0, 74.0, 79.0, 92.0, 84.0, 81.0, 58.0],
        }
    )
    ill = [1, 4, 2, 7, 8, 9]
    state = ["flu" if i in ill else "well" for i in range(12)]
    return deciban.GaussianBayes(priors=[0.25, 0.75], parameter_prior=1.0).fit(patients, state)


def array_models():
    """Return a model of every other kind of statistic and score form."""
    made = {example.name: example.make_fitted(12) for example in EXAMPLES}
    deciban.engines.sparse.DENSE_CELLS = 10
    words = csr_array(np.random.default_rng(0).poisson(0.4, (12, 8)).astype(float))
    made["kept-sparse"] = deciban.MultinomialNB().fit(words, np.arange(12) % 4)
    levels = next(example for example in EXAMPLES if example.name == "CategoricalNB")
    made["imagined"] = levels.make_fitted(12, alpha=levels.make_fitted(3, seed=1).ledger_)
    return made


def shrunk_models():
    """Return shrunk models; the files were written when all columns were shrunk towards one variance."""
    full, diagonal = (next(e for e in EXAMPLES if e.name == f"GaussianBayes-{s}") for s in ("full", "diagonal"))
    return {
        "shrunk-full": full.make_fitted(12, shrinkage=0.3),
        "shrunk-oas": diagonal.make_fitted(12, shrinkage="oas"),
    }


def rows(model):
    """Return rows to predict."""
    return np.arange(3.0 * model.n_features_in_).reshape(3, -1) % 4


def predictions(model):
    """Return the predictions of a model, and the weight of the rows it has learned."""
    return {
        "joint": model.predict_joint_log_proba(rows(model)).tolist(),
        "rows": model.ledger_.rows.tolist(),
        "classes": model.classes_.tolist(),
    }


PATIENTS = {
    "id": ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12"],
    "temperature °C": [36.6, 38.9, 39.4, 36.9, None, 37.0, 36.4, 38.2, 38.8, 39.9, 36.8, 37.1],
    "visits": [0, 3, 2, 1, 4, 0, 1, 2, None, 5, 0, 1],
    "smoker": ["no", "yes", "no", "no", "yes", "no", None, "no", "yes", "yes", "no", "no"],
    "pain": ["none", "chest", "head", "none", "chest", "head", "none", None, "chest", "né", "none", "head"],
    "admitted": [datetime.date(2024, 1 + i, 2 * i + 1) if i != 5 else None for i in range(12)],
    "weight": [1.0, 1.0, 2.0, 1.0, 0.5, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0],
    "state": ["well", "flu", "flu", "well", "flu", "well", "well", "flu", "flu", "flu", "well", None],
}
ROLES = {
    "id": "skip",
    "temperature °C": "number",
    "visits": "count",
    "smoker": "flag",
    "pain": "category",
    "admitted": "date",
}


def table():
    """Every role but `binned`, cells missing in each, weights, and a prior of its own."""
    given = {"target": "state", "weights": "weight", "prior": {"flu": 0.25, "well": 0.75}}
    return deciban.train(pa.table(PATIENTS), roles=ROLES, **given)


def binned_table():
    """Return a model of binned numbers, classes that are whole numbers, and smoothed unseen levels."""
    columns = {name: PATIENTS[name] * 3 for name in ("temperature °C", "visits", "pain")}
    rows = {**columns, "ward": [1, 3, 3, 2, 3, 1, 1, 2, 3, 2, 1, 2] * 3}
    return deciban.train(pa.table(rows), target="ward", numbers="binned", unseen="smooth", alpha=0.5, most_levels=2)


def naive_bayes():
    """Return a scikit-learn classifier of the patients."""
    frame = pd.DataFrame({name: PATIENTS[name] for name in ROLES})
    state = ["ill" if state == "flu" else "well" for state in PATIENTS["state"]]
    return deciban.NaiveBayes(roles=ROLES, priors=[0.5, 0.5]).fit(frame, state)


def joined_models():
    """Return a table model and a NaiveBayes of two joined numbers, and of combinations of columns, one with `&`."""
    pain = [level and level.replace("head", "head & neck") for level in PATIENTS["pain"]]
    rows = {**PATIENTS, "pain": pain}
    given = {"roles": {**ROLES, "visits": "number"}, "blocks": [["visits", "temperature °C"], ["smoker", "pain"]]}
    frame, state = pd.DataFrame({name: rows[name] for name in ROLES}), np.array(["flu", "well", "flu"] * 4)
    return {
        "table-joined": deciban.train(pa.table(rows), target="state", weights="weight", judge=False, **given),
        "NaiveBayes-joined": deciban.NaiveBayes(**given).fit(frame, state),
    }


TABLES = {"table": table, "table-binned": binned_table, "NaiveBayes": naive_bayes}

NEW_PATIENTS = {
    "id": ["b1", "b2", "b3", "b4"],
    "temperature °C": [36.7, 39.0, None, 38.0],
    "visits": [0, 4, 1, None],
    "smoker": ["no", "yes", None, "no"],
    "pain": ["none", "chest", None, "tooth"],
    "admitted": [datetime.date(2025, 2, 1), datetime.date(2025, 3, 4), None, datetime.date(2025, 12, 24)],
}


def table_predictions(model):
    """Return the predictions of a table model for new patients, and the weight of the rows it has learned."""
    rows = pd.DataFrame(NEW_PATIENTS)
    if isinstance(model, deciban.NaiveBayes):
        facts = {"ledger": model.ledger_, "roles": model.roles_, "classes": model.classes_.tolist()}
    else:
        facts = {"ledger": model.ledger, "roles": model.roles, "classes": model.classes}
    density = np.asarray(model.score_samples(rows))[:, None]
    ledger = facts.pop("ledger")
    return {
        "joint": (np.asarray(model.predict_log_proba(rows)) + density).tolist(),
        "rows": ledger.rows.tolist(),
        "fingerprint": ledger.schema.fingerprint,
        **facts,
    }


def write(folder, models, expected, ask):
    """Write the model files and their expected predictions, unless they exist: they are never overwritten."""
    if (folder / expected).exists():
        return
    for name, model in models.items():
        model.save(folder / f"{name}.deciban")
    result = {name: ask(model) for name, model in models.items()}
    (folder / expected).write_text(json.dumps(result, indent=1) + "\n")


POSTS = [
    "the cat sat on the mat", "Dogs bite; dogs bark", "ΟΔΥΣΣΕΥΣ sah die Öltanks", "a cat, a dog",
    "", "cat \ud800 naps",
]  # fmt: skip
TOPICS = ["cats", "dogs", "cats", "dogs", "dogs", "cats"]
NEW_TEXTS = ["the dog and the cat", "Öltanks", "nothing that is known", "dogs bite cats"]


def text_models():
    """Return a model of every event and tokenizer, and a table model of a text and a number."""
    Words, Text = deciban.Words, deciban.TextClassifier
    made = {
        "text": Text(),
        "text-boolean-pairs": Text(event="boolean", words=Words(ngrams=2, stop=["the"])),
        "text-bernoulli-chosen": Text(event="bernoulli", most=4),
        "text-complement-idf": Text(event="complement", idf=True, words=Words(values="log", length="l2")),
        "text-hashed": Text(words=Words(hashed=6)),
        "text-tfidf": Text(weighting="tfidf"),
    }
    return {"table-text": text_table(), **{name: model.fit(POSTS, TOPICS) for name, model in made.items()}}


def text_table():
    """Return a table model of a text and a number."""
    posts = {"post": [text.replace("\ud800", "") for text in POSTS], "size": [3.0, 4, 3.5, 2, 0, 2], "topic": TOPICS}
    return deciban.train(posts, target="topic", roles={"post": "text", "size": "number"}, judge=False)


def calibrated_models():
    """Return a model with each kind of calibration, and a novelty detector."""
    X = np.array([[0.1, 0.3], [0.9, 0.8], [0.4, 0.1], [0.7, 0.2], [0.2, 0.6], [1.1, 0.9]] * 5)
    X += np.arange(60.0).reshape(30, 2) / 100
    y = np.array([0, 1, 0, 2, 1, 2] * 5)
    made = {f"calibrated-{how}": deciban.GaussianNB().calibrated(X, y, how, folds=5) for how in METHODS}
    rows = {name: PATIENTS[name] * 3 for name in (*ROLES, "state")}
    made["table-calibrated"] = deciban.train(pa.table(rows), target="state", roles=ROLES, calibrate="platt")
    return {name: model if name.startswith("table") else model.fit_novelty(X, y) for name, model in made.items()}


def calibrated_predictions(model):
    """Return the calibrated predictions of a model, also with other priors, and which rows are novel."""
    table = isinstance(model, deciban.Model)
    rows = pa.table(NEW_PATIENTS) if table else np.array([[0.2, 0.4], [1.0, 0.9], [9.0, -9.0]])
    priors = model.with_priors([0.2, 0.8] if table else [0.2, 0.3, 0.5])
    result = model.predict(rows, reject_novel=0.01)
    return {
        "proba": as_lists(model.predict_proba(rows)),
        "other priors": as_lists(priors.predict_proba(rows)),
        "novel": [label is None for label in (result.to_pylist() if table else result)],
        "method": (model.calibration if table else model.calibration_).method,
    }


def as_lists(answer):
    """Return a frame or an array as lists of rows."""
    return [list(row.values()) for row in answer.to_pylist()] if hasattr(answer, "to_pylist") else answer.tolist()


def fitted_models():
    """Return a model of every discriminative learner: of arrays, of texts and of tables."""
    X = np.array([[0.1, 0.3], [0.9, 0.8], [0.4, 0.1], [0.7, 0.2], [0.2, 0.6], [1.1, 0.9]] * 5)
    X += np.arange(60.0).reshape(30, 2) / 100
    y = np.array([0, 1, 0, 2, 1, 2] * 5)
    gap = np.where(np.arange(60).reshape(30, 2) % 7 == 3, np.nan, X)
    rows = {name: PATIENTS[name] * 3 for name in (*ROLES, "state")}
    table = {"target": "state", "roles": ROLES, "judge": False}
    posts = {"post": [text.replace("\ud800", "") for text in POSTS] * 4, "size": [3.0, 4, 3.5, 2, 0, 2] * 4}
    texts = {"target": "topic", "roles": {"post": "text", "size": "number"}, "judge": False}
    return {
        "LogisticRegression": deciban.LogisticRegression().fit(X, y),
        "LogisticRegression-missing": deciban.LogisticRegression(C=1.0).fit(gap, y % 2),
        "LogisticRegression-l1": deciban.LogisticRegression(penalty="l1", C=1.0).fit(X, y),
        "BoostedBayes": deciban.BoostedBayes().fit(X, y),
        "EvidenceRegression": deciban.EvidenceRegression(C=1.0).fit(POSTS * 4, TOPICS * 4),
        "table-logistic": deciban.train(pa.table(rows), learner="logistic", C=1.0, **table),
        "table-boosted": deciban.train(pa.table(rows), learner="boosted", **table),
        "table-evidence": deciban.train({**posts, "topic": TOPICS * 4}, learner="evidence", C=1.0, **texts),
    }


def bounded_models():
    """Return models of bounded numbers and counts: one with a class that never had a column, joined, and fitted."""
    rows = {name: PATIENTS[name] * 3 for name in (*ROLES, "state")}
    rows["pulse"] = [None if state == "flu" else 60.0 + i for i, state in enumerate(rows["state"])]
    rows["grade"] = [1, 2, 2] * 12  # a flag whose levels are numbers
    given = {"target": "state", "roles": {**ROLES, "pulse": "number"}, "judge": False}
    joined = {**given, "roles": {**given["roles"], "visits": "number"}, "blocks": [["visits", "temperature °C"]]}
    return {
        "bounded": deciban.train(pa.table(rows), **given),
        "bounded-joined": deciban.train(pa.table(rows), **joined),
        "bounded-boosted": deciban.train(pa.table(rows), learner="boosted", **given),
        "bounded-logistic": deciban.train(pa.table(rows), learner="logistic", C=1.0, **given),
    }


def bounded_predictions(model):
    """Return the log-probabilities of patients, some with absurd numbers, and of the written forms of a level."""
    rows = {**NEW_PATIENTS, "pulse": [70.0, 1e6, None, 75.0], "grade": [1.0, 2.0, None, 3.0]}
    rows |= {"temperature °C": [375.0, 38.9, 36.6, -1.0], "visits": [2, 1000, None, 0]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DecibanWarning)
        return {"log_proba": np.asarray(model.predict_log_proba(pd.DataFrame(rows))).tolist()}


def fitted_predictions(model):
    """Return the log-probabilities and classes of a fitted model."""
    classes = model.classes if isinstance(model, deciban.Model) else model.classes_.tolist()
    if isinstance(model, deciban.EvidenceRegression):
        inputs = NEW_TEXTS
    elif not isinstance(model, deciban.Model):
        inputs = np.array([[0.2, 0.4], [1.0, 0.9], [9.0, -9.0]])
    else:
        inputs = {"post": NEW_TEXTS, "size": [3.0, 2, 1, None]} if model.target == "topic" else pa.table(NEW_PATIENTS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DecibanWarning)
        log_proba = np.asarray(model.predict_log_proba(inputs))
    return {"log_proba": log_proba.tolist(), "classes": classes}


def text_predictions(model):
    """Return the predictions of a model for documents, and the weight of those it has learned."""
    is_estimator = isinstance(model, deciban.TextClassifier)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DecibanWarning)  # one document has no known word
        inputs = NEW_TEXTS if is_estimator else {"post": NEW_TEXTS, "size": [3.0, 2, 1, None]}
        result = np.asarray(model.predict_log_proba(inputs))
    ledger, classes = (model.ledger_, model.classes_.tolist()) if is_estimator else (model.ledger, model.classes)
    return {"log_proba": result.tolist(), "rows": ledger.rows.tolist(), "classes": classes}


if __name__ == "__main__":
    folder = HERE / "format-1"
    folder.mkdir(exist_ok=True)
    if not (HERE / "format-1.deciban").exists():
        gaussian_model().save(HERE / "format-1.deciban")
    write(folder, {name: make() for name, make in TABLES.items()}, "expected-tables.json", table_predictions)
    write(folder, joined_models(), "expected-joined.json", table_predictions)
    write(folder, array_models(), "expected.json", predictions)
    write(folder, shrunk_models(), "expected-shrunk.json", predictions)
    write(folder, text_models(), "expected-texts.json", text_predictions)
    write(folder, calibrated_models(), "expected-calibrated.json", calibrated_predictions)
    write(folder, fitted_models(), "expected-fitted.json", fitted_predictions)
    write(folder, bounded_models(), "expected-bounded.json", bounded_predictions)
