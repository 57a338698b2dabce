"""How far columns depend on each other: exact tables, closed forms, independence on average, rows left out."""

import json
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

import deciban
from deciban.errors import InputError
from deciban.judge.dependence.bells import gain_of_bell
from deciban.judge.dependence.coding import MOST_BINS
from deciban.judge.dependence.information import Tables, information, of_correlation
from deciban.judge.dependence.pairs import compared

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


def mutual(table):
    """I(X;Y|C) of a table of probabilities by (c, x, y), as it is defined."""

    def of(*places):
        found = {}
        for key, p in table.items():
            part = tuple(key[i] for i in places)
            found[part] = found.get(part, Fraction(0)) + p
        return found

    class_, first, second = of(0), of(0, 1), of(0, 2)
    return sum(
        float(p) * math.log(p * class_[c,] / (first[c, x] * second[c, y])) for (c, x, y), p in table.items() if p
    )


def rows_of(table, n):
    """As many rows of each kind as n rows have."""
    rows = [key for key, p in table.items() for _ in range(int(p * n))]
    assert len(rows) == n
    return rows


def tables(counts):
    counts = np.asarray(counts, dtype=float)
    return Tables(counts, np.array([0]))


def drawn(rng, n, A, B, K=1):
    """A table of independent features, classes and all."""
    counts = np.zeros((K, A, B))
    p, q = rng.dirichlet(np.ones(A)), rng.dirichlet(np.ones(B))
    np.add.at(counts, (rng.integers(0, K, n), rng.choice(A, n, p=p), rng.choice(B, n, p=q)), 1)
    return counts


@pytest.mark.parametrize("seed", range(3))
def test_information_is_that_of_an_exact_table(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 9, (2, 3, 4))
    total = int(counts.sum())
    table = {key: Fraction(int(n), total) for key, n in np.ndenumerate(counts)}
    many = 10**7  # so many that no bias is left
    found = information(tables(counts * many))
    assert found.value[0] == pytest.approx(mutual(table), abs=1e-6)
    pooled = {(0, *key[1:]): Fraction(0) for key in table}
    for key, p in table.items():
        pooled[0, *key[1:]] += p
    assert information(tables(counts * many).pooled).value[0] == pytest.approx(mutual(pooled), abs=1e-6)


def test_many_features_side_by_side_are_each_what_they_are_alone():
    rng = np.random.default_rng(0)
    parts = [drawn(rng, 300, 3, B, K=2) for B in (2, 5, 3)]
    together = Tables(np.concatenate(parts, axis=2), np.array([0, 2, 7]))
    for name, i in (("value", 0), ("error", 1), ("p_value", 2), ("rows", 3)):
        alone = [getattr(information(tables(part)), name)[0] for part in parts]
        assert information(together)[i] == pytest.approx(alone, abs=1e-12)
    for i in range(len(compared(together))):
        assert compared(together)[i] == pytest.approx([compared(tables(part))[i][0] for part in parts], abs=1e-12)


def test_large_tables_lose_what_miller_and_madow_take_away():
    counts = np.full((2, 3, 4), 1000.0)
    assert information(tables(counts)).value[0] == pytest.approx(-2 * 2 * 3 / (2 * counts.sum()), rel=1e-3)


@pytest.mark.parametrize(("n", "A", "B", "K"), [(40, 2, 2, 1), (60, 8, 8, 1), (200, 12, 12, 1), (150, 3, 3, 3)])
def test_independent_features_tell_nothing_on_average(n, A, B, K):
    rng = np.random.default_rng(n)
    found = [information(tables(drawn(rng, n, A, B, K))) for _ in range(600)]
    values = np.array([one.value[0] for one in found])
    plain = np.mean([one.value[0] for one in found])
    error = values.std() / math.sqrt(len(values))
    bias_of_plug_in = (A - 1) * (B - 1) * K / (2 * n)
    assert abs(plain) < 3 * error + 0.04 * bias_of_plug_in
    p = np.array([one.p_value[0] for one in found])
    assert (p < 0.05).mean() < 0.08


def test_of_small_cells_less_is_taken_away_than_miller_and_madow_would():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(400):
        counts = drawn(rng, 50, 16, 16)[0]
        counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
        table = {(0, *key): Fraction(int(n), 50) for key, n in np.ndenumerate(counts) if n}
        plug_in = mutual(table)
        taken = plug_in - information(tables(counts[None])).value[0]
        found.append((plug_in, taken, (counts.shape[0] - 1) * (counts.shape[1] - 1) / 100))
    assert np.mean(found, axis=0) == pytest.approx([0.91, 0.92, 1.27], abs=0.02)


@pytest.mark.parametrize(("bins", "kept"), [(MOST_BINS, 0.44), (16, 0.48)])
def test_bins_keep_most_of_what_normal_variables_tell_about_each_other(bins, kept):
    cut, x = norm.ppf(np.linspace(0, 1, bins + 1)), np.linspace(-8, 8, 4001)
    beneath = norm.cdf((cut - 0.8 * x[:, None]) / 0.6)  # p(Y < cut | x), correlation 0.8
    both = np.diff(beneath, axis=1) * norm.pdf(x)[:, None] * (x[1] - x[0])
    place = np.clip(np.searchsorted(cut, x) - 1, 0, bins - 1)
    cell = np.array([both[place == i].sum(axis=0) for i in range(bins)])
    cell /= cell.sum()
    margins = np.outer(cell.sum(axis=1), cell.sum(axis=0))
    assert (cell * np.log(cell / margins)).sum() == pytest.approx(kept, abs=0.005)
    assert -0.5 * math.log(1 - 0.8**2) == pytest.approx(0.51, abs=0.005)


def test_evidence_of_independent_features_is_not_counted_twice_on_average():
    rng = np.random.default_rng(1)
    chance = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]]).cumsum(axis=1)
    found = []
    for _ in range(600):
        y = rng.integers(0, 2, 400)
        a, b = ((rng.random(400)[:, None] > chance[y]).sum(axis=1) for _ in range(2))
        counts = np.zeros((2, 4, 4))
        np.add.at(counts, (y, a, b), 1)
        one = compared(tables(counts))
        found.append((one.twice[0], one.twice_error[0]))
    twice, error = np.array(found).T
    assert abs(twice.mean()) < 4 * twice.std() / math.sqrt(len(twice))
    assert error.mean() == pytest.approx(twice.std(), rel=0.25)


def test_of_a_copy_all_its_evidence_is_counted_twice():
    p, q = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.1, 0.2, 0.3, 0.4])
    counts = np.stack([np.diag(p), np.diag(q)]) * 1e7
    divergence = float((p * np.log(p / q)).sum())
    assert compared(tables(counts)).twice[0] == pytest.approx(divergence, abs=1e-5)


def test_what_joining_gains_is_that_of_every_row_left_out():
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 6, (3, 2, 3)).astype(float)
    found = compared(tables(counts))
    share = counts.sum(axis=(1, 2)) / counts.sum()
    gains = []
    for k, a, b in [key for key, n in np.ndenumerate(counts) for _ in range(int(n))]:
        left = counts.copy()
        left[k, a, b] -= 1
        naive, joint = np.empty(3), np.empty(3)
        for c in range(3):
            t = left[c] if c == k else counts[c]  # the shares of the classes stay those of all rows
            first, second = (t[a].sum() + 1) / (t.sum() + 2), (t[:, b].sum() + 1) / (t.sum() + 3)
            naive[c] = share[c] * first * second
            joint[c] = share[c] * (t[a, b] + 6 * first * second) / (t.sum() + 6)
        gains.append(math.log(joint[k] / joint.sum()) - math.log(naive[k] / naive.sum()))
    assert found.joining[0] == pytest.approx(np.mean(gains), abs=1e-12)
    assert found.joining_error[0] == pytest.approx(np.std(gains) / math.sqrt(len(gains)), abs=1e-12)


def test_one_bell_is_judged_by_every_row_left_out():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, 40)
    x = rng.normal(size=(40, 2)) @ np.array([[1, 0.8], [0, 0.6]]) + codes[:, None] * [1.0, -1.0]
    same_bin = np.zeros(40, dtype=np.int64)
    mean, error = gain_of_bell(x, (same_bin, same_bin), codes, 2)
    pooled = sum(np.cov(x[codes == k].T, bias=True) * (codes == k).sum() for k in (0, 1)) / 40
    gains = []
    for i in range(40):
        told = {}
        for shape in ("joint", "naive"):
            scores = []
            for k in (0, 1):
                rows = x[(codes == k) & ((codes != codes[i]) | (np.arange(40) != i))]
                scatter = pooled + (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0))
                cov = scatter / (1 + len(rows))
                cov = cov if shape == "joint" else np.diag(np.diag(cov))
                u = x[i] - rows.mean(axis=0)
                density = math.exp(-0.5 * u @ np.linalg.inv(cov) @ u) / math.sqrt(np.linalg.det(cov))
                scores.append((codes == k).mean() * density)
            told[shape] = math.log(scores[codes[i]] / sum(scores))
        gains.append(told["joint"] - told["naive"])
    assert mean == pytest.approx(np.mean(gains), abs=1e-6)
    assert error == pytest.approx(np.std(gains) / math.sqrt(40), abs=1e-6)


def test_gaussian_information_is_that_of_the_correlation():
    rho = np.array([0.0, 0.3, -0.9])
    many = np.full(3, 1e12)
    assert of_correlation(rho, many) == pytest.approx([-0.5 * math.log(1 - r * r) for r in rho], abs=1e-9)
    assert of_correlation(np.array([1.0]), many)[0] == math.inf


def test_gaussian_information_of_independent_numbers_is_nothing_on_average():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, 20_000, 9))
    r = np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(x, y)])
    found = of_correlation(r, np.full(len(r), 9.0 - 1))
    assert abs(found.mean()) < 4 * found.std() / math.sqrt(len(r))


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
    assert str(found.advice[0]).startswith("drop thunder: lightning tells")


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
        deciban.evaluate(exclusive_or(), target="y", blocks=blocks).log_loss for blocks in (None, found.blocks)
    )
    assert after < 0.1 < 0.6 < before


def bells(n=600, rho=0.9, seed=7):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    z = rng.normal(size=(2, n))
    height = z[0] + 0.5 * y
    weight = rho * z[0] + math.sqrt(1 - rho**2) * z[1] - 0.5 * y
    return {"height": height, "weight": weight, "colour": rng.choice([*"rgb"], n), "y": y}


def test_two_numbers_have_their_correlation_within_classes():
    table = bells()
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
    table = bells()
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


def test_of_a_hundred_tables_of_independent_columns_at_most_one_gets_advice():
    told = [deciban.dependence(independent(seed), target="y") for seed in range(100)]
    assert sum(bool(found.advice) for found in told) <= 1
    least = np.array([min(pair.p_value for pair in found.pairs) * len(found.pairs) for found in told])
    assert 0.03 <= np.mean(least < 0.1) <= 0.17  # one in ten, as it should be, and what chance adds to that


@pytest.mark.parametrize(("weaker", "other"), [("height", "metres"), ("metres", "height")])
def test_the_weaker_of_two_numbers_that_are_the_same_goes(weaker, other):
    table = bells()
    table["metres"] = table["height"] / 100
    table[weaker] = table[weaker] + 0.05 * table[weaker].std() * np.random.default_rng(9).normal(size=600)
    del table["weight"]
    alone = {
        x: deciban.cross_validate(deciban.GaussianNB(), table[x][:, None], table["y"], "loo") for x in (weaker, other)
    }
    assert alone[weaker].log_loss > alone[other].log_loss
    found = deciban.dependence(table, target="y")
    assert found.drop == [weaker]
    assert "the same (correlation 1.00 within classes)" in str(found.advice[0])


def test_equal_weights_change_nothing_and_unequal_ones_count_rows_less():
    table = bells()
    plain = deciban.dependence(table, target="y")
    equal = deciban.dependence({**table, "w": np.full(600, 2.0)}, target="y", weights="w")
    assert equal.matrix == pytest.approx(plain.matrix, abs=1e-9, nan_ok=True)
    weights = np.where(np.arange(600) % 2 == 0, 1.0, 3.0)
    unequal = deciban.dependence({**table, "w": weights}, target="y", weights="w")
    assert unequal.pairs[0].rows == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert unequal.pairs[0].error > plain.pairs[0].error


def test_rows_that_lack_one_of_two_are_left_out_of_that_pair():
    table = bells()
    some = np.arange(600) % 3 == 0
    holes = {**table, "weight": np.where(some, np.nan, table["weight"])}
    found = deciban.dependence(holes, target="y")
    alone = deciban.dependence({name: np.asarray(values)[~some] for name, values in table.items()}, target="y")
    pair = next(p for p in found.pairs if p.second == "weight")
    assert pair.rows == 400
    assert pair.conditional == pytest.approx(alone.pairs[0].conditional, abs=0.25)


def test_two_columns_that_no_row_has_both_of_have_no_dependence():
    table = bells()
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
        "seen": [f"2024-{m:02}-{d:02}" for m, d in zip(rng.integers(1, 13, n), rng.integers(1, 28, n))],
        "note": ["the patient said this and that, and more"] * (n // 2)
        + ["so did all the others who came here"] * (n // 2),
        "x": rng.normal(size=n),
        "y": rng.choice(["a", "b"], n),
    }
    found = deciban.dependence(table, target="y", roles={"note": "text"})
    assert found.features == ("seen.month", "seen.weekday", "x")


def test_matrices_are_symmetric_and_pairs_in_order():
    found = deciban.dependence(bells(), target="y")
    assert found.features == ("height", "weight", "colour")
    for matrix in (found.matrix, found.marginal):
        assert matrix.shape == (3, 3)
        assert np.isnan(np.diag(matrix)).all()
        assert np.array_equal(matrix, matrix.T, equal_nan=True)
    told = [pair.conditional for pair in found.pairs]
    assert told == sorted(told, reverse=True)
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
        ({"x": [1.0, 2.5, 3.0], "y": ["a", "b", "a"]}, "between 2 to 1000 features"),
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
