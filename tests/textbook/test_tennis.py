"""The PlayTennis table of Mitchell, Machine Learning (1997), chapter 6.9.1: sunny, cool, high, strong."""

import csv
from fractions import Fraction as Q
from math import prod
from pathlib import Path

import pytest

import deciban
from deciban.model.posterior_arithmetic import compute_by_hand
from deciban.sources.source import open_source
from tests.cli.terminal import EXAMPLES

DAY = {"outlook": "sunny", "temperature": "cool", "humidity": "high", "wind": "strong"}
COLUMNS = tuple(DAY)


@pytest.fixture(scope="module")
def days():
    with (EXAMPLES / "tennis.csv").open() as file:
        return list(csv.DictReader(file))


def train(alpha):
    roles = dict.fromkeys(COLUMNS, "category")
    return deciban.train(EXAMPLES / "tennis.csv", target="play", roles=roles, alpha=alpha, judge=False)


def by_hand(days, alpha):
    """π · θ · θ · θ · θ of each class, in fractions."""
    products = {}
    for label in ("no", "yes"):
        rows = [day for day in days if day["play"] == label]
        thetas = [
            Q(sum(row[name] == value for row in rows) + alpha, len(rows) + alpha * len({day[name] for day in days}))
            for name, value in DAY.items()
        ]
        products[label] = Q(len(rows), len(days)) * prod(thetas)
    return products


def test_the_products_of_the_book(days):
    """P(yes) P(sunny|yes) P(cool|yes) P(high|yes) P(strong|yes) = 0.0053, and 0.0206 for no: 0.795."""
    products = by_hand(days, 0)
    assert products["yes"] == Q(9, 14) * Q(2, 9) * Q(3, 9) * Q(3, 9) * Q(3, 9)
    assert products["no"] == Q(5, 14) * Q(3, 5) * Q(1, 5) * Q(4, 5) * Q(3, 5)
    assert (round(float(products["yes"]), 4), round(float(products["no"]), 4)) == (0.0053, 0.0206)
    assert round(float(products["no"] / sum(products.values())), 3) == 0.795


@pytest.mark.parametrize("alpha", [0, 1, 2])
def test_the_model_gives_the_fractions(days, alpha):
    products, model = by_hand(days, alpha), train(alpha)
    day = {name: [value] for name, value in DAY.items()}
    expected = [float(products[label] / sum(products.values())) for label in ("no", "yes")]
    assert model.predict_proba(day)[0].tolist() == pytest.approx(expected, rel=1e-12)
    (work,) = compute_by_hand(model, open_source(day), 1, False, 10)
    assert [float(p) for p in work.probability] == pytest.approx(expected, rel=1e-12)
    written = [[Q(factor.formulas[k]) for factor in work.factors] for k in range(2)]
    assert [prod(factors) for factors in written] == [products["no"], products["yes"]]


def test_a_table_has_the_counts_and_both_estimates(days):
    frame = train(1).table("outlook").to_frame("arrow").to_pylist()
    assert [(row["value"], row["class"]) for row in frame] == [
        (value, label) for value in ("overcast", "rain", "sunny") for label in ("no", "yes")
    ]
    for row in frame:
        own = [day["outlook"] == row["value"] for day in days if day["play"] == row["class"]]
        assert (row["count"], row["total"]) == (sum(own), len(own))
        assert row["theta_ml"] == pytest.approx(float(Q(sum(own), len(own))), rel=1e-13)
        assert row["theta"] == pytest.approx(float(Q(sum(own) + 1, len(own) + 3)), rel=1e-13)


def test_the_printed_table_is_that_of_a_textbook():
    assert str(train(1).table("wind")).split("\n\n") == [
        "wind (category) in each class",
        "counts n\n          no  yes\n  strong   3    3\n  weak     2    6\n  N        5    9",
        "n/N, without a pseudo-count\n                    no           yes\n  strong  3/5 = 0.6000  3/9 = 0.3333\n"
        "  weak    2/5 = 0.4000  6/9 = 0.6667",
        "(n + α)/(N + αV), α = 1, V = 2\n                    no            yes\n"
        "  strong  4/7 = 0.5714  4/11 = 0.3636\n  weak    3/7 = 0.4286  7/11 = 0.6364",
    ]
    assert "5/14 = 0.3571" in str(train(1).table("play"))


def test_the_example_is_the_table_of_the_book():
    lines = (Path(EXAMPLES) / "tennis.csv").read_text().splitlines()
    assert lines[0].split(",") == [*COLUMNS, "play"]
    assert len(lines) == 15
    assert [line.split(",")[-1] for line in lines[1:]].count("yes") == 9
