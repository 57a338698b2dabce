"""Every column gets a role, with a reason that a user can check."""

import datetime
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deciban
from deciban.errors import InputError
from deciban.training.column_roles import _infer_from_texts

N = 600
LABELS = ["a", "b"] * (N // 2)
COUNTS = np.random.default_rng(0).poisson(np.where(np.arange(N) % 2, 0.5, 2.0))


def rng(seed=1):
    return np.random.default_rng(seed)


def column(values, **settings):
    """Return one column of a table that also has a plain number, with its role."""
    columns = {"other": rng(9).normal(size=N), "it": values, "y": LABELS}
    table = columns if isinstance(values, np.ndarray) else pa.table({n: pa.array(v) for n, v in columns.items()})
    model = deciban.train(table, target="y", judge=False, **settings)
    return next(c for c in model.columns if c.name == "it")


def csv_column(cells, tmp_path, **settings):
    lines = [
        "other,it,y",
        *(f"{i * 0.37 % 1:.3f},{cell},{label}" for i, (cell, label) in enumerate(zip(cells, LABELS))),
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    model = deciban.train(tmp_path / "t.csv", target="y", judge=False, **settings)
    return next(c for c in model.columns if c.name == "it")


@pytest.mark.parametrize(
    ("values", "role", "reason"),
    [
        (rng().normal(size=N), "number", "Gaussian preferred to"),
        (COUNTS, "count", "Poisson rate preferred to"),
        (rng().integers(0, 1000, N), "number", "numbers"),
        (rng().integers(0, 2, N), "flag", "0 or 1"),
        ([1000001.0, 1000002.0] * (N // 2), "flag", "1000001 or 1000002"),
        (rng().integers(0, 2, N).astype(bool).tolist(), "flag", "true or false"),
        (["t", "f", None] * 200, "flag", "f or t"),
        (["red", "green", "blue"] * 200, "category", "3 different values"),
        ([f"id-{i}" for i in range(N)], "skip", "identifier"),
        (list(range(7, 7 + N)), "skip", "numbers the rows"),
        ([5.0] * N, "skip", "always the same"),
        ([None] * N, "skip", "no value"),
        ([f"the patient said {i} things about it" for i in range(N)], "text", "free text"),
        ([datetime.date(2024, 1, 1) + datetime.timedelta(days=i) for i in range(N)], "date", "month, weekday"),
        ([datetime.datetime(2024, 1, 1, i % 24) for i in range(N)], "date", "hour"),
        ([datetime.timedelta(hours=i * i % 7) for i in range(N)], "number", "numbers"),
        ([[1, 2]] * N, "skip", "list"),
    ],
)  # fmt: skip
def test_roles_follow_type_and_values(values, role, reason):
    found = column(values)
    assert (found.role in (role, "binned")) if role == "number" else found.role == role
    assert reason in found.reason or role == "number"


@pytest.mark.parametrize(
    ("cells", "role"),
    [
        (["007", "012", "100"] * 200, "category"),
        (["2024-01", "2024-02", "2024-03"] * 200, "category"),
        (["2024-01-15", "2024-02-20", "2024-03-31"] * 200, "date"),
        (["1.5", "NA", "2.5", "3.7", "4.1"] * 120, "number"),
        (["yes", "no"] * 300, "flag"),
        (["1", "x", "2"] * 200, "category"),
        (["1e5", "2e5", "3e7", "-1"] * 150, "number"),
    ],
)
def test_a_file_without_types_is_read_for_what_it_states(cells, role, tmp_path):
    found = csv_column(cells, tmp_path)
    assert found.role == role or (role == "number" and found.role == "binned")


def test_counts_are_inferred_only_where_they_vary_as_counts_do():
    assert column(COUNTS).role == "count"
    spread = np.concatenate([np.zeros(N // 2), np.full(N // 2, 40)]).astype(int)
    assert column(spread + rng().integers(0, 3, N)).role != "count"


@pytest.mark.parametrize(
    ("values", "role", "reason"),
    [
        ([1, 2] * 300, "flag", "1 or 2"),
        ([1.0, 2.0, None] * 200, "flag", "1 or 2"),
        ([0.5, 1.5, 7.25] * 200, "category", "0.5, 1.5 or 7.25"),
        ([-1, 0, 1] * 200, "category", "-1, 0 or 1"),
        ([1, 2, 3, 4] * 150, "number", ""),
    ],
)
def test_two_or_three_numbers_are_levels(values, role, reason):
    found = column(values)
    assert found.role == role or (role == "number" and found.role in ("binned", "count", "number"))
    assert reason in found.reason
    assert found.numeric == (role != "number")


def test_numbers_of_few_rows_and_numbers_that_are_to_be_numbers_are_no_levels():
    few = deciban.train({"it": [1.0, 2.0, 2.0, 1.0, 1.0], "y": [*"ababa"]}, target="y", judge=False)
    assert few.roles["it"] != "flag"
    for numbers in ("number", "binned"):
        assert column([1, 2] * 300, numbers=numbers).role == numbers
    assert column([1, 2] * 300, numbers="auto").role == "flag"
    assert column([1, 2] * 300, roles={"it": "number"}).role == "number"


def test_levels_that_are_numbers_are_the_same_however_they_are_written(tmp_path):
    cells = [1.0, 2.0, None, 2.0] * 150
    frame = pd.DataFrame({"other": rng(9).normal(size=N), "it": cells, "y": LABELS})
    whole = frame.assign(it=frame["it"].astype("Int64"))
    marked = frame.assign(it=["1.00", "2e0", "?", " 2"] * 150)
    models = []
    for i, table in enumerate((frame, whole, marked)):
        table.to_csv(tmp_path / f"{i}.csv", index=False)
        models.append(deciban.train(tmp_path / f"{i}.csv", target="y", judge=False, roles={"other": "number"}))
    models += [deciban.train(table, target="y", judge=False, roles={"other": "number"}) for table in (frame, whole)]
    assert {model.roles["it"] for model in models} == {"flag"}
    assert all(model.ledger == models[0].ledger for model in models)
    expected = np.asarray(models[0].predict_proba(frame))
    for asked in (frame, whole):
        np.testing.assert_array_equal(np.asarray(models[-1].predict_proba(asked)), expected)
    path = str(tmp_path / "2.csv")
    from_file = np.concatenate([np.asarray(block) for block in models[-1].predict_proba(path)])
    np.testing.assert_array_equal(from_file, expected)


def test_a_given_role_is_taken_and_a_wish_for_numbers_overrides_counts():
    counts = COUNTS
    assert column(counts, roles={"it": "category"}).role == "category"
    assert column(counts, roles={"it": "category"}).reason == "as given"
    assert column(counts, numbers="number").role == "number"
    assert column(counts, numbers="binned").role == "binned"
    assert column(rng().normal(size=N), numbers="number").role == "number"


def test_whole_numbers_that_no_rate_explains_are_not_taken_for_counts():
    """0 to 9, all alike in one class, twice as spread as any rate would have them in the other."""
    narrow, wide = rng(1).integers(4, 6, N), rng(2).integers(0, 10, N)
    found = column(np.where(np.arange(N) % 2, narrow, wide))
    assert found.role in ("binned", "number")
    assert "preferred to" in found.reason


def test_auto_bins_what_is_no_gaussian_and_states_by_how_much():
    """Two classes with the same mean and spread, one of them with a hole in the middle."""
    x = np.where(np.arange(N) % 2, rng(1).choice([-1.0, 1.0], N) + rng(2).normal(0, 0.05, N), rng(3).normal(0, 1, N))
    found = column(x)
    assert found.role == "binned"
    assert "dB per row" in found.reason
    gaussians = rng().normal(np.arange(N) % 2 * 3.0, 1.0)
    assert column(gaussians).role == "number"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"roles": {"itt": "number"}}, "'itt', which is not a column; did you mean 'it'"),
        ({"roles": {"it": "numbr"}}, "role 'numbr' is not known"),
        ({"roles": {"y": "number"}}, "is the target"),
        ({"numbers": "some"}, "numbers must be"),
        ({"roles": {"it": "skip", "other": "skip"}}, "no column is left"),
    ],
)
def test_what_is_no_role_is_refused(settings, words):
    with pytest.raises(InputError, match=words):
        column(rng().normal(size=N), **settings)


def test_text_cannot_be_a_number_and_the_refusal_states_which(tmp_path):
    with pytest.raises(InputError, match=r"'it' holds 'x', which is not a number.*--as it=category"):
        csv_column(["1", "x", "2"] * 200, tmp_path, roles={"it": "number"})


@pytest.mark.parametrize(
    "evaluate",
    [
        deciban.train,
        partial(deciban.evaluate, folds=3),
        partial(deciban.evaluate, folds="loo"),
        partial(deciban.choose, folds=3, prior="uniform"),
        partial(deciban.compare, folds=3, learners=["bayes", "logistic"], curve=False),
        deciban.learning_curve,
        lambda table, target: deciban.cross_validate(
            deciban.NaiveBayes(), pd.DataFrame(table).drop(columns=target), table[target], folds=3
        ),
    ],
)
def test_one_negative_value_after_the_first_rows_is_scored_by_models_that_have_not_seen_it(evaluate, monkeypatch):
    for module in ("training.task", "training.column_roles", "estimators.naive_bayes"):
        monkeypatch.setattr(f"deciban.{module}.HEAD_ROWS", 100)
    group = np.tile(["a", "b"], 150)
    counts = rng().poisson(np.where(group == "a", 1.0, 4.0)).astype(float)
    other = deciban.train({"n": counts, "group": group}, target="group", judge=False)
    assert other.columns[0].role == "count"
    counts[-3] = -1.0
    result = evaluate({"n": counts, "group": group}, target="group")
    if isinstance(result, deciban.Model):
        assert result.columns[0].role != "count"
        assert result.held_out.rows == 300


def test_durations_that_vary_as_counts_do_are_numbers_for_an_estimator_too():
    group = np.tile(["a", "b"], 150)
    seconds = rng().poisson(np.where(group == "a", 1.0, 4.0))
    model = deciban.NaiveBayes().fit(pa.table({"wait": pa.array(seconds, pa.duration("s"))}), group)
    assert model.roles_["wait"] in ("count", "number", "binned")


def test_one_value_is_in_the_singular():
    assert _infer_from_texts("it", pa.array(["red"] * 30)).reason == "1 different value"
