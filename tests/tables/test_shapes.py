"""Shapes of covariance on tables: those of GaussianBayes, for numbers that are joined and for those that are not."""

import numpy as np
import pandas as pd
import pytest

import deciban
from deciban.errors import InputError, SchemaError
from deciban.scores.bounded_forms import MAX_FEATURE_EVIDENCE
from tests.tables.test_blocks import people

NUMBERS = ["age", "height", "weight"]


def rows(holes=False):
    return people(holes=holes)[[*NUMBERS, "group"]]


def posterior(model, table):
    return np.asarray(model.predict_log_proba(table))


@pytest.mark.parametrize("covariance", ["full", "tied"])
@pytest.mark.parametrize("holes", [False, True])
def test_all_numbers_joined_are_gaussian_bayes(covariance, holes):
    table = rows(holes)
    given = {"covariance": covariance, "parameter_prior": 0.0}
    mine = deciban.train(table, target="group", blocks="numbers", judge=False, **given)
    theirs = deciban.GaussianBayes(**given).fit(table[NUMBERS], table["group"])
    assert posterior(mine, table) == pytest.approx(theirs.predict_log_proba(table[NUMBERS]), abs=1e-9)


@pytest.mark.parametrize("covariance", ["full", "tied"])
@pytest.mark.parametrize("holes", [False, True])
def test_joined_numbers_are_gaussian_bayes_without_the_values_far_from_every_class(covariance, holes):
    table = rows(holes)
    mine = deciban.train(table, target="group", blocks="numbers", covariance=covariance, judge=False)
    theirs = deciban.GaussianBayes(covariance=covariance, parameter_prior=1.0).fit(table[NUMBERS], table["group"])
    asked = table[NUMBERS] * np.resize([1.0, 1.0, 1.0, 1.1, 10.0, -1.0], table[NUMBERS].shape)
    inside = asked.copy()
    for j, name in enumerate(NUMBERS):
        reach = 10 * np.sqrt(np.broadcast_to(theirs.covariance_, (3, 3, 3))[:, j, j])
        low, high = (theirs.means_[:, j] - reach).min(), (theirs.means_[:, j] + reach).max()
        inside[name] = asked[name].where(asked[name].between(low, high))
    assert inside.isna().sum().sum() > asked.isna().sum().sum()
    assert posterior(mine, asked) == pytest.approx(theirs.predict_log_proba(inside), abs=1e-9)


def test_joined_numbers_of_few_rows_are_told_apart_however_far_they_are():
    """With more columns than rows every new row is far from all classes, in directions without learned variance."""
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    names = [f"x{j:02}" for j in range(30)]
    learned, new = (pd.DataFrame(rng.normal(y[:, None], 1.0, (20, 30)), columns=names) for _ in range(2))
    mine = deciban.train(learned.assign(group=y), target="group", blocks="numbers", judge=False)
    theirs = deciban.GaussianBayes(parameter_prior=1.0).fit(learned, y)
    bounded = np.maximum(theirs.predict_log_proba(new), -30 * MAX_FEATURE_EVIDENCE)
    assert posterior(mine, new) == pytest.approx(bounded, abs=1e-6)


@pytest.mark.parametrize("covariance", ["diagonal", "tied_diagonal", "spherical", "tied_spherical", "identity"])
def test_numbers_that_are_not_joined_are_gaussian_bayes_too(covariance):
    table = rows()
    given = {"covariance": covariance, "parameter_prior": 0.0}
    mine = deciban.train(table, target="group", numbers="number", judge=False, **given)
    theirs = deciban.GaussianBayes(**given).fit(table[NUMBERS], table["group"])
    assert posterior(mine, table) == pytest.approx(theirs.predict_log_proba(table[NUMBERS]), abs=1e-9)


@pytest.mark.parametrize("asked", [{"blocks": "numbers", "covariance": "tied"}, {"covariance": "tied_diagonal"}])
def test_a_shape_survives_a_file_and_adds_only_to_its_like(asked, tmp_path):
    table = people()
    model = deciban.train(table, target="group", numbers="number", calibrate="none", **asked)
    model.save(tmp_path / "m.deciban")
    again = deciban.load(tmp_path / "m.deciban")
    assert again.options.covariance == asked["covariance"]
    assert np.array_equal(posterior(again, table), posterior(model, table))
    assert str(again.describe()) == str(model.describe())
    half = [deciban.train(part, target="group", like=again, judge=False) for part in (table[:150], table[150:])]
    assert posterior(half[0] + half[1], table) == pytest.approx(posterior(model, table), abs=1e-9)
    usual = deciban.train(table, target="group", numbers="number", **{k: asked[k] for k in asked if k == "blocks"})
    with pytest.raises(SchemaError, match="covariance"):
        model + usual


def test_numbers_whose_role_was_named_otherwise_are_not_joined():
    model = deciban.train(people(), target="group", blocks="numbers", roles={"age": "binned"}, judge=False)
    assert {c.name: c.block for c in model.columns if c.block} == dict.fromkeys(
        ("height", "weight"), ("height", "weight")
    )


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"covariance": "round"}, "covariance must be one of 'full', 'tied'"),
        ({"covariance": "tied"}, "Hint: blocks='numbers'"),
        ({"covariance": "diagonal", "blocks": "numbers"}, "joined with others"),
        ({"blocks": "all"}, "or 'numbers'"),
        ({"blocks": "numbers", "roles": {"age": "skip", "height": "skip"}}, "there is one"),
    ],
)
def test_shapes_that_no_column_takes_are_refused(asked, message):
    with pytest.raises(InputError, match=message):
        deciban.train(people(), target="group", judge=False, **asked)
