"""A model's description: figures computed by hand, summaries in words, and large models."""

import copy
import json
from dataclasses import replace
from fractions import Fraction
from math import inf, log10, nan

import numpy as np
import pytest

import deciban
from deciban.model import feature_summaries
from deciban.model.description import _get_order
from deciban.model.differences import find_differences
from deciban.model.feature_summaries import LevelTable
from tests.timing import assert_growth

PAIN = ["chest"] * 8 + ["none"] * 2 + ["chest"] * 3 + ["none"] * 12
SICK = ["ill"] * 10 + ["well"] * 15


def decibans(ratio):
    return 10 * log10(ratio)


def train_model(table, roles=None, **settings):
    return deciban.train(table, target="y", roles=roles, judge=False, **{"alpha": 1.0, **settings})


def strongest(model):
    return {strength.feature: strength for strength in model.describe().strongest}


def test_a_level_favours_a_class_by_the_ratio_of_its_smoothed_shares():
    result = train_model({"pain": PAIN, "y": SICK}).describe().strongest[0]
    ill, well = sorted(result.summaries, key=lambda summary: summary.label)
    assert (ill.value, ill.label, ill.rows) == ("= chest", "ill", 11)
    assert ill.evidence == pytest.approx(decibans(Fraction(8 + 1, 10 + 2) / Fraction(3 + 1, 15 + 2)))
    assert (well.value, well.label, well.rows) == ("= none", "well", 14)
    assert well.evidence == pytest.approx(decibans(Fraction(12 + 1, 15 + 2) / Fraction(2 + 1, 10 + 2)))
    assert str(ill).startswith("pain = chest favours ill: +5.0 dB (")
    assert str(ill).endswith("), 11 rows")


def test_the_average_evidence_is_that_of_the_true_class_against_the_other():
    result = train_model({"pain": PAIN, "y": SICK}).describe().strongest[0]
    ill = [Fraction(9, 12), Fraction(3, 12)]
    well = [Fraction(4, 17), Fraction(13, 17)]

    def divergence(p, q):
        return sum(float(a) * decibans(a / b) for a, b in zip(p, q))

    assert result.evidence == pytest.approx(0.4 * divergence(ill, well) + 0.6 * divergence(well, ill))
    assert 0 <= result.low < result.evidence < result.high


def test_with_three_classes_a_level_is_compared_with_the_other_two_together():
    rows = [("a", "x")] * 6 + [("b", "x")] * 2 + [("a", "y")] * 1 + [("b", "y")] * 7 + [("b", "z")] * 4
    table = {"letter": [r[0] for r in rows], "y": [r[1] for r in rows]}
    says = {summary.label: summary for summary in train_model(table).describe().strongest[0].summaries}
    others = Fraction(8, 12) * Fraction(2, 10) + Fraction(4, 12) * Fraction(1, 6)
    assert says["x"].value == "= a"
    assert says["x"].evidence == pytest.approx(decibans(Fraction(7, 10) / others))


def test_intervals_hold_the_figure_and_narrow_with_more_rows():
    model = train_model({"pain": PAIN, "y": SICK})
    few, many = (m.describe().strongest[0] for m in (model, model * 100))
    for result in (few, many, *few.summaries, *many.summaries):
        assert result.low < result.evidence < result.high
    assert many.high - many.low < (few.high - few.low) / 5
    assert many.summaries[0].high - many.summaries[0].low < (few.summaries[0].high - few.summaries[0].low) / 5


def test_a_level_seen_once_is_not_listed_first():
    table = {"pain": [*PAIN * 4, "odd"], "y": [*SICK * 4, "ill"]}
    says = train_model(table).describe().strongest[0].summaries
    assert "= odd" not in [summary.value for summary in says]


def test_of_many_classes_the_intervals_of_those_with_most_evidence_alone_are_drawn(monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 60, 3000)
    model = train_model({"a": np.where(rng.random(3000) < 0.3, y % 7, rng.integers(0, 7, 3000)).astype(str), "y": y})
    drawn, compute_interval = [], feature_summaries._compute_interval
    monkeypatch.setattr(feature_summaries, "_compute_interval", lambda *a: drawn.append(a) or compute_interval(*a))
    few = model.describe().strongest[0].summaries
    assert len(drawn) == feature_summaries.MAX_INTERVAL_CLASSES < 60
    monkeypatch.setattr(feature_summaries, "MAX_INTERVAL_CLASSES", 60)
    assert model.describe().strongest[0].summaries == few
    assert len(drawn) == 40 + 60


def make_level_table(K, V, alpha=0.5):
    """Return a table of levels and a prior; class 1 and the last level have no rows."""
    rng = np.random.default_rng(K)
    counts = rng.poisson(1.0, (K, V)).astype(float)
    counts[1] = counts[:, -1] = 0.0
    theta = (counts + alpha) / np.maximum((counts + alpha).sum(axis=1, keepdims=True), 1e-300)
    pseudo = np.full(counts.shape, alpha), np.full((K, 1), alpha * V), np.full((K, 1), alpha)
    log_theta = np.log(np.maximum(theta, 1e-300))
    return LevelTable("a", str, counts, log_theta, *pseudo, ""), rng.dirichlet(np.ones(K))


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("prior", [None, [0.0, 0.5, 0.5, 0.0], [1 - 1e-10, 0.0, 0.0, 0.0], [0.6, 0.4, 0.0, 1e-18]])
def test_the_strongest_level_of_each_class_is_that_of_the_definition(alpha, prior):
    table, drawn = make_level_table(4 if prior else 7, 6, alpha)
    prior = np.array(prior) if prior else drawn
    found = feature_summaries._find_level_per_class(table, prior)
    assert [level.k for level in found] == [k for k in range(len(prior)) if table.counts[k].any()]
    n = table.counts.sum(axis=1)
    for k, v, nats, low in found:
        others = [l for l in range(len(prior)) if l != k]
        share = prior[others] / prior[others].sum() if prior[others].any() else np.full(len(others), 1 / len(others))
        expected = table.log_theta[k] - np.log(share @ np.exp(table.log_theta[others]))
        sides = [
            (table.counts[k], n[k], alpha),
            (table.counts[others].sum(axis=0), n[others].sum(), alpha * len(others)),
        ]
        variance = sum(
            1 / np.maximum(counts + added, feature_summaries.MIN_PROBABILITY**0.25) - 1 / (rows + 6 * added)
            for counts, rows, added in sides
        )
        lows = np.where(table.counts.any(axis=0), expected - feature_summaries.Z90 * np.sqrt(variance), -inf)
        assert v == lows.argmax()
        assert (nats, low) == pytest.approx((expected[v], lows[v]), rel=1e-12, abs=1e-12)


def test_strongest_levels_are_found_in_time_proportional_to_the_classes():
    tables = {K: make_level_table(K, 50) for K in (300, 2400)}
    assert_growth(lambda K: feature_summaries._find_level_per_class(*tables[K]), 300, 2400, 30)


def test_numbers_are_summarised_by_means_with_standard_errors():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=40), np.array(["low", "high"] * 20)
    x[:5] = np.nan
    result = strongest(train_model({"x": x, "y": y}, numbers="number", parameter_prior=0.0))["x"]
    for summary in result.summaries:
        own = x[(y == summary.label) & ~np.isnan(x)]
        assert summary.what == "mean"
        assert summary.value == pytest.approx(own.mean())
        assert summary.error == pytest.approx(own.std() / np.sqrt(len(own)))
        assert summary.rows == len(own)
    assert (result.rows, result.fewest, result.fewest_label) == (35, 17, "low")


def test_counts_are_summarised_by_their_rates():
    visits, y = np.array([0, 1, 2, 0, 4, 5, 3, 6]), np.array(["few"] * 4 + ["many"] * 4)
    result = strongest(train_model({"visits": visits, "y": y}, {"visits": "count"}, alpha=0.0))["visits"]
    assert [(s.label, s.value, s.what) for s in result.summaries] == [("few", 0.75, "rate"), ("many", 4.5, "rate")]
    assert result.summaries[1].error == pytest.approx(np.sqrt(4.5 / 4))


def test_of_many_classes_the_lowest_and_the_highest_mean_are_listed():
    y = np.repeat(np.arange(8), 10)
    says = strongest(train_model({"x": y * 1.5 + np.tile([0.0, 0.1], 40), "y": y}, numbers="number"))["x"].summaries
    assert [summary.label for summary in says] == [0, 7]


def test_a_binned_number_is_summarised_by_its_bins():
    x = np.r_[np.linspace(1, 2, 30), np.linspace(8, 9, 30)]
    says = strongest(train_model({"x": x, "y": ["low"] * 30 + ["high"] * 30}, {"x": "binned"}))["x"].summaries
    by_class = {summary.label: summary for summary in says}
    assert by_class["low"].value == "below 5"
    assert by_class["high"].value == "from 5"
    assert by_class["high"].evidence == pytest.approx(decibans(Fraction(31, 32) / Fraction(1, 32)))


def test_parts_of_dates_are_features_of_their_own():
    days = np.arange("2024-01-01", "2024-03-01", dtype="datetime64[D]")
    weekend = np.isin(np.arange(len(days)) % 7, (5, 6))
    result = train_model({"admitted": days, "y": np.where(weekend, "weekend", "week")}).describe()
    assert result.strongest[0].feature == "admitted.weekday"
    assert result.strongest[0].column == "admitted"
    assert {summary.value for summary in result.strongest[0].summaries} & {"= Sat", "= Sun"}
    assert [note.name for note in result.columns] == ["admitted"]


def test_columns_tell_role_reason_and_what_is_missing():
    table = {"pain": [None, *PAIN[1:]], "same": ["x"] * 25, "y": SICK}
    pain, same = train_model(table).describe().columns
    assert (pain.role, pain.rows, pain.missing) == ("category", 24, pytest.approx(1 / 25))
    assert (same.role, same.reason, same.rows, same.missing) == ("skip", "always the same value", None, None)


def test_classes_rows_weights_and_parameters():
    table = {"pain": PAIN, "w": [2.0] * 25, "y": [*SICK[:-1], None]}
    result = train_model(table, weights="w", prior="uniform").describe()
    assert [(c.label, c.weight, c.prior) for c in result.classes] == [("ill", 20, 0.5), ("well", 28, 0.5)]
    assert (result.target, result.rows, result.rows_without_class, result.weight) == ("y", 25, 1, 48)
    assert result.n_parameters == 2 * (2 - 1) + 1


def test_labels_that_are_numbers_stay_numbers():
    result = train_model({"pain": PAIN, "y": [int(label == "ill") for label in SICK]}).describe()
    assert [share.label for share in result.classes] == [0, 1]
    assert json.loads(json.dumps(result.to_dict()))["classes"][1]["label"] == 1


def test_the_dictionary_is_json_even_where_evidence_has_no_end():
    result = train_model({"pain": ["a"] * 5 + ["b"] * 5, "y": ["p"] * 5 + ["q"] * 5}, alpha=0.0).describe()
    found = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert found["strongest"][0]["says"][0]["evidence"] is None
    assert found["strongest"][0]["text"][0].startswith("pain = a favours p: +∞ dB")


def test_the_strongest_come_first_and_only_they_are_put_into_words():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 300)
    table = {f"c{j}": np.where(rng.random(300) < j / 15, y, rng.integers(0, 2, 300)).astype(str) for j in range(15)}
    result = train_model({**table, "y": y}).describe().strongest
    assert [t.evidence for t in result] == sorted((t.evidence for t in result), reverse=True)
    assert result[0].feature == "c14"
    assert [bool(t.summaries) for t in result] == [True] * 10 + [False] * 5


def test_levels_beyond_the_most_are_one():
    table = {"id": [*"aaaaabbbbb", *map(str, range(90))], "y": ["p"] * 5 + ["q"] * 5 + ["p"] * 80 + ["q"] * 10}
    says = strongest(train_model(table, {"id": "category"}, most_levels=2))["id"].summaries
    assert {summary.value for summary in says} == {"= one of the 90 rarest", "= b"}


def test_a_class_without_rows_has_no_summary_and_breaks_nothing():
    result = train_model(
        {"pain": PAIN, "x": np.arange(25) ** 1.5, "y": SICK}, classes=["ill", "well", "other"]
    ).describe()
    assert [share.weight for share in result.classes] == [10, 0, 15]
    assert all(summary.label != "other" for strength in result.strongest for summary in strength.summaries)
    assert all(strength.fewest_label == "ill" for strength in result.strongest)


def test_the_text_keeps_within_eighty_columns_and_says_what_it_leaves_out():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 30, 900)
    wide = {f"a column with a very long name, number {j}, that goes on": (y + rng.integers(0, 9, 900)).astype(str)
            for j in range(50)}  # fmt: skip
    wide = {name: np.char.add("a level with a very long name ", values) for name, values in wide.items()}
    labels = np.char.add("a class with a very long name that goes on and on ", y.astype(str))
    text = str(train_model({**wide, "y": labels}).describe())
    assert max(map(len, text.splitlines())) <= 80
    for rest in ("… and 20 more classes", "… and 45 more features", "… and 10 more columns"):
        assert rest in text


def test_the_text_shows_figures_that_a_reader_needs():
    text = str(train_model({"pain": PAIN, "y": SICK}).describe())
    assert text.startswith("y from 1 column: 25 rows read; 3 parameters")
    assert "= chest favours ill: +5.0 dB (" in text
    assert "25 rows, 10 of ill" in text
    assert "40.0%" in text


def test_one_more_class_is_not_in_the_plural():
    text = str(train_model({"x": np.arange(55.0) % 7, "y": [f"c{i % 11}" for i in range(55)]}).describe())
    assert "  … and 1 more class\n" in text


def test_one_more_column_with_a_marker_is_not_in_the_plural():
    described = train_model({"pain": PAIN, "y": SICK}).describe()
    marked = replace(described, markers={name: {"?": 2} for name in "abcde"})
    assert marked.format_markers() == ["? was read as missing in 10 cells: a 2, b 2, c 2, d 2 and 1 more column"]


def test_models_that_differ_in_the_target_alone_are_not_the_same():
    model = train_model({"pain": PAIN, "y": SICK})
    other = copy.copy(model)
    other.target = "z"
    assert find_differences(model, model)["same"]
    found = find_differences(model, other)
    assert not found["same"]
    assert found["target"] == {"": ["y", "z"]}


def test_features_of_unknown_strength_come_last():
    strength = strongest(train_model({"pain": PAIN, "y": SICK}))["pain"]
    ranked = sorted((replace(strength, evidence=value) for value in (nan, 1.0, inf, nan, 2.0)), key=_get_order)
    assert [each.evidence for each in ranked[:3]] == [inf, 2.0, 1.0]


def test_a_column_of_one_bin_has_the_evidence_of_any_number():
    known = [(i < 12 and i % 3 > 0) or i == 13 for i in range(20)]
    x = [float(7 * i % 20) if is_known else None for i, is_known in enumerate(known)]
    table = {"x": x, "z": [i % 5 for i in range(20)], "y": ["p"] * 12 + ["q"] * 8}
    model = train_model(table, learner="logistic", numbers="binned")
    (summary,) = strongest(model)["x"].summaries
    assert (summary.value, summary.label, summary.rows) == ("any number", "p", 9)
