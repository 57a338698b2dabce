"""A table is decided as its posteriors are, whatever it is read from; undecided rows are null."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

import deciban
from deciban.errors import InputError
from deciban.scores.posterior import Decision

AGE, NOISE = np.random.default_rng(0).normal(size=(2, 200)).round(2)
ASKED = {"costs": {("sick", "healthy"): 4}, "reject": 0.3}


def model_of(labels):
    return deciban.train({"age": AGE, "ill": np.where(AGE + NOISE > 0.5, *labels)}, target="ill", judge=False)


@pytest.fixture(scope="module")
def model():
    return model_of(["sick", "healthy"])


@pytest.fixture(scope="module")
def expected(model):
    posterior = np.asarray(model.predict_proba({"age": AGE}))
    codes = Decision.of(model.classes, **ASKED).apply(posterior)
    return [None if k < 0 else model.classes[k] for k in codes]


def test_every_kind_of_frame_has_nulls_for_undecided_rows(model, expected, tmp_path):
    assert 0 < expected.count(None) < 200
    frame = pa.table({"age": AGE})
    assert model.predict({"age": AGE}, **ASKED).tolist() == expected
    assert model.predict(frame, **ASKED).to_pylist() == expected
    assert model.predict(pl.DataFrame({"age": AGE}), **ASKED).to_list() == expected
    called = model.predict(pd.DataFrame({"age": AGE}), **ASKED)
    assert [None if pd.isna(label) else label for label in called] == expected
    pyarrow.csv.write_csv(frame, tmp_path / "age.csv")
    stream = model.predict(tmp_path / "age.csv", **ASKED).read_all()
    assert stream.column("ill").to_pylist() == expected


@pytest.mark.parametrize("labels", [["sick", "healthy"], [7, 3], [True, False], [1.5, 2.5]], ids=str)
def test_labels_keep_their_type_where_no_row_is_decided(labels, tmp_path):
    model = model_of(labels)
    pyarrow.csv.write_csv(pa.table({"age": AGE}), tmp_path / "age.csv")
    asked = {"reject": -1.0}  # even certainty costs more
    stream = model.predict(tmp_path / "age.csv", **asked)
    assert stream.schema.field("ill").type == pa.array(model._labels).type
    assert stream.read_all().column("ill").null_count == 200
    assert model.predict(pa.table({"age": AGE}), **asked).type == pa.array(model._labels).type


def test_a_rule_that_is_none_is_refused_before_a_row_is_read(model):
    for asked in ({"costs": {("sick", "dead"): 1}}, {"thresholds": {"sick": 7}}, {"reject": np.nan}):
        with pytest.raises(InputError):
            model.predict("no-such-file.csv", **asked)


def test_a_report_states_what_decisions_would_have_cost():
    table = {"age": AGE, "ill": np.where(AGE + NOISE > 0.5, "sick", "healthy")}
    report = deciban.evaluate(table, target="ill", folds=5)
    p, truth = np.exp(report.log_proba), report.truth
    paid = []
    for row, label in zip(p, truth):
        expected = {"healthy": row[1] * 4, "sick": row[0], None: 0.3}
        called = min(expected, key=expected.get)
        paid.append({None: 0.3, label: 0.0}.get(called, 4 if label == "sick" else 1))
    result = report.decision_costs(**ASKED)
    assert result.cost == pytest.approx(np.mean(paid), rel=1e-12)
    assert report.cost(**ASKED) == result.cost < result.cost_of_most_probable
    assert 0 < result.undecided < 1
    assert result.accuracy > report.accuracy
    assert report.cost() == pytest.approx(1 - report.accuracy)
    with pytest.raises(InputError, match="has no cost yet"):
        report.cost(thresholds={"sick": 0.9, "healthy": 0.9})


def test_a_threshold_that_was_found_does_what_it_states_on_the_same_rows():
    table = {"age": AGE, "ill": np.where(AGE + NOISE > 0.5, "sick", "healthy")}
    model = deciban.train(table, target="ill", judge=False)
    found = deciban.evaluate(table, model=model).threshold("sick", recall=0.9)
    sick = table["ill"] == "sick"
    called = model.predict({"age": AGE}, thresholds={"sick": found.probability}) == "sick"
    assert (called & sick).sum() / sick.sum() == pytest.approx(found.recall)
    assert (called & sick).sum() / called.sum() == pytest.approx(found.precision)
    again = model.predict({"age": AGE}, thresholds={"sick": float(found.probability_text)}) == "sick"
    assert np.array_equal(called, again)
