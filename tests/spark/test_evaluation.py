"""Evaluation of DataFrames: folds by subtraction of ledgers, samples of rows, and discriminative learners."""

import numpy as np
import pyarrow as pa
import pytest

import deciban
from deciban.errors import DecibanWarning, InputError
from deciban.training import table_pass
from tests.spark.compare import in_partitions
from tests.spark.test_frames import ROLES, mixed

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet")


@pytest.mark.parametrize("calibrate", [None, "temperature"])
def test_folds_are_evaluated_without_their_rows(spark, calibrate):
    table = mixed()
    report = deciban.evaluate(
        in_partitions(spark, table, 4), target="diagnosis", roles=ROLES, folds=5, calibrate=calibrate
    )
    local = deciban.evaluate(table, target="diagnosis", roles=ROLES, folds=5, calibrate=calibrate)
    assert report.rows == local.rows
    assert report.log_loss == pytest.approx(local.log_loss, abs=3 * local.log_loss_error)
    assert len(np.unique(report.folds)) == 5
    assert "5-fold" in report.measured


def test_noise_is_not_predicted(spark):
    """Roles, bins and words are estimated without the fold: labels that are noise stay unpredictable."""
    rng = np.random.default_rng(3)
    table = pa.table({f"x{j}": rng.standard_normal(600) for j in range(60)} | {"y": rng.integers(0, 2, 600)})
    report = deciban.evaluate(in_partitions(spark, table, 3), target="y")
    assert 0.4 < report.accuracy < 0.6


def test_a_model_is_evaluated_on_the_rows_of_a_frame(spark):
    table = mixed()
    model = deciban.train(table.slice(0, 1500), target="diagnosis", roles=ROLES)
    rest = table.slice(1500)
    report = deciban.evaluate(in_partitions(spark, rest, 3), model=model)
    local = deciban.evaluate(rest, model=model)
    assert (report.rows, report.accuracy) == (local.rows, local.accuracy)
    assert report.log_loss == pytest.approx(local.log_loss, rel=1e-12)


@pytest.mark.filterwarnings("ignore:about 99")
def test_a_sample_is_named_as_such(spark, monkeypatch):
    monkeypatch.setattr(table_pass, "MAX_SAMPLE_ROWS", 400)
    table = mixed()
    frame = in_partitions(spark, table, 3)
    model = deciban.train(frame, target="diagnosis", roles=ROLES)
    assert "400 of" in model.held_out.measured
    assert "drawn at random" in model.held_out.measured
    assert deciban.evaluate(frame, model=deciban.train(table, target="diagnosis", roles=ROLES)).rows <= 400


def test_a_discriminative_learner_learns_a_sample_and_says_so(spark, monkeypatch):
    table = mixed().drop_columns(["note", "w"])
    frame = in_partitions(spark, table, 3)
    whole = deciban.train(frame, target="diagnosis", learner="logistic", judge=False)
    local = deciban.train(table, target="diagnosis", learner="logistic", judge=False)
    np.testing.assert_allclose(whole.predict_proba(table).column(0), local.predict_proba(table).column(0), atol=1e-4)
    monkeypatch.setattr(table_pass, "MAX_SAMPLE_ROWS", 200)
    with pytest.warns(DecibanWarning, match="fitted on this machine to 800 of 2 9.. rows, drawn at random"):
        deciban.train(frame, target="diagnosis", learner="logistic", judge=False)


@pytest.mark.parametrize(("setting", "name"), [({"folds": "loo"}, "loo"), ({"groups": "patient"}, "groups=")])
def test_what_needs_all_rows_on_one_machine_is_refused(spark, setting, name):
    with pytest.raises(InputError, match=f"{name}.*lie on many"):
        deciban.evaluate(in_partitions(spark, mixed(100), 2), target="diagnosis", **setting)
    with pytest.raises(InputError, match=r"one machine.*Hint"):
        deciban.dependence(in_partitions(spark, mixed(100), 2), target="diagnosis")
