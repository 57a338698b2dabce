"""Calibration maps: probabilities that add up, never out of order, and explanations that add up to them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban.errors import InputError
from deciban.persistence import Section
from deciban.persistence.score_forms import read_calibration, write_calibration
from deciban.scores.calibration import Calibration, Isotonic, Platt, Temperature
from deciban.scores.explanation import DECIBAN
from deciban.scores.posterior import log_odds, normalise

LINE = Isotonic(np.array([0, 3]), np.array([-2.0, 0.0, 5.0]), np.array([-1.0, 0.5, 1.5]))
LINES = Isotonic(
    np.array([0, 2, 4, 7]),
    np.array([-3.0, 3, -1, 1, -9, 0, 9]),
    np.array([-2.0, 2, 0, 0, -1, 0, 1]),
)
MAPS = {
    "temperature": (3, Temperature(0.3)),
    "platt": (3, Platt(0.7, np.array([0.5, -0.2, -0.3]))),
    "isotonic": (3, LINES),
    "isotonic, two classes": (2, LINE),
}


def even(K):
    return np.log(np.full(K, 1 / K))


def posteriors(K, n=50, seed=0):
    return normalise(np.random.default_rng(seed).normal(0, 4, (n, K)))


@pytest.mark.parametrize("name", MAPS)
def test_calibrated_probabilities_add_up_to_one(name):
    K, found = MAPS[name]
    np.testing.assert_allclose(np.exp(found.apply(posteriors(K), even(K))).sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("name", MAPS)
def test_certainty_has_a_calibrated_probability(name):
    K, found = MAPS[name]
    certain = np.full((1, K), -np.inf)
    certain[0, 1] = 0.0
    mended = np.exp(found.apply(certain, even(K)))
    assert np.isfinite(mended).all()
    assert mended.sum() == pytest.approx(1)


@pytest.mark.parametrize("prior", [[1 / 3] * 3, [0.05, 0.9, 0.05]])
def test_temperature_raises_likelihoods_not_the_prior_to_a_power(prior):
    p = np.array([[0.7, 0.2, 0.1]])
    raised = [(value / share) ** 0.25 * share for value, share in zip(p[0], prior)]
    found = np.exp(Temperature(0.25).apply(np.log(p), np.log(prior)))[0]
    np.testing.assert_allclose(found, np.array(raised) / sum(raised), rtol=1e-13)


def test_no_evidence_gives_the_prior_and_so_does_the_temperature_0():
    prior = np.array([0.01, 0.99, 0.0])
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior)
    np.testing.assert_allclose(np.exp(Temperature(0.3).apply(log_prior[None], log_prior))[0], prior, rtol=1e-12)
    rows = np.array([[-700.0, 0.0, -np.inf], [0.0, -np.inf, -np.inf]])
    np.testing.assert_allclose(np.exp(Temperature(0.0).apply(rows, log_prior)), [prior, prior], rtol=1e-12)
    assert "no better than guessing" in str(Temperature(0.0))


def test_platts_map_is_a_line_over_the_log_odds():
    found = np.exp(Platt(0.5, np.array([-0.1, 0.3])).apply(np.log([[0.2, 0.8]]), even(2)))
    assert found[0, 1] == pytest.approx(1 / (1 + math.exp(-(0.5 * math.log(4) + 0.4))), rel=1e-14)


@pytest.mark.parametrize(
    ("claimed", "true"), [(-9, -1), (-2, -1), (-1, -0.25), (0, 0.5), (2.5, 1.0), (5, 1.5), (700, 1.5)]
)
def test_an_isotonic_map_goes_straight_from_knot_to_knot_and_is_level_beyond(claimed, true):
    asked = normalise(np.array([[0.0, claimed]]))
    mended = LINE.apply(asked)
    assert mended[0, 1] - mended[0, 0] == pytest.approx(true, abs=1e-12)


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=20))
def test_isotonic_never_turns_the_order_of_two_classes_round(scores):
    rows = normalise(np.column_stack([np.zeros(len(scores)), np.sort(scores)]))
    assert (np.diff(LINE.apply(rows)[:, 1]) >= -1e-15).all()


def test_log_odds_are_exact_where_the_probability_is_one_to_the_last_bit():
    rows = normalise(np.array([[0.0, 300.0, -5.0]]))
    assert log_odds(rows, 1)[0] == pytest.approx(300 - math.log1p(math.exp(-5)), rel=1e-14)


def test_other_priors_apply_after_the_map():
    fitted, now = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.1, 0.8])
    rows = posteriors(3)
    found = np.exp(Calibration(Temperature(0.5), np.log(fitted)).apply(rows, np.log(now)))
    expected = (np.exp(rows) / fitted) ** 0.5 * now
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), rtol=1e-12)


def test_a_class_that_had_no_chance_cannot_be_given_one():
    fitted = Calibration(Temperature(0.5), np.array([0.0, -np.inf]))
    assert fitted.shift(np.array([0.0, -np.inf])).tolist() == [0, 0]
    with pytest.raises(InputError, match="calibrate again"):
        fitted.shift(np.log([0.5, 0.5]))


def test_where_no_class_is_left_the_new_prior_decides():
    fitted = Calibration(Temperature(0.5), np.log([0.5, 0.5]))
    found = fitted.apply(np.array([[0.0, -np.inf]]), np.array([-np.inf, 0.0]))
    assert found.tolist() == [[-np.inf, 0.0]]


def test_the_number_of_rows_has_its_thousands_separated():
    text = str(Calibration(Temperature(0.5), np.zeros(2), 8632, 0.5, 0.25))
    assert text.endswith("(log-loss of 8 632 rows held out: 0.5000 → 0.2500)")


@pytest.mark.parametrize("name", MAPS)
def test_a_calibration_is_read_as_it_was_written(name):
    K, found = MAPS[name]
    found = Calibration(found, np.log(np.full(K, 1 / K)), 20, 0.5, 0.25)
    again = read_calibration(write_calibration(found), K)
    assert (again.method, again.rows, again.before, again.after) == (found.method, 20, 0.5, 0.25)
    assert (again.apply(posteriors(K), found.log_prior) == found.apply(posteriors(K), found.log_prior)).all()
    assert str(again) == str(found)


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("start", np.array([0, 1, 4, 7]), "two knots"),
        ("claimed", np.array([-3.0, -3, -1, 1, -9, 0, 9]), "rise"),
        ("true", np.array([-2.0, -3, 0, 0, -1, 0, 1]), "rise"),
        ("true", np.array([-2.0, np.nan, 0, 0, -1, 0, 1]), "between"),
        ("log_prior", np.full(3, -np.inf), "prior probability 0"),
        ("log_prior", np.zeros(2), "shape"),
        ("method", "magic", "one of"),
    ],
)
def test_a_forged_calibration_is_refused(name, value, what):
    section = write_calibration(Calibration(LINES, np.log(np.full(3, 1 / 3))))
    forged = Section(dict(section.header), section.arrays, file="x").put(name, value)
    with pytest.raises(ValueError, match=what):
        read_calibration(forged, 3)


def test_the_evidence_of_an_explanation_adds_up_to_the_calibrated_odds():
    from deciban import GaussianNB

    rng = np.random.default_rng(1)
    y = np.arange(90) % 3
    X = np.repeat(y[:, None] + rng.normal(0, 1, (90, 2)), 3, axis=1)
    model = GaussianNB().fit(X, y)
    for K, found in MAPS.values():
        if K == 2:
            continue
        for priors in (None, [0.1, 0.2, 0.7]):
            now = model if priors is None else model.with_priors(priors)
            scorer = now._scorer.with_maps(calibration=Calibration(found, model._scorer.solved.log_prior))
            explanation = scorer.explain([X], (2, 0), model.classes_, 1)
            log_p = scorer.scores([X], "log_posterior", 1)
            added = explanation.prior + explanation.evidence.sum(axis=1) + sum(explanation.extras.values())
            np.testing.assert_allclose(added, explanation.total, atol=1e-9)
            np.testing.assert_allclose(explanation.total, (log_p[:, 2] - log_p[:, 0]) * DECIBAN, atol=1e-9)
            assert ("calibration" in explanation.extras) == (found.method != "temperature")
