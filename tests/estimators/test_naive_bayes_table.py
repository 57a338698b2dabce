"""NaiveBayes over tables: equal to its families computed by hand, in any kind of frame, with scikit-learn's tools."""

import datetime
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import poisson
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import deciban
from deciban import CategoricalNB, GaussianNB, NaiveBayes, PoissonNB

ROLES = {
    "age": "number",
    "dose": "number",
    "visits": "count",
    "pain": "category",
    "sex": "category",
    "smokes": "flag",
}
PAINS = np.array(["chest", "head", "none", "tooth"], dtype=object)


def patients(n=240, seed=0, classes=("ill", "unsure", "well"), holes=0.15):
    """n rows of numbers, counts, categories and flags with missing cells, and their classes."""
    rng = np.random.default_rng(seed)
    k = rng.permutation(np.arange(n) % 3)
    table = {
        "age": rng.normal(40 + 10 * k, 8).round(1),
        "dose": rng.gamma(2 + k).round(3),
        "visits": rng.poisson(1 + 2 * k).astype(float),
        "pain": PAINS[rng.integers(0, 4, n) * (rng.random(n) < 0.3 + 0.2 * k)],
        "sex": np.array(["f", "m"], dtype=object)[rng.integers(0, 2, n)],
        "smokes": np.array(["no", "yes"], dtype=object)[(rng.random(n) < 0.2 + 0.2 * k).astype(int)],
    }
    for values in table.values():
        values[rng.random(n) < holes] = None if values.dtype == object else np.nan
    return table, np.array(classes)[k]


def encode_levels(values):
    """Return level codes in the order of the names, NaN where one is missing."""
    names = sorted({value for value in values if value is not None})
    return np.array([np.nan if value is None else names.index(value) for value in values])[:, None]


def joint_by_hand(table, y, alpha=1.0, rows=1.0):
    """ln p(x, k) as the sum over estimators of one family each, the prior counted once; numbers are bounded."""
    models = [
        *((GaussianNB(var_smoothing=0.0, parameter_prior=rows), table[name][:, None]) for name in ("age", "dose")),
        (PoissonNB(alpha=alpha), table["visits"][:, None]),
        *((CategoricalNB(alpha=alpha), encode_levels(table[name])) for name in ("pain", "sex", "smokes")),
    ]
    log_share = np.log(np.unique(y, return_counts=True)[1] / len(y))
    total = log_share
    for model, X in models:
        score = model.fit(X, y).predict_joint_log_proba(X) - log_share
        if isinstance(model, GaussianNB) and rows:
            score = np.maximum(score, np.log(1e-4 / np.sqrt(2 * np.pi) / np.nanstd(X)))
        elif isinstance(model, PoissonNB) and alpha:
            x = np.nan_to_num(X)
            best = poisson.logpmf(x, np.maximum(x, 1e-9))
            score = np.where(np.isnan(X), 0.0, np.maximum(score, best + np.log(1e-4)))
        total = total + score
    return total


@pytest.mark.parametrize(("alpha", "rows"), [(1.0, 1.0), (0.5, 3.0), (0.0, 0.0)])
def test_the_score_is_the_sum_of_its_families_with_cells_missing(alpha, rows):
    table, y = patients()
    model = NaiveBayes(roles=ROLES, alpha=alpha, parameter_prior=rows).fit(table, y)
    np.testing.assert_allclose(model.predict_joint_log_proba(table), joint_by_hand(table, y, alpha, rows), atol=1e-9)


def test_binned_numbers_are_categories_of_their_bins():
    table, y = patients()
    model = NaiveBayes(roles={"age": "binned"}, alpha=1.0).fit({"age": table["age"]}, y)
    (form,) = model._scorer.solved.forms
    assert len(form.cuts)
    bins = np.digitize(table["age"], form.cuts).astype(float)
    bins[np.isnan(table["age"])] = np.nan
    expected = CategoricalNB().fit(bins[:, None], y).predict_joint_log_proba(bins[:, None])
    np.testing.assert_allclose(model.predict_joint_log_proba({"age": table["age"]}), expected, atol=1e-9)


def test_it_is_the_model_that_train_makes():
    table, y = patients()
    expected = deciban.train({**table, "y": y}, target="y", judge=False)
    model = NaiveBayes().fit(table, y)
    assert model.roles_ == expected.roles
    assert model.n_parameters_ == expected.n_parameters
    np.testing.assert_array_equal(model.predict_proba(table), expected.predict_proba(table))


FRAMES = {
    "pandas": pd.DataFrame,
    "polars": lambda table: pl.DataFrame(table, strict=False, nan_to_null=True),
    "pyarrow": lambda table: pa.table({name: pa.array(values, from_pandas=True) for name, values in table.items()}),
    "pandas with categories": lambda table: pd.DataFrame(table).astype({"pain": "category", "sex": "category"}),
    "object array": lambda table: np.column_stack([np.asarray(values, dtype=object) for values in table.values()]),
    "list of lists": lambda table: [list(row) for row in zip(*table.values())],
}


@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_frame_gives_the_same_answers(kind):
    table, y = patients()
    frame = FRAMES[kind](table)
    named = isinstance(frame, (pd.DataFrame, pl.DataFrame, pa.Table))
    roles = ROLES if named else {f"x{j}": role for j, role in enumerate(ROLES.values())}
    model = NaiveBayes(roles=roles).fit(frame, y)
    assert hasattr(model, "feature_names_in_") == named
    assert model.n_features_in_ == 6
    expected = NaiveBayes(roles=ROLES).fit(table, y).predict_log_proba(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.predict_log_proba(frame), expected)


LABELS = [("ill", "unsure", "well"), (2, 7, 10), (-1.0, 0.0, 1.5e3)]


@pytest.mark.parametrize("classes", LABELS, ids=str)
def test_labels_come_back_as_they_were_and_in_their_own_order(classes):
    table, y = patients(classes=classes)
    model = NaiveBayes(roles=ROLES).fit(table, y)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    assert model.classes_.dtype == y.dtype == model.predict(table).dtype == model.sample(5, 0)[1].dtype
    plain = NaiveBayes(roles=ROLES).fit(*patients())
    np.testing.assert_array_equal(model.predict_proba(table), plain.predict_proba(table))
    assert model.score(table, y) > 0.6


def test_labels_may_be_booleans_and_a_series():
    table, y = patients()
    model = NaiveBayes().fit(pd.DataFrame(table), pd.Series(y == "ill", name="sick"))
    assert model.classes_.tolist() == [False, True]
    assert model.describe().target == "sick"
    assert [share.label for share in model.describe().classes] == [False, True]


REASONS = {}
"""Checks that NaiveBayes is not meant to pass, and why: there are none."""


@parametrize_with_checks(
    [NaiveBayes(), NaiveBayes(numbers="number"), NaiveBayes(numbers="binned")],
    expected_failed_checks=lambda estimator: REASONS,
)
def test_it_obeys_the_grammar_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.thorough(reason="many rows, classes or draws: seconds")
def test_searches_and_cross_validation_take_frames():
    table, y = patients()
    frame = pd.DataFrame(table)
    assert cross_val_score(NaiveBayes(), frame, y, cv=3, error_score="raise").mean() > 0.6
    grid = {"alpha": [0.1, 1.0], "numbers": ["number", "binned"], "roles": [None, {"visits": "category"}]}
    search = GridSearchCV(NaiveBayes(), grid, cv=3, n_jobs=2, error_score="raise").fit(frame, y)
    assert search.best_score_ > 0.6
    assert search.predict(frame[:5]).shape == (5,)


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_a_pipeline_may_hand_over_arrays_or_frames(output):
    table, y = patients()
    numbers = ["age", "dose", "visits"]
    steps = ColumnTransformer([("filled", SimpleImputer(), numbers)], remainder="passthrough")
    pipeline = make_pipeline(steps.set_output(transform=output), NaiveBayes()).fit(pd.DataFrame(table), y)
    assert pipeline.score(pd.DataFrame(table), y) > 0.6
    assert "NaiveBayes" in pipeline._repr_html_()


def test_a_clone_has_the_arguments_and_nothing_learned():
    model = NaiveBayes(roles=ROLES, alpha=0.5).fit(*patients())
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "classes_")
    with pytest.raises(ValueError, match="not fitted"):
        copy.roles_  # noqa: B018


def test_a_pickled_model_answers_the_same_and_learns_on():
    table, y = patients()
    model = NaiveBayes().fit(table, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_log_proba(table), model.predict_log_proba(table))
    assert copy.partial_fit(table, y).ledger_ == model.partial_fit(table, y).ledger_


@pytest.mark.parametrize("kind", ["pandas", "object array"])
@pytest.mark.parametrize("classes", LABELS[:3], ids=str)
def test_a_saved_model_answers_the_same_and_learns_on(kind, classes, tmp_path):
    table, y = patients(classes=classes)
    frame = FRAMES[kind](table)
    model = NaiveBayes(roles={next(iter(ROLES)) if kind == "pandas" else "x0": "binned"}, priors=[0.2, 0.3, 0.5])
    model.fit(frame, y).save(tmp_path / "m.deciban")
    copy = deciban.load(tmp_path / "m.deciban")
    assert copy.get_params() == model.get_params()
    assert copy.roles_ == model.roles_
    np.testing.assert_array_equal(copy.predict_log_proba(frame), model.predict_log_proba(frame))
    assert str(copy.describe()) == str(model.describe())
    assert type(copy.sample(2, 0)[0]) is type(frame)
    assert copy.partial_fit(frame, y).ledger_ == model.partial_fit(frame, y).ledger_
    assert list(getattr(copy, "feature_names_in_", ())) == list(getattr(model, "feature_names_in_", ()))


def split_table(table, at=100):
    return [{name: values[part] for name, values in table.items()} for part in (slice(None, at), slice(at, None))]


def assert_ledgers_close(a, b):
    """Assert that two ledgers have one schema and equal sums: counts exactly, moments to 1e-12."""
    assert a.schema == b.schema
    for one, other in zip(a.parts, b.parts):
        for name, values in one.arrays().items():
            if name != "rest":
                np.testing.assert_allclose(values, other.arrays()[name], rtol=1e-12, atol=1e-9)


def test_batches_sums_and_differences_give_the_model_of_all_rows():
    table, y = patients()
    first, second = split_table(table)
    whole = NaiveBayes(roles=ROLES).fit(table, y)
    names = np.unique(y)
    batches = NaiveBayes(roles=ROLES).partial_fit(first, y[:100], classes=names).partial_fit(second, y[100:])
    north = NaiveBayes(roles=ROLES).fit(first, y[:100])
    south = NaiveBayes(roles=ROLES).fit(second, y[100:])
    assert_ledgers_close(batches.ledger_, whole.ledger_)
    assert_ledgers_close((north + south).ledger_, whole.ledger_)
    assert_ledgers_close((north + south - south).ledger_, north.ledger_)
    assert_ledgers_close(clone(north).fit(first, y[:100]).merge(south).ledger_, whole.ledger_)
    assert_ledgers_close(pickle.loads(pickle.dumps(whole)).forget(second, y[100:]).ledger_, north.ledger_)
    assert_ledgers_close((whole * 2).ledger_, clone(whole).fit(table, y, sample_weight=np.full(len(y), 2.0)).ledger_)
    assert_ledgers_close(pickle.loads(pickle.dumps(whole)).decay(0.5).ledger_, (0.5 * whole).ledger_)


def test_the_first_batch_fixes_the_roles():
    model = NaiveBayes().partial_fit({"x": [1.5, 2.5, 0.5, 2.25]}, [0, 1, 0, 1], classes=[0, 1])
    before = model.roles_
    model.partial_fit({"x": [1, 1]}, [0, 1])
    assert model.roles_ == before
    with pytest.raises(ValueError, match="column 'x' of the table holds 'red'"):
        model.partial_fit({"x": ["red", "blue"]}, [0, 1])
    assert model.ledger_.n_rows == 6


def test_models_that_take_a_column_differently_say_which_and_the_way_out_works():
    one = NaiveBayes().fit({"x": [0, 1, 1, 0]}, [0, 1, 0, 1])
    rows, y = {"x": [0.5, 1.25, 9.0, 4.0]}, [0, 1, 0, 1]
    with pytest.raises(ValueError, match=r"differ in column 'x': flag in one, \w+ in the other.*roles=other.roles_"):
        one + NaiveBayes().fit(rows, y)
    both = one + NaiveBayes(roles=one.roles_).fit(rows, y)
    assert both.ledger_.n_rows == 8


def test_weights_count_rows_and_weightless_rows_are_absent():
    table, y = patients(60)
    weight = np.random.default_rng(3).integers(0, 4, 60)
    table["pain"][weight == 0] = "only where nothing weighs"
    weighted = NaiveBayes(roles=ROLES).fit(table, y, sample_weight=weight)
    again = {name: np.repeat(values, weight) for name, values in table.items()}
    repeated = NaiveBayes(roles=ROLES).fit(again, np.repeat(y, weight))
    assert_ledgers_close(weighted.ledger_, repeated.ledger_)
    np.testing.assert_allclose(weighted.predict_proba(table), repeated.predict_proba(table), atol=1e-9)
    assert weighted.log_likelihood(table, y, weight) == pytest.approx(
        repeated.log_likelihood(again, np.repeat(y, weight))
    )
    frame = pl.DataFrame(table, strict=False, nan_to_null=True)
    assert NaiveBayes(roles=ROLES).fit(frame, y, sample_weight=weight).ledger_ == weighted.ledger_


def test_explanations_add_up_to_the_odds_and_name_the_values():
    table, y = patients(holes=0.0)
    model = NaiveBayes(roles=ROLES).fit(table, y)
    result = model.explain(table, classes=("ill", "well"))
    log_proba = model.predict_log_proba(table) * 10 / np.log(10)
    np.testing.assert_allclose(result.total, log_proba[:, 0] - log_proba[:, 2], atol=1e-9)
    assert list(result.features) == list(ROLES)
    assert f"pain = {table['pain'][0]}" in result.text(0)
    with pytest.raises(ValueError, match="ghost"):
        model.explain(table, classes=("ill", "ghost"))


def test_likelihood_priors_and_density_follow_from_the_joint():
    table, y = patients()
    model = NaiveBayes(roles=ROLES, priors="uniform").fit(table, y)
    joint = model.predict_joint_log_proba(table)
    assert model.log_likelihood(table, y) == pytest.approx(
        joint[np.arange(len(y)), np.searchsorted(model.classes_, y)].sum()
    )
    np.testing.assert_allclose(model.score_samples(table), np.log(np.exp(joint).sum(axis=1)), atol=1e-9)
    rarer = model.with_priors({"ill": 0.01, "unsure": 0.09, "well": 0.9})
    shift = np.log(np.array([0.01, 0.09, 0.9]) * 3)
    np.testing.assert_allclose(rarer.predict_joint_log_proba(table), joint + shift, atol=1e-9)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "object array"])
def test_drawn_rows_are_of_the_kind_that_was_learned(kind):
    table, y = patients(holes=0.0)
    table["same"] = np.full(len(y), 3.0)
    frame = FRAMES[kind](table)
    model = NaiveBayes().fit(frame, y)
    X, labels = model.sample(2000, random_state=0)
    assert type(X) is type(frame)
    assert len(X) == len(labels) == 2000
    again = model.score(X, labels)
    assert again == pytest.approx(1 - model.bayes_error(20_000), abs=0.05)


def test_dates_drawn_for_an_array_are_dates():
    days = np.arange("2023-01-01", "2024-01-01", dtype="datetime64[D]")
    model = NaiveBayes().fit(days[:, None], np.where(np.is_busday(days), "work", "rest"))
    X, _ = model.sample(5, random_state=0)
    assert X.shape == (5, 1)
    assert all(isinstance(day, datetime.date) for day in X[:, 0])


def test_dates_are_read_by_their_parts_also_after_forgetting():
    days = np.arange("2023-01-01", "2024-01-01", dtype="datetime64[D]")
    y = np.where(np.is_busday(days), "work", "rest")
    model = NaiveBayes().fit({"day": days}, y)
    assert model.roles_ == {"day": "date"}
    assert model.score({"day": days}, y) == 1.0
    may = (days >= np.datetime64("2023-05-01")) & (days < np.datetime64("2023-06-01"))
    model.forget({"day": days[may]}, y[may])
    assert model.score({"day": days}, y) == 1.0


def test_a_column_named_like_a_part_of_a_date_is_refused():
    days = np.arange("2022-01-01", "2024-01-01", dtype="datetime64[D]")
    table = {"day": days, "day.month": ["a", "b", "c", "a", "b"] * 146}
    y = np.where(np.is_busday(days), "work", "rest")
    year = slice(365, None)  # which has no month
    assert (
        NaiveBayes().fit({name: cells[year] for name, cells in table.items()}, y[year]).roles_["day.month"]
        == "category"
    )
    with pytest.raises(ValueError, match=r"'day\.month' has the name of the month of the date 'day'"):
        NaiveBayes().fit(table, y)
    assert NaiveBayes(roles={"day.month": "skip"}).fit(table, y).score(table, y) == 1.0


def test_unseen_levels_are_ignored_smoothed_or_refused():
    X, y = {"pain": ["chest", "none", "chest", "head"]}, ["ill", "well", "ill", "well"]
    np.testing.assert_allclose(NaiveBayes().fit(X, y).predict_proba({"pain": ["tooth"]}), [[0.5, 0.5]])
    smooth = NaiveBayes(unseen="smooth", roles={"pain": "category"}, alpha=1.0).fit(X, y)
    np.testing.assert_allclose(smooth.predict_proba({"pain": ["chest"]}), [[0.75, 0.25]])
    with pytest.raises(ValueError, match="column 'pain' holds 'tooth', which was never learned"):
        NaiveBayes(unseen="error").fit(X, y).predict({"pain": ["tooth"]})


def test_one_class_is_learned_and_predicted():
    model = NaiveBayes().fit([[1.5], [2.5], [4.0]], ["all"] * 3)
    assert model.predict([[3.0]]).tolist() == ["all"]
    assert model.describe().strongest[0].evidence == 0


def test_the_number_of_threads_changes_no_bit():
    table, y = patients(30_000)
    one, two = (NaiveBayes(n_jobs=n).fit(table, y) for n in (1, 2))
    assert one.ledger_ == two.ledger_
    np.testing.assert_array_equal(one.predict_log_proba(table), two.predict_log_proba(table))


def test_counts_with_a_unit_are_read_as_numbers():
    X = pd.DataFrame({"share": ["13 %", "12 %", None] * 10, "dose": np.arange(30) % 7})
    X.loc[:3, "share"] = ["11 %", "10 %", "9 %", "14 %"]
    plain = X.assign(share=X["share"].str.rstrip(" %").astype(float))
    y = ["p", "q"] * 15
    model, same = NaiveBayes().fit(X, y), NaiveBayes().fit(plain, y)
    assert model.roles_ == same.roles_
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(plain))
