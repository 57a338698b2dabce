"""Ordinary tables on which the default was once silently wrong; right is the figure of the same rows told well."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import deciban
from deciban.errors import DecibanWarning
from tests.relations.cases import Case, probabilities, train
from tests.relations.tables import TABLES, TARGET

NEAR = 1.05
"""A figure may be larger than what is right by this factor."""


def log_loss(p, target):
    own = p.to_numpy()[np.arange(len(p)), p.columns.get_indexer(target.astype(str))]
    return -np.log(np.maximum(own, 1e-300)).mean()


def loss_of(learned, held_out, **options):
    model = train(learned, **options)
    return log_loss(probabilities(model, held_out), held_out[TARGET])


def labelled(y, **columns):
    return pd.DataFrame(columns).assign(target=np.where(y, "bad", "ok"))


UNITS = {
    "pressure in Pa": (101_325, 800),
    "pressure in hPa": (1013.25, 8),
    "longitude": (-73.98, 0.05),
    "body temperature in °F": (98.6, 0.54),
    "Unix time in s": (1.78e9, 20 * 86_400),
    "Unix time in ms": (1.78e12, 1.7e9),
    "Julian day": (2_461_000, 20),
    "UTM northing": (5_400_000, 3000),
    "mains frequency": (50, 0.02),
}
"""Units by their usual value and the deviation of a class."""


@pytest.mark.parametrize("unit", UNITS)
def test_a_number_far_from_zero_is_learned_as_one_near_it(unit):
    rng = np.random.default_rng(0)
    y = rng.random(4000) < 0.3
    z = rng.normal(2 * y, 1)
    centre, deviation = UNITS[unit]
    table = labelled(y, z=z, v=centre + deviation * z)
    learned, held_out = table[:2000], table[2000:].reset_index(drop=True)
    logistic = make_pipeline(StandardScaler(), LogisticRegression()).fit(learned[["z"]], learned[TARGET])
    right = log_loss(
        pd.DataFrame(logistic.predict_proba(held_out[["z"]]), columns=logistic.classes_), held_out[TARGET]
    )
    for options in ({}, {"judge": False}):
        assert loss_of(learned[["v", TARGET]], held_out[["v", TARGET]], **options) <= right * NEAR


def test_places_on_a_map_are_learned_as_if_their_mean_were_zero():
    rng = np.random.default_rng(1)
    k = rng.integers(0, 20, 3000)
    centres = rng.normal(0, [0.02, 0.015], (20, 2))
    places = centres[k] + rng.normal(0, 0.002, (3000, 2))
    classes = np.char.add("quarter ", k.astype(str))
    losses = []
    for origin in (0.0, np.array([-93.64, 42.03])):
        table = pd.DataFrame(places + origin, columns=["longitude", "latitude"]).assign(target=classes)
        losses.append(loss_of(table[:2000], table[2000:].reset_index(drop=True)))
    assert losses[0] < 0.6  # of ln 20 = 3.0
    assert losses[1] <= losses[0] * NEAR


def test_rows_of_a_month_that_training_did_not_have():
    rng = np.random.default_rng(0)
    n = 100_000
    y = rng.random(n) < 0.005
    seconds = pd.to_timedelta(rng.integers(0, 29 * 86_400, n), unit="s")
    june = labelled(y, ts=pd.Timestamp("2026-06-01") + seconds, x=rng.normal(y * 1.5, 1))
    july = june.assign(ts=june.ts + pd.Timedelta(days=30))
    p = probabilities(train(june), july)["bad"]
    assert p.mean() == pytest.approx(y.mean(), rel=0.05)
    assert (p > 0.5).sum() <= 2 * y.sum()


def test_flights_of_autumn_from_those_of_spring_are_not_worse_than_the_share():
    rng = np.random.default_rng(3)
    n = 40_000
    day = rng.integers(0, 181, n)
    autumn = rng.random(n) < 0.25
    when = pd.Timestamp("2013-01-01") + pd.to_timedelta(np.where(autumn, 243 + day % 30, day) * 24 + 9, unit="h")
    carrier = rng.integers(0, 12, n)
    month = np.asarray(when.month)
    late = rng.random(n) < np.where(month == 9, 0.13, 0.18 + 0.02 * month) * (0.6 + carrier / 14)
    table = labelled(late, date=when, carrier=np.char.add("c", carrier.astype(str)), distance=rng.gamma(3, 300, n))
    learned, held_out = table[~autumn], table[autumn].reset_index(drop=True)
    share = (learned[TARGET] == "bad").mean()
    constant = -np.log(np.where(held_out[TARGET] == "bad", share, 1 - share)).mean()
    assert loss_of(learned, held_out) <= constant


def unlikely(n=30_000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.01
    return rng, y, rng.normal(y * 1.0, 1)


@pytest.mark.parametrize("options", [{}, {"judge": False}, {"learner": "aode"}], ids=str)
def test_a_flag_that_was_always_false(options):
    _, y, x = unlikely()
    model = train(labelled(y, recalled=np.zeros(len(y), bool), x=x), **options)
    p = probabilities(model, pd.DataFrame({"recalled": [True, None], "x": [0.0, 0.0]}))["bad"]
    assert p[0] == pytest.approx(p[1], rel=1e-6)
    assert p[0] <= 0.01


def test_a_flag_whose_true_rows_are_all_forgotten():
    rng, y, x = unlikely()
    table = labelled(y, recalled=rng.random(len(y)) < 0.3, x=x)
    model = train(table, judge=False)
    model.forget(table[table.recalled])
    p = probabilities(model, pd.DataFrame({"recalled": [True, None], "x": [0.0, 0.0]}))["bad"]
    assert p[0] == pytest.approx(p[1], rel=1e-6)


@pytest.mark.parametrize("options", [{}, {"judge": False, "structure": "tan"}], ids=str)
def test_two_levels_that_never_came_together(options):
    rng = np.random.default_rng(1)
    y = rng.random(40_000) < 0.01
    city = rng.integers(0, 8, len(y))
    zone = np.where(rng.random(len(y)) < np.where(y, 0.5, 0.02), (city + 1) % 8, city)
    names = {"city": np.char.add("c", city.astype(str)), "zone": np.char.add("z", zone.astype(str))}
    model = train(labelled(y, **names, x=rng.normal(y * 0.7, 1)), **options)
    p = probabilities(model, pd.DataFrame({"city": ["c0"], "zone": ["z4"], "x": [0.0]}))["bad"]
    assert p[0] <= 0.010 * NEAR


@pytest.mark.parametrize("options", [{}, {"judge": False}, {"judge": False, "unseen": "smooth"}], ids=str)
def test_a_shop_seen_once_in_the_common_class(options):
    rng = np.random.default_rng(0)
    n = 100_000
    y = rng.random(n) < 0.005
    shop = np.where(rng.random(n) < 0.998, rng.integers(0, 50, n), 50 + rng.integers(0, 300, n))
    table = labelled(y, shop=np.char.add("s", shop.astype(str)), x=rng.normal(y * 1.5, 1))
    rows = table.shop.map(table.shop.value_counts())
    once = table[(rows == 1) & ~y].shop
    assert len(once) > 20
    p = probabilities(train(table, **options), pd.DataFrame({"shop": once, "x": 0.75}))["bad"]
    assert p.max() <= 0.005 * NEAR


def test_survey_weights_have_no_unit():
    rng = np.random.default_rng(5)
    y = rng.random(1200) < 0.3
    signal = labelled(y, a=rng.normal(y * 1.0, 1), b=rng.choice(list("pqrst"), 1200), w=1000.0)
    noise = labelled(y, w=1000.0, **{f"n{i}": rng.normal(0, 1, 1200) for i in range(30)})
    for table, options in ((signal, {}), (noise, {"judge": False})):
        learned, held_out = table[:600], table[600:].reset_index(drop=True)
        right = loss_of(learned.drop(columns="w"), held_out, **options)
        assert loss_of(learned, held_out, survey_weights="w", **options) <= right * NEAR
        with pytest.warns(DecibanWarning, match="survey"):
            deciban.train(learned, target=TARGET, weights="w", **options)


@pytest.mark.parametrize("column", ["dates", "sensor"])
def test_a_column_that_shows_what_it_is_after_many_rows(column):
    rng = np.random.default_rng(0)
    n = 60_000
    y, i = rng.random(n) < 0.2, np.arange(n)
    late = i >= 25_000
    hours = np.where(late, (8 + 6 * y + rng.integers(0, 4, n)) % 24, 0)
    days = pd.to_timedelta((i // 60) * 24 + hours, unit="h")
    cells = {"sensor": np.where(late, rng.normal(2 * y, 1), np.nan), "dates": pd.Timestamp("2020-01-01") + days}
    table = labelled(y, v=cells[column], x=rng.normal(y * 0.5, 1))
    held_out = rng.random(n) < 0.05
    learned, rows = table[~held_out], table[held_out].reset_index(drop=True)
    right = loss_of(learned.sample(frac=1, random_state=1), rows, judge=False)
    assert loss_of(learned, rows, judge=False) <= right * NEAR


def breast_cancer():
    bunch = load_breast_cancer(as_frame=True)
    table = bunch.data.assign(target=bunch.target_names[bunch.target]).sample(frac=1, random_state=0)
    return table[:300].reset_index(drop=True), table[300:].reset_index(drop=True)


def test_forgetting_a_row_and_adding_it_again_keeps_the_probabilities():
    learned, held_out = breast_cancer()
    model = train(learned)
    loss = lambda: log_loss(probabilities(model, held_out), held_out[TARGET])  # noqa: E731
    right = loss()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.forget(learned[:1])
        assert loss() <= right * NEAR
        model.add(learned[:1])
    assert loss() == pytest.approx(right, rel=1e-6)


OF_EVERYONE = [name for name in TABLES if name != "few rows"]


@pytest.mark.parametrize("table", OF_EVERYONE)
def test_an_empty_row_has_the_prior(table):
    task = TABLES[table](np.random.default_rng(0))
    model = Case(task, "default").train(task)
    if model.calibration is not None and model.calibration.method != "temperature":
        pytest.skip(f"calibrated by {model.calibration.method}, of which the prior is not asked")
    rows = task.test.head(1).drop(columns=TARGET)
    p = probabilities(model, rows.mask(np.ones(rows.shape, bool))).iloc[0]
    for label, share in model.priors.items():
        assert p[str(label)] == pytest.approx(share, abs=1e-9)


@pytest.mark.parametrize("share", [0.353, 0.01])
def test_the_mean_probability_is_the_share(share):
    rng = np.random.default_rng(7)
    n = 24_000
    y = rng.random(n) < share
    x = rng.normal(y * 1.0, 1)
    columns = {f"copy {i}": x + rng.normal(0, 0.3, n) for i in range(5)}
    table = labelled(y, **columns, c=rng.choice(list("pqr"), n))
    p = probabilities(train(table[:12_000]), table[12_000:].reset_index(drop=True))["bad"]
    own = y[12_000:]
    error = np.std(own - p.to_numpy()) / np.sqrt(len(own))
    assert abs(p.mean() - own.mean()) <= max(0.03 * own.mean(), 2 * error)
