"""Probabilities have as many digits as they deserve, and none but a certain one is printed as 0 or 1."""

import json
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deciban
from deciban.formatting import format_probability, format_short_percent
from deciban.mail.model.verdicts import Verdict
from deciban.model.predictions import round_probabilities
from tests.cli.terminal import NEW, PATIENTS, done, table

LOG_ODDS = st.floats(-800.0, 800.0)


@given(LOG_ODDS)
def test_a_probability_on_a_screen_is_near_and_never_0_or_1(log_odds):
    p, rest = (1 / (1 + math.exp(-x)) if x > -700 else 0.0 for x in (log_odds, -log_odds))
    text = format_probability(p)
    assert re.fullmatch(r"0\.\d{4,10}", text)
    assert 0 < float(text) < 1
    clipped = min(max(p, 1e-10), 1 - 1e-10)
    assert float(text) == pytest.approx(clipped, abs=max(0.051 * min(clipped, 1 - clipped), 0.6e-10))
    assert rest > 1e-9 or text == "0.9999999999" or float(text) < 1 - 1e-10


@given(st.lists(st.lists(st.floats(-800.0, 0.0), min_size=3, max_size=3), min_size=1, max_size=5))
def test_probabilities_of_a_table_are_rounded_to_few_digits_and_never_0_or_1(scores):
    joint = np.array(scores)
    log_p = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
    rounded = round_probabilities(log_p)
    assert ((rounded > 0) & (rounded < 1)).all()
    p = np.exp(log_p)
    np.testing.assert_allclose(rounded, p, rtol=6e-4, atol=1e-300)
    near_one = p > 0.5
    with np.errstate(divide="ignore"):
        other = np.maximum(1 - p[near_one], 2e-16)
    assert (np.abs(rounded[near_one] - p[near_one]) <= np.minimum(0.51e-6, 0.051 * other) + 2e-16).all()
    for value, exact in zip(rounded.ravel().tolist(), p.ravel().tolist()):
        digits = repr(value).partition("e")[0].replace(".", "").strip("0")
        assert len(digits) <= (16 if exact > 0.5 else 6)


def test_only_what_is_certain_is_1():
    certain = np.array([[0.0, -np.inf], [-1e-300, -900.0]])
    assert round_probabilities(certain).tolist() == [[1.0, 0.0], [1 - 2**-53, float("2.225e-308")]]
    assert format_probability(1.0) == "0.9999999999"
    assert format_probability(1.0, is_certain=True) == "1"
    assert format_short_percent(1 - 1e-9) == "99.9999999 %"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model of words that leave no doubt, and a message of them."""
    folder = tmp_path_factory.mktemp("sure")
    rows = [(f"{word} " * 30, label) for word, label in (("win", "spam"), ("tea", "ham")) for _ in range(40)]
    table(folder / "words.csv", "text,kind", rows)
    done(
        "train",
        folder / "words.csv",
        "--target",
        "kind",
        "--as",
        "text=text",
        "--calibrate",
        "none",
        "-o",
        folder / "m.deciban",
    )
    table(folder / "new.csv", "text", [("win " * 200,)])
    return folder / "m.deciban", folder / "new.csv"


def test_predictions_without_doubt_are_not_printed_as_1(trained):
    model, new = trained
    lines = done("predict", model, new, "--proba").stdout.splitlines()
    assert lines[0] == "prediction,probability,p(ham),p(spam)"
    label, *p = lines[1].split(",")
    assert (label, p[0], p[2]) == ("spam", "0.9999999999999999", "0.9999999999999999")
    assert 0 < float(p[1]) < 1e-100
    assert "probability 0.9999999999" in done("explain", model, new).stdout


def test_other_formats_have_every_digit(tmp_path):
    path = tmp_path / "m.deciban"
    done("train", PATIENTS, "--target", "diagnosis", "--calibrate", "none", "-o", path)
    p = deciban.load(path).predict_proba(NEW).read_all().to_pylist()
    printed = [json.loads(line) for line in done("predict", path, NEW, "--json").stdout.splitlines()]
    assert [line["probability"] for line in printed] == [max(row.values()) for row in p]
    first = done("predict", path, NEW).stdout.splitlines()[1]
    (label, shown), exact = first.split(","), max(p[0].values())
    assert label == "pneumonia"
    assert abs(float(shown) - exact) <= 0.051 * (1 - exact)
    assert len(shown) <= 10
    assert printed[0]["probability"] == max(p[0].values())


def test_a_verdict_without_doubt_is_not_written_as_1():
    verdict = Verdict("spam", "spam", 1.0, 400.0, 0.0, (), 0.0, {}, "evidence")
    assert verdict.header().startswith("spam; p=0.9999999999; evidence=+400.0dB")


def test_predictions_without_doubt_are_below_1_in_json_too(trained):
    line = json.loads(done("predict", *trained, "--proba", "--json").stdout)
    assert line["probability"] == line["p(spam)"] == 0.9999999999999999
