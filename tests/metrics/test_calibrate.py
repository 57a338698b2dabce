"""Fitting calibration maps: against scikit-learn, and by what they do for rows held out."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss

import deciban
from deciban.errors import DecibanWarning, InputError
from deciban.metrics.calibration_fit import (
    apply_fold_maps,
    calibrate,
    check_method,
    compute_targets,
    fit_isotonic,
    fit_platt,
    fit_temperature,
    fit_without_each_fold,
    is_clearly_miscalibrated,
)
from deciban.metrics.intervals import effective_weights
from deciban.metrics.scorecard import Scorecard
from deciban.scores.posterior import normalise
from tests.tables import clinic
from tests.thorough import thorough_beyond


def two_classes(n=400, seed=0, scale=0.4):
    """Log-odds that claim too much: only `scale` of them comes true."""
    rng = np.random.default_rng(seed)
    score = rng.normal(0, 3, n)
    y = (rng.random(n) < 1 / (1 + np.exp(-scale * score - 0.5))).astype(int)
    return normalise(np.column_stack([np.zeros(n), score])), score, y


def even(L):
    return np.log(np.full(L.shape[1], 1 / L.shape[1]))


def tilt(log_posterior, nats):
    """Add evidence for the second class, in nats."""
    return normalise(log_posterior + np.array([0.0, nats]))


def several_classes(n=600, K=4, seed=0, scale=0.5):
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 2, (n, K))
    P = np.exp(normalise(scale * scores))
    return normalise(scores), (P.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)


@pytest.mark.parametrize("weighted", [False, True])
def test_platts_fit_of_two_classes_is_scikit_learns(weighted):
    L, score, y = two_classes()
    w = np.random.default_rng(1).random(len(y)) if weighted else np.ones(len(y))
    theirs = _SigmoidCalibration().fit(score, y, w)
    np.testing.assert_allclose(
        np.exp(fit_platt(L, y, w, even(L)).apply(L, even(L)))[:, 1], theirs.predict(score), atol=1e-6
    )


def test_temperature_by_maximum_likelihood_is_scikit_learns():
    module = pytest.importorskip("sklearn.calibration")
    if not hasattr(module, "_TemperatureScaling"):
        pytest.skip("this scikit-learn has no temperature")
    L, y = several_classes()
    theirs = module._TemperatureScaling().fit(L, y)
    assert fit_temperature(L, y, np.ones(len(y)), even(L), prior_rows=0.0).t == pytest.approx(theirs.beta_, rel=1e-5)


def test_scores_in_a_tiny_unit_are_calibrated_as_others_are():
    L, y = several_classes()
    w, scores = np.ones(len(y)), L - L.mean(axis=1, keepdims=True)
    expected, found = (
        fit_temperature(normalise(unit * scores), y, w, even(L), prior_rows=0.0).t for unit in (1, 1e-7)
    )
    assert 1e-7 * found == pytest.approx(expected, rel=1e-5)
    assert 1e-7 * fit_temperature(normalise(1e-7 * scores), y, w, even(L)).t == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_is_scikit_learns_with_the_imagined_rows_at_the_ends(weighted):
    L, score, y = two_classes()
    w = np.random.default_rng(1).random(len(y)) if weighted else np.ones(len(y))
    ends, share = [score.min()] * 2 + [score.max()] * 2, np.average(y, weights=w)
    x, hit = np.append(score, ends), np.append(y, [0, 1, 0, 1])
    weight = np.append(w, 2 * np.array([1 - share, share] * 2))
    theirs = IsotonicRegression().fit(x, hit, weight).predict(score)
    np.testing.assert_allclose(np.exp(fit_isotonic(L, y, w).apply(L))[:, 1], theirs, atol=1e-12)


def test_the_targets_of_two_classes_are_platts():
    y = np.array([0, 0, 0, 1])
    expected = [[4 / 5, 1 / 5]] * 3 + [[1 / 3, 2 / 3]]
    np.testing.assert_allclose(compute_targets(y, np.ones(4), 2, 1.0), expected, rtol=1e-14)


def test_targets_add_up_and_without_imagined_rows_they_are_the_truth():
    y = np.array([0, 1, 2, 2])
    np.testing.assert_allclose(compute_targets(y, np.ones(4), 4, 1.0).sum(axis=1), 1, rtol=1e-14)
    assert (compute_targets(y, np.ones(4), 4, 0.0) == np.eye(4)[y]).all()


def test_no_slope_and_biases_nearby_are_better_than_those_found():
    L, y = several_classes()
    w, aim = np.ones(len(y)), compute_targets(y, np.ones(len(y)), 4, 1.0)
    found = fit_platt(L, y, w, even(L))

    def loss(slope, bias):
        return -(aim * normalise(slope * L + bias)).sum()

    best = loss(found.slope, found.bias)
    for step in np.random.default_rng(0).normal(0, 1e-3, (20, 5)):
        assert loss(found.slope + step[0], found.bias + step[1:]) > best


@pytest.mark.parametrize("far", [0.5, 50.0, 5000.0])
@pytest.mark.parametrize("K", [2, 3])
def test_separable_rows_make_nothing_certain(K, far):
    y = np.arange(30) % K
    L = normalise(far * np.eye(K)[y])
    for fit in (fit_temperature, fit_platt, fit_isotonic):
        mended = np.exp(fit(L, y, np.ones(30), even(L)).apply(L, even(L)))
        assert 0.5 < mended[np.arange(30), y].min() <= mended[np.arange(30), y].max() < 1


def test_scores_that_tell_nothing_do_not_turn_round():
    rng = np.random.default_rng(0)
    L, y = normalise(rng.normal(0, 3, (200, 2))), rng.integers(0, 2, 200)
    against = np.where(L.argmax(axis=1) == y, 1 - y, y)
    assert fit_temperature(L, against, np.ones(200), even(L)).t > 0
    assert fit_platt(L, against, np.ones(200), even(L)).slope > 0


def test_an_impossible_truth_is_mended_by_isotonic_alone():
    L = np.log([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]] * 5)
    L = np.vstack([L, [[0.0, -np.inf]]])
    y = np.append(np.array([0, 1, 0] * 5), 1)
    w = np.ones(len(y))
    assert np.isfinite(fit_temperature(L, y, w, even(L)).t)
    assert np.isfinite(fit_platt(L, y, w, even(L)).bias).all()
    assert np.isfinite(fit_isotonic(L, y, w).apply(L)).all()


def test_each_row_is_calibrated_by_the_other_folds():
    L, _, y = two_classes(90)
    fold = np.arange(90) % 3
    found = apply_fold_maps(fit_without_each_fold("platt", L, y, np.ones(90), fold, even(L)), L, fold, even(L))
    for f in range(3):
        rest = fit_platt(L[fold != f], y[fold != f], np.ones((fold != f).sum()), even(L))
        np.testing.assert_allclose(found[fold == f], rest.apply(L[fold == f], even(L)), atol=1e-6)


def test_auto_takes_the_simplest_map_that_serves():
    fold = np.arange(2000) % 10
    prior = np.log(np.full(2, 0.5))
    cross_validated, _, y = two_classes(2000, seed=1, scale=1.0)
    tilted = tilt(cross_validated, 0.5)  # as they come true, by the way they were made
    right = calibrate("auto", tilted, y, None, fold, prior + np.array([-0.25, 0.25])).calibration.map
    assert right.t == pytest.approx(1, abs=0.1)
    noise = normalise(np.random.default_rng(3).normal(0, 2, (2000, 2)))
    assert calibrate("auto", noise, fold % 2, None, fold // 2, prior).calibration.map.t == 0
    L, _, y = two_classes(2000, scale=0.4)
    assert (
        calibrate("auto", tilt(L, 0.5), y, None, fold, prior + np.array([-0.25, 0.25])).calibration.method
        == "temperature"
    )
    L, _, y = two_classes(2000, scale=0.4)
    assert calibrate("auto", tilt(L, -5.0), y, None, fold, prior).calibration.method == "platt"
    bent = normalise(np.column_stack([np.zeros(2000), (L[:, 1] - L[:, 0]) ** 3]))
    assert calibrate("auto", bent, y, None, fold, prior).calibration.method == "isotonic"


def test_a_calibration_tells_the_log_loss_before_and_after():
    L, _, y = two_classes(500)
    found = calibrate("temperature", L, y, None, np.arange(500) % 5, np.log([0.5, 0.5]))
    assert found.calibration.rows == 500
    assert found.calibration.before == pytest.approx(-L[np.arange(500), y].mean())
    assert found.calibration.after == pytest.approx(-found.log_posterior[np.arange(500), y].mean())
    assert found.calibration.after < found.calibration.before


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_no_known_class_take_no_part(weighted):
    L, _, y = two_classes(100)
    more, result = np.vstack([L, [[-9.0, -0.1]]]), np.append(y, -1)
    w = np.append(np.random.default_rng(0).random(100), 50.0) if weighted else None
    a = calibrate("platt", L, y, None if w is None else w[:-1], np.arange(100) % 5, np.zeros(2))
    b = calibrate("platt", more, result, w, np.arange(101) % 5, np.zeros(2))
    assert a.calibration.map.slope == pytest.approx(b.calibration.map.slope, rel=1e-12)
    assert (b.log_posterior[-1] == more[-1]).all()


def test_known_rows_without_weight_are_nothing_to_calibrate_by():
    L, _, y = two_classes(10)
    with pytest.raises(InputError, match="two classes or more"):
        calibrate("auto", L, y, np.zeros(10), np.arange(10) % 2, np.zeros(2))


def test_the_unit_of_weights_makes_no_difference():
    L, _, y = two_classes(100)
    w = np.random.default_rng(0).random(100)
    each = [calibrate("isotonic", L, y, c * w, np.arange(100) % 5, np.zeros(2)).calibration.map for c in (1, 1000)]
    np.testing.assert_allclose(each[0].true, each[1].true, rtol=1e-9)
    assert effective_weights(np.full(7, 3.0)).sum() == pytest.approx(7)


@pytest.mark.parametrize(("L", "y"), [(np.zeros((3, 1)), [0, 0, 0]), (np.log([[0.5, 0.5]] * 2), [-1, -1])])
def test_nothing_to_calibrate_by_is_refused(L, y):
    with pytest.raises(InputError, match="two classes or more"):
        calibrate("auto", L, np.array(y), None, np.zeros(len(y), dtype=int), np.zeros(L.shape[1]))


def test_an_unknown_method_is_refused():
    with pytest.raises(InputError, match="'auto', 'temperature', 'platt', 'isotonic', 'none' or None, not 'magic'"):
        check_method("magic")
    with pytest.raises(InputError, match="calibrate must be"):
        deciban.train(clinic.patients(60), target="diagnosis", calibrate="magic")


def test_a_large_calibration_error_is_distinguished_from_chance():
    L, _, y = two_classes(2000, scale=0.2)
    assert is_clearly_miscalibrated(Scorecard.of(L, y).report([0, 1]))
    L, _, y = two_classes(60, scale=1.0)
    assert not is_clearly_miscalibrated(Scorecard.of(tilt(L, 0.5), y).report([0, 1]))
    certain = np.tile([3e-16, -40.0], (200, 1))  # by rounding the probability is above 1
    assert is_clearly_miscalibrated(Scorecard.of(certain, np.arange(200) % 2).report([0, 1]))


@pytest.mark.parametrize("method", ["temperature", "platt", "isotonic", "auto"])
def test_a_calibrated_model_of_a_table_answers_and_is_saved(method, tmp_path):
    rows = clinic.patients(300)
    model = deciban.train(rows, target="diagnosis", calibrate=method)
    result = np.asarray(model.predict_proba(rows))
    np.testing.assert_allclose(result.sum(axis=1), 1, rtol=1e-12)
    if model.calibration is not None:
        plain = deciban.train(rows, target="diagnosis", calibrate="none")
        assert model.held_out.log_loss == pytest.approx(model.calibration.after)
        assert plain.held_out.log_loss == pytest.approx(model.calibration.before)
        log_prior = model.calibration.log_prior
        mended = model.calibration.map.apply(np.asarray(plain.predict_log_proba(rows)), log_prior)
        np.testing.assert_allclose(result, np.exp(mended), atol=1e-12)
    model.save(tmp_path / "m")
    again = deciban.load(tmp_path / "m")
    assert (np.asarray(again.predict_proba(rows)) == result).all()
    assert str(again.calibration) == str(model.calibration)
    report = deciban.evaluate(rows, model=again)
    result = [
        (called, truth) for called, truth in zip(again.predict(rows).to_pylist(), rows["diagnosis"].to_pylist())
    ]
    assert report.accuracy == pytest.approx(
        np.mean([called == truth for called, truth in result if truth is not None])
    )


def test_training_and_evaluating_calibrate_by_default():
    rows = clinic.patients(300)
    model, same = (deciban.train(rows, target="diagnosis", **given) for given in ({}, {"calibrate": "auto"}))
    assert model.calibration is not None
    assert (np.asarray(model.predict_proba(rows)) == np.asarray(same.predict_proba(rows))).all()
    report = deciban.evaluate(rows, target="diagnosis")
    assert report.log_loss == pytest.approx(model.held_out.log_loss, rel=1e-9)
    assert report.log_loss < deciban.evaluate(rows, target="diagnosis", calibrate="none").log_loss
    assert deciban.train(rows, target="diagnosis", judge=False).calibration is None


def test_without_evaluation_a_model_is_calibrated_all_the_same():
    model = deciban.train(clinic.patients(200), target="diagnosis", calibrate="platt", judge=False)
    assert model.calibration.method == "platt"
    assert model.held_out is None


def test_changed_priors_move_a_calibrated_model():
    rows = clinic.patients(200)
    model = deciban.train(rows, target="diagnosis", calibrate="platt")
    before, (a, b) = np.asarray(model.predict_proba(rows)), model.priors.values()
    now = model.with_priors(dict(zip(model.classes, (0.9, 0.1))))
    expected = before * [0.9 / a, 0.1 / b]
    np.testing.assert_allclose(
        np.asarray(now.predict_proba(rows)), expected / expected.sum(axis=1, keepdims=True), rtol=1e-9
    )


@pytest.mark.parametrize(
    "change",
    [lambda m, rows: m.add(rows), lambda m, rows: m.forget(rows[:5]), lambda m, rows: m + m, lambda m, _: m * 2],
)
def test_learning_and_forgetting_keep_the_calibration_and_say_of_which_rows_it_is(change, tmp_path):
    rows = clinic.patients(100)
    model = deciban.train(rows, target="diagnosis", calibrate="temperature")
    before = model.calibration
    changed = change(model, rows)
    assert changed.calibration.map == before.map
    assert "fitted with the rows of then" in str(changed.calibration)
    assert "rows of then" not in str(before)
    changed.save(tmp_path / "m")
    assert str(deciban.load(tmp_path / "m").calibration) == str(changed.calibration)


def test_forgetting_exactly_drops_the_calibration():
    rows = clinic.patients(100)
    model = deciban.train(rows, target="diagnosis", calibrate="temperature")
    assert model.forget(rows[:5], exact=True).calibration is None


@pytest.mark.parametrize("methods", [("temperature", "platt", "isotonic"), ("isotonic", "none", "isotonic")])
def test_sums_keep_the_map_of_more_rows_whatever_the_order(methods):
    parts = [clinic.patients(n, seed=n) for n in (100, 140, 140)]
    schema = deciban.train(parts[0], target="diagnosis", judge=False)
    a, b, c = (
        deciban.train(rows, target="diagnosis", like=schema, calibrate=method) for rows, method in zip(parts, methods)
    )
    sums = [(a + b) + c, a + (b + c), (c + a) + b, c + (b + a)]
    found = [np.asarray(each.predict_proba(parts[0])) for each in sums]
    for other, each in zip(found[1:], sums[1:]):
        np.testing.assert_allclose(other, found[0], rtol=1e-9)
        assert str(each.calibration) == str(sums[0].calibration)
    assert sums[0].calibration.rows == max(m.calibration.rows for m in (a, b, c) if m.calibration is not None)
    assert repr((a - a).calibration.map) == repr(a.calibration.map)


@pytest.mark.parametrize("method", ["temperature", "platt", "isotonic"])
def test_a_class_that_comes_later_has_no_bias(method):
    rng = np.random.default_rng(0)
    k = rng.integers(0, 3, 300)
    rows = pd.DataFrame({"x": rng.normal(2 * k, 1.0), "z": rng.normal(2 * k, 1.0), "y": np.array(list("buv"))[k]})
    model = deciban.train(rows[rows.y != "b"], target="y", calibrate=method, numbers="number", structure="naive")
    model.add(rows[rows.y == "b"])
    assert model.calibration.method == method
    p = np.asarray(model.predict_proba(rows))
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-9)
    assert np.mean(np.array(model.classes)[p.argmax(axis=1)] == rows.y) > 0.7
    why = model.explain(rows)
    added = why.prior + why.evidence.sum(axis=1) + sum(why.extras.values())
    np.testing.assert_allclose(added, why.total, atol=1e-8)


def test_a_model_that_was_not_calibrated_states_nothing():
    rows = clinic.patients(100)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DecibanWarning)
        deciban.train(rows, target="diagnosis", calibrate="none").add(rows)


@pytest.mark.parametrize("method", ["temperature", "platt", "isotonic"])
def test_a_map_for_fixed_shares_is_that_of_rows_weighted_to_them(method):
    L, _, y = two_classes(1200)
    fold, prior = np.arange(len(y)) % 5, np.log([0.9, 0.1])
    weight = np.where(y == 1, 0.1 / (y == 1).mean(), 0.9 / (y == 0).mean())
    by_weight = calibrate(method, L, y, weight, fold, prior)
    by_shares = calibrate(method, L, y, None, fold, prior, np.array([0.9, 0.1]))
    np.testing.assert_allclose(by_shares.log_posterior, by_weight.log_posterior, rtol=1e-9)
    assert by_shares.calibration.after == pytest.approx(by_weight.calibration.after)


def draw_patients(n, share, seed):
    """Return a table with this share of the sick, and a column that is nearly written twice."""
    rng = np.random.default_rng(seed)
    is_sick = rng.random(n) < share
    x = rng.normal(size=(n, 2)) + is_sick[:, None] * [1.2, 0.8]
    columns = np.column_stack([x, x[:, 0] + 0.3 * rng.normal(size=n)])
    return columns, np.where(is_sick, "sick", "well")


def as_table(X, y):
    return {**{f"x{j}": column for j, column in enumerate(X.T)}, "state": y}


SLOW = "fits weights of many rows: three seconds"


@pytest.mark.parametrize(
    ("method", "learner"),
    [
        *((method, "bayes") for method in ("platt", "isotonic", "auto")),
        *thorough_beyond(1, [(method, "logistic") for method in ("platt", "isotonic", "auto")], SLOW),
    ],
)
def test_a_calibration_does_not_undo_the_prior_of_a_model(learner, method):
    """Few are sick where the model learns; the prior says that half are, as in the table that it is evaluated on."""
    train, test = as_table(*draw_patients(2000, 0.05, 0)), as_table(*draw_patients(4000, 0.5, 1))
    given = (
        {"target": "state", "structure": "naive"} if learner == "bayes" else {"target": "state", "learner": learner}
    )
    prior = {"sick": 0.5, "well": 0.5}
    plain = deciban.train(train, prior=prior, calibrate="none", **given)
    calibrated = deciban.train(train, prior=prior, calibrate=method, **given)
    losses = [deciban.evaluate(test, model=model).log_loss for model in (plain, calibrated)]
    assert losses[1] < losses[0] + 0.02
    asked = {name: column for name, column in test.items() if name != "state"}
    shares = [np.mean(np.asarray(model.predict(asked)) == "sick") for model in (plain, calibrated)]
    assert shares == pytest.approx([0.5, 0.5], abs=0.1)
    report = deciban.evaluate(train, prior=prior, calibrate=method, folds=5, **given)
    assert report.log_loss == pytest.approx(calibrated.held_out.log_loss, rel=0.1)


def test_a_calibration_does_not_undo_the_prior_of_an_estimator():
    X, y = draw_patients(2000, 0.05, 0)
    test, truth = draw_patients(4000, 0.5, 1)
    plain = deciban.GaussianNB(priors=[0.5, 0.5])
    losses = [
        log_loss(truth, model.predict_proba(test)) for model in (plain.fit(X, y), plain.calibrated(X, y, "platt"))
    ]
    assert losses[1] < losses[0]


def test_a_model_is_calibrated_again_by_rows_that_it_has_not_learned():
    rows, new = clinic.patients(400), clinic.patients(300, seed=9)
    model = deciban.train(rows, target="diagnosis", judge=False)
    with pytest.raises(InputError, match="--learned"):
        model.calibrate(rows)
    assert model.calibration is None
    plain = np.asarray(model.predict_log_proba(new))
    found = model.calibrate(new, method="temperature").calibration
    labels = new["diagnosis"].to_pylist()
    kept = [i for i, label in enumerate(labels) if label is not None]
    truth = np.array([list(model.classes).index(labels[i]) for i in kept])
    expected = fit_temperature(
        plain[kept], truth, np.ones(len(kept)), np.log([model.priors[c] for c in model.classes])
    )
    assert found.map.t == pytest.approx(expected.t, rel=1e-6)
    with pytest.raises(InputError, match="calibrates nothing"):
        model.calibrate(new, method="none")


@pytest.mark.parametrize("settings", [{}, {"structure": "naive", "numbers": "number"}, {"structure": "tan"}])
def test_learned_rows_are_left_out_when_they_calibrate(settings):
    rows = clinic.patients(400)
    model = deciban.train(rows, target="diagnosis", **settings)
    before = model.calibration
    again = model.calibrate(rows, learned=True).calibration
    assert again.rows == before.rows
    assert again.after == pytest.approx(before.after, rel=0.1)
    assert again.before == pytest.approx(before.before, rel=0.15)


def test_only_counts_can_leave_their_rows_out():
    rows = clinic.patients(200)
    model = deciban.train(rows, target="diagnosis", learner="logistic", judge=False)
    with pytest.raises(InputError, match="not learned all of these rows as counts"):
        model.calibrate(rows, learned=True)


def test_isotonic_leaves_a_class_of_one_row_possible():
    rng, y = np.random.default_rng(0), np.array(["p", "q"] * 1500, dtype=object)
    table = pd.DataFrame({"x": rng.normal(y == "p", 1), "y": y})
    table.loc[0, "y"] = "z"
    model = deciban.train(table, target="y", calibrate="isotonic")
    assert model.predict_proba(table)["z"].min() > 1e-9
