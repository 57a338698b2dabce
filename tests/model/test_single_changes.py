"""Single changes flip the prediction, and no smaller change of that number does."""

import numpy as np
import pytest

import deciban
from deciban.errors import InputError
from deciban.model.single_changes import ChangeSearch, find_single_changes, read_typed_row


@pytest.fixture(scope="module")
def clinic():
    rng = np.random.default_rng(3)
    sick = rng.random(400) < 0.5
    return {
        "temperature": np.where(sick, 38.9, 36.8) + 0.5 * rng.standard_normal(400),
        "age": rng.integers(1, 90, 400),
        "cough": np.where(rng.random(400) < np.where(sick, 0.9, 0.2), "dry", "none"),
        "note": np.where(sick, "fever and chills", "a routine check"),
        "state": np.where(sick, "sick", "well"),
    }


@pytest.fixture(scope="module")
def model(clinic):
    return deciban.train(clinic, target="state", roles={"note": "skip", "temperature": "number"}, judge=False)


def predict(model, row, **changed):
    return model.predict({name: [value] for name, value in {**row, **changed}.items()})[0]


def test_each_change_flips_the_prediction_and_a_smaller_one_does_not(model):
    row = {"temperature": 37.9, "age": 40, "cough": "none"}
    before = predict(model, row)
    changes = find_single_changes(model, {name: [value] for name, value in row.items()})
    assert {change.column for change in changes} >= {"temperature", "cough"}
    assert [change.size for change in changes] == sorted(change.size for change in changes)
    for change in changes:
        assert change.before == row[change.column]
        assert predict(model, row, **{change.column: change.after}) == change.prediction != before
        p = model.predict_proba({k: [v] for k, v in {**row, change.column: change.after}.items()})[0]
        assert change.probability == pytest.approx(p.max(), rel=1e-12)
    low, high = model.ranges["temperature"]
    found = next(change for change in changes if change.column == "temperature")
    assert found.size == pytest.approx(abs(found.after - 37.9) / (high - low))
    nearer = found.after - np.sign(found.after - 37.9) * 0.002 * (high - low)
    assert predict(model, row, temperature=nearer) == before


def test_the_boundary_of_equal_gaussians_is_in_their_middle():
    x = np.r_[np.linspace(-1, 1, 51), np.linspace(1, 3, 51)]
    model = deciban.train(
        {"x": x, "k": ["a"] * 51 + ["b"] * 51}, target="k", roles={"x": "number"}, judge=False, structure="naive"
    )
    (change,) = find_single_changes(model, {"x": [0.3]})
    assert change.after == pytest.approx(1.0, abs=0.01)
    assert (change.prediction, change.before) == ("b", 0.3)


def test_whole_numbers_stay_whole():
    rows = {"n": [float(i % 20) for i in range(200)], "k": ["low" if i % 20 < 10 else "high" for i in range(200)]}
    model = deciban.train(rows, target="k", roles={"n": "binned"}, judge=False)
    (change,) = find_single_changes(model, {"n": [3]})
    assert change.after == int(change.after)
    assert predict(model, {"n": change.after}) == "high"
    assert predict(model, {"n": change.after - 1}) == "low"


def test_a_missing_cell_is_filled_and_a_missing_column_is_one(model):
    changes = find_single_changes(model, {"temperature": [None], "age": [30]})
    filled = {change.column: change for change in changes}
    assert filled["temperature"].before is None
    assert filled["temperature"].size == 1.0
    assert filled["cough"].before is None


def test_a_word_is_removed(clinic):
    rows = {"note": ["win a prize now", "lunch at noon"] * 20, "k": ["spam", "ham"] * 20}
    model = deciban.train(rows, target="k", roles={"note": "text"}, judge=False)
    changes = find_single_changes(model, {"note": ["prize at lunch for the win"]})
    assert [(change.word, change.prediction) for change in changes if change.word] == [
        (change.word, predict(model, {"note": change.after})) for change in changes
    ]
    assert all(change.word not in change.after.split() for change in changes)


def test_nothing_flips_a_row_that_is_certain():
    rows = {"x": ["p", "q"] * 30, "y": ["u"] * 60, "k": ["a", "b"] * 30}
    model = deciban.train(rows, target="k", roles={"x": "skip", "y": "category"}, judge=False)
    assert find_single_changes(model, {"y": ["u"]}) == []


def test_true_and_false_and_levels_that_are_numbers_are_changed_in_their_own_type():
    rows = {"f": [True, False] * 30, "g": [1, 2, 1, 3] * 15, "k": ["a", "b"] * 30}
    model = deciban.train(rows, target="k", roles={"f": "flag", "g": "category"}, judge=False)
    changes = find_single_changes(model, {"f": [True], "g": [1]})
    for change in changes:
        row = {"f": True, "g": 1, change.column: change.after}
        assert predict(model, row) == change.prediction
        assert type(change.after) in (bool, int, float)


def test_a_row_that_is_not_there_is_an_error(model):
    with pytest.raises(InputError, match="has no row 3"):
        find_single_changes(model, {"temperature": [37.0, 38.0]}, 2)


def test_a_typed_row_has_every_column_that_the_model_reads(model):
    row = read_typed_row(model, {"temperature": [37.5], "other": ["x"]})
    assert row == {"temperature": 37.5, "age": None, "cough": None}


def test_levels_of_any_spelling_are_tried_for_a_row_with_a_number():
    rows = {"g": ["1", "x", "1", "1.2.3"] * 15, "k": ["a", "b"] * 30}
    model = deciban.train(rows, target="k", roles={"g": "category"}, judge=False)
    (change,) = find_single_changes(model, {"g": [1]})
    assert (change.column, change.before, change.prediction) == ("g", 1, "b")
    assert change.after in ("x", "1.2.3")


def test_a_number_whose_range_overflows_is_not_changed(model):
    search = ChangeSearch(model, read_typed_row(model, {"temperature": [37.9], "age": [40], "cough": ["none"]}))
    search._ranges = {**search._ranges, "temperature": (-1.7e308, 1.7e308)}
    assert "temperature" not in {change.column for change in search.change_numbers()}
