"""The pages of counts and probabilities, 1 to 9, against fractions, closed forms and the lab."""

import csv
import json
from fractions import Fraction as Q
from math import log, log10, prod

import numpy as np
import pytest

from tests import oracle
from tests.cli.terminal import EXAMPLES as TABLES
from tests.cli.terminal import done
from tests.gallery.pages import lab_rows, numbers_in, run
from tests.metrics.exact import mutual
from tests.metrics.test_dependence import ACCIDENT, COAT, RAIN, taxis
from tests.textbook.test_parameter_counts import LECTURE_FIGURES


def floats(fractions):
    return np.array(fractions, dtype=object).astype(float)


def test_the_rare_disease():
    page = run("01_rare_disease")
    table = page.values["table"]
    positive = Q(1, 100) * Q(9, 10), Q(99, 100) * Q(5, 100)
    assert [table.true_positives, table.false_positives] == pytest.approx(floats([10_000 * p for p in positive]))
    assert table.positive_predictive_value == pytest.approx(2 / 13, rel=1e-12)
    assert "90 of 585" in page.text
    assert f"{10 * log10(0.9 / 0.05):.2f}" in page.text
    for prior in (Q(1, 1000), Q(1, 100), Q(1, 5)):
        answer = prior * Q(9, 10) / (prior * Q(9, 10) + (1 - prior) * Q(5, 100))
        assert f"prior {float(prior):.1%}: after a positive test {float(answer):.1%}" in page.text


def test_the_coin():
    page = run("02_coin_flips")
    flips = [[1], [1], [1], [0], [0]]
    expected = {alpha: oracle.bernoulli(flips, "ccccc", "c", alpha=alpha)[0][0] for alpha in (0, 1, 10)}
    assert expected == {0: Q(3, 5), 1: Q(4, 7), 10: Q(13, 25)}
    assert page.values["estimates"] == pytest.approx({alpha: float(theta) for alpha, theta in expected.items()})
    assert all(f"= {theta} = {float(theta):.4f}" in page.text for theta in expected.values())
    theta = np.linspace(0, 1, 100_001)
    assert theta[np.argmax(theta**3 * (1 - theta) ** 2)] == pytest.approx(0.6)


def p_no(alpha):
    """p(no | overcast, mild, high, strong) in fractions."""
    with (TABLES / "tennis.csv").open() as file:
        days = list(csv.DictReader(file))
    products = []
    for label in ("no", "yes"):
        rows = [day for day in days if day["play"] == label]
        cells = {"outlook": "overcast", "temperature": "mild", "humidity": "high", "wind": "strong"}
        thetas = [
            Q(sum(row[name] == value for row in rows) + alpha, len(rows) + alpha * len({day[name] for day in days}))
            for name, value in cells.items()
        ]
        products.append(Q(len(rows), len(days)) * prod(thetas))
    return products[0] / sum(products)


@pytest.mark.thorough(reason="runs the programs of the gallery: seconds each")
def test_the_zero_count():
    page = run("03_zero_counts")
    assert p_no(0) == 0
    assert [page.values["no"][alpha] for alpha in (0, 1)] == pytest.approx([0, float(p_no(1))], rel=1e-12)
    assert "overcast       0/5 = 0" in page.text
    assert "overcast  1/8 = 0.1250" in page.text
    assert page.values["no"][max(page.values["alphas"])] == pytest.approx(5 / 14, abs=0.01)
    # the lecture's imagined examples: θ = (n + 1)/(n_k + 1), π = (n_k + 1)/(n + K)
    np.testing.assert_allclose(page.values["theta"], floats([[1, Q(2, 4)], [Q(1, 3), Q(2, 3)]]), rtol=1e-12)
    np.testing.assert_allclose(page.values["prior"], floats([Q(4, 7), Q(3, 7)]), rtol=1e-12)


@pytest.mark.thorough(reason="runs the programs of the gallery: seconds each")
def test_the_parameter_counts():
    page = run("04_parameter_counts")
    (_, _, joint), (_, _, naive), (_, _, full) = LECTURE_FIGURES
    assert page.values["joint"][-1].conditional == joint == 2_147_483_646
    assert page.values["naive"][-1].conditional == naive == 60
    assert [count.conditional for count in page.values["joint"]] == [2 * (2**m - 1) for m in range(1, 31)]
    assert page.values["images"]["full"] == full
    assert round(full / 1e9, 1) == 21.5
    assert f"{joint:,}" in page.text
    assert f"{full:,}" in page.text


@pytest.mark.thorough(reason="runs the programs of the gallery: seconds each")
def test_the_taxis():
    page = run("05_london_taxis")
    with_coat = RAIN * COAT["rain"], (1 - RAIN) * COAT["dry"]
    without = RAIN * (1 - COAT["rain"]), (1 - RAIN) * (1 - COAT["dry"])
    all_days = [sum(p * ACCIDENT[s] for p, s in zip(pair, ACCIDENT)) / sum(pair) for pair in (with_coat, without)]
    assert all_days == [Q(1, 5), Q(3, 50)]
    expected = {"all days": all_days, "in the rain": [ACCIDENT["rain"]] * 2, "on dry days": [ACCIDENT["dry"]] * 2}
    assert {name: pytest.approx(floats(pair)) for name, pair in expected.items()} == page.values["shares"]
    (pair,) = page.values["found"].pairs
    pooled = {}
    for (_, *rest), p in taxis().items():
        pooled[0, *rest] = pooled.get((0, *rest), Q(0)) + p
    assert pair.marginal == pytest.approx(10 / log(10) * mutual(pooled), abs=1e-3)
    assert pair.conditional == pytest.approx(0, abs=1e-3)


@pytest.mark.thorough(reason="runs the programs of the gallery: seconds each")
def test_the_linear_classifier():
    page = run("06_linear_classifier")
    X, y = page.values["X"].tolist(), page.values["y"].tolist()
    theta = oracle.bernoulli(X, y, ["ham", "spam"], alpha=1)
    assert theta == [[Q(1, 4), Q(7, 12)], [Q(3, 4), Q(1, 6)]]
    form = page.values["form"]
    np.testing.assert_allclose(form.w, [log(9), -log(7)], rtol=1e-12)
    assert form.b == pytest.approx(log(2 / 3), rel=1e-12)
    posterior = oracle.posterior([Q(1, 2)] * 2, [oracle.p_bernoulli(t, [0, 0]) for t in theta])
    assert posterior[1] == Q(2, 5)
    assert page.values["p_spam"] == pytest.approx(0.4, rel=1e-12)
    # right, without the absent words, and averaged: free alone
    assert f"{log(9 * 2 / 3):+.3f}, not {log(3):+.3f}, nor its mean {log(3) / 2:+.3f}" in page.text


@pytest.mark.thorough(reason="runs the programs of the gallery: seconds each")
def test_the_logarithms():
    page = run("07_logarithms")
    theta = [[Q(float(p)) for p in row[page.values["document"]]] for row in page.values["theta"]]
    products = [Q(1, 2), Q(1, 2)]
    smallest_half, first_zero, exact = Q(5e-324) / 2, None, []
    for i, pair in enumerate(zip(*theta)):
        products = [p * t for p, t in zip(products, pair)]
        exact.append(float(products[1] / sum(products)))
        if first_zero is None and max(products) < smallest_half:
            first_zero = i + 1
    assert page.values["first_zero"] == pytest.approx(first_zero, abs=2)  # a product rounds at each word
    np.testing.assert_allclose(page.values["by_logs"], exact, rtol=1e-9)
    assert np.isnan(page.values["by_products"][-1])
    a = page.values["a"]
    assert a[0] - a[1] == pytest.approx(log(1 / 3) + log(2), rel=1e-12)
    assert f"= {log(1 / 3) + log(2):.4f}, not 3 ln(1/3) + ln 2 = {3 * log(1 / 3) + log(2):.4f}" in page.text


@pytest.mark.thorough(reason="runs the programs of the gallery: seconds each")
def test_the_bag_of_words():
    page = run("08_bag_of_words")
    sport, politics, words = (page.values[name] for name in ("sport", "politics", "words"))
    assert len(sport) == len(politics) == 3

    def count(text):
        tokens = "".join(c if c.isalnum() else " " for c in text.lower()).split()
        return [tokens.count(word) for word in words]

    classes, y = ["politics", "sport"], ["sport"] * 3 + ["politics"] * 3
    X = [count(text) for text in sport + politics]
    theta = oracle.multinomial(X, y, classes, alpha=1)
    new = count(page.values["new"])
    expected = oracle.posterior(oracle.class_prior(y, classes), [oracle.p_multinomial(t, new) for t in theta])
    assert list(page.values["by_hand"]) == expected
    assert page.values["model"].predict_proba([page.values["new"]])[0].tolist() == pytest.approx(floats(expected))
    assert f"sport {expected[1]} = {float(expected[1]):.4f}; deciban: {float(expected[1]):.4f}" in page.text
    totals = [sum(map(sum, (x for x, k in zip(X, y) if k == label))) for label in classes]
    assert f"n = {totals[1]} words of sport, {totals[0]} of politics, V = {len(words)}" in page.text


@pytest.mark.thorough(reason="runs the programs of the gallery: seconds each")
def test_the_spam_detector(tmp_path):
    page = run("09_spam_detector")
    rows = {row[0]: row[1] for row in lab_rows("mail", "## The lecture's experiment")[:7]}
    assert page.values["lab"] == {name: tuple(numbers_in(rows[name])) for name in page.values["lab"]}
    done("example", "mailbox", "--folder", str(tmp_path / "box"))
    split = ("--split", "304/38/38", "--draws", "5", "--model", "bayes", "--json")
    folders = ("--ham", str(tmp_path / "box"), "--spam", str(tmp_path / "box" / ".Junk"))
    found = json.loads(done("mail", "evaluate", *folders, *split).stdout)
    own = page.values["report"].to_dict()
    assert [draw["seed"] for draw in own["each"]] == list(range(5))
    assert [draw["messages"] for draw in own["each"]] == [38] * 5
    assert own["error"] == pytest.approx(found["error"], abs=0.02)
