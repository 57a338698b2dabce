"""Dates as people write them; the order of day and month is decided by the column, and remembered by the model."""

import datetime

import pandas as pd
import pyarrow as pa
import pytest

import deciban
from deciban.errors import InputError, SchemaError
from deciban.sources.date_formats import DateFormat, infer_date_format

DAYS = [datetime.datetime(2024, 1, 1, 8) + datetime.timedelta(days=3 * i, hours=i % 5) for i in range(120)]
STYLES = {
    "dots": ("%d.%m.%Y", "day-first"),
    "slashes, month first": ("%m/%d/%Y", "month-first"),
    "slashes, day first": ("%d/%m/%Y", "day-first"),
    "two digits": ("%d.%m.%y", "day-first"),
    "hyphens": ("%d-%m-%Y", "day-first"),
    "month name": ("%b %d, %Y", None),
    "month name in full": ("%B %d, %Y", None),
    "day and month name": ("%d %b %Y", None),
    "day-month-year": ("%d-%b-%y", None),
    "year first": ("%Y/%m/%d", None),
    "with times": ("%d.%m.%Y %H:%M", "day-first"),
    "with seconds": ("%m/%d/%Y %H:%M:%S", "month-first"),
    "with half days": ("%m/%d/%Y %I:%M %p", "month-first"),
    "mail": ("%a, %d %b %Y %H:%M:%S +0100", None),
}


def table(style, days=DAYS):
    return pd.DataFrame({"seen": [day.strftime(style) for day in days], "y": ["a", "b"] * (len(days) // 2)})


@pytest.mark.parametrize("name", STYLES)
def test_dates_are_those_of_iso(name, tmp_path):
    style, order = STYLES[name]
    table(style).to_csv(tmp_path / "written.csv", index=False)
    iso = table("%Y-%m-%d %H:%M" if "%H" in style or "%I" in style else "%Y-%m-%d")
    written = deciban.train(tmp_path / "written.csv", target="y", judge=False)
    expected = deciban.train(iso, target="y", judge=False)
    assert written.columns[0].format == (DateFormat(order) if order else None)
    assert written.ledger == expected.ledger
    assert deciban.train(table(style), target="y", judge=False).ledger == expected.ledger
    answers = written.predict_proba(tmp_path / "written.csv").read_all().to_pandas()
    assert answers.equals(expected.predict_proba(iso))
    if order:
        assert f"the {order.split('-')[0]} is first" in written.columns[0].reason


def test_an_open_order_is_stated_and_can_be_given(tmp_path):
    days = [datetime.datetime(2024, i % 12 + 1, i % 5 + 2) for i in range(120)]
    slashes, dots = table("%m/%d/%Y", days), table("%d.%m.%Y", days)
    model = deciban.train(slashes, target="y", judge=False)
    assert model.columns[0].format == DateFormat("month-first")
    first = f"{days[0]:%-d %B}"
    assert "no date shows the order" in model.columns[0].reason
    assert f"is read as {first}, by --dates day-first as " in model.columns[0].reason
    other = deciban.train(slashes, target="y", judge=False, dates="day-first")
    assert other.columns[0].format == DateFormat("day-first")
    assert other.ledger != model.ledger
    assert deciban.train(dots, target="y", judge=False).columns[0].format == DateFormat("day-first")
    with pytest.raises(InputError, match="dates must be 'day-first' or 'month-first', not 'dmy'"):
        deciban.train(dots, target="y", dates="dmy")


def test_the_order_is_saved_and_used_for_a_date_that_shows_none(tmp_path):
    model = deciban.train(table("%d/%m/%Y"), target="y", roles={"seen": "date:month"}, judge=False)
    model.save(tmp_path / "m.deciban")
    loaded = deciban.load(tmp_path / "m.deciban")
    assert loaded.columns == model.columns
    (tmp_path / "one.csv").write_text("seen\n02/01/2024\n")
    assert "seen.month = 01" in str(loaded.explain(tmp_path / "one.csv"))
    (tmp_path / "one.csv").write_text("seen\n2024-02-01\n")
    assert "seen.month = 02" in str(loaded.explain(tmp_path / "one.csv"))


def test_models_with_different_orders_are_not_added():
    day, month = (deciban.train(table(style), target="y", judge=False) for style in ("%d/%m/%Y", "%m/%d/%Y"))
    iso = deciban.train(table("%Y-%m-%d"), target="y", judge=False)
    with pytest.raises(
        SchemaError, match="read column 'seen' differently: day first in one, month first in the other"
    ):
        day + month
    assert (iso + day).columns[0].format == (day + iso).columns[0].format == DateFormat("day-first")


def test_a_late_date_in_another_order_is_an_error_with_its_line_and_a_way_out(tmp_path):
    days = [datetime.datetime(2024, i % 12 + 1, i % 11 + 1) for i in range(25_000)]
    lines = [f"{day:%m/%d/%Y},{'ab'[i % 2]}" for i, day in enumerate(days)]
    (tmp_path / "t.csv").write_text("\n".join(["seen,y", *lines, "31/01/2024,a", ""]))
    with pytest.raises(InputError, match=r"'31/01/2024' in line 25002, which is not a date. Hint: --dates day-first"):
        deciban.train(tmp_path / "t.csv", target="y", judge=False)
    model = deciban.train(tmp_path / "t.csv", target="y", judge=False, dates="day-first")
    assert model.origin.rows_read == 25_001


def test_times_alone_are_read_by_hour(tmp_path):
    for style in ("%H:%M", "%H:%M:%S", "%I:%M %p"):
        table(style).to_csv(tmp_path / "t.csv", index=False)
        model = deciban.train(tmp_path / "t.csv", target="y", judge=False)
        assert (model.columns[0].role, model.columns[0].parts) == ("date", ("hour",))
        assert model.columns[0].reason == "times: by hour"


@pytest.mark.parametrize(
    "cells",
    [
        ["31.02.2024", "01.02.2024"],
        ["31/01/2024", "01/31/2024"],
        ["25:00", "12:30"],
        ["3.10.12", "3.9.13"],
        ["1.2.3.4"],
        ["2024-13-01"],
        ["13/13/2024"],
        ["Jam 5, 2024"],
        ["2024"],
        ["13:30 pm"],
    ],
)
def test_what_is_no_date_is_none(cells):
    assert infer_date_format(pa.array(cells)) is None


def test_a_leap_day_and_the_last_days_of_months_are_dates():
    cells = ["29.02.2024", "28.02.2023", "31.12.1999", "30.04.69", "30.04.68"]
    found = infer_date_format(pa.array(cells))
    values = found.format.parse(pa.array(cells)).values.to_pylist()
    assert [f"{day:%Y-%m-%d}" for day in values] == [
        "2024-02-29", "2023-02-28", "1999-12-31", "1969-04-30", "2068-04-30",
    ]  # fmt: skip


def test_a_given_role_of_dates_names_the_cell_that_is_none(tmp_path):
    frame = table("%d.%m.%Y")
    frame.loc[3, "seen"] = "soon"
    with pytest.raises(InputError, match=r"column 'seen' of the table holds 'soon' in row 4, which is not a date"):
        deciban.train(frame, target="y", roles={"seen": "date"})


def test_marks_of_missing_dates_are_missing(tmp_path):
    frame = table("%d.%m.%Y")
    frame.loc[::7, "seen"] = "?"
    model = deciban.train(frame, target="y", judge=False)
    assert model.roles["seen"] == "date"
    assert model.columns[0].parts == ("weekday",)
    assert model.ledger.parts[0].weight.sum() == 120 - 18
