"""A model that is evaluated on the very rows it learned says so, whatever their order and format."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import deciban
from deciban.errors import DecibanWarning
from deciban.model import learned_rows
from tests.tables import clinic

TABLE = clinic.patients()
SETTINGS = {"target": "diagnosis", "judge": False}
WORDS = r"these 29\d rows were learned by this model: the figures are not held out. Hint: --target diagnosis"


@pytest.fixture(scope="module")
def model():
    return deciban.train(TABLE, **SETTINGS)


def noticed(model, rows):
    """The share that an evaluation reports, which warns of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = deciban.evaluate(rows, model=model)
    messages = [str(warning.message) for warning in caught if "learned by this model" in str(warning.message)]
    assert len(messages) == (report.learned_share is not None)
    assert report.to_dict().get("learned_share") == report.learned_share
    return report.learned_share


@pytest.mark.parametrize("kind", clinic.SOURCES)
def test_the_learned_rows_are_recognised_from_every_source(model, kind, tmp_path):
    source = clinic.SOURCES[kind](TABLE, tmp_path)
    with pytest.warns(DecibanWarning, match=WORDS):
        report = deciban.evaluate(source, model=model)
    if kind == "xlsx":  # a workbook has 16 digits of a number, so that the last bit of some differs
        assert report.learned_share > 0.5
    else:
        assert report.learned_share == 1.0
        assert "rows were learned by this model: the figures are not held out" in str(report)


def test_they_are_recognised_in_any_order_from_a_saved_model(model, tmp_path):
    model.save(tmp_path / "m.deciban")
    frame = TABLE.to_pandas().sample(frac=1.0, random_state=0)
    assert noticed(deciban.load(tmp_path / "m.deciban"), frame[frame.columns[::-1]]) == 1.0


def test_other_rows_are_not(model):
    assert noticed(model, clinic.patients(seed=1)) is None
    assert noticed(model, clinic.patients(40, seed=2)) is None


def test_cross_validation_reports_no_share():
    report = deciban.evaluate(TABLE, target="diagnosis", folds=2)
    assert report.learned_share is None
    assert "learned_share" not in report.to_dict()


def test_each_source_is_recognised_after_it_was_added(model):
    days = [clinic.patients(200, seed=seed) for seed in range(10, 30)]
    grown = deciban.train(days[0], target="diagnosis", like=model)
    for day in days[1:]:
        grown.add(day)
    assert noticed(grown, days[0]) == noticed(grown, days[7]) == 1.0
    merged = grown + deciban.train(TABLE, target="diagnosis", like=model)
    assert noticed(merged, TABLE) == noticed(merged, days[3]) == 1.0
    grown.forget(days[7])
    assert noticed(grown, days[7]) is None
    assert noticed(grown, days[8]) == 1.0


def test_a_model_that_forgot_its_rows_is_held_out():
    model = deciban.train(TABLE, **SETTINGS).add(clinic.patients(seed=4))
    assert noticed(model.forget(TABLE), TABLE) is None


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_a_part_of_the_learned_rows_among_others_is_estimated(share):
    learned, other = clinic.patients(2000, seed=5).to_pandas(), clinic.patients(2000, seed=6).to_pandas()
    model = deciban.train(learned, **SETTINGS)
    n = round(2000 * share)
    found = noticed(model, pd.concat([other[n:], learned[:n]]))
    assert found == pytest.approx(share, abs=0.25)
    with pytest.warns(DecibanWarning, match=r"about \d\d % of these 1 9\d\d rows were learned"):
        deciban.evaluate(pd.concat([other[n:], learned[:n]]), model=model)


def test_a_sample_of_the_learned_rows_is_noticed():
    learned = clinic.patients(1000, seed=7).to_pandas()
    model = deciban.train(learned, **SETTINGS)
    assert noticed(model, learned.sample(500, random_state=0)) > 0.7


def test_after_some_rows_were_forgotten_the_others_are_noticed(model):
    learned = clinic.patients(400, seed=8)
    model = deciban.train(learned, **SETTINGS).forget(learned.slice(0, 3))
    assert 0.7 < noticed(model, learned) < 1


def test_rows_that_are_equal_by_chance_are_not_taken_for_learned_ones():
    rng = np.random.default_rng(0)

    def draw(n):
        return {"a": rng.choice(["x", "y"], n), "b": rng.choice(["x", "y", "z"], n), "y": rng.choice(["p", "q"], n)}

    rows = draw(500)
    model = deciban.train(rows, target="y", judge=False)
    assert noticed(model, draw(500)) is None
    assert noticed(model, rows) == 1.0


def test_texts_are_recognised(tmp_path):
    texts = [f"{'orbit moon' if i % 2 else 'puck goal'} number {i} " + "word " * (i % 50) for i in range(80)]
    rows = {"text": texts, "group": ["space" if i % 2 else "hockey" for i in range(80)]}
    model = deciban.train(rows, target="group", judge=False)
    assert noticed(model, rows) == 1.0
    assert noticed(model, {**rows, "text": [text.replace("number", "count") for text in texts]}) is None
    frame = pd.DataFrame(rows)
    frame.loc[3, "group"] = None
    assert 0.7 < noticed(model, frame) < 1


def test_rows_without_weight_are_not_among_the_learned_ones():
    table = TABLE.append_column("w", [np.arange(clinic.N) % 3])
    model = deciban.train(table, weights="w", **SETTINGS)
    used = table.filter(np.arange(clinic.N) % 3 > 0)
    assert noticed(model, used) == 1.0


def test_the_first_rows_of_a_large_source_are_compared(model, monkeypatch):
    monkeypatch.setattr(learned_rows, "MAX_HASHED_ROWS", 100)
    trained = deciban.train(TABLE, **SETTINGS)
    assert trained.origin.learned.n_rows == 100
    assert noticed(trained, TABLE) == 1.0


@pytest.mark.thorough(reason="trains many models, or large ones: seconds")
def test_the_sketch_has_a_bounded_size(model):
    grown = deciban.train(TABLE, target="diagnosis", like=model)
    for seed in range(70):
        grown = grown + deciban.train(clinic.patients(20, seed), target="diagnosis", like=model)
    assert len(grown.origin.learned.sources) == learned_rows.MAX_SOURCES
    assert len(grown.origin.learned.buckets) == learned_rows.N_BUCKETS


def test_a_model_file_of_an_earlier_version_is_evaluated_without_a_comparison(tmp_path):
    model = deciban.train(TABLE, **SETTINGS)
    model.save(tmp_path / "new.deciban")
    assert noticed(deciban.load(tmp_path / "new.deciban"), TABLE) == 1.0
    model.origin = replace(model.origin, learned=None)  # as such files have none
    model.save(tmp_path / "old.deciban")
    old = deciban.load(tmp_path / "old.deciban")
    assert old.origin.learned is None
    assert noticed(old, TABLE) is None
