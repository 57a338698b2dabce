"""`evaluate` in folds equals separate trainings: of mixed tables with missing values, weights and texts."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pytest

import deciban
from deciban.errors import DecibanWarning, InputError
from deciban.metrics.calibration_fit import calibrate
from deciban.text import Words
from deciban.training import evaluate
from deciban.validation import fold_models
from tests.tables.reviews import reviews
from tests.tables.stratified_folds import stratified

N = 120
ROLES = {"country": "category", "text": "text", "when": "skip", "place": "skip"}
CLASSES = ["bad", "good"]


def table(n=N, weighted=True, seed=4):
    """Reviews with a count and an odd quantity, some without a class, some without weight, of places and days."""
    rng = np.random.default_rng(seed)
    new_table = reviews(n, seed).drop_columns(["head"])
    good = np.array(new_table.column("verdict").to_pylist()) == "good"
    dose = np.exp(rng.normal(1.0 * good, 1.0))
    columns = {
        "visits": rng.poisson(2 + 2 * good).tolist(),
        "dose": [None if gone else x for x, gone in zip(dose.tolist(), rng.random(n) < 0.1)],
        "place": [f"p{i}" for i in rng.integers(0, 17, n)],
        "when": [datetime.date(2024, 1, 1) + datetime.timedelta(days=int(d)) for d in rng.integers(0, 60, n)],
    }
    for name, values in columns.items():
        new_table = new_table.append_column(name, pa.array(values))
    if weighted:
        new_table = new_table.append_column(
            "w", pa.array(rng.choice([0.5, 1.0, 2.0, 0.0], n, p=[0.4, 0.3, 0.2, 0.1]))
        )
    labels = [None if i % 11 == 3 else v for i, v in enumerate(new_table.column("verdict").to_pylist())]
    return new_table.set_column(new_table.schema.get_field_index("verdict"), "verdict", pa.array(labels))


def present(t):
    """Return which rows have a class and a weight."""
    result = np.array([label is not None for label in t.column("verdict").to_pylist()])
    return result & (np.array(t.column("w").to_pylist()) > 0) if "w" in t.column_names else result


def settings(t):
    return {"target": "verdict", "roles": ROLES, **({"weights": "w"} if "w" in t.column_names else {})}


def refit(t, learned, held):
    """Return ln p of the held-out rows by a training on the learned ones alone."""
    model = deciban.train(t.filter(pa.array(learned)), classes=CLASSES, judge=False, **settings(t))
    answer = model.predict_log_proba(t.filter(pa.array(held)))
    return np.stack([np.asarray(answer.column(i)) for i in range(2)], axis=1)


def assert_agrees(report, t, fold, earlier=False):
    """Assert that a report is the one of separate trainings; rows whose fold is −1 are in none."""
    expected = np.full((t.num_rows, 2), np.nan)
    for f in range(1 if earlier else 0, fold.max() + 1):
        rest = (fold >= 0) & ((fold < f) if earlier else (fold != f))
        expected[fold == f] = refit(t, rest, fold == f)
    rows = fold >= (1 if earlier else 0)
    truth = np.array(t.column("verdict").to_pylist())[rows]
    weight = np.array(t.column("w").to_pylist())[rows] if "w" in t.column_names else np.ones(rows.sum())
    scores = expected[rows]
    assert report.rows == rows.sum()
    assert report.truth.tolist() == truth.tolist()
    assert report.folds is None or report.folds.tolist() == fold[rows].tolist()
    np.testing.assert_allclose(report.log_proba, scores, rtol=1e-9, atol=1e-9)
    losses = -scores[np.arange(len(truth)), (truth == "good").astype(int)]
    hits = np.array(CLASSES)[scores.argmax(axis=1)] == truth
    assert report.log_loss == pytest.approx(np.average(losses, weights=weight), rel=1e-9)
    assert report.accuracy == pytest.approx(np.average(hits, weights=weight), rel=1e-12)


def shared_out(t, n_folds):
    """Each fold its share of every class."""
    labels = [label if result else None for label, result in zip(t.column("verdict").to_pylist(), present(t))]
    return stratified(labels, n_folds)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("n_folds", [3, 10])
def test_folds_are_separate_trainings(n_folds, weighted):
    t = table(weighted=weighted)
    assert_agrees(deciban.evaluate(t, folds=n_folds, calibrate="none", **settings(t)), t, shared_out(t, n_folds))


@pytest.mark.parametrize("weighted", [True, False])
def test_leaving_out_each_row_is_a_training_for_each_row(weighted):
    t = table(60, weighted)
    fold = np.full(t.num_rows, -1)
    fold[present(t)] = np.arange(present(t).sum())
    assert_agrees(deciban.evaluate(t, folds="loo", **settings(t)), t, fold)


def test_rows_left_out_in_small_pieces_are_the_same(monkeypatch):
    t = table(40)
    whole = deciban.evaluate(t, folds="loo", **settings(t))
    monkeypatch.setattr(fold_models, "LEDGERS_PER_BATCH", 7)
    monkeypatch.setattr("deciban.model.summarise_table.MAX_FOLD_CELLS", 2000)
    pieces = deciban.evaluate(t, folds="loo", **settings(t))
    np.testing.assert_allclose(pieces.log_proba, whole.log_proba, rtol=1e-9, atol=1e-9)


def test_rows_of_a_file_left_out_are_the_same(tmp_path):
    t = table(40).drop_columns(["when", "place"])
    pa.csv.write_csv(t, tmp_path / "t.csv")
    roles = {name: role for name, role in ROLES.items() if role != "skip"}
    result = {"target": "verdict", "weights": "w", "roles": roles, "folds": "loo"}
    file = deciban.evaluate(tmp_path / "t.csv", **result)
    np.testing.assert_allclose(file.log_proba, deciban.evaluate(t, **result).log_proba, rtol=1e-9, atol=1e-9)


def with_one_far_out(big, n=80):
    """Two columns of numbers; one row lies far from all others."""
    rng = np.random.default_rng(5)
    good = np.arange(n) % 2
    x = rng.normal(2.0 * good, 1.0 + good)
    x[7] = big
    return pa.table({"x": x, "z": rng.normal(1.0 * good, 1.0), "verdict": np.array(CLASSES)[good]})


FAR_OUT = {"bells": {"numbers": "number"}, "open": {}, "one bell": {"numbers": "number", "blocks": [["x", "z"]]}}


@pytest.mark.parametrize("way", FAR_OUT)
@pytest.mark.parametrize("big", [1e2, 1e8])
def test_a_row_far_out_leaves_nothing_behind_in_the_models_without_it(way, big):
    """The ledger without a fold is a sum; subtracted, an outlier left its rounding: 0.1 nats and more."""
    t, result = with_one_far_out(big), {"target": "verdict", **FAR_OUT[way]}
    plain = {**result, "calibrate": "none"}

    def separate(fold):
        out = np.full((t.num_rows, 2), np.nan)
        for f in range(fold.max() + 1):
            model = deciban.train(t.filter(pa.array(fold != f)), judge=False, **result)
            answer = model.predict_log_proba(t.filter(pa.array(fold == f)))
            out[fold == f] = np.stack([np.asarray(answer.column(i)) for i in range(2)], axis=1)
        return out

    in_ten = separate(shared_out(t, 10))
    np.testing.assert_allclose(deciban.evaluate(t, **plain).log_proba, in_ten, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(deciban.train(t, **plain).held_out.log_proba, in_ten, rtol=1e-9, atol=1e-9)
    alone = deciban.evaluate(t, folds="loo", **result).log_proba
    np.testing.assert_allclose(alone, separate(np.arange(t.num_rows)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_shapes_are_chosen_by_models_without_a_row_far_out(covariance):
    t = with_one_far_out(1e8)
    rows = np.stack([t.column(name).to_numpy() for name in "xz"], axis=1)
    results = deciban.choose(t, target="verdict").results
    found = next(way for way in results if way.setting.arguments == {"covariance": covariance})
    y = np.array(t.column("verdict").to_pylist())
    fold, losses = shared_out(t, 10), np.zeros(len(y))
    for f in range(10):
        model = deciban.GaussianBayes(covariance=covariance).fit(rows[fold != f], y[fold != f])
        result = model.predict_log_proba(rows[fold == f])
        losses[fold == f] = -result[np.arange(len(result)), np.searchsorted(CLASSES, y[fold == f])]
    assert found.report.log_loss == pytest.approx(losses.mean(), rel=1e-6)


@pytest.mark.parametrize("length", ["l1", "l2"])
@pytest.mark.parametrize("folds", [5, "loo"])
def test_the_length_of_a_text_is_that_of_the_words_known_without_its_fold(length, folds):
    t = table(60, weighted=False)
    result = {**settings(t), "words": Words(length=length)}
    report = deciban.evaluate(t, folds=folds, calibrate="none", **result)
    fold = shared_out(t, 5) if folds == 5 else np.full(t.num_rows, -1)
    if folds == "loo":
        fold[present(t)] = np.arange(present(t).sum())
    for f in range(fold.max() + 1):
        model = deciban.train(t.filter(pa.array((fold >= 0) & (fold != f))), classes=CLASSES, judge=False, **result)
        answer = model.predict_log_proba(t.filter(pa.array(fold == f)))
        expected = np.stack([np.asarray(answer.column(i)) for i in range(2)], axis=1)
        np.testing.assert_allclose(report.log_proba[fold[fold >= 0] == f], expected, rtol=1e-9, atol=1e-9)


def test_groups_stay_together_and_are_separate_trainings():
    t = table()
    rows, places = present(t), np.array(t.column("place").to_pylist())
    size = {place: int((places[rows] == place).sum()) for place in sorted(set(places[rows]))}
    capacity, where = [0] * 4, {}
    first = {place: i for i, place in reversed(list(enumerate(places[rows].tolist())))}
    for place in sorted(size, key=lambda p: (-size[p], first[p])):
        where[place] = capacity.index(min(capacity))
        capacity[where[place]] += size[place]
    fold = np.array([where[place] if result else -1 for place, result in zip(places, rows)])
    plain = {"target": "verdict", "weights": "w", "roles": without("place"), "calibrate": "none"}
    report = deciban.evaluate(t, folds=4, groups="place", **plain)
    assert_agrees(report, t, fold)


def without(name):
    return {column: role for column, role in ROLES.items() if column != name}


@pytest.mark.parametrize("kind", ["date", "number", "text", "text of numbers", "csv"])
def test_what_comes_later_is_scored_by_what_came_before(kind, tmp_path):
    t = table()
    days = np.array([(day - datetime.date(2024, 1, 1)).days for day in t.column("when").to_pylist()])
    rows = np.flatnonzero(present(t))
    begins = np.searchsorted(np.sort(days[rows]), days[rows])  # rows of one day begin where the first of them is
    fold = np.full(t.num_rows, -1)
    fold[rows] = begins * 5 // len(rows)
    order = {
        "number": days * 2.5,
        "text": [f"d{day:03}" for day in days],
        "text of numbers": [str(day) for day in days],
    }
    place = t.schema.get_field_index("when")
    source = t.set_column(place, "when", pa.array(order[kind])) if kind in order else t
    if kind == "csv":
        pa.csv.write_csv(t.set_column(place, "when", t.column("when").cast(pa.string())), tmp_path / "t.csv")
        source = tmp_path / "t.csv"
    roles = ROLES | {"when": "skip"}
    report = deciban.evaluate(source, folds=5, order="when", target="verdict", weights="w", roles=roles)
    assert_agrees(report, t, fold, earlier=True)
    assert "the first by none" in report.measured


def test_the_column_of_the_order_is_learned_from_as_training_does():
    """The hour decides the class, and is known only by the column of the order; its month is no feature."""
    when = pd.date_range("2026-01-01", periods=4000, freq="h").to_numpy()
    t = {"when": when, "noise": np.random.default_rng(0).normal(size=4000), "y": np.arange(4000) % 24 >= 12}
    kept, skipped = (
        deciban.evaluate(t, target="y", order="when", folds=3, roles=roles) for roles in ({}, {"when": "skip"})
    )
    assert kept.accuracy > 0.99
    assert skipped.accuracy < 0.6


def test_training_and_evaluating_use_the_same_folds():
    t = table()
    model = deciban.train(t, **settings(t))
    report = deciban.evaluate(t, **settings(t))
    assert model.held_out.log_loss == pytest.approx(report.log_loss, rel=1e-12)
    assert model.held_out.log_proba == pytest.approx(report.log_proba, rel=1e-9)


@pytest.mark.parametrize("method", ["auto", "temperature", "platt", "isotonic"])
@pytest.mark.parametrize("n_folds", [4, 10])
def test_calibrated_rows_are_scored_by_models_and_maps_without_their_fold(method, n_folds):
    t = table()
    plain = deciban.evaluate(t, folds=n_folds, calibrate="none", **settings(t))
    report = deciban.evaluate(t, folds=n_folds, calibrate=method, **settings(t))
    assert report.folds.tolist() == plain.folds.tolist()
    codes = np.searchsorted(CLASSES, plain.truth)
    weight = np.array(t.column("w").to_pylist())[present(t)]
    log_prior = np.log(np.bincount(codes, weight) / weight.sum())
    mended = calibrate(method, plain.log_proba, codes, weight, plain.folds, log_prior)
    np.testing.assert_allclose(report.log_proba, mended.log_posterior, rtol=1e-6, atol=1e-9)
    name = "" if mended.calibration is None else f", calibrated ({mended.calibration.method}) without it too"
    assert report.measured == plain.measured + name
    assert f"exact {n_folds}-fold" in report.measured


def test_training_and_evaluating_calibrate_alike():
    t = table()
    model = deciban.train(t, calibrate="platt", **settings(t))
    report = deciban.evaluate(t, calibrate="platt", **settings(t))
    assert "calibrated (platt)" in report.measured
    assert "calibrated (platt)" in model.held_out.measured
    assert report.log_proba == pytest.approx(model.held_out.log_proba, rel=1e-9)


def test_all_rows_are_scored_where_the_maps_are_fitted_to_a_sample(monkeypatch):
    t = table(weighted=False)
    settings = {"groups": "place", "target": "verdict", "roles": without("place")}
    whole, plain = (deciban.evaluate(t, calibrate=method, **settings) for method in ("platt", "none"))
    monkeypatch.setattr("deciban.training.table_rows.MAX_SAMPLE_ROWS", 60)
    report = deciban.evaluate(t, calibrate="platt", **settings)
    assert report.rows == len(report.folds) == present(t).sum()
    assert report.log_loss not in (whole.log_loss, plain.log_loss)
    for f in range(10):  # one increasing line in each fold
        own = report.folds == f
        before, after = (np.diff(r.log_proba[own], axis=1).ravel() for r in (plain, report))
        slope, bias = np.polyfit(before, after, 1)
        np.testing.assert_allclose(after, slope * before + bias, atol=1e-6)
        assert slope > 0


def test_every_fold_has_its_share_of_a_rare_class():
    """Sorted by class, or every tenth row of one: row numbers modulo ten would put all of a class into one fold."""
    y = np.array(["rare" if i % 10 == 0 else "common" for i in range(200)])
    report = deciban.evaluate({"x": np.where(y == "rare", 3.0, 0.0) + np.arange(200) % 3, "y": y}, target="y")
    assert report.unknown == 0
    assert report.accuracy == 1.0


def test_the_only_row_of_a_class_is_an_error_that_has_no_log_loss():
    t = {"x": [1.0, 2.0, 3.0, 11.0, 12.0, 13.0, 50.0], "y": ["a", "a", "a", "b", "b", "b", "c"]}
    report = deciban.evaluate(t, target="y", folds="loo", numbers="number")
    assert (report.rows, report.unknown) == (7, 1)
    assert np.isfinite(report.log_loss)
    assert report.accuracy == pytest.approx(6 / 7)


def test_classes_that_a_model_does_not_know_are_named_with_similar_ones():
    model = deciban.train({"x": [1.0, 2.0, 8.0, 9.0], "y": ["cold", "cold", "flu", "flu"]}, target="y", judge=False)
    t = {"x": [1.0, 1.5, 8.0, 9.0, 7.0], "y": ["Cold", "Cold", "flu", "gout", None], "w": [1.0, 0.0, 1.0, 1.0, 1.0]}
    expected = r"rows of a class without training rows, counted as errors: "
    with pytest.warns(
        DecibanWarning, match=f"3 {expected}'Cold' \\(2 rows; did you mean 'cold'\\?\\), 'gout' \\(1 row\\)$"
    ):
        deciban.evaluate(t, model=model)
    with pytest.warns(DecibanWarning, match=f"2 {expected}'Cold' \\(1 row;"):
        report = deciban.evaluate(t, model=model, weights="w")
    assert report.unknown == 2


def test_classes_that_differ_in_case_only_are_pointed_out():
    t = {"x": [1.0, 2.0, 8.0, 9.0, 8.5], "y": ["kept", "lost", "kept", "KEPT", "lost"]}
    with pytest.warns(DecibanWarning, match="'y' that differ in case only .*: 'KEPT' and 'kept'$"):
        deciban.train(t, target="y", judge=False)


BAD = {
    "folds=1": ({"folds": 1}, "at least 2"),
    "folds=2.5": ({"folds": 2.5}, "at least 2"),
    "folds='ten'": ({"folds": "ten"}, "'loo'"),
    "both": ({"groups": "g", "order": "x"}, "not by both"),
    "loo in groups": ({"folds": "loo", "groups": "g"}, "each row alone"),
    "loo in order": ({"folds": "loo", "order": "x"}, "each row alone"),
    "no such group": ({"groups": "gg"}, "no column 'gg' for the groups"),
    "no such order": ({"order": "when"}, "no column 'when' for the order"),
    "the target": ({"groups": "y"}, "target already"),
    "too few groups": ({"groups": "g"}, "10 folds need at least 10 groups, and there are 3"),
    "one group": ({"groups": "same", "folds": 2}, "at least 2 groups"),
    "a group is missing": ({"groups": "holes", "folds": 2}, "'holes' is empty in row 2"),
    "a time is missing": ({"order": "holes", "folds": 2}, "'holes' is empty in row 2"),
    "one time": ({"order": "same", "folds": 2}, "too few different values"),
    "calibrated by magic": ({"calibrate": "magic"}, "calibrate must be 'auto'"),
    "calibrated in order": ({"calibrate": "auto", "order": "x", "folds": 3}, "of later ones too"),
    "calibrated alone": ({"calibrate": "auto", "folds": "loo"}, "Hint: folds=10"),
    "a role for the groups": ({"groups": "g", "roles": {"g": "category"}}, "has no role"),
}


@pytest.mark.parametrize("case", BAD)
def test_folds_that_make_no_sense_are_refused_in_words(case):
    t = {"x": np.arange(30.0) % 7, "g": ["a", "b", "c"] * 10, "same": [1] * 30, "holes": [1, None, 2] * 10}
    t["y"] = ["p", "q"] * 15
    arguments, words = BAD[case]
    with pytest.raises(InputError, match=words):
        deciban.evaluate(t, target="y", **arguments)


def test_a_model_is_scored_without_folds():
    t = {"x": np.arange(30.0) % 7, "y": ["p", "q"] * 15}
    with pytest.raises(InputError, match="for folds"):
        deciban.evaluate(t, model=deciban.train(t, target="y"), groups="x")
    with pytest.raises(InputError, match="evaluated as it is"):
        deciban.evaluate(t, model=deciban.train(t, target="y"), calibrate="auto")
    with pytest.raises(InputError, match="without a calibration"):
        deciban.choose(t, target="y", calibrate="auto")


def test_very_many_rows_are_not_left_out_one_by_one(monkeypatch):
    monkeypatch.setattr(fold_models, "MAX_REFITTED_ROWS", 20)
    with pytest.raises(InputError, match=r"at most 20 rows\. Hint: folds=100"):
        deciban.evaluate({"x": np.arange(30.0) % 7, "y": ["p", "q"] * 15}, target="y", folds="loo")


def test_rows_of_decided_roles_are_left_out_in_closed_form_however_many(monkeypatch):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 300)
    table = {
        "x": np.where(rng.random(300) < 0.1, np.nan, rng.normal(codes, 1.0)),
        "c": rng.choice(["p", "q", None], 300).tolist(),
        "w": rng.integers(0, 3, 300),
        "y": codes,
    }
    asked = {"target": "y", "folds": "loo", "weights": "w", "roles": {"x": "number", "c": "category"}, "alpha": 1.0}
    with monkeypatch.context() as patch:
        patch.setattr(evaluate, "_score_in_closed_form", lambda fitted, progress: None)
        expected = deciban.evaluate(table, **asked)
    monkeypatch.setattr(fold_models, "MAX_REFITTED_ROWS", 0)
    found = deciban.evaluate(table, **asked)
    np.testing.assert_allclose(found.log_proba, expected.log_proba, atol=1e-9)
    np.testing.assert_array_equal(found.truth, expected.truth)
    with pytest.raises(InputError, match=r"numbers='number', alpha=1\.0"):  # shrunk shares change with every row
        deciban.evaluate(table, **{**asked, "alpha": "auto"})


def test_scores_out_of_fold_are_those_of_the_report():
    from deciban.training.task import plan
    from deciban.training.train import train_task

    t = table()
    fitted = train_task(plan(t, **settings(t)), 10, None)
    scored, report = fitted.sample_scores, deciban.train(t, **settings(t), calibrate="none").held_out
    posterior, density = scored.finish("log_posterior"), scored.finish("density")
    np.testing.assert_allclose(posterior, report.log_proba, rtol=1e-12)
    np.testing.assert_allclose(scored.finish("joint") - density[:, None], posterior, atol=1e-9)
    assert np.array(CLASSES)[scored.rows.codes].tolist() == report.truth.tolist()
    assert np.array_equal(scored.rows.fold, shared_out(t, 10)[present(t)])
    assert scored.rows.weight.tolist() == pc.filter(t.column("w"), pa.array(present(t))).to_pylist()
