"""Table models with fitted weights: what they support, what not, and their files."""

import json

import numpy as np
import pytest

import deciban
from deciban.errors import InputError, SchemaError, UndefinedError
from tests.tables.reviews import reviews
from tests.tables.test_blocks import people

LEARNERS = ["logistic", "evidence", "boosted"]
JUDGED = [
    *LEARNERS[:2],
    pytest.param("boosted", marks=pytest.mark.thorough(reason="trains many models, or large ones: seconds")),
]
"""Boosting in each of ten folds takes ten seconds."""


@pytest.fixture(scope="module", params=JUDGED)
def model(request):
    blocks = [["height", "weight"], ["hair", "eyes"]]
    return deciban.train(people(), target="group", blocks=blocks, learner=request.param)


@pytest.fixture(scope="module", params=LEARNERS)
def reader(request):
    return deciban.train(reviews(), target="verdict", learner=request.param, judge=False)


def test_a_model_states_who_has_learned_and_how(model):
    assert model.learner in LEARNERS
    assert model.account.learner == model.learner
    assert model.learner in repr(model)
    assert model.n_parameters == model.account.n_parameters > 0
    assert model.held_out.accuracy > 0.5
    assert deciban.train(people(), target="group", judge=False).account is None


def test_explanations_add_up_to_the_log_odds(model):
    rows = people().head(50)
    result = model.explain(rows)
    log_proba = np.sort(np.asarray(model.predict_log_proba(rows)), axis=1)
    odds = 10 / np.log(10) * (log_proba[:, -1] - log_proba[:, -2])
    assert result.total == pytest.approx(odds, abs=1e-9)
    parts = result.prior + result.evidence.sum(axis=1) + sum(result.extras.values())
    assert parts == pytest.approx(result.total, abs=1e-9)


def test_a_missing_cell_is_no_evidence(model):
    rows = people().head(3).assign(age=np.nan)
    result = model.explain(rows)
    assert result.evidence[:, list(result.features).index("age")] == pytest.approx(0.0)


def test_what_was_fitted_survives_a_file_to_the_last_bit(model, tmp_path):
    model.save(tmp_path / "m.deciban")
    again = deciban.load(tmp_path / "m.deciban")
    assert np.array_equal(again.predict_log_proba(people()), model.predict_log_proba(people()))
    assert repr(again.account) == repr(model.account)
    assert str(again.describe()) == str(model.describe())
    assert again.quality["accuracy"] == model.held_out.accuracy


def test_texts_survive_a_file_too(reader, tmp_path):
    reader.save(tmp_path / "m.deciban")
    again = deciban.load(tmp_path / "m.deciban")
    assert np.asarray(again.predict_log_proba(reviews())) == pytest.approx(
        np.asarray(reader.predict_log_proba(reviews())), abs=0
    )
    assert again.telltales("good", 3, "text") == reader.telltales("good", 3, "text")
    assert str(again.explain(reviews(), rows=1)) == str(reader.explain(reviews(), rows=1))


def test_telltales_are_words_of_their_class(reader):
    from tests.tables.reviews import BLAME, PRAISE

    assert {result.word for result in reader.telltales("good", 5, "text")} <= set(PRAISE)
    assert {result.word for result in reader.telltales("bad", 5, "text")} <= set(BLAME)


@pytest.mark.parametrize(
    "what",
    [
        lambda m: m.add(people()),
        lambda m: m.forget(people()),
        lambda m: m + m,
        lambda m: m - m,
        lambda m: m * 0.5,
        lambda m: deciban.train(people(), target="group", judge=False) + m,
        lambda m: m.score_samples(people()),
        lambda m: m.sample(3),
        lambda m: m.predict(people(), reject_novel=0.01),
    ],
)
def test_what_only_ledgers_and_densities_can_do_is_refused_and_changes_nothing(model, what):
    before = np.asarray(model.predict_log_proba(people()))
    with pytest.raises((UndefinedError, SchemaError), match="Hint"):
        what(model)
    assert np.array_equal(model.predict_log_proba(people()), before)


def test_other_priors_move_the_log_odds_by_their_own(model, tmp_path):
    rows = people().head(20)
    before, after = model.priors, {"a": 0.2, "b": 0.5, "c": 0.3}
    moved = model.with_priors(after)
    shift = np.log([after[k] / before[k] for k in model.classes])
    expected = np.asarray(model.predict_log_proba(rows)) + shift
    expected -= np.log(np.exp(expected).sum(axis=1, keepdims=True))
    assert np.asarray(moved.predict_log_proba(rows)) == pytest.approx(expected, abs=1e-9)
    moved.save(tmp_path / "m.deciban")
    again = deciban.load(tmp_path / "m.deciban")
    assert again.priors == pytest.approx(after)
    assert np.array_equal(again.predict_log_proba(rows), moved.predict_log_proba(rows))


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_prior_that_was_asked_for_is_that_of_the_model(learner):
    asked = {"target": "group", "learner": learner, "judge": False}
    usual, even = deciban.train(people(), **asked), deciban.train(people(), prior="uniform", **asked)
    rows = people().head(20)
    moved = np.asarray(usual.with_priors("uniform").predict_log_proba(rows))
    assert np.asarray(even.predict_log_proba(rows)) == pytest.approx(moved, abs=1e-9)
    assert list(even.priors.values()) == pytest.approx([1 / 3] * 3)


@pytest.mark.thorough(reason="trains many models, or large ones: seconds")
@pytest.mark.parametrize("learner", LEARNERS)
def test_probabilities_can_be_calibrated(learner, tmp_path):
    model = deciban.train(people(), target="group", learner=learner, calibrate="temperature")
    assert model.calibration is not None
    model.save(tmp_path / "m.deciban")
    again = deciban.load(tmp_path / "m.deciban")
    assert np.array_equal(again.predict_log_proba(people()), model.predict_log_proba(people()))


def test_average_evidence_is_that_of_the_rows_learned():
    rows = people(holes=False)
    model = deciban.train(rows, target="group", numbers="number", learner="logistic", C=1.0, judge=False)
    strengths = {result.feature: result.evidence for result in model.describe().strongest}
    codes, share = rows["group"].map({"a": 0, "b": 1, "c": 2}).to_numpy(), np.array(list(model.priors.values()))
    total = dict.fromkeys(strengths, 0.0)
    for k in range(3):
        mine = rows[codes == k]
        for l in set(range(3)) - {k}:
            result = model.explain(mine, classes=(model.classes[k], model.classes[l]))
            mean = dict(zip(result.features, np.asarray(result.evidence).mean(axis=0)))
            for name in total:
                total[name] += share[k] * share[l] / (1 - share[k]) * mean[name]
    assert strengths == pytest.approx(total, abs=1e-9)


def test_a_description_names_learner_evidence_weights_and_summaries(model):
    result = model.describe()
    assert str(model.account) in str(result)
    found = json.loads(json.dumps(result.to_dict()))
    assert found["account"]["learner"] == model.learner
    assert ("trust" in found["strongest"][0]) == (model.learner == "evidence")
    assert any(strength.summaries for strength in result.strongest)


def test_descriptions_summarise_weights_of_words():
    model = deciban.train(reviews(), target="verdict", learner="logistic", judge=False)
    text = next(result for result in model.describe().strongest if result.feature == "text")
    assert any("favours" in str(summary) and '"' in str(summary) for summary in text.summaries)


def test_an_unknown_level_and_an_absent_column_say_nothing(model):
    rows = people().head(5).assign(left="?")
    result = model.explain(rows)
    assert result.evidence[:, list(result.features).index("left")] == pytest.approx(0.0)
    fewer = people().head(5).drop(columns="age")
    assert len(model.predict(fewer, allow_missing_columns=True)) == 5
    with pytest.raises(InputError, match="age"):
        model.predict(fewer)


@pytest.mark.parametrize("learner", LEARNERS)
def test_pictures_of_such_models_are_drawn(learner):
    pytest.importorskip("matplotlib")
    from deciban import plots

    model = deciban.train(reviews(), target="verdict", learner=learner, judge=False)
    why = plots.evidence(model.explain(reviews(), rows=1))
    assert "stars" in {label.get_text().split(" ")[0] for label in why.get_yticklabels()}
    assert len(plots.telltales(model, column="text").axes) >= 2
    assert plots.densities(model).get_children()
    assert plots.nomogram(deciban.train(people(), target="group", learner=learner, judge=False)).get_children()


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_nomogram_has_the_scales_of_what_was_fitted(learner):
    pytest.importorskip("matplotlib")
    from deciban.plots.nomogram_scales import compute_scales

    rows = people(holes=False)
    model = deciban.train(rows, target="group", numbers="number", learner=learner, judge=False)
    result = model.explain(rows.head(1), classes=("a", "b"))
    found = compute_scales(model, ("a", "b"), 99)
    assert found.prior + result.evidence.sum() == pytest.approx(result.total[0])
    marks = {
        mark.text: mark.decibans
        for scale in found.columns
        if scale.name == "left"
        for mark in scale.branches[0].marks
    }
    left = result.evidence[0, list(result.features).index("left")]
    assert marks[str(rows["left"][0]).lower()] == pytest.approx(left)
    age = next(scale for scale in found.columns if scale.name == "age")
    assert age.low - 1e-9 <= result.evidence[0, list(result.features).index("age")] <= age.high + 1e-9
