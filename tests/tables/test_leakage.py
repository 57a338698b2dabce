"""No leakage into the evaluation: noise is not predicted, and nothing is read as something else."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import deciban
from deciban.errors import InputError
from deciban.sources.arrow_cells import LevelEncoder
from tests.export.models import SPELLINGS


def rng(seed=3):
    return np.random.default_rng(seed)


@pytest.mark.thorough(reason="trains many models, or large ones: seconds")
def test_noise_is_not_predicted():
    """Gaussians or bins are chosen with the labels, so the choice too must be made without the fold."""
    found, draw = [], rng()
    for _ in range(4):
        table = {**{f"x{j}": draw.normal(size=200) for j in range(150)}, "y": draw.choice(["a", "b"], 200)}
        model = deciban.train(table, target="y")
        assert deciban.evaluate(table, target="y").accuracy == model.held_out.accuracy
        found.append(model.held_out.accuracy)
    assert np.mean(found) == pytest.approx(0.5, abs=0.06)


def test_a_masked_value_is_missing():
    masked = np.ma.array([1.0, 2.0, 1e9, 4.0] * 10, mask=[0, 0, 1, 0] * 10)
    model = deciban.train({"x": masked, "y": ["a", "b"] * 20}, target="y", numbers="number")
    assert model.ledger.parts[0].mean.max() <= 4
    assert model.ledger.parts[0].weight.sum() == 30


def test_a_file_name_is_no_pattern_where_such_a_file_is_there(tmp_path):
    (tmp_path / "data[1].csv").write_text("x,y\n1,a\n2,b\n")
    (tmp_path / "data1.csv").write_text("x,y\n1,c\n2,d\n")
    assert deciban.train(tmp_path / "data[1].csv", target="y").classes == ["a", "b"]
    (tmp_path / "d*.jsonl").write_text('{"x":1,"y":"a"}\n{"x":2,"y":"b"}\n')
    (tmp_path / "dd.jsonl").write_text('{"x":1,"y":"c"}\n{"x":2,"y":"d"}\n')
    assert deciban.train(tmp_path / "d*.jsonl", target="y").classes == ["a", "b"]


def test_a_late_negative_value_only_means_that_a_column_is_no_count():
    draw = rng()
    x = np.r_[draw.poisson(2.0, 25_000), -1, draw.poisson(2.0, 100)]
    table = {"x": x, "y": np.where(draw.random(len(x)) < 0.5, "a", "b")}
    assert next(iter(deciban.train(table, target="y").roles.values())) in ("number", "binned")


def test_a_column_that_is_the_same_at_first_is_not_left_out(tmp_path):
    x = np.r_[np.zeros(21_000), rng().normal(size=500)]
    table = pa.table({"x": x, "y": np.where(np.arange(len(x)) % 2, "a", "b")})
    pa.csv.write_csv(table, tmp_path / "t.csv")
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    models = [deciban.train(tmp_path / f"t.{kind}", target="y") for kind in ("csv", "parquet")]
    assert models[0].roles == models[1].roles != {"x": "skip"}
    assert models[0].ledger == models[1].ledger


def test_given_priors_go_with_the_names_of_the_classes():
    first = {"x": [1.0, 2.0] * 10, "y": ["a", "b"] * 10}
    model = deciban.train(first, target="y", prior={"a": 0.9, "b": 0.1})
    assert deciban.train(first, target="y", like=model).priors == {"a": 0.9, "b": 0.1}
    with pytest.raises(InputError, match=r"'a', which is none of the classes|no prior is given"):
        deciban.train({"x": [1.0, 2.0] * 10, "y": ["b", "c"] * 10}, target="y", like=model)


def test_labels_of_another_kind_turn_all_of_them_into_texts():
    model = deciban.train({"x": [1.0, 2.0] * 10, "y": [0, 1] * 10}, target="y")
    assert model.classes == [0, 1]
    model.add({"x": [3.0], "y": ["zz"]})
    assert set(model.predict({"x": [1.0, 3.0]}).tolist()) <= {"0", "1", "zz"}


def test_numbered_classes_are_in_the_order_of_their_numbers():
    table = {"x": rng().normal(size=33), "y": [1, 2, 10] * 11}
    model = deciban.train(table, target="y")
    assert model.classes == [1, 2, 10]
    halves = [deciban.train({k: v[:15] for k, v in table.items()}, target="y", like=model) for _ in range(2)]
    assert (halves[0] + halves[1]).classes == [1, 2, 10]


@pytest.mark.parametrize("labels", [[True, False], [1.0, 2.5], [7, 8]])
def test_classes_are_named_by_the_labels_themselves(labels):
    table = {"x": rng().normal(size=20), "y": labels * 10}
    model = deciban.train(table, target="y", classes=labels)
    assert model.with_priors(dict(zip(labels, (0.5, 0.5)))).priors == dict(zip(sorted(labels), (0.5, 0.5)))
    assert model.explain(table, tuple(labels)).winner[0] == labels[0]


def test_true_and_numbers_mean_the_same_in_a_file_and_in_a_frame(tmp_path):
    frame = pd.DataFrame({"ok": [True, False] * 20, "n": [1.0, 2.0, 3.0, 1.0] * 10, "y": ["a", "b"] * 20})
    frame.to_csv(tmp_path / "t.csv", index=False)
    settings = {"target": "y", "roles": {"n": "category"}}
    text, typed = deciban.train(tmp_path / "t.csv", **settings), deciban.train(frame, **settings)
    expected = typed.predict_proba(frame)
    np.testing.assert_allclose(text.predict_proba(frame), expected, rtol=1e-12)
    text.add(frame)
    assert [len(levels) for levels in text.ledger.schema.blocks[0].levels] == [2, 3]


def flagged(spelling):
    yes, no = SPELLINGS[spelling]
    return {
        "ok": [yes, no, None] * 8,
        "side": ["l", "r"] * 12,
        "other": [yes, yes, no, no] * 6,
        "y": [yes, no, yes, no, no, no] * 4,
    }


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("learned", SPELLINGS)
def test_a_model_reads_every_spelling_of_the_booleans_that_it_has_learned(learned, spelling):
    rows, other = flagged(learned), flagged(spelling)
    model = deciban.train(rows, target="y", blocks=[["other", "side"]], judge=False)
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(rows))
    assert deciban.evaluate(other, model=model).accuracy == deciban.evaluate(rows, model=model).accuracy
    expected = deciban.train(rows, target="y", blocks=[["other", "side"]], judge=False).add(rows)
    model.add(other)
    assert model.ledger.schema == expected.ledger.schema
    assert model.ledger.rows.tolist() == expected.ledger.rows.tolist() == [32.0, 16.0]


def test_spellings_that_were_learned_as_two_levels_stay_two():
    names = LevelEncoder(["TRUE", "True", "FALSE"])
    assert names.encode(pa.array(["True", "TRUE", "False", "true", "no"])).tolist() == [1, 0, 2, 3, 2]
    assert names.encode(pa.array([True, False, None])).tolist() == [3, 2, -1]


def test_spellings_in_one_table_are_levels_however_it_is_split_into_batches():
    for batches in ([["TRUE", "true"]], [["TRUE"], ["true"]]):
        names = LevelEncoder(grows=True)
        assert [code for batch in batches for code in names.encode(pa.array(batch))] == [0, 1]


def test_other_priors_and_other_rows_make_old_figures_void():
    table = {"x": rng().normal(size=40), "y": ["a", "b"] * 20}
    model = deciban.train(table, target="y")
    assert model.quality is not None
    assert model.with_priors({"a": 0.01, "b": 0.99}).quality is None
    before = model.origin
    model.add({"x": [1.0, 2.0], "y": ["a", None]})
    assert (model.origin.rows_read, model.origin.rows_without_class) == (42, 1)
    model.forget({"x": [1.0, 2.0], "y": ["a", None]})
    assert (model.origin, model.quality) == (before, None)


def test_dates_are_read_by_the_clock_on_the_wall():
    """Midnight in Zurich is 22 hours of the day before in Greenwich."""
    when = pd.date_range("2020-06-01", periods=60, freq="D", tz="Europe/Zurich")
    frame = pd.DataFrame({"when": when, "text": when.map(lambda t: t.isoformat()), "y": ["a", "b"] * 30})
    roles = {"when": "date:month,weekday", "text": "date:month,weekday"}
    model = deciban.train(frame, target="y", roles=roles)
    result = model.explain(frame[:1])
    assert dict(zip(result.features, result.values[0])) == {
        "when.month": "06", "when.weekday": "Mon", "text.month": "06", "text.weekday": "Mon"
    }  # fmt: skip


def test_decimal_commas_are_numbers_where_something_else_parts_the_cells(tmp_path):
    lines = [f"{i % 7},{i % 10};{'NA' if i % 9 == 0 else f'{i},5'};{'ab'[i % 2]}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["x;z;y", *lines]))
    model = deciban.train(tmp_path / "t.csv", target="y", numbers="number")
    assert model.roles == {"x": "number", "z": "number"}
    assert model.ledger.parts[0].mean.max() < 40
    (tmp_path / "u.csv").write_text("\n".join(["x;y", *(f"{i},{i};{'ab'[i % 2]}" for i in range(60)), "1,2,3;a"]))
    assert deciban.train(tmp_path / "u.csv", target="y", roles={"x": "category"}).roles == {"x": "category"}
    assert "1,2,3" in str(deciban.train(tmp_path / "u.csv", target="y", roles={"x": "category"}).ledger.schema)


def test_marks_in_many_columns_cost_one_more_reading(tmp_path, monkeypatch):
    from deciban.sources.csv_files import Delimited

    rows = [",".join("NA" if (i + j) % 7 == 0 else str(i * j % 13 / 4) for j in range(40)) for i in range(50)]
    header = ",".join(f"x{j}" for j in range(40))
    (tmp_path / "t.csv").write_text("\n".join([f"{header},y", *(f"{r},{'ab'[i % 2]}" for i, r in enumerate(rows))]))
    readings = []
    read = Delimited._read
    monkeypatch.setattr(Delimited, "_read", lambda self, *a, **k: readings.append(1) or read(self, *a, **k))
    deciban.train(tmp_path / "t.csv", target="y", judge=False)
    assert len(readings) <= 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, t: deciban.train(t, target=1.5), "names a column"),
        (lambda m, t: m.with_priors([0.5]), "share for each of the 2 classes"),
        (lambda m, t: m.with_priors(0.5), "share for each of the 2 classes"),
        (lambda m, t: m.with_priors([0.5, None]), "share for each of the 2 classes"),
        (lambda m, t: m.sample(-1), "whole number n ≥ 0"),
        (lambda m, t: m.sample(2.5), "whole number n ≥ 0"),
        (lambda m, t: m.explain(t, rows=-1), "at least 1"),
        (lambda m, t: deciban.train({**t, "z": np.ones(40) * 1j}, target="y"), "'z' mixes types|complex"),
        (lambda m, t: deciban.evaluate(t, target="y", folds=1), "at least 2"),
        (lambda m, t: deciban.evaluate(t), "a target"),
    ],
)
def test_arguments_that_make_no_sense_are_refused_in_words(call, words):
    table = {"x": rng().normal(size=40), "y": ["a", "b"] * 20}
    with pytest.raises(InputError, match=words):
        call(deciban.train(table, target="y"), table)


def test_intervals_are_categories():
    frame = pd.DataFrame({"x": rng().normal(size=40), "y": ["a", "b"] * 20})
    frame["z"] = pd.cut(frame.x, 3)
    model = deciban.train(frame, target="y")
    assert model.roles["z"] == "category"
    assert len(model.predict(frame)) == 40


def test_the_column_at_fault_is_the_one_that_is_named():
    table = {"temp": [-1.0, 2.0] * 20, "n": [-1, 2] * 20, "y": ["a", "b"] * 20}
    with pytest.raises(InputError, match="column 'n' holds -1 in row 1; a count is never negative"):
        deciban.train(table, target="y", roles={"temp": "number", "n": "count"})
