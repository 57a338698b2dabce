"""`choose` and alpha="auto" on tables, against models that were trained for each setting and each fold."""

import numpy as np
import pyarrow as pa
import pytest

import deciban
from deciban.errors import DecibanError, InputError
from deciban.metrics.choice import Choice, Setting, SettingComparison
from deciban.metrics.scorecard import Scorecard
from deciban.validation.splits import StratifiedAssigner
from tests.tables.clinic import patients
from tests.tables.reviews import reviews

FOLDS = 4


def assign_folds(table, target):
    """The fold of each row that has a class: classes in order of appearance."""
    labels = table.column(target).to_pylist()
    seen = list(dict.fromkeys(label for label in labels if label is not None))
    return StratifiedAssigner(FOLDS).assign(
        np.array([-1 if label is None else seen.index(label) for label in labels])
    )


def refit(table, target, **settings):
    """Return the report on models that were trained without each fold, with the roles that all rows have."""
    fold, card = assign_folds(table, target), None
    for f in range(FOLDS):
        learned, held = (table.filter(pa.array((fold == f) == is_held)) for is_held in (False, True))
        model = deciban.train(learned, target=target, judge=False, **settings)
        classes = [str(label) for label in model.classes]
        scores = model.predict_log_proba(held.drop_columns([target])).to_pandas().to_numpy()
        labels = held.column(target).to_pylist()
        truth = np.array([classes.index(label) if label in classes else -1 for label in labels])
        has = truth >= 0
        fold_card = Scorecard.of(scores[has], truth[has])
        card = fold_card if card is None else card + fold_card
    return card.report(classes)


def find_result(choice, **arguments):
    results = [each for each in choice.results if each.setting.estimator == "train"]
    (only,) = [each for each in results if dict(each.setting.arguments) == arguments]
    return only


@pytest.fixture(scope="module")
def clinic():
    table = patients(160)
    return table.filter(pa.array([label is not None for label in table.column("diagnosis").to_pylist()]))


@pytest.fixture(scope="module")
def choice(clinic):
    return deciban.choose(clinic, target="diagnosis", folds=FOLDS)


@pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning")
def test_a_pseudo_count_that_is_chosen_is_chosen_without_the_fold(clinic):
    exact = refit(clinic, "diagnosis", alpha="auto")
    report = deciban.evaluate(clinic, target="diagnosis", folds=FOLDS, alpha="auto")
    assert report.log_loss == pytest.approx(exact.log_loss, rel=1e-9)
    assert report.accuracy == exact.accuracy
    assert report.log_loss != deciban.evaluate(clinic, target="diagnosis", folds=FOLDS, alpha=1.0).log_loss


@pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning")
@pytest.mark.parametrize(
    "result",
    [
        {},
        {"alpha": 0.1},
        {"alpha": 1.0},
        {"numbers": "binned", "alpha": 3.0},
        {"numbers": "number", "prior": "uniform"},
        {"numbers": "number", "parameter_prior": 10.0},
    ],
    ids=str,
)
def test_every_setting_is_scored_as_models_that_were_trained_with_it(choice, clinic, result):
    exact, entry = refit(clinic, "diagnosis", **result), find_result(choice, **result)
    assert entry.report.log_loss == pytest.approx(exact.log_loss, rel=1e-9)
    assert entry.report.accuracy == exact.accuracy
    assert entry.report.calibration_error == pytest.approx(exact.calibration_error, rel=1e-9)


def test_differences_are_paired_row_by_row():
    rng = np.random.default_rng(0)
    ways = [rng.dirichlet([1, 1, 1], 60) for _ in range(3)]
    codes, weight, comparison = rng.integers(0, 3, 60), rng.random(60) + 0.5, SettingComparison(["a", "b", "c"])
    settings = [Setting({}), Setting({"alpha": 0.1}), Setting({"alpha": 3.0})]
    for part in (slice(0, 25), slice(25, 60)):
        each = ((s, np.log(p[part])) for s, p in zip(settings, ways))
        comparison.add_fold(each, codes[part], weight[part], np.ones(3, dtype=bool))
    result = comparison.choice("so")
    losses = {str(s): -np.log(p[np.arange(60), codes]) for s, p in zip(settings, ways)}
    best = losses[str(result.results[0].setting)]
    n = weight.sum() ** 2 / (weight**2).sum()
    for entry in result.results:
        gap = losses[str(entry.setting)] - best
        mean = np.average(gap, weights=weight)
        assert entry.difference == pytest.approx(mean, abs=1e-12)
        error = np.sqrt(np.average((gap - mean) ** 2, weights=weight) / (n - 1))
        assert entry.error == pytest.approx(error, abs=1e-9)


def test_the_best_is_the_way_with_least_to_tell_among_those_that_are_as_good(choice):
    assert choice.results[0].difference == 0
    assert [e.report.log_loss for e in choice.results] == sorted(e.report.log_loss for e in choice.results)
    as_good = [dict(e.setting.arguments) for e in choice.results if e.difference <= e.error]
    assert {} in as_good
    assert as_good[0] != {}
    assert (choice.best, choice.estimator) == ({}, "train")
    deciban.train(patients(60), target="diagnosis", judge=False, **choice.best)


def compare_settings(*ways):
    """The choice among settings, each with p(truth) of every row."""
    comparison, codes = SettingComparison(["a", "b"]), np.zeros(len(ways[0][1]), dtype=int)
    comparison.add_fold(
        ((s, np.log(np.column_stack([p, 1 - p]))) for s, p in ways), codes, np.ones(len(codes)), np.ones(2, bool)
    )
    return comparison.choice("so")


def test_less_to_tell_counts_among_equals_only():
    p = np.random.default_rng(3).uniform(0.6, 0.9, 80)
    nudge = np.where(np.arange(80) % 2 == 0, 0.99, 1.012)  # up and down by about as much
    two = {"alpha": 3.0, "prior": "uniform"}
    result = compare_settings((Setting({}), p - 0.3), (Setting({"alpha": 3.0}), p * nudge), (Setting(two), p * 1.002))
    assert dict(result.results[0].setting.arguments) == two
    assert result.best == {"alpha": 3.0}


def test_settings_that_are_not_printed_are_counted():
    p = np.random.default_rng(3).uniform(0.6, 0.9, 80)
    others = [(Setting({"alpha": float(i)}), p - 0.01 * i) for i in range(1, 14)]
    assert "… and 1 more setting\n" in str(compare_settings((Setting({}), p), *others[:-1]))
    assert "… and 2 more settings\n" in str(compare_settings((Setting({}), p), *others))


def test_settings_that_change_nothing_are_left_out_and_counted(clinic):
    p = np.random.default_rng(3).uniform(0.6, 0.9, 80)
    result = compare_settings((Setting({}), p), (Setting({"alpha": 3.0}), p), (Setting({"alpha": 0.1}), p - 0.2))
    assert [dict(each.setting.arguments) for each in result.results] == [{}, {"alpha": 0.1}]
    assert len(result.notes) == 1
    assert result.notes[0].startswith("1 setting")
    labels = np.array(clinic.column("diagnosis").to_pylist())
    even = np.sort(np.concatenate([np.flatnonzero(labels == label)[:40] for label in np.unique(labels)]))
    result = deciban.choose(
        clinic.take(even).select(["smoker", "code", "diagnosis"]), target="diagnosis", folds=FOLDS
    )
    assert not any(
        "prior" in each.setting.arguments for each in result.results
    )  # as many rows of each class: uniform
    assert result.notes[-1].startswith(f"{len(result.results)} settings")


def test_settings_that_mean_nothing_for_a_table_are_not_tried(clinic):
    numbers = clinic.select(["age", "dose", "diagnosis"])
    result = deciban.choose(numbers, target="diagnosis", folds=FOLDS, numbers="number")
    assert {name for each in result.results for name in each.setting.arguments} <= {"parameter_prior", "prior"}
    assert all(each.setting.estimator == "train" for each in result.results)


@pytest.mark.parametrize(
    ("covariance", "shrinkage"), [("full", None), ("tied", 0.3), ("diagonal", "oas"), ("identity", None)], ids=str
)
def test_shapes_of_covariance_are_those_of_gaussian_bayes(clinic, covariance, shrinkage):
    table = clinic.select(["age", "dose", "visits", "diagnosis"]).drop_null()
    choice = deciban.choose(table, target="diagnosis", folds=FOLDS)
    result = {"covariance": covariance, **({} if shrinkage is None else {"shrinkage": shrinkage})}
    (entry,) = [
        e for e in choice.results if e.setting.estimator == "GaussianBayes" and dict(e.setting.arguments) == result
    ]
    X, y = (
        np.column_stack([table.column(name).to_numpy() for name in ("age", "dose", "visits")]),
        table["diagnosis"].to_numpy(),
    )
    fold, card = assign_folds(table, "diagnosis"), Scorecard.empty(2)
    for f in range(FOLDS):
        model = deciban.GaussianBayes(**result).fit(X[fold != f], y[fold != f])
        truth = np.searchsorted(model.classes_, y[fold == f])
        card += Scorecard.of(model.predict_log_proba(X[fold == f]), truth)
    assert entry.report.log_loss == pytest.approx(card.report(["ill", "well"]).log_loss, rel=1e-9)


@pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning")
@pytest.mark.parametrize(
    "result",
    [
        {"event": "bernoulli"},
        {"event": "complement", "alpha": "auto"},
        {"idf": True, "alpha": 0.1},
        {"event": "complement", "idf": True},
    ],
    ids=str,
)
def test_one_text_is_also_tried_under_the_events_of_a_text_classifier(result):
    texts, labels = texts_of(60)
    table = pa.table({"text": texts, "label": labels})
    choice = deciban.choose(table, target="label", roles={"text": "text"}, folds=FOLDS)
    (entry,) = [
        e for e in choice.results if e.setting.estimator == "TextClassifier" and dict(e.setting.arguments) == result
    ]
    fold, y, card = assign_folds(table, "label"), np.array(labels), None
    for f in range(FOLDS):
        model = deciban.TextClassifier(**result).fit(np.array(texts)[fold != f], y[fold != f])
        truth = np.searchsorted(model.classes_, y[fold == f])
        scored = Scorecard.of(model.predict_log_proba(np.array(texts)[fold == f]), truth)
        card = scored if card is None else card + scored
    assert entry.report.log_loss == pytest.approx(card.report(model.classes_.tolist()).log_loss, rel=1e-9)


@pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning")
def test_presence_of_words_is_tried_from_their_counts():
    texts, labels = texts_of(60)
    table = pa.table({"text": texts, "other": ["a", "b", "c"] * 20, "label": labels})
    choice = deciban.choose(table, target="label", roles={"text": "text"}, folds=FOLDS)
    (entry,) = [e for e in choice.results if [*e.setting.arguments] == ["words"]]
    exact = refit(table, "label", roles={"text": "text"}, words=deciban.Words(values="presence"))
    assert entry.setting.arguments["words"].values == "presence"
    assert entry.report.log_loss == pytest.approx(exact.log_loss, rel=1e-9)
    assert not any(e.setting.estimator == "TextClassifier" for e in choice.results)


def texts_of(n):
    """Texts of reviews, and three classes."""
    table = reviews(n, missing=False)
    return table.column("text").to_pylist(), table.column("country").to_pylist()


def test_what_is_given_is_not_varied(clinic):
    settings = {"alpha": 0.5, "numbers": "binned", "prior": "uniform", "parameter_prior": 2.0}
    result = deciban.choose(clinic, target="diagnosis", folds=2, **settings)
    assert [str(each.setting) for each in result.results] == ["defaults"]
    assert result.best == {}


def test_groups_stay_together(clinic):
    table = clinic.append_column("house", pa.array([f"h{i % 7}" for i in range(clinic.num_rows)]))
    result = {"target": "diagnosis", "folds": 3, "groups": "house", "alpha": 0.5, "numbers": "binned"}
    choice, report = deciban.choose(table, **result), deciban.evaluate(table, **result)
    assert find_result(choice).report.log_loss == pytest.approx(report.log_loss, rel=1e-9)


def test_it_is_described_in_words_and_as_json(choice):
    text = str(choice)
    assert "defaults" in text
    assert "→" in text
    assert f"{FOLDS}-fold" in text
    result = choice.to_dict()
    assert len(result["settings"]) == len(choice.results)
    assert result["settings"][0]["difference"] == 0
    assert isinstance(choice, Choice)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"folds": 1}, "at least 2"),
        ({"folds": "loo"}, "whole number"),
        ({"groups": "nobody"}, "nobody"),
        ({"alpha": "often"}, "'auto'"),
        ({"alpha": -1}, "≥ 0"),
        ({"target": "none"}, "none"),
    ],
    ids=str,
)
def test_bad_settings_are_refused_with_the_reason(clinic, settings, words):
    with pytest.raises(DecibanError, match=words):
        deciban.choose(clinic, **{"target": "diagnosis", **settings})


def test_one_class_and_no_rows_are_refused():
    with pytest.raises(InputError, match="one class"):
        deciban.choose({"x": ["a", "b"] * 5, "y": ["k"] * 10}, target="y")
    with pytest.raises(InputError, match="no rows"):
        deciban.choose(pa.table({"x": pa.array([], pa.string()), "y": pa.array([], pa.string())}), target="y")


def test_a_model_with_chosen_pseudo_counts_goes_through_a_file_and_learns_on(clinic, tmp_path):
    model = deciban.train(clinic.slice(0, 100), target="diagnosis", alpha="auto", judge=False)
    model.save(tmp_path / "m.deciban")
    loaded = deciban.load(tmp_path / "m.deciban")
    assert loaded.options.alpha == "auto"
    assert loaded.pseudo_counts == model.pseudo_counts
    loaded.add(clinic.slice(100))
    roles = dict(model.roles)
    whole = deciban.train(clinic, target="diagnosis", alpha="auto", judge=False, roles=roles)
    assert loaded.pseudo_counts == whole.pseudo_counts != model.pseudo_counts
    assert loaded.forget(clinic.slice(100)).pseudo_counts == model.pseudo_counts
    other = deciban.train(clinic, target="diagnosis", alpha=1.0, judge=False, roles=roles)
    with pytest.raises(DecibanError, match="alpha"):
        loaded + other


def test_like_takes_the_choosing_over(clinic):
    model = deciban.train(clinic, target="diagnosis", alpha="auto", judge=False)
    other = deciban.train(clinic.slice(0, 80), target="diagnosis", like=model, judge=False)
    assert other.options.alpha == "auto"
    assert (model + other).pseudo_counts != model.pseudo_counts


def test_a_table_with_one_row_of_each_class_is_refused():
    with pytest.raises(InputError, match="the rows of each class are all in one fold"):
        deciban.choose({"x": [1.0, 2.5], "y": ["p", "q"]}, target="y")
