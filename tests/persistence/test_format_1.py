"""Files of format 1 are read for ever, and predict as they did when they were written."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import deciban
from deciban import persistence
from tests.persistence.fixture import (
    NEW_PATIENTS,
    PATIENTS,
    bounded_predictions,
    calibrated_predictions,
    fitted_predictions,
    predictions,
    rows,
    table_predictions,
    text_predictions,
)

HERE = Path(__file__).parent
EXPECTED = json.loads((HERE / "format-1" / "expected.json").read_text())
TABLES = json.loads((HERE / "format-1" / "expected-tables.json").read_text())
TEXTS = json.loads((HERE / "format-1" / "expected-texts.json").read_text())
JOINED = json.loads((HERE / "format-1" / "expected-joined.json").read_text())
CALIBRATED = json.loads((HERE / "format-1" / "expected-calibrated.json").read_text())
FITTED = json.loads((HERE / "format-1" / "expected-fitted.json").read_text())
SHRUNK = json.loads((HERE / "format-1" / "expected-shrunk.json").read_text())
BOUNDED = json.loads((HERE / "format-1" / "expected-bounded.json").read_text())
CASES = pd.DataFrame({"temperature °C": [36.8, 39.0, np.nan], "pulse": [65.0, 91.0, 80.0]})

PREDICTED = ["well", "flu", "well"]
PROBABILITY = [
    [1.015356551748029e-07, 0.9999998984643449],
    [1.0, 3.947833156840151e-21],
    [0.3465871226093095, 0.6534128773906905],
]


def test_the_file_tells_who_wrote_it():
    contents = persistence.read(HERE / "format-1.deciban")
    assert (contents.format, contents.library) == (1, "0.1.0")
    assert contents.header["estimator"] == "GaussianBayes"


def test_the_file_gives_the_predictions_it_must_give():
    model = deciban.load(HERE / "format-1.deciban")
    assert model.predict(CASES).tolist() == PREDICTED
    np.testing.assert_allclose(model.predict_proba(CASES), PROBABILITY, rtol=1e-9)
    assert model.ledger_.rows.tolist() == [6.0, 6.0]


def test_the_file_goes_on_learning():
    model = deciban.load(HERE / "format-1.deciban")
    model.partial_fit(CASES, ["well", "flu", "flu"])
    assert model.ledger_.rows.tolist() == [8.0, 7.0]
    model.forget(CASES, ["well", "flu", "flu"])
    np.testing.assert_allclose(model.predict_proba(CASES), PROBABILITY, rtol=1e-9)


@pytest.mark.parametrize("name", EXPECTED)
def test_every_kind_of_model_is_read(name):
    model = deciban.load(HERE / "format-1" / f"{name}.deciban")
    result = predictions(model)
    np.testing.assert_allclose(result.pop("joint"), EXPECTED[name]["joint"], rtol=1e-9)
    assert result == {key: EXPECTED[name][key] for key in result}


@pytest.mark.parametrize("name", SHRUNK)
def test_files_without_a_shrinkage_target_are_shrunk_towards_one_variance(name):
    model = deciban.load(HERE / "format-1" / f"{name}.deciban")
    np.testing.assert_allclose(predictions(model)["joint"], SHRUNK[name]["joint"], rtol=1e-9)
    X, y = rows(model), model.classes_
    model.partial_fit(X, y).forget(X, y)  # solved again, with the same target
    np.testing.assert_allclose(predictions(model)["joint"], SHRUNK[name]["joint"], rtol=1e-6)
    assert model.get_params()["shrinkage_target"] == "spherical"


@pytest.mark.parametrize("name", TABLES)
def test_every_kind_of_table_model_is_read(name):
    result = table_predictions(deciban.load(HERE / "format-1" / f"{name}.deciban"))
    np.testing.assert_allclose(result.pop("joint"), TABLES[name]["joint"], rtol=1e-9)
    assert result == {key: TABLES[name][key] for key in result}


@pytest.mark.parametrize("name", JOINED)
def test_every_kind_of_model_with_joined_columns_is_read(name):
    result = table_predictions(deciban.load(HERE / "format-1" / f"{name}.deciban"))
    np.testing.assert_allclose(result.pop("joint"), JOINED[name]["joint"], rtol=1e-9)
    assert result == {key: JOINED[name][key] for key in result}


def test_a_table_model_goes_on_learning():
    model = deciban.load(HERE / "format-1" / "table.deciban")
    more = pd.DataFrame({**NEW_PATIENTS, "weight": [1.0, 2.0, 1.0, 1.0], "state": ["well", "flu", "well", None]})
    model.add(more)
    assert model.ledger.rows.tolist() == [7.5, 7.0]
    model.forget(more)
    np.testing.assert_allclose(table_predictions(model)["joint"], TABLES["table"]["joint"], rtol=1e-9)


def test_a_table_model_tells_where_it_comes_from():
    model = deciban.load(HERE / "format-1" / "table.deciban")
    assert (model.target, model.weights, model._target_type) == ("state", "weight", "string")
    assert (model.origin.rows_read, model.origin.rows_without_class) == (12, 1)
    assert model.quality["rows"] == 10
    assert "temperature °C" in str(model.describe())


def test_a_table_model_counted_what_the_table_holds():
    rows = pd.DataFrame(PATIENTS).query("weight > 0")
    ledger = deciban.load(HERE / "format-1" / "table.deciban").ledger
    by_name = {block.kind: (block, part) for block, part in zip(ledger.schema.blocks, ledger.parts)}
    block, part = by_name["levels"]
    j = block.names.index("pain")
    expected = rows.groupby(["state", "pain"])["weight"].sum().unstack(fill_value=0.0)[list(block.levels[j])]
    assert part.tables()[j].tolist() == expected.to_numpy().tolist()
    assert ledger.rows.tolist() == rows.groupby("state")["weight"].sum().tolist()


@pytest.mark.parametrize("name", TEXTS)
def test_every_kind_of_model_of_texts_is_read(name):
    result = text_predictions(deciban.load(HERE / "format-1" / f"{name}.deciban"))
    np.testing.assert_allclose(result.pop("log_proba"), TEXTS[name]["log_proba"], rtol=1e-9, atol=1e-12)
    assert result == {key: TEXTS[name][key] for key in result}


@pytest.mark.parametrize("name", CALIBRATED)
def test_every_kind_of_calibration_is_read(name):
    result = calibrated_predictions(deciban.load(HERE / "format-1" / f"{name}.deciban"))
    for key in ("proba", "other priors"):
        np.testing.assert_allclose(result.pop(key), CALIBRATED[name][key], rtol=1e-9, atol=1e-12)
    assert result == {key: CALIBRATED[name][key] for key in result}


@pytest.mark.parametrize("name", FITTED)
def test_every_discriminative_model_is_read(name):
    predictions = fitted_predictions(deciban.load(HERE / "format-1" / f"{name}.deciban"))
    np.testing.assert_allclose(predictions["log_proba"], FITTED[name]["log_proba"], rtol=1e-12, atol=1e-12)
    assert predictions["classes"] == FITTED[name]["classes"]


@pytest.mark.parametrize("name", BOUNDED)
def test_every_bounded_model_is_read(name):
    model = deciban.load(HERE / "format-1" / f"{name}.deciban")
    np.testing.assert_allclose(bounded_predictions(model)["log_proba"], BOUNDED[name]["log_proba"], rtol=1e-9)
    assert model.options.bounded
    assert model.roles["grade"] == "flag"
