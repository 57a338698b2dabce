"""The parts of a date that are features: those that vary, the month beyond a year, whatever the first rows show."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deciban
from deciban.errors import InputError

N = 22_000
"""More rows than the first ones, from which types are inferred."""


def table(days, hour_from=0):
    """Return rows evenly spread over so many days, at midnight up to row `hour_from`; the hour decides the class."""
    day = np.arange(N) * (days + 1) // N
    hour = np.where(np.arange(N) >= hour_from, np.random.default_rng(0).integers(0, 24, N), 0)
    when = pd.Timestamp("2024-03-01") + pd.to_timedelta(day, unit="D") + pd.to_timedelta(hour, unit="h")
    noise = np.random.default_rng(1).normal(size=N)
    return pd.DataFrame({"when": when, "x": noise, "y": np.where(hour >= 12, "late", "early")})


@pytest.fixture(params=["frame", "csv", "duckdb"])
def open_table(request, tmp_path):
    """Return a function that gives the arguments by which a frame is read from a frame, a file or a database."""

    def of(frame):
        if request.param == "frame":
            return {"source": frame}
        if request.param == "csv":
            frame.to_csv(tmp_path / "t.csv", index=False)
            return {"source": tmp_path / "t.csv"}
        duckdb = pytest.importorskip("duckdb")
        pytest.importorskip("sqlglot")
        connection = duckdb.connect(str(tmp_path / "t.duckdb"))
        connection.register("frame", frame)
        connection.execute("create table t as select * from frame")
        return {"source": connection, "table": "t"}

    return of


@pytest.mark.parametrize(("days", "parts"), [(3, ("weekday", "hour")), (360, ("weekday", "hour")),
                                         (370, ("month", "weekday", "hour"))])  # fmt: skip
def test_the_month_is_a_feature_of_dates_beyond_a_year(days, parts, open_table):
    model = deciban.train(**open_table(table(days)), target="y", judge=False)
    assert model.columns[0].parts == parts


def test_the_order_of_rows_does_not_decide_on_hours_that_come_late():
    rows = table(30, hour_from=20_500)
    other = rows.sample(frac=1, random_state=1)
    model, shuffled = (deciban.train(each, target="y", judge=False) for each in (rows, other))
    assert model.columns[0].parts == shuffled.columns[0].parts == ("weekday", "hour")
    assert np.abs(model.predict_proba(rows) - shuffled.predict_proba(rows)).to_numpy().max() < 1e-2


def test_what_is_the_same_in_all_rows_is_no_feature():
    mondays = pd.Timestamp("2024-03-04") + pd.to_timedelta(np.arange(N) % 5 * 7, unit="D")
    rows = table(3).assign(when=mondays)
    assert "same weekday" in deciban.train(rows, target="y", judge=False).columns[0].reason
    with pytest.raises(InputError, match="no column is left to learn from"):
        deciban.train(rows[["when", "y"]], target="y")


def test_the_rate_of_a_rare_class_stays_when_the_next_month_comes():
    """The same rows thirty days later have the same weekdays' and hours' evidence, and no month's."""
    rng, n = np.random.default_rng(0), 40_000
    y = rng.random(n) < 0.005
    when = pd.Timestamp("2026-06-01") + pd.to_timedelta(rng.integers(0, 28 * 86_400, n), unit="s")
    june = pd.DataFrame({"when": when, "x": rng.normal(1.5 * y), "y": np.where(y, "bad", "ok")})
    model = deciban.train(june, target="y", judge=False)
    july = model.predict_proba(june.assign(when=when + pd.Timedelta(days=28)))["bad"]
    assert july.mean() == pytest.approx(y.mean(), rel=0.05)
    pd.testing.assert_series_equal(july, model.predict_proba(june)["bad"])


def test_halves_with_one_schema_add_up_to_the_whole_year():
    rows = table(700)
    whole = deciban.train(rows, target="y", judge=False)
    halves = [deciban.train(rows[a : a + N // 2], target="y", like=whole, judge=False) for a in (0, N // 2)]
    assert whole.columns[0].parts == halves[0].columns[0].parts == ("month", "weekday", "hour")
    assert (halves[0] + halves[1]).ledger.parts[0] == whole.ledger.parts[0]


def test_parts_are_chosen_by_the_role():
    rows = table(3)
    chosen = deciban.train(rows, target="y", roles={"when": "date:hour,month"}, judge=False)
    assert chosen.columns[0].parts == ("month", "hour")
    assert chosen.columns[0].reason == "as given"
    for role in ("date:", "date:year", "date:hour,", "number:hour"):
        with pytest.raises(InputError, match=f"role '{role}' of column 'when' .* month, weekday, hour. Hint: .*as"):
            deciban.train(rows, target="y", roles={"when": role})


def test_times_of_day_have_an_hour():
    seconds = pa.array(np.arange(N) * 3 % 86_400, pa.int32()).cast(pa.time32("s"))
    rows = pa.table({"at": seconds, "y": np.where(np.arange(N) % 2, "a", "b")})
    assert deciban.train(rows, target="y", judge=False).columns[0].parts == ("hour",)
