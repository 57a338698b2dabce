"""A value or a pair of values that no row of any class has is no evidence, whatever was declared in advance."""

import warnings

import numpy as np
import pandas as pd
import pytest

import deciban
from deciban.errors import DecibanWarning, InputError

N = 20_000
LEARNERS = [{}, {"learner": "aode"}, {"learner": "boosted"}, {"learner": "logistic"}, {"structure": "tan"}]
GIVEN = {"target": "y", "judge": False, "roles": {"recalled": "flag", "ts": "date:month,weekday"}}
JUNE, JULY = pd.Timestamp("2026-06-01"), pd.Timestamp("2026-07-04 12:00")


def orders(seed=0):
    """Rows of a rare class of one in a hundred, with a flag that is always False and the dates of one month."""
    rng = np.random.default_rng(seed)
    bad = rng.random(N) < 0.01
    minutes = pd.to_timedelta(rng.integers(0, 29 * 1440, N), unit="min")
    columns = {"recalled": np.zeros(N, bool), "ts": JUNE + minutes, "x": rng.normal(bad, 1.0)}
    return pd.DataFrame({**columns, "y": np.where(bad, "bad", "ok")})


def places(seed=1):
    """Rows whose zone follows the city, or is the next one, more often in the rare class."""
    rng = np.random.default_rng(seed)
    bad, city = rng.random(N) < 0.01, rng.integers(0, 8, N)
    zone = np.where(rng.random(N) < np.where(bad, 0.5, 0.02), (city + 1) % 8, city)
    names = {"city": [f"c{v}" for v in city], "zone": [f"z{v}" for v in zone]}
    return pd.DataFrame({**names, "x": rng.normal(0.7 * bad, 1.0), "y": np.where(bad, "bad", "ok")})


def bad(model, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DecibanWarning)
        return np.asarray(model.predict_proba(pd.DataFrame(rows))["bad"])


@pytest.mark.parametrize("options", LEARNERS, ids=str)
def test_a_value_that_no_row_has_is_as_a_missing_one(options):
    model = deciban.train(orders(), **GIVEN, **options)
    known = {"recalled": [False], "ts": [JULY - pd.Timedelta("28D")], "x": [0.0]}
    for name, value, parts in (("recalled", True, ["recalled"]), ("ts", JULY, ["ts.month"])):
        found = bad(model, {**known, name: [value]})
        if name == "recalled":
            assert found == pytest.approx(bad(model, {**known, name: [None]}), rel=1e-9)
        assert found == pytest.approx(bad(model, known), rel=1e-2)
        explained = model.explain(pd.DataFrame({**known, name: [value]}))
        assert [unseen.column for unseen in explained.unseen[0]] == parts


def test_a_value_of_which_all_rows_are_forgotten_is_as_a_missing_one():
    table = orders()
    table["recalled"] = np.random.default_rng(2).random(N) < 0.3
    model = deciban.train(table, target="y", judge=False).forget(table[table.recalled])
    query = {"ts": [JUNE], "x": [0.0]}
    assert bad(model, {**query, "recalled": [True]}) == pytest.approx(bad(model, {**query, "recalled": [None]}))
    never = deciban.train(table[~table.recalled], target="y", like=model)
    assert bad(model, {**query, "recalled": [True]}) == pytest.approx(
        bad(never, {**query, "recalled": [True]}), rel=0.01
    )


@pytest.mark.parametrize(
    "options",
    [{"calibrate": "none"}, {"structure": "tan", "judge": False}, {"structure": "blocks", "judge": False}],
    ids=str,
)
def test_a_pair_that_no_row_has_leaves_the_lines_of_its_columns(options):
    table = places()
    model = deciban.train(table, target="y", **options)
    assert model.structure == {"zone": "city"}
    naive = deciban.train(table, target="y", judge=False, structure="naive")
    query = {"city": ["c0"], "zone": ["z4"], "x": [None]}
    assert not ((table.city == "c0") & (table.zone == "z4")).any()
    assert bad(model, query) == pytest.approx(bad(naive, query), rel=1e-9)
    assert bad(model, query) == pytest.approx((table.y == "bad").mean(), rel=0.5)


def test_a_month_that_no_row_has_is_refused_where_unseen_values_are():
    model = deciban.train(orders(), **GIVEN, unseen="error")
    with pytest.raises(InputError, match="never learned"):
        model.predict(pd.DataFrame({"recalled": [False], "ts": [JULY], "x": [0.0]}))


def test_a_warning_names_a_column_without_a_single_known_value():
    model = deciban.train(orders(), **GIVEN)
    with pytest.warns(DecibanWarning, match=r"not one of the 6 values in column 'recalled'.* contributes nothing"):
        model.predict(pd.DataFrame({"recalled": [True] * 6, "ts": [JUNE] * 6, "x": [0.0] * 6}))
