"""Cross-validation of tables and documents equals refits: roles as given, all else decided without the fold."""

import numpy as np
import pytest

import deciban
from tests.metrics.refits import assert_as_refitted

pd = pytest.importorskip("pandas")

HOW = pytest.mark.parametrize("folds", [4, "loo"])
WEIGHED = pytest.mark.parametrize("weighed", [False, True], ids=["unit", "weighed"])
ROLES = {"age": "number", "pain": "category", "flag": "flag", "visits": "count"}
LINES = ["red green blue", "green tea", "blue sky and sea", "tea time red", "sky high", "sea salt green"]


def draw_sample(n=60):
    rng = np.random.default_rng(5)
    k = rng.integers(0, 3, n)
    notes = [" ".join(rng.choice(LINES[c : c + 4], 2)) + (f" only{i}" if i % 9 == 0 else "") for i, c in enumerate(k)]
    pain = np.array(["none", "chest", "head", "leg"], dtype=object)[(k + rng.integers(0, 3, n)) % 4]
    pain[7] = "elsewhere"
    pain[rng.random(n) < 0.1] = None
    age = np.where(rng.random(n) < 0.1, np.nan, rng.normal(40 + 5 * k, 10))
    table = {"age": age, "pain": pain, "flag": rng.random(n) < 0.3 + 0.2 * k, "visits": rng.poisson(2 + k)}
    return pd.DataFrame({**table, "note": notes}), np.array(["a", "b", "c"])[k], rng.uniform(0.1, 2.0, n)


@HOW
@WEIGHED
def test_a_mixed_table_with_texts_is_scored_as_by_refits(folds, weighed):
    table, y, w = draw_sample()
    assert_as_refitted(deciban.NaiveBayes(roles={**ROLES, "note": "text"}), table, y, folds, w if weighed else None)


ARGUMENTS = [
    {"unseen": "smooth"},
    {"roles": {**ROLES, "age": "binned"}},
    {"roles": {"pain": "category", "flag": "flag"}, "numbers": "auto"},
    {"most_levels": 2},
    {"alpha": "auto"},
    {"parameter_prior": 0.0, "priors": "uniform"},
]


@HOW
@WEIGHED
@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_whatever_is_open_is_decided_without_the_fold(arguments, folds, weighed):
    table, y, w = draw_sample(40)
    model = deciban.NaiveBayes(**{"roles": ROLES, **arguments})
    assert_as_refitted(model, table.drop(columns="note"), y, folds, w if weighed else None)


EVENTS = [
    {},
    {"event": "boolean"},
    {"event": "bernoulli"},
    {"event": "complement", "norm": True},
    {"least": 2},
    {"most": 5},
    {"idf": True},
    {"weighting": "tfidf"},
    {"alpha": 0.1, "class_prior": "uniform"},
    {"words": {"hashed": 10}},
    {"words": {"values": "log", "length": "l2"}},
]


@HOW
@WEIGHED
@pytest.mark.parametrize("arguments", EVENTS, ids=str)
def test_documents_are_scored_by_the_words_of_the_others(arguments, folds, weighed):
    table, y, w = draw_sample(45)
    assert_as_refitted(
        deciban.TextClassifier(**arguments), table["note"].to_numpy(), y, folds, w if weighed else None
    )


def test_calibration_is_fitted_again_without_the_fold():
    table, y, _ = draw_sample()
    model = deciban.NaiveBayes(roles=ROLES, calibrate="temperature")
    assert_as_refitted(model, table.drop(columns="note"), y, 3)


def test_rows_may_come_in_any_kind_of_frame():
    table, y, _ = draw_sample()
    model = deciban.NaiveBayes(roles={**ROLES, "note": "text"})
    expected = deciban.cross_validate(model, table, y, 3).log_proba
    columns = {name: table[name].to_numpy() for name in table}
    np.testing.assert_allclose(deciban.cross_validate(model, columns, y, 3).log_proba, expected, rtol=1e-12)
