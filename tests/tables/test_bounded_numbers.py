"""Numbers of tables are bounded: no cell decides alone, and a class says nothing of a column that it never had."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deciban
from deciban import NaiveBayes
from deciban.families.gaussian import Gaussian, rounding_variance
from deciban.ledger import Moments
from deciban.model.posterior_arithmetic import compute_by_hand
from deciban.scores.posterior import normalise
from deciban.sources.source import open_source
from tests import oracle
from tests.metrics.refits import assert_as_refitted

DECIBAN = 10 / math.log(10)
GRADES = {"grade": [1.0, 2.0, None] * 6, "y": ["a", "b", "c"] * 6}
"""Class a always has 1, class b always 2, class c never anything."""

rng = np.random.default_rng(4)
ILL = np.arange(60) % 2 == 0
PATIENTS = pd.DataFrame(
    {
        "temperature": np.where(ILL, rng.normal(38.6, 0.9, 60), rng.normal(36.8, 0.4, 60)).round(1),
        "pulse": np.where(ILL, rng.normal(95, 12, 60), rng.normal(72, 9, 60)).round(),
        "cough": np.where(rng.random(60) < 0.2 + 0.4 * ILL, "yes", "no"),
        "state": np.where(ILL, "ill", "well"),
    }
)
ROLES = {"temperature": "number", "pulse": "number"}


def grades(**settings):
    return deciban.train(pa.table(GRADES), target="y", roles={"grade": "number"}, judge=False, **settings)


def patients(**settings):
    return deciban.train(PATIENTS, target="state", roles=ROLES, judge=False, **settings)


def posterior(model, rows):
    return np.asarray(model.predict_proba(pd.DataFrame(rows)))


def test_a_column_without_spread_is_as_certain_as_its_rounding_allows():
    """σ² = 1/12, a step of 1 rounded; values of total variance 1/4 have the tail 10⁻⁴/√(2π/4)."""
    exact = oracle.gaussian([[x] for x in GRADES["grade"] if x], [*"ab"] * 6, "ab")
    assert exact == [[(1, 0)], [(2, 0)]]
    peak, tail = 1 / math.sqrt(2 * math.pi / 12), 1e-4 / math.sqrt(2 * math.pi / 4)
    near, far = peak * math.exp(-0.5 * 12 / 4), peak * math.exp(-0.5 * 12)
    expected = np.array([[peak, far], [far, peak], [near, near], [tail, tail]])
    both = expected.sum(axis=1) / 2
    joint = np.column_stack([expected, both]) / 3
    found = posterior(grades(), {"grade": [1.0, 2.0, 1.5, 77.0]})
    np.testing.assert_allclose(found, joint / joint.sum(axis=1, keepdims=True), rtol=1e-12)


def test_a_class_without_the_column_keeps_its_prior_whatever_the_value():
    values = {"grade": [1.0, 1.2, 1.5, 2.0, 77.0, -1e300, None]}
    np.testing.assert_allclose(posterior(grades(), values)[:, 2], 1 / 3, rtol=1e-12)
    two = deciban.train(
        {"x": [1.0, 2.5, 4.0, 8.0, np.nan, np.nan], "y": [*"aaaabb"]}, target="y", numbers="number", judge=False
    )
    evidence = two.explain(pd.DataFrame({"x": [0.0, 3.0, 50.0]}), classes=("a", "b")).evidence
    assert np.abs(evidence).max() < 1e-12


def test_the_files_of_the_two_reports_are_answered_sensibly(tmp_path):
    (tmp_path / "deg.csv").write_text("grade,y\n" + "1,a\n2,b\n,c\n" * 6)
    model = deciban.train(tmp_path / "deg.csv", target="y")
    assert model.roles == {"grade": "flag"}
    assert np.abs(model.explain(tmp_path / "deg.csv").evidence).max() < 20
    assert np.abs(grades().explain(pa.table(GRADES)).evidence).max() < 20
    assert all(abs(strength.evidence) < 30 for strength in grades().describe().strongest)
    absurd = {"temperature": [375.0], "pulse": [80.0], "cough": ["yes"]}
    result = patients().explain(pd.DataFrame(absurd), classes=("ill", "well"))
    assert dict(zip(result.features, result.evidence[0]))["temperature"] == 0


@pytest.mark.parametrize("settings", [{}, {"blocks": "numbers"}, {"covariance": "tied_diagonal"}], ids=str)
def test_an_absurd_cell_is_as_good_as_a_missing_one(settings):
    model = patients(**settings)
    absurd = {"temperature": [375.0, -1e9, 3e200], "pulse": [80.0] * 3, "cough": ["yes"] * 3}
    missing = {**absurd, "temperature": [None] * 3}
    np.testing.assert_allclose(posterior(model, absurd), posterior(model, missing), rtol=1e-12)


@pytest.mark.thorough(reason="trains many models, or large ones: seconds")
@pytest.mark.parametrize("settings", [{}, {"learner": "evidence", "C": 1.0}, {"learner": "boosted"}], ids=str)
@pytest.mark.parametrize("calibrate", [None, "temperature"])
def test_one_cell_never_decides_everything(settings, calibrate):
    model = patients(**settings, calibrate=calibrate)
    rows = pd.DataFrame({"temperature": [-1e6, 0.0, 30.0, 42.0, 45.0, 375.0, 1e250]})
    result = model.explain(rows, classes=("ill", "well"), allow_missing_columns=True)
    assert np.isfinite(result.evidence).all()
    assert np.abs(result.evidence).max() < 200
    odds = np.log(np.asarray(model.predict_proba(rows, allow_missing_columns=True)))
    np.testing.assert_allclose(result.total, DECIBAN * (odds[:, 0] - odds[:, 1]), atol=1e-9)
    parts = result.prior + result.evidence.sum(axis=1) + sum(result.extras.values())
    np.testing.assert_allclose(parts, result.total, atol=1e-9)


def test_logistic_regression_goes_no_further_than_the_numbers_it_has_learned():
    model = patients(learner="logistic", C=1.0)
    low, high = PATIENTS["temperature"].min(), PATIENTS["temperature"].max()
    rows = {
        "temperature": [low, low - 1, -1e9, high, high + 1, 375.0, 1e300],
        "pulse": [80.0] * 7,
        "cough": ["no"] * 7,
    }
    found = posterior(model, rows)[:, 0]
    assert found[0] == found[1] == found[2] < found[3] == found[4] == found[5] == found[6] < 1
    result = model.explain(pd.DataFrame(rows), classes=("ill", "well"))
    np.testing.assert_allclose(result.total, DECIBAN * np.log(found / (1 - found)), atol=1e-9)


@pytest.mark.parametrize("learner", ["bayes", "evidence", "boosted"])
def test_an_absurd_count_is_no_evidence(learner):
    visits = np.random.default_rng(5).poisson(2 + 3 * ILL)
    rows = pd.DataFrame({"visits": visits, "pulse": PATIENTS["pulse"], "state": PATIENTS["state"]})
    roles = {"visits": "count", "pulse": "number"}
    model = deciban.train(rows, target="state", roles=roles, judge=False, learner=learner)
    asked = pd.DataFrame({"visits": [0.0, 3.0, 9.0, 40.0, 1e6, 1e300], "pulse": [80.0] * 6})
    result = model.explain(asked, classes=("ill", "well"))
    by_name = dict(zip(result.features, result.evidence.T))
    assert by_name["visits"][-2:].tolist() == [0, 0]
    assert np.abs(by_name["visits"]).max() < 300
    log_odds = np.diff(np.asarray(model.predict_log_proba(asked)), axis=1)[:, 0]
    np.testing.assert_allclose(result.total, -DECIBAN * log_odds, atol=1e-9)
    alone = np.asarray(model.predict_log_proba(asked[["pulse"]], allow_missing_columns=True))
    np.testing.assert_allclose(model.predict_log_proba(asked[-2:]), alone[-2:], rtol=1e-9)


def test_the_bound_is_a_ten_thousandth_of_a_gaussian_as_wide_as_the_column():
    model = patients()
    (form, *_) = model._scorer.solved.forms
    deviation = PATIENTS["temperature"].std(ddof=0)
    np.testing.assert_allclose(form.log_tail[0], math.log(1e-4 / math.sqrt(2 * math.pi) / deviation), rtol=1e-12)
    (halved, *_) = (model * 0.5)._scorer.solved.forms
    np.testing.assert_allclose(halved.log_tail, form.log_tail, rtol=1e-12)


def test_the_arithmetic_of_a_row_says_where_a_density_is_bounded():
    visits = np.random.default_rng(5).poisson(2 + 3 * ILL)
    rows = PATIENTS[["temperature", "state"]].assign(visits=visits)
    roles = {"temperature": "number", "visits": "count"}
    model = deciban.train(rows, target="state", roles=roles, judge=False)
    asked = pd.DataFrame({"temperature": [37.0, 42.0], "visits": [3, 90]})
    usual, odd = compute_by_hand(model, open_source(asked), 2, False, 9)
    assert not any("bounded" in formula for factor in usual.factors for formula in factor.formulas)
    marked = {factor.column: ["bounded" in formula for formula in factor.formulas] for factor in odd.factors}
    assert marked == {None: [False, False], "temperature": [False, True], "visits": [True, True]}
    np.testing.assert_allclose(normalise(odd.log_products[None])[0], np.log(odd.predicted), atol=1e-12)


def test_maximum_likelihood_is_not_bounded():
    model, rows = patients(parameter_prior=0.0), PATIENTS[["temperature", "pulse"]]
    theirs = deciban.GaussianNB(var_smoothing=0.0).fit(rows, PATIENTS["state"])
    far = pd.DataFrame({"temperature": [36.5, 375.0], "pulse": [80.0, 80.0]})
    mine = np.asarray(model.predict_log_proba(far, allow_missing_columns=True))
    np.testing.assert_allclose(mine, theirs.predict_log_proba(far), rtol=1e-9)


def test_rows_and_batches_and_kernels_agree(monkeypatch):
    from deciban.kernels import execution

    wide = pd.concat([PATIENTS] * 3).assign(temperature=lambda t: t["temperature"] * np.tile([1.0, 10.0], 90))
    model = patients()
    whole = np.asarray(model.predict_log_proba(wide))
    each = np.concatenate([np.asarray(model.predict_log_proba(wide[i : i + 1])) for i in range(len(wide))])
    np.testing.assert_allclose(each, whole, rtol=1e-12, atol=1e-12)
    monkeypatch.setattr(execution, "MIN_KERNEL_STEPS", 0)
    np.testing.assert_allclose(np.asarray(model.predict_log_proba(wide)), whole, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("settings", [{}, {"parameter_prior": 0.0}, {"parameter_prior": 3.0}], ids=str)
def test_leaving_one_out_equals_refits_where_columns_have_no_spread(settings, weighted):
    table = pd.DataFrame(GRADES)
    table["twin"] = [1.0, 2.0, np.nan] * 5 + [1.0, 2.0, 5.0]
    table["far"] = [0.1, 0.2, 0.3] * 5 + [375.0, 0.25, 0.15]
    table["odd"] = [np.nan] * 17 + [4.0]
    weight = np.linspace(0.5, 2.0, 18) if weighted else None
    names = ["grade", "twin", "far", "odd"]
    model = NaiveBayes(roles=dict.fromkeys(names, "number"), **settings)
    assert_as_refitted(model, table[names], np.array(GRADES["y"]), "loo", weight)
    assert_as_refitted(model, table[names], np.array(GRADES["y"]), 3, weight)


def test_parts_add_up_to_the_whole_and_come_apart_again():
    table = pd.DataFrame(GRADES).assign(twin=[1.0, 2.0, 3.0] * 5 + [1.0, 2.0, np.nan])
    whole = deciban.train(table, target="y", numbers="number", judge=False, roles={"grade": "number"})
    first, second = (deciban.train(part, target="y", like=whole, judge=False) for part in (table[:7], table[7:]))
    rows = pd.DataFrame({"grade": [1.0, 1.6, 9.0], "twin": [2.0, None, 3.0]})
    for other in (first + second, second + first):
        np.testing.assert_allclose(other.predict_log_proba(rows), whole.predict_log_proba(rows), rtol=1e-12)
    np.testing.assert_allclose((whole - second).predict_log_proba(rows), first.predict_log_proba(rows), rtol=1e-12)


def test_values_of_a_class_that_never_had_the_column_are_drawn_from_the_others():
    drawn = grades().sample(3000, random_state=0).to_pandas()
    missing = drawn[drawn["y"] == "c"]["grade"]
    assert missing.mean() == pytest.approx(1.5, abs=0.05)
    assert missing.std() == pytest.approx(math.sqrt(1 / 4 + 1 / 12), abs=0.03)


@pytest.mark.parametrize("make", [grades, patients, lambda: patients(blocks="numbers")])
def test_a_bounded_model_survives_its_file(make, tmp_path):
    model = make()
    model.save(tmp_path / "m.deciban")
    again = deciban.load(tmp_path / "m.deciban")
    rows = pd.DataFrame({"grade": [1.0, 77.0]} if "grade" in model.roles else {"temperature": [37.0, 375.0]})
    for scored in (again, again - again * 0.5):
        answers = [np.asarray(m.predict_proba(rows, allow_missing_columns=True)) for m in (model, scored)]
        if scored is again:
            assert np.array_equal(*answers)
    assert type(again._scorer.solved.forms[0]) is type(model._scorer.solved.forms[0])
    assert again.options.bounded


def test_rounding_is_known_only_where_no_class_has_spread():
    codes = np.repeat([0, 1, 2], 2).astype(np.int32)
    columns = [[1, 1, 2, 2, 5, 5], [1, 1, 2, 2, 5, 6], [3, 3, 3, 3, 3, 3], [0.1, 0.1, 0.1, 0.1, 0.3, 0.3]]
    part = Moments.of(np.array(columns, dtype=float).T, codes, None, 3)
    np.testing.assert_allclose(rounding_variance(part), [1 / 12, 0, 0, 0.2**2 / 12], rtol=1e-9)
    variances = Gaussian(prior_rows=1.0, bounded=True).variances(part)
    np.testing.assert_allclose(variances[:, 0], 1 / 12)
    np.testing.assert_allclose(variances, Gaussian(prior_rows=1.0).variances(part + part * 0).clip(variances))


@pytest.mark.parametrize("power", [-140, -20, 0, 20, 140])
def test_units_do_not_matter(power):
    scale = 10.0**power
    x = np.array([1.0, 1.5, 2.0, 7.0, 8.0, 9.0])[:, None]
    codes = np.repeat([0, 1], 3).astype(np.int32)
    rows = np.array([[1.2], [5.0], [8.5], [1e4]])
    plain, scaled = (
        Gaussian(prior_rows=1.0, bounded=True).solve(Moments.of(x * s, codes, None, 2)) for s in (1, scale)
    )
    gaps = [np.diff(form.log_likelihoods(rows * s), axis=1) for form, s in ((plain, 1.0), (scaled, scale))]
    np.testing.assert_allclose(gaps[1], gaps[0], rtol=1e-9, atol=1e-9)
    assert gaps[0][-1] == 0


def test_a_tail_needs_no_rows_and_no_spread():
    empty, family = Moments.empty(2, 3), Gaussian(prior_rows=1.0, bounded=True)
    np.testing.assert_allclose(family.log_tails(empty), math.log(1e-4) - 0.5 * math.log(2 * math.pi))
    assert np.isneginf(Gaussian(bounded=True).log_tails(empty)).all()
    assert np.ptp(family.solve(empty).log_likelihoods(np.array([[0.0, 1e9, np.nan]]))) == 0


FAR_APART = pd.DataFrame(
    {
        "a": rng.normal(0, 0.3, 40) + 1e4 * (np.arange(40) % 2),
        "b": rng.normal(0, 1, 40),
        "y": np.where(np.arange(40) % 2, "v", "u"),
    }
)
"""Classes ten thousand apart in a column whose values differ by less than one within a class."""


@pytest.mark.parametrize("covariance", ["full", "tied", "spherical", "tied_spherical", "identity"])
def test_no_shape_of_covariance_has_absurd_evidence(covariance):
    """Two joined numbers have at most 80 dB together; a value far from all classes has next to none."""
    blocks = "numbers" if covariance in ("full", "tied") else None
    model = deciban.train(FAR_APART, target="y", covariance=covariance, blocks=blocks, numbers="number", judge=False)
    for rows in (FAR_APART, FAR_APART.assign(b=1e30), pd.DataFrame({"a": [-3e3, 5e3, 2e4], "b": 0.0})):
        explained = model.explain(rows, classes=("u", "v"))
        assert np.abs(explained.evidence.sum(axis=1)).max() < 150
    assert all(abs(strength.evidence) < 150 for strength in model.describe().strongest)
    far = model.explain(pd.DataFrame({"a": [-1e9, 1e9], "b": 0.0}), classes=("u", "v"))
    assert np.abs(far.evidence).max() < 5
    unbounded = deciban.train(
        FAR_APART, target="y", covariance=covariance, blocks=blocks, numbers="number", judge=False,
        parameter_prior=0.0,
    )  # fmt: skip
    assert np.abs(unbounded.explain(FAR_APART).evidence).max() > 1e4
