"""Classes and columns whose names are whole numbers keep their type."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import deciban
from deciban.errors import InputError
from deciban.training.evaluate import Split
from tests.cli.terminal import done

RNG = np.random.default_rng(0)
Y = np.arange(60) % 3
NUMBERED = pd.DataFrame({0: RNG.normal(Y, 0.3), 1: RNG.normal(size=60), 2: np.array(["a", "b", "c"])[Y], 3: Y})
NAMED = pd.DataFrame({"x": NUMBERED[0], "z": NUMBERED[1], "c": NUMBERED[2], "y": Y})


@pytest.fixture(scope="module")
def model():
    return deciban.train(NAMED, target="y", judge=False)


def test_pandas_frames_have_a_column_for_each_class_as_it_is(model):
    proba = model.predict_proba(NAMED)
    assert proba.columns.tolist() == [0, 1, 2]
    assert proba.columns.dtype == np.int64
    assert model.predict_log_proba(NAMED).columns.tolist() == [0, 1, 2]
    assert (proba.idxmax(axis=1) == model.predict(NAMED)).all()
    assert model.predict(NAMED).dtype == np.int64
    assert model.predict(NAMED[:0]).dtype == np.int64


def test_booleans_and_texts_keep_their_type_too():
    frame = NAMED.assign(y=Y > 0)
    model = deciban.train(frame, target="y", judge=False)
    assert model.predict_proba(frame).columns.tolist() == [False, True]
    texts = deciban.train(NAMED.assign(y=Y.astype(str)), target="y", judge=False)
    assert texts.predict_proba(NAMED).columns.tolist() == ["0", "1", "2"]
    assert texts.predict(NAMED)[0] == "0"


def test_other_frames_have_texts_as_names_and_integers_as_predictions(model):
    assert model.predict_proba(pl.from_pandas(NAMED)).columns == ["0", "1", "2"]
    assert model.predict(pl.from_pandas(NAMED)).dtype == pl.Int64
    table = pa.Table.from_pandas(NAMED)
    assert model.predict_proba(table).column_names == ["0", "1", "2"]
    assert model.predict(table).type == pa.int64()
    undecided = model.predict(table, reject=1e-9)
    assert undecided.type == pa.int64()
    assert undecided.null_count


def test_whole_numbers_of_a_csv_file_are_whole_numbers(tmp_path):
    path = tmp_path / "t.csv"
    NAMED.to_csv(path, index=False)
    model = deciban.train(path, target="y", judge=False)
    assert model.classes == [0, 1, 2]
    assert (model.predict(NAMED) == Y).mean() > 0.9
    assert model.predict(path).read_all().schema.field("y").type == pa.int64()
    assert model.predict_proba(NAMED).columns.tolist() == [0, 1, 2]
    assert model.priors[0] == pytest.approx(1 / 3)
    for costs in ({(1, 0): 9.0}, {("1", "0"): 9.0}):
        assert model.predict(NAMED, costs=costs).dtype == np.int64
    report = deciban.evaluate(path, target="y", folds=3)
    assert report.threshold("1", recall=0.5).probability == report.threshold(1, recall=0.5).probability
    assert report.to_dict()["classes"] == [0, 1, 2]


@pytest.mark.parametrize("labels", [["007", "7", "8"], ["0", "1", "x"], ["1.0", "2.0", "3"], ["+1", "2", "3"]])
def test_other_texts_of_a_csv_file_stay_texts(labels, tmp_path):
    path = tmp_path / "t.csv"
    NAMED.assign(y=np.array(labels)[Y]).to_csv(path, index=False)
    model = deciban.train(path, target="y", judge=False)
    assert model.classes == sorted(labels)
    assert set(model.predict(NAMED)) <= set(labels)


def test_a_class_that_is_no_number_makes_all_of_them_texts(tmp_path):
    path = tmp_path / "t.csv"
    NAMED.to_csv(path, index=False)
    model = deciban.train(path, target="y", judge=False)
    model.add(NAMED.assign(y="01"))
    assert model.classes == ["0", "01", "1", "2"]


def test_commands_write_whole_numbers(tmp_path):
    NAMED.to_csv(tmp_path / "t.csv", index=False)
    done("train", tmp_path / "t.csv", "--target", "y", "--no-judge", "-o", tmp_path / "m.deciban")
    lines = done("predict", tmp_path / "m.deciban", tmp_path / "t.csv", "--json").stdout.splitlines()
    assert isinstance(json.loads(lines[0])["prediction"], int)
    explained = json.loads(done("explain", tmp_path / "m.deciban", tmp_path / "t.csv", "--json").stdout)
    assert all(isinstance(row[key], int) for row in explained for key in ("prediction", "truth", "for", "against"))
    done("predict", tmp_path / "m.deciban", tmp_path / "t.csv", "-o", tmp_path / "out.parquet")
    assert pd.read_parquet(tmp_path / "out.parquet")["prediction"].dtype == np.int64


@pytest.mark.parametrize("target", [3, np.int64(3), "3"])
def test_columns_of_a_pandas_frame_may_be_numbered(target, model):
    numbered = deciban.train(NUMBERED, target=target, judge=False)
    assert list(numbered.roles) == ["0", "1", "2"]
    np.testing.assert_allclose(numbered.predict_proba(NUMBERED), model.predict_proba(NAMED))
    predictions = numbered.predict(NUMBERED.drop(columns=3))
    assert predictions.name == 3
    assert predictions.tolist() == model.predict(NAMED).tolist()
    assert numbered.explain(NUMBERED, rows=1).features == ["0", "1", "2"]
    assert numbered.add(NUMBERED).forget(NUMBERED).classes == [0, 1, 2]


def test_all_arguments_that_name_columns_take_numbers():
    weighted = NUMBERED.assign(w=1.0).rename(columns={"w": 4})
    settings = {"target": 3, "roles": {0: "binned"}, "weights": 4}
    model = deciban.train(weighted, **settings, judge=False)
    assert model.roles["0"] == "binned"
    assert model.weights == "4"
    joined = deciban.train(NUMBERED, target=3, blocks=[[0, 1]], judge=False)
    assert joined.columns[0].block == ("0", "1")
    assert deciban.evaluate(weighted, **settings, folds=3).rows == 60
    assert deciban.evaluate(weighted, model=model, weights=4).rows == 60
    assert (
        deciban.evaluate(NUMBERED.assign(g=Y // 2).rename(columns={"g": 5}), target=3, groups=5, folds=2).rows == 60
    )
    assert deciban.learning_curve(NUMBERED, target=3).target == "3"
    assert deciban.dependence(NUMBERED, target=3) is not None


def test_groups_and_the_role_of_an_order_take_numbers_everywhere():
    assert Split(3, 2).column == ("groups", "2")
    task = Split.of(3, None, 1).plan(NUMBERED, target=3, roles={1: "number"})
    assert {column.name: column.role for column in task.columns}["1"] == "number"
    grouped = NUMBERED.assign(g=np.arange(60) // 10).rename(columns={"g": 5})
    found = deciban.compare(grouped, target=3, groups=5, folds=2, learners=["bayes"], curve=False)
    assert found.names == ["naive Bayes"]


def test_a_target_that_is_no_name_is_refused():
    for target in (1.5, True, None, ("y",)):
        with pytest.raises(InputError, match="target names a column"):
            deciban.train(NAMED, target=target)
    with pytest.raises(InputError, match="has no column '9'"):
        deciban.train(NUMBERED, target=9)
    with pytest.raises(InputError, match="two columns named '3'"):
        deciban.train(pd.concat([NUMBERED, NAMED[["x"]].rename(columns={"x": "3"})], axis=1), target=3)


def test_an_estimator_takes_a_frame_with_numbered_columns():
    estimator = deciban.NaiveBayes().fit(NUMBERED[[0, 1, 2]], Y)
    assert (estimator.predict(NUMBERED[[0, 1, 2]]) == Y).mean() > 0.9
    assert estimator.explain(NUMBERED[[0, 1, 2]]).features == ["0", "1", "2"]
    given = deciban.NaiveBayes(roles={0: "binned"}).fit(NUMBERED[[0, 1, 2]], Y)
    assert given.roles_["0"] == "binned"
    joined = deciban.NaiveBayes(blocks=[[0, 1]]).fit(NUMBERED[[0, 1, 2]], Y)
    assert set(joined.roles_.values()) == {"number", "category"}
