"""Values that were not learned are named: levels, numbers outside the learned range, texts of unknown words."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import deciban
from deciban.errors import DecibanWarning, InputError
from deciban.model.learned_ranges import bound_ranges
from tests.tables import clinic

TABLE = clinic.patients()
SETTINGS = {"target": "diagnosis", "numbers": "number", "judge": False}


def fever(n=60):
    rng = np.random.default_rng(1)
    ill = np.arange(n) % 2 == 0
    return {
        "temperature": np.round(rng.normal(37 + 2 * ill, 0.4), 1),
        "visits": rng.poisson(1 + 2 * ill),
        "cough": np.where(rng.random(n) < 0.3 + 0.4 * ill, "dry", "none"),
        "note": [f"{'hot weak' if one else 'fine well'} patient {i % 7}" for i, one in enumerate(ill)],
        "state": np.where(ill, "ill", "well"),
    }


ROLES = {"temperature": "number", "visits": "count", "cough": "category", "note": "text"}
ODD = {"temperature": [375.0, 37.5], "visits": [2, 99], "cough": ["Dry", "dry"], "note": ["fine", "xyzzy plugh"]}


@pytest.fixture(scope="module")
def model():
    return deciban.train(fever(), target="state", roles=ROLES, judge=False)


def test_the_range_of_a_column_is_that_of_its_values(model):
    rows = fever()
    assert model.ranges == {name: (rows[name].min(), rows[name].max()) for name in ("temperature", "visits")}


@pytest.mark.parametrize("numbers", ["number", "binned", "auto"])
def test_the_range_follows_what_is_added_merged_and_forgotten(numbers, tmp_path):
    frame = TABLE.to_pandas().dropna(subset=["diagnosis"])
    age = frame["age"]
    settings = {"target": "diagnosis", "judge": False, "numbers": numbers}
    model = deciban.train(frame, **settings)
    typo = frame[:1].assign(age=999.0)
    assert model.ranges["age"] == (age.min(), age.max())
    assert model.add(typo).ranges["age"] == (age.min(), 999.0)
    model.save(tmp_path / "m.deciban")
    model = deciban.load(tmp_path / "m.deciban")
    assert model.ranges["age"] == (age.min(), 999.0)
    assert model.forget(typo).ranges["age"] == (age.min(), age.max())
    parts = [deciban.train(part, target="diagnosis", like=model) for part in (frame[:100], frame[100:][::-1])]
    assert (parts[0] + parts[1]).ranges == (parts[1] + parts[0]).ranges == model.ranges
    low, high = (parts[0] + parts[1] - parts[1]).ranges["age"]  # perhaps too wide, where many rows are forgotten
    assert age.min() <= low <= age[:100].min() <= age[:100].max() <= high <= age.max()
    assert (model * 0.5).ranges == model.ranges


def test_rows_without_weight_or_class_do_not_widen_the_range():
    frame = pd.DataFrame(fever()).assign(w=1.0)
    more = frame[:2].assign(temperature=500.0, w=[0.0, 1.0], state=["ill", None])
    model = deciban.train(pd.concat([frame, more]), target="state", weights="w", judge=False)
    assert model.ranges["temperature"] == (frame["temperature"].min(), frame["temperature"].max())


def test_the_statistics_bound_the_values_where_the_extremes_are_not_known(model):
    frame = TABLE.to_pandas().dropna(subset=["diagnosis"])
    for numbers, blocks in (("number", None), ("binned", None), ("number", [["age", "dose"]])):
        trained = deciban.train(frame, target="diagnosis", numbers=numbers, blocks=blocks, judge=False)
        bounds = bound_ranges(trained._layout, trained.ledger)
        for name, (low, high) in trained.ranges.items():
            assert bounds[name][0] <= low <= high <= bounds[name][1]
            assert bounds[name][1] - bounds[name][0] < 30 * frame[name].std()


def test_an_explanation_lists_the_values_that_were_not_learned(model):
    found = model.explain(ODD)
    low, high = model.ranges["temperature"]
    assert list(map(str, found.unseen[0])) == [
        f"temperature = 375: outside {low:g}–{high:g}",
        "cough = Dry: never seen",
    ]
    assert (found.unseen[0][0].low, found.unseen[0][0].high) == (low, high)
    assert [value.column for value in found.unseen[1]] == ["visits", "note"]
    assert str(found.unseen[1][1]) == "note = xyzzy plugh: no known word"
    assert found.text(0).endswith(f"  temperature = 375: outside {low:g}–{high:g}\n  cough = Dry: never seen")
    assert found[1].unseen == [found.unseen[1]]
    assert found[1:].unseen_values() == found.unseen[1]
    assert model.explain({**ODD, "temperature": [None, None]}).unseen[0][0].column == "cough"


def test_known_values_are_not_listed(model):
    rows = fever()
    assert not any(model.explain(rows).unseen)
    assert model.find_unseen(rows) == []
    blank = {**rows, "note": ["", "  ", None] * 20, "temperature": [np.nan] * 60, "cough": [None] * 60}
    assert not any(model.explain(blank).unseen)


def test_the_columns_with_values_that_were_not_learned_are_found(model):
    found = {column.column: column for column in model.find_unseen(ODD)}
    assert list(found) == ["temperature", "visits", "cough", "note"]
    assert found["temperature"].examples == [(1, "375")]
    assert found["temperature"].range == model.ranges["temperature"]
    assert (found["visits"].count, found["visits"].examples) == (1, [(2, "99")])
    assert str(found["cough"]) == "'cough' has 1 value never seen in training: Dry (row 1)"
    assert str(found["note"]) == "'note' has 1 text without a known word: row 2"


def test_levels_that_a_prediction_refuses_are_listed():
    rows = {"taste": ["sour", "sweet"] * 6, "kind": ["lemon", "plum"] * 6}
    model = deciban.train(rows, target="kind", unseen="error", judge=False)
    with pytest.raises(InputError, match="'Sour', which was never learned"):
        model.predict({"taste": ["Sour", "sweet"]})
    assert [str(column) for column in model.find_unseen({"taste": ["Sour", "sweet", "bitter"]})] == [
        "'taste' has 2 cells with values never seen in training: Sour (row 1), bitter (row 3)"
    ]
    assert model.options.unseen == "error"


def test_examples_are_different_values_with_their_first_rows(model):
    cough = ["wet", "wet", "dry", "Wet", None, "w\x1b[2J" + "e" * 100, "more"]
    rows = {**{name: [cells[0]] * 7 for name, cells in fever().items()}, "cough": cough}
    (found,) = model.find_unseen(rows)
    assert found.count == 5
    assert [row for row, _ in found.examples] == [1, 4, 6]
    assert str(found).endswith("…")
    assert "\x1b" not in str(found)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_one_row_with_an_unseen_level_is_warned_of(model, kind):
    row = {name: [cells[0]] for name, cells in fever().items()}
    with pytest.warns(DecibanWarning, match=r"'cough' has 1 value never seen in training: Dry \(row 1\)"):
        model.predict(kind({**row, "cough": ["Dry"]}))
    with pytest.warns(DecibanWarning, match="'note' has 1 text without a known word: row 1"):
        model.predict_proba(kind({**row, "note": ["xyzzy"]}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(kind(row))
    with pytest.warns(DecibanWarning, match="'temperature' has 1 value outside 36.2–39.8: 375"):
        model.predict(kind({**row, "temperature": [375.0]}))


def test_many_columns_with_unseen_levels_have_few_warnings():
    rng = np.random.default_rng(0)
    table = {f"c{j}": rng.choice(["a", "b"], 40) for j in range(30)}
    model = deciban.train({**table, "y": np.arange(40) % 2}, target="y", judge=False)
    with pytest.warns(DecibanWarning) as caught:
        model.predict({name: ["z"] for name in table})
    assert len(caught) == 6
    assert str(caught[-1].message) == "25 other columns with values that were not learned"


def test_parts_of_dates_and_combinations_are_named():
    n = 40
    table = {
        "day": pd.date_range("2024-01-01", periods=n, freq="D"),
        "sex": ["f", "m"] * (n // 2),
        "side": ["l", "l", "r", "l"] * (n // 4),
        "y": ["a", "b"] * (n // 2),
    }
    model = deciban.train(table, target="y", blocks=[["sex", "side"]], roles={"day": "date:month"}, judge=False)
    rows = {"day": pd.to_datetime(["2024-08-05"]), "sex": ["m"], "side": ["q"]}
    assert list(map(str, model.explain(rows).unseen[0])) == [
        "day.month = 08: never seen",
        "sex & side = m & q: never seen",
    ]


def test_fitted_models_list_them_too():
    model = deciban.train(fever(), target="state", roles=ROLES, learner="logistic", C=1.0, judge=False)
    assert [value.column for value in model.explain(ODD).unseen[0]] == ["temperature", "cough"]


def test_an_estimator_of_a_table_lists_them_too():
    rows = fever()
    labels = rows.pop("state")
    estimator = deciban.NaiveBayes(roles=ROLES).fit(rows, labels)
    assert [value.column for value in estimator.explain(ODD).unseen[0]] == ["temperature", "cough"]


def test_evaluating_a_model_on_other_spellings_is_warned_of(model):
    rows = {**fever(), "cough": ["Dry", "None"] * 30}
    with pytest.warns(DecibanWarning, match="not one of the 60 values in column 'cough'"):
        deciban.evaluate(rows, model=model)


def test_predictions_in_python_warn_of_values_outside_what_was_learned_where_they_are_asked_for():
    rows = {"x": [float(i % 17) for i in range(60)], "y": ["ab"[i % 2] for i in range(60)]}
    model = deciban.train(rows, target="y", judge=False, roles={"x": "number"})
    with pytest.warns(DecibanWarning, match="'x' has 1 value outside 0–16: 375") as caught:
        model.predict(pd.DataFrame({"x": [375.0]}))
    assert caught[0].filename == __file__


def test_a_sixth_column_is_named_too():
    names = [f"c{j}" for j in range(6)]
    rows = {name: ["u", "v", "w"] * 20 for name in names} | {"y": ["a", "b"] * 30}
    model = deciban.train(rows, target="y", judge=False)
    with pytest.warns(DecibanWarning) as caught:
        model.predict(pd.DataFrame({name: ["new"] for name in names}))
    assert [str(each.message)[1:3] for each in caught] == names
