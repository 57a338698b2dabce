"""Weights are counts: a row of weight 2 is two rows. Survey weights have no unit: only their ratios count."""

import warnings
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import pytest

import deciban
from deciban.errors import DecibanWarning, InputError, SchemaError
from deciban.model.table_summaries import merge_summaries
from deciban.persistence.summary_bytes import dump_summary, load_summary
from deciban.sources.source import open_source
from deciban.training.table_pass import choose_sample_size, plan_summary
from deciban.training.task import plan
from tests.cli.terminal import call, done

N = 240
WORDS = ["quiet", "room", "lift", "view", "noise", "bus"]


def survey(n=N, seed=0):
    """A table with every role; the weights are those of a survey in which some had a small chance to be asked."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.3
    texts = [" ".join(rng.choice(WORDS, 5, p=[0.3, 0.1, 0.1, 0.1, 0.2, 0.2] if y else [1 / 6] * 6)) for y in ill]
    x = rng.normal(ill * 0.8, 1).round(2)
    return pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.1, np.nan, x),
            "pay": rng.exponential(1 + ill).round(2),
            "town": rng.choice(list("abcdefgh"), n),
            "smokes": rng.random(n) < 0.3 + 0.2 * ill,
            "visits": rng.poisson(2 + ill),
            "said": texts,
            "y": np.where(ill, "ill", "well"),
            "w": rng.lognormal(0, 0.8, n),
        }
    )


TABLE, NEW = survey(), survey(100, seed=1).drop(columns=["y", "w"])
PLAIN = TABLE.drop(columns="w")
SETTINGS = [
    {},
    {"structure": "tan", "judge": False},
    {"alpha": "auto", "judge": False},
    {"learner": "aode", "judge": False},
    {"learner": "logistic"},
    {"learner": "evidence"},
    {"learner": "boosted", "judge": False},
    {"blocks": [["x", "pay"]], "covariance": "mixed", "roles": {"said": "skip"}, "judge": False},
    {"prior": "smoothed", "calibrate": "platt", "roles": {"said": "skip"}},
]


def learn(table=TABLE, **settings):
    return deciban.train(table, target="y", **settings)


def probabilities(model, rows=NEW):
    return np.asarray(model.predict_proba(rows))


def assert_same(model, other, tolerance=1e-9):
    assert np.abs(probabilities(model) - probabilities(other)).max() < tolerance
    assert (model.roles, model.structure, str(model.calibration)[:5]) == (
        other.roles,
        other.structure,
        str(other.calibration)[:5],
    )
    if model.held_out is not None:
        one, two = model.held_out, other.held_out
        for name in ("weight", "effective_rows", "log_loss", "log_loss_error", "accuracy", "roc_auc"):
            assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-9), name
        assert one.confusion == pytest.approx(two.confusion, rel=1e-9)
        assert one.intervals["accuracy"] == pytest.approx(two.intervals["accuracy"], rel=1e-9)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_unit_of_survey_weights_changes_nothing(settings):
    first = learn(survey_weights="w", **settings)
    for factor in (1000, 1e-6):
        assert_same(learn(TABLE.assign(w=TABLE.w * factor), survey_weights="w", **settings), first)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_equal_survey_weights_are_none(settings):
    unweighted = learn(PLAIN, **settings)
    for weight in (1000.0, 1e-6):
        assert_same(learn(PLAIN.assign(w=weight), survey_weights="w", **settings), unweighted)


def test_survey_weights_of_the_classes_change_the_prior_alone():
    weights = np.where(TABLE.y == "ill", 1.0, 50.0)
    share = (weights * (TABLE.y == "ill")).sum() / weights.sum()
    unweighted = learn(PLAIN, judge=False).with_priors({"ill": share, "well": 1 - share})
    assert_same(learn(PLAIN.assign(w=weights), survey_weights="w", judge=False), unweighted)


def test_a_class_counts_as_many_rows_as_its_weights_are_worth():
    rows = [("a", "k", 3), ("a", "k", 1), ("b", "k", 2), ("a", "l", 5), ("b", "l", 5), ("b", "l", 20)]
    table = {"v": [v for v, *_ in rows] * 4, "y": [y for _, y, _ in rows] * 4, "w": [w for *_, w in rows] * 4}
    model = deciban.train(table, target="y", survey_weights="w", roles={"v": "category"}, judge=False, alpha=0.0)
    for k, label in enumerate("kl"):
        w = [Fraction(w) for _, y, w in rows if y == label] * 4
        factor = sum(w) / sum(each**2 for each in w)
        of_a = 4 * sum(Fraction(w) for v, y, w in rows if (v, y) == ("a", label)) * factor
        assert model._scorer.complete.parts[0].table[k].tolist() == pytest.approx([of_a, sum(w) * factor - of_a])
    total = [w for *_, w in rows]
    assert model.describe().weight == pytest.approx(4 * sum(total) ** 2 / sum(w * w for w in total))
    assert model.priors["k"] == pytest.approx(6 / 36)


def test_models_of_survey_weights_add_forget_and_are_saved(tmp_path):
    whole = learn(survey_weights="w", judge=False)
    first, rest = (learn(part, survey_weights="w", like=whole, judge=False) for part in (TABLE[:150], TABLE[150:]))
    first.save(tmp_path / "first.deciban")
    loaded = deciban.load(tmp_path / "first.deciban")
    assert loaded.ledger == first.ledger
    assert loaded.options == first.options
    assert_same(first + rest, whole)
    assert_same(loaded.add(TABLE[150:]), whole)
    assert_same(loaded.forget(TABLE[150:]), first)
    assert_same(whole - rest, first)
    assert (whole * 0.5).describe().weight == pytest.approx(whole.describe().weight / 2)  # decay: half of the rows
    counts = learn(TABLE.assign(w=1), weights="w", like=whole, judge=False)
    with pytest.raises(SchemaError, match="survey_weights"):
        whole + counts
    with pytest.raises(InputError, match="survey weights and counts of rows"):
        whole.ledger + counts.ledger


def test_reports_of_survey_weights_have_no_unit():
    other = TABLE.assign(w=TABLE.w * 1000)
    model = learn(survey_weights="w", judge=False)
    for given in ({"target": "y", "folds": 3}, {"model": model}):
        one, two = (deciban.evaluate(table, survey_weights="w", **given) for table in (TABLE, other))
        assert one.weight == pytest.approx(one.effective_rows)
        assert one.confusion == pytest.approx(two.confusion)
        assert (one.log_loss, one.weight) == pytest.approx((two.log_loss, two.weight))
    found = [
        (
            deciban.compare(table, target="y", survey_weights="w", learners=["bayes", "aode"], folds=3).best.name,
            deciban.choose(table, target="y", survey_weights="w", folds=3).best,
            str(deciban.dependence(table.drop(columns="said"), target="y", survey_weights="w").pairs[0]),
        )
        for table in (TABLE, other)
    ]
    assert found[0][:2] == found[1][:2]
    with pytest.raises(InputError, match="folds=100"):
        deciban.evaluate(TABLE, target="y", survey_weights="w", folds="loo")
    with pytest.raises(InputError, match="not both"):
        learn(weights="w", survey_weights="w")


def test_a_calibration_to_learned_rows_knows_no_unit():
    table = TABLE.drop(columns="said")
    settings = {"survey_weights": "w", "numbers": "number", "alpha": 1.0, "structure": "naive", "judge": False}
    one, two = (
        learn(rows, **settings).calibrate(rows, method="temperature", learned=True)
        for rows in (table, table.assign(w=TABLE.w * 1000))
    )
    assert_same(one, two)


def test_survey_weights_of_a_database_are_those_of_its_rows():
    connection = duckdb.connect().register("survey", TABLE)
    connection.execute("CREATE TABLE t AS SELECT * FROM survey")
    settings = {"survey_weights": "w", "structure": "naive", "roles": {"said": "skip"}, "judge": False}
    assert_same(deciban.train(connection, table="t", target="y", **settings), learn(**settings))


def test_parts_of_a_table_with_survey_weights_add_up_to_the_whole():
    """As on machines of Spark: each part is counted where it lies, and its summary is sent as bytes."""
    task = plan(TABLE, target="y", survey_weights="w")
    counted = plan_summary(task, 5, choose_sample_size(task.layout, 1))
    parts = [
        load_summary(task.layout, dump_summary(counted.summarise(open_source(rows), i)))
        for i, rows in enumerate((TABLE[:100], TABLE[100:]))
    ]
    total, folds = merge_summaries(*parts).total_and_folds
    assert total.squares == pytest.approx([(TABLE.w[TABLE.y == label] ** 2).sum() for label in ("ill", "well")])
    assert sum(fold.squares for fold in folds) == pytest.approx(total.squares)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_survey_weights_whose_squares_no_double_holds_are_refused(unit):
    with pytest.raises(InputError, match="rescale"):
        learn(TABLE.assign(w=TABLE.w * unit), survey_weights="w", judge=False)


def test_counts_as_survey_weights_are_worse_than_none_on_noise():
    """Noise of weight 1 000 is learned as a thousand times as many rows: nothing is smoothed."""
    rng = np.random.default_rng(2)
    noise = pd.DataFrame(rng.integers(0, 12, (300, 30)).astype(str)).add_prefix("c")
    noise["y"], noise["w"] = rng.choice(["a", "b"], 300), 1000.0
    held = noise[150:]
    loss = {
        name: deciban.evaluate(
            held.drop(columns="w"), model=deciban.train(table, target="y", judge=False, **given)
        ).log_loss
        for name, table, given in (
            ("none", noise[:150].drop(columns="w"), {}),
            ("survey", noise[:150], {"survey_weights": "w"}),
            ("counts", noise[:150], {"weights": "w"}),
        )
    }
    assert loss["survey"] == pytest.approx(loss["none"], rel=1e-9)
    assert loss["counts"] > 1.4 * loss["survey"]


@pytest.mark.parametrize(
    ("weights", "asks"),
    [
        (np.full(N, 1000.0), True),
        (np.full(N, 2.0), True),
        (TABLE.w, True),
        (np.arange(N) % 300 + 50, True),
        (np.ones(N), False),
        (np.arange(N) % 7, False),
    ],
    ids=["large", "alike", "fractions", "of a population", "ones", "counts"],
)
def test_weights_that_look_like_those_of_a_survey_are_asked_about(weights, asks):
    for given, is_asked in (({"weights": "w"}, asks), ({"survey_weights": "w"}, False)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            learn(TABLE.assign(w=weights), judge=False, structure="naive", **given)
        said = [str(each.message) for each in caught if issubclass(each.category, DecibanWarning)]
        assert any("--survey-weights w" in message for message in said) == is_asked


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"alpha": "auto"},
        {"structure": "tan"},
        {"structure": "blocks"},
        {"learner": "aode"},
        {"learner": "logistic", "C": 1.0},
        {"blocks": [["x", "pay"]]},
    ],
    ids=str,
)
def test_a_row_of_weight_two_is_two_rows(settings):
    counts = np.arange(N) % 4
    repeated = PLAIN.loc[PLAIN.index.repeat(counts)].reset_index(drop=True)
    settings = {"roles": {"said": "text"}, "judge": False, **settings}  # texts that recur look like a category
    assert_same(learn(PLAIN.assign(w=counts), weights="w", **settings), learn(repeated, **settings), tolerance=1e-8)


def test_the_command_takes_survey_weights(tmp_path):
    path, model = tmp_path / "survey.csv", tmp_path / "survey.deciban"
    TABLE.to_csv(path, index=False)
    done("train", str(path), "--target", "y", "--survey-weights", "w", "--no-judge", "-o", str(model))
    assert "survey weights" in done("inspect", str(model)).stdout
    done("evaluate", str(path), "--model", str(model), "--survey-weights", "w")
    asked = call("train", str(path), "--target", "y", "--weights", "w", "--no-judge", "-o", str(model))
    assert "Survey weights? --survey-weights w" in " ".join(asked.stderr.split())


def test_a_row_of_weight_0_is_absent_from_the_choice_of_roles():
    """Without them the numbers of few values are levels."""
    x, y = np.tile([1.0, 2.0, 3.0], 40), np.tile(["a", "b"], 60)
    table = pd.DataFrame(
        {"x": np.append(x, np.arange(9.5, 69.5)), "y": np.append(y, y[:60]), "w": [1] * 120 + [0] * 60}
    )
    model, whole = learn(table, weights="w"), learn(pd.DataFrame({"x": x, "y": y}))
    assert model.roles == whole.roles
    rows = table[["x"]]
    np.testing.assert_allclose(model.predict_proba(rows), whole.predict_proba(rows), rtol=1e-12)


def test_labels_of_rows_of_weight_0_are_no_classes():
    table = pd.DataFrame({"x": np.arange(600.0) % 7, "y": ["p", "q"] * 150 + [f"v{i}" for i in range(300)]})
    assert learn(table.assign(w=[1] * 300 + [0] * 300), weights="w").classes == ["p", "q"]


@pytest.mark.parametrize("argument", ["weights", "survey_weights"])
def test_a_column_of_weights_that_is_not_there_is_named(argument):
    with pytest.raises(InputError, match="no column 'nope' for the weights"):
        learn(PLAIN, **{argument: "nope"})
