"""How far columns depend on each other, and what is advised: the lectures' cases, and awkward tables."""

import json
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import deciban
from deciban.errors import InputError
from tests.metrics.exact import mutual

DECIBAN = 10 / math.log(10)

RAIN = Fraction(1, 4)
COAT = {"rain": Fraction(9, 10), "dry": Fraction(1, 5)}
ACCIDENT = {"rain": Fraction(3, 10), "dry": Fraction(1, 20)}
"""London's taxi drivers: of a day with rain or without it, who wears a coat and who has an accident."""


def taxis():
    """P(sky, coat, accident), by the lecture: independent given the sky."""
    sky = {"rain": RAIN, "dry": 1 - RAIN}
    table = {}
    for s, coat, accident in product(sky, (True, False), (True, False)):
        p = COAT[s] if coat else 1 - COAT[s]
        q = ACCIDENT[s] if accident else 1 - ACCIDENT[s]
        table[s, coat, accident] = sky[s] * p * q
    return table


def rows_of(table, n):
    """As many rows of each kind as n rows have."""
    rows = [key for key, p in table.items() for _ in range(int(p * n))]
    assert len(rows) == n
    return rows


def test_coats_and_accidents_depend_on_each_other_and_given_rain_do_not():
    rows = rows_of(taxis(), 8000)
    sky, coat, accident = zip(*rows)
    found = deciban.dependence({"coat": coat, "accident": accident, "sky": sky}, target="sky")
    (pair,) = found.pairs
    assert (pair.first, pair.second) == ("coat", "accident")
    assert pair.conditional == pytest.approx(0, abs=2 * DECIBAN / 8000)
    pooled = {}
    for (_, *rest), p in taxis().items():
        pooled[0, *rest] = pooled.get((0, *rest), Fraction(0)) + p
    assert pair.marginal == pytest.approx(DECIBAN * mutual(pooled), abs=2 * DECIBAN / 8000)
    assert pair.marginal > 0.05
    assert pair.action == "leave"
    assert not found.advice


def thunder(n=20_000, seed=5):
    """Lightning comes of rain; thunder comes of lightning, whether or not it rains."""
    rng = np.random.default_rng(seed)
    rain = rng.random(n) < 0.3
    lightning = rng.random(n) < np.where(rain, 0.3, 0.02)
    thunder = rng.random(n) < np.where(lightning, 0.95, 0.01)
    return {"thunder": thunder, "rain": rain, "lightning": lightning}


def test_thunder_and_rain_are_independent_given_lightning_and_not_without_it():
    found = deciban.dependence(thunder(), target="lightning")
    (pair,) = found.pairs
    assert pair.p_value > 0.01
    assert pair.marginal > 0.1


def test_thunder_repeats_lightning_whether_or_not_it_rains():
    found = deciban.dependence(thunder(), target="rain")
    (pair,) = found.pairs
    assert pair.p_value < 1e-9
    assert pair.double_counted > 1
    assert pair.action == "drop"
    assert found.drop == ["thunder"]  # lightning tells more about rain
    assert str(found.advice[0]).startswith("drop thunder: lightning predicts")
    named = {name.replace("thunder", "thunder: heard"): values for name, values in thunder().items()}
    assert repr(deciban.dependence(named, target="rain")).endswith("; drop thunder: heard>")


def exclusive_or(n=400, seed=6):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, (2, n)).astype(bool)
    return {"a": a, "b": b, "noise": rng.random(n) < 0.5, "y": np.where(a ^ b, "odd", "even")}


def test_columns_that_tell_the_class_only_together_are_to_be_joined():
    found = deciban.dependence(exclusive_or(), target="y")
    assert found.blocks == [["a", "b"]]
    assert found.pairs[0].gain > 2.5
    assert found.pairs[0].conditional == pytest.approx(10 * math.log10(2), abs=0.1)
    before, after = (
        deciban.evaluate(exclusive_or(), target="y", blocks=blocks, structure="naive").log_loss
        for blocks in (None, found.blocks)
    )
    assert after < 0.1 < 0.6 < before


def gaussians(n=600, rho=0.9, seed=7):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    z = rng.normal(size=(2, n))
    height = z[0] + 0.5 * y
    weight = rho * z[0] + math.sqrt(1 - rho**2) * z[1] - 0.5 * y
    return {"height": height, "weight": weight, "colour": rng.choice([*"rgb"], n), "y": y}


def test_two_numbers_have_their_correlation_within_classes():
    table = gaussians()
    found = deciban.dependence(table, target="y")
    pair = found.pairs[0]
    y, height, weight = (table[name] for name in ("y", "height", "weight"))
    centred = [x - np.where(y == 1, x[y == 1].mean(), x[y == 0].mean()) for x in (height, weight)]
    rho = np.corrcoef(*centred)[0, 1]
    assert pair.correlation == pytest.approx(rho, abs=1e-12)
    assert pair.gaussian == pytest.approx(-0.5 * math.log(1 - rho**2) * DECIBAN, abs=DECIBAN / 600)
    assert 0.6 * pair.gaussian < pair.conditional < pair.gaussian
    assert found.blocks == [["height", "weight"]]
    others = [p for p in found.pairs if "colour" in (p.first, p.second)]
    assert all(math.isnan(p.correlation) and p.action == "leave" for p in others)


def test_a_number_and_a_category_that_depend_on_each_other_are_left_and_one_that_it_gives_away_goes():
    table = gaussians()
    table["tall"] = np.where(table["height"] > np.median(table["height"]), "tall", "small")
    found = deciban.dependence(table, target="y")
    actions = {(p.first, p.second): p.action for p in found.pairs if p.p_value < 1e-9}
    assert actions == {("height", "weight"): "join", ("weight", "tall"): "leave", ("height", "tall"): "drop"}
    assert (found.blocks, found.drop) == ([["height", "weight"]], ["tall"])


def independent(seed, n=120):
    """Six columns of every kind that the class moves, and nothing else."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2 + seed % 2, n)
    numbers = {"a": rng.normal(size=n) + y, "b": rng.exponential(size=n) * (1 + y), "c": rng.normal(size=n)}
    flag = np.where(rng.random(n) < 0.3 + 0.2 * y, "yes", "no")
    return {**numbers, "d": rng.choice([*"uvwx"], n), "e": flag, "f": rng.choice([*"pqr"], n), "y": y}


@pytest.mark.thorough(reason="many rows, classes or draws: seconds")
def test_of_a_hundred_tables_of_independent_columns_at_most_one_gets_advice():
    result = [deciban.dependence(independent(seed), target="y") for seed in range(100)]
    assert sum(bool(found.advice) for found in result) <= 1
    least = np.array([min(pair.p_value for pair in found.pairs) * len(found.pairs) for found in result])
    assert 0.03 <= np.mean(least < 0.1) <= 0.17  # one in ten, as it should be, and what chance adds to that


@pytest.mark.parametrize(("weaker", "other"), [("height", "metres"), ("metres", "height")])
def test_the_weaker_of_two_numbers_that_are_the_same_goes(weaker, other):
    table = gaussians()
    table["metres"] = table["height"] / 100
    table[weaker] = table[weaker] + 0.05 * table[weaker].std() * np.random.default_rng(9).normal(size=600)
    del table["weight"]
    alone = {
        x: deciban.cross_validate(deciban.GaussianNB(), table[x][:, None], table["y"], "loo") for x in (weaker, other)
    }
    assert alone[weaker].log_loss > alone[other].log_loss
    found = deciban.dependence(table, target="y")
    assert found.drop == [weaker]
    assert "repeats it (correlation 1.00 within classes)" in str(found.advice[0])


def test_a_part_of_a_date_that_repeats_another_column_is_left_where_another_part_does_not():
    days = np.datetime64("2023-01-01") + np.arange(600)
    month = np.array([f"month {day[5:7]}" for day in days.astype(str)])
    y = np.random.default_rng(0).random(600) < 0.5
    found = deciban.dependence({"month": month, "day": days, "y": y}, target="y")
    assert [str(advice) for advice in found.advice] == [
        "leave day.month: month explains 90 % of it within classes, but a date is dropped as a whole or not at all"
    ]
    assert (found.drop, found.blocks) == ([], [])
    assert repr(found).endswith("; nothing to drop or to join>")


def test_equal_weights_change_nothing_and_unequal_ones_count_rows_less():
    table = gaussians()
    plain = deciban.dependence(table, target="y")
    equal = deciban.dependence({**table, "w": np.full(600, 2.0)}, target="y", weights="w")
    assert equal.matrix == pytest.approx(plain.matrix, abs=1e-9, nan_ok=True)
    weights = np.where(np.arange(600) % 2 == 0, 1.0, 3.0)
    unequal = deciban.dependence({**table, "w": weights}, target="y", weights="w")
    assert unequal.pairs[0].rows == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert unequal.pairs[0].error > plain.pairs[0].error


def test_rows_that_lack_one_of_two_are_left_out_of_that_pair():
    table = gaussians()
    some = np.arange(600) % 3 == 0
    holes = {**table, "weight": np.where(some, np.nan, table["weight"])}
    found = deciban.dependence(holes, target="y")
    alone = deciban.dependence({name: np.asarray(values)[~some] for name, values in table.items()}, target="y")
    pair = next(p for p in found.pairs if p.second == "weight")
    assert pair.rows == 400
    assert pair.conditional == pytest.approx(alone.pairs[0].conditional, abs=0.25)


def test_two_columns_that_no_row_has_both_of_have_no_dependence():
    table = gaussians()
    half = np.arange(600) % 2 == 0
    table["height"] = np.where(half, table["height"], np.nan)
    table["weight"] = np.where(half, np.nan, table["weight"])
    found = deciban.dependence(table, target="y")
    pair = found.pairs[-1]
    assert (pair.first, pair.second, pair.rows) == ("height", "weight", 0)
    assert math.isnan(pair.conditional)
    json.dumps(found.to_dict(), allow_nan=False)


def test_dates_have_parts_and_texts_are_left_out():
    n = 200
    rng = np.random.default_rng(9)
    table = {
        "seen": [f"{2023 + d % 2}-{m:02}-{d:02}" for m, d in zip(rng.integers(1, 13, n), rng.integers(1, 28, n))],
        "note": ["the patient said this and that, and more"] * (n // 2)
        + ["so did all the others who came here"] * (n // 2),
        "x": rng.normal(size=n),
        "y": rng.choice(["a", "b"], n),
    }
    found = deciban.dependence(table, target="y", roles={"note": "text"})
    assert found.features == ("seen.month", "seen.weekday", "x")


def test_matrices_are_symmetric_and_pairs_in_order():
    found = deciban.dependence(gaussians(), target="y")
    assert found.features == ("height", "weight", "colour")
    for matrix in (found.matrix, found.marginal):
        assert matrix.shape == (3, 3)
        assert np.isnan(np.diag(matrix)).all()
        assert np.array_equal(matrix, matrix.T, equal_nan=True)
    result = [pair.conditional for pair in found.pairs]
    assert result == sorted(result, reverse=True)
    assert found.matrix[0, 1] == found.pairs[0].conditional
    assert "given class" in str(found)
    assert found.to_dict()["pairs"][0]["action"] == "join"


def test_many_columns_are_looked_at():
    rng = np.random.default_rng(10)
    X = rng.normal(size=(300, 120))
    X[:, 119] = X[:, 0] + 0.05 * rng.normal(size=300)
    table = {f"c{j}": X[:, j] for j in range(120)} | {"y": rng.integers(0, 3, 300)}
    found = deciban.dependence(table, target="y")
    assert len(found.pairs) == 120 * 119 // 2
    assert {found.pairs[0].first, found.pairs[0].second} == {"c0", "c119"}
    others = np.array([pair.conditional for pair in found.pairs[1:]])
    assert abs(others.mean()) < 0.02
    assert sum(pair.action != "leave" for pair in found.pairs) == 1


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"x": [1.0, 2.5, 3.0], "y": ["a", "b", "a"]}, "needs 2 to 1000 features"),
        ({"x": [1.0, 2.5], "z": [3.0, 4.5], "y": ["a", "a"]}, "one class only"),
        ({"x": [1.0, 2.5], "z": [3.0, 4.5]}, "no column 'y' for the target"),
        ({"x": [], "z": [], "y": []}, "no rows"),
    ],
)
def test_tables_that_say_nothing_are_refused(table, words):
    with pytest.raises(InputError, match=words):
        deciban.dependence(table, target="y")


def test_two_rows_are_enough_to_be_asked():
    found = deciban.dependence({"x": [1.0, 2.5], "z": ["u", "v"], "y": ["a", "b"]}, target="y")
    assert not found.advice
