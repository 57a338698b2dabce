"""Columns that name rows are skipped with a reason, whether or not every value is different."""

import numpy as np
import pytest

import deciban

N = 400
rng = np.random.default_rng(3)
LABELS = ["a", "b"] * (N // 2)


def skipped(values, name="it"):
    """Return the reason for which a column is skipped; None if it is not."""
    columns = {"other": rng.normal(size=N), name: np.asarray(values), "y": LABELS}
    model = deciban.train(columns, target="y", judge=False)
    column = next(column for column in model.columns if column.name == name)
    return column.reason if column.role == "skip" else None


def test_texts_that_are_nearly_all_different_are_an_identifier():
    names = [f"K{i:04}" for i in range(N)]
    assert skipped(names) == "every value is different: an identifier"
    assert skipped([*names[:-3], *names[:3]]) == f"{N - 3} of {N} values are different: an identifier"
    assert skipped(names[: N // 2] * 2) is None
    assert skipped([name[:3] for name in names]) is None


def test_the_near_identifier_of_1956_rows_is_skipped():
    tickets = [f"A/{i * 7919 % 99991}" for i in range(1953)] + ["A/0", "A/7919", "A/15838"]
    table = {"ticket": tickets, "x": rng.normal(size=1956), "y": ["a", "b", "c"] * 652}
    model = deciban.train(table, target="y", judge=False)
    assert model.columns[0].reason == "1953 of 1956 values are different: an identifier"
    assert "1953 of 1956" in str(model.describe())


@pytest.mark.parametrize("name", ["id", "PassengerId", "customer_id", "Sample code number", "orderkey", "Nr", "ID"])
def test_whole_numbers_with_gaps_are_an_identifier_by_their_name(name):
    numbers = rng.choice(90_000, N, replace=False)
    assert "and its name: an identifier" in skipped(numbers, name)
    numbers[: N // 20] = numbers[-(N // 20) :]  # some rows have the same
    assert "and its name: an identifier" in skipped(numbers, name)
    assert skipped(rng.integers(0, 50, N), name) is None  # a code of few values may mean something
    assert skipped(numbers + 0.5, name) is None


@pytest.mark.parametrize("name", ["paid", "amount_paid", "grid", "income", "number_of_steps", "codeine"])
def test_whole_numbers_that_differ_are_no_identifier_by_another_name(name):
    assert skipped(rng.choice(90_000, N, replace=False), name) is None


def test_whole_numbers_that_grow_with_every_row_are_an_identifier():
    steps = rng.integers(1, 40, N)
    assert skipped(np.cumsum(steps)) == "larger in every row than in the one before: an identifier"
    assert skipped(10**6 - np.cumsum(steps)) == "smaller in every row than in the one before: an identifier"
    assert skipped(np.arange(7, 7 + N)) == "numbers the rows"
    assert skipped(np.cumsum(steps) // 20) is None
    assert skipped(np.sort(rng.choice(np.round(np.exp(rng.normal(10, 1, 9 * N))), N, replace=False))) is None
    assert skipped(np.cumsum(steps) + 0.5) is None


def test_whole_numbers_of_many_digits_that_are_evenly_spread_are_an_identifier():
    digits = np.random.default_rng(1)
    assert "evenly spread up to 1e+07" in skipped(digits.choice(np.arange(10**6, 10**7), N, replace=False))
    assert "evenly spread up to 1e+06" in skipped(digits.choice(10**6, N, replace=False))
    assert skipped(np.round(np.exp(digits.normal(12, 0.8, N)))) is None  # incomes
    assert skipped(digits.choice(np.arange(10**6, 3 * 10**6), N, replace=False)) is None


def test_an_identifier_is_read_on_request_and_few_rows_have_none():
    columns = {"id": rng.choice(90_000, N, replace=False), "y": LABELS}
    model = deciban.train(columns, target="y", roles={"id": "number"}, judge=False)
    assert model.columns[0].role == "number"
    few = {"id": [5, 9, 2, 7], "y": ["a", "b", "a", "b"]}
    assert deciban.train(few, target="y", judge=False).columns[0].role != "skip"


def test_identifiers_in_a_file_without_types_are_found_too(tmp_path):
    numbers = rng.choice(90_000, N, replace=False)
    lines = ["case_id,x,y", *(f"{n},{i % 7},{label}" for i, (n, label) in enumerate(zip(numbers, LABELS)))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    model = deciban.train(tmp_path / "t.csv", target="y", judge=False)
    assert model.columns[0].role == "skip"


def test_infinite_numbers_are_no_identifier():
    with pytest.raises(deciban.errors.InputError, match="not finite"):
        skipped(np.where(np.arange(N) % 2, np.inf, 5.0))
