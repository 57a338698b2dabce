"""Numbers as people write them are numbers where the column as a whole supports it; the model remembers how."""

import contextlib
import math
import sqlite3

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deciban
from deciban.errors import DecibanWarning, InputError, SchemaError
from deciban.sources.number_formats import NumberFormat, detect_decimal, infer_number_format
from deciban.sources.source import FileOptions, open_source
from tests.cli.terminal import call, done

AMOUNTS = np.round(np.random.default_rng(5).lognormal(10, 1, 200), 2)


def german(amount):
    return f"{amount:,.2f}".translate(str.maketrans(",.", ".,"))


STYLES = {
    "thousands": (lambda x: f"{x:,.0f}", NumberFormat(".", ",")),
    "dollars": (lambda x: f"${x:,.2f}", NumberFormat(".", ",", "$")),
    "euros": (lambda x: f"{german(x)} €", NumberFormat(",", ".", "€")),
    "code before": (lambda x: f"USD {x:,.2f}", NumberFormat(".", ",", "USD")),
    "Swiss": (lambda x: f"{x:,.2f}".replace(",", "’"), NumberFormat(".", "'")),
    "French": (lambda x: german(x).replace(".", "\u202f") + "\u00a0€", NumberFormat(",", " ", "€")),
    "decimal commas": (lambda x: f"{x:.2f}".replace(".", ","), NumberFormat(",")),
    "percent": (lambda x: f"{x:.1f} %", NumberFormat(".", "", "%")),
    "percent, joined": (lambda x: f"{x:.1f}%", NumberFormat(".", "", "%")),
    "unit": (lambda x: f"{x:.1f} kg", NumberFormat(".", "", "kg")),
    "compound unit": (lambda x: f"{x:.1f} mg/dL", NumberFormat(".", "", "mg/dL")),
    "degrees": (lambda x: f"{x:.1f}°C", NumberFormat(".", "", "°C")),
}


def write(path, cells, delimiter=",", header="amount"):
    quoted = [f'"{cell}"' if delimiter in cell else cell for cell in cells]
    lines = [delimiter.join([cell, f"c{i % 3}", "ab"[i % 2]]) for i, cell in enumerate(quoted)]
    path.write_text("\n".join([delimiter.join([header, "kind", "y"]), *lines]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("style", STYLES)
def test_the_ledger_is_that_of_plain_numbers(style, tmp_path):
    format_number, expected = STYLES[style]
    cells = [format_number(x) for x in AMOUNTS]
    digits = {"thousands": 0, "percent": 1, "percent, joined": 1, "unit": 1, "compound unit": 1, "degrees": 1}
    plain = [f"{x:.{digits.get(style, 2)}f}" for x in AMOUNTS]
    written = deciban.train(write(tmp_path / "written.csv", cells), target="y", judge=False)
    model = deciban.train(write(tmp_path / "plain.csv", plain), target="y", judge=False)
    assert written.columns[0].format == expected
    assert written.roles == model.roles
    assert written.ledger == model.ledger
    assert "is read as" in written.columns[0].reason
    answers = written.predict_proba(tmp_path / "written.csv").read_all()
    assert answers.equals(model.predict_proba(tmp_path / "plain.csv").read_all())
    frame = pd.read_csv(tmp_path / "written.csv")
    assert deciban.train(frame, target="y", judge=False).ledger == model.ledger


def test_the_format_is_saved_and_the_same_cell_is_read_in_the_same_way(tmp_path):
    path = write(tmp_path / "t.csv", [german(x) + " €" for x in AMOUNTS])
    model = deciban.train(path, target="y", judge=False, numbers="number")
    model.save(tmp_path / "m.deciban")
    loaded = deciban.load(tmp_path / "m.deciban")
    assert loaded.columns == model.columns
    one = write(tmp_path / "one.csv", ["1.234 €"])  # alone it would be 1.234
    explained = loaded.explain(one)
    assert "amount = 1234" in str(explained)
    plain = write(tmp_path / "typed.csv", ["1234"])
    assert loaded.predict_proba(one).read_all().equals(loaded.predict_proba(plain).read_all())
    typed = pd.DataFrame({"amount": [1234.0], "kind": ["c0"]})
    assert np.allclose(loaded.predict_proba(typed).to_numpy(), loaded.predict_proba(one).read_all().to_pandas())


def test_models_add_where_the_reading_agrees_or_values_are_numbers_already(tmp_path):
    def train(style, like=None):
        path = write(tmp_path / "t.csv", [STYLES[style][0](x) for x in AMOUNTS])
        return deciban.train(path, target="y", numbers="number", judge=False)

    euros, dollars = train("euros"), train("dollars")
    plain = write(tmp_path / "plain.csv", [f"{x:.2f}" for x in AMOUNTS])
    numbers = deciban.train(plain, target="y", numbers="number", judge=False)
    assert (euros + euros).columns[0].format == euros.columns[0].format
    for added in (numbers + euros, euros + numbers):
        assert added.columns[0].format == euros.columns[0].format
        assert added.ledger.n_rows == 400
    assert numbers.columns[0].format is None
    with pytest.raises(SchemaError, match=r"read column 'amount' differently: 1.000,5 € in one, 1,000.5 \$ in the"):
        euros + dollars
    assert numbers.add(plain).ledger.n_rows == 400


@pytest.mark.parametrize(
    "cells",
    [
        ["70 kg", "154 lb"],
        ["007", "012"],
        ["A12", "A13"],
        ["#5", "#6"],
        ["555 123 456", "555 123 457"],
        ["123.456.789", "123.456.790"],
        ["12 %", "0.12"],
        ["1st", "2nd", "3rd"],
        ["3.10.12", "3.9.13"],
        ["10-20", "20-30"],
        ["120/80", "110/70"],
        ["1,23,4", "5"],
        ["5 red cars", "6 red cars"],
        ["-", "x"],
        ["(5", "6)"],
        ["$5 kg"],
    ],
)
def test_codes_and_mixed_units_are_no_numbers(cells):
    assert infer_number_format(cells) is None


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["(1,234.50)", "7"], [-1234.5, 7]),
        (["-$5", "$-6", "$7"], [-5, -6, 7]),
        (["\u22125 °C", "4 °C"], [-5, 4]),
        (["12,34,567", "1,00,000"], [1234567, 100000]),
        (["0 %", "12 %", "0"], [0, 12, 0]),
        (["70 kg", "82", "65kg"], [70, 82, 65]),
        (["CHF 1'000", "1’250"], [1000, 1250]),
        ([" 1,000 ", "NA", "", "?"], [1000, None, None, None]),
        (["R$ 5", "R$ 1.000"], [5, 1]),
    ],
)
def test_signs_brackets_and_groups(cells, values):
    known = [cell.strip() for cell in cells if cell.strip() not in ("NA", "", "?")]
    found = infer_number_format(known)
    assert found is not None
    parsed = found.parse(pa.array(cells))
    assert parsed.n_invalid == 0
    assert parsed.values.to_pylist() == values


@pytest.mark.parametrize(
    "text", ["9" * 500_000, "-" + " " * 500_000 + "x", "1" + " " * 500_000 + "x y", "1,0" * 10**5]
)
def test_long_cells_take_no_long_time(text):
    assert infer_number_format([text]) is None
    assert NumberFormat(",", ".", "€").parse(pa.array([text])).n_invalid <= 1


def test_a_late_cell_that_does_not_fit_the_format_names_its_line_and_a_way_out(tmp_path):
    cells = [f"{x:,.0f}" for x in AMOUNTS] * 150
    path = write(tmp_path / "t.csv", [*cells, "12.345,6"])
    with pytest.raises(InputError, match=r"holds '12.345,6' in line 30002, which is not a number. Hint: "):
        deciban.train(path, target="y", judge=False)


def test_the_hint_of_a_stored_format_shows_how_the_others_are_written(tmp_path):
    model = deciban.train(write(tmp_path / "t.csv", [f"{x:,.0f}" for x in AMOUNTS]), target="y", judge=False)
    for source in (write(tmp_path / "new.csv", ["12.345,6"]), pd.DataFrame({"amount": ["12.345,6"], "kind": ["c1"]})):
        with pytest.raises(
            InputError, match=r"holds '12.345,6' in .*Hint: write it as the others are, such as 1,000.5"
        ):
            list(model.predict(source))
    plain = deciban.train(write(tmp_path / "t.csv", [f"{x:.0f}" for x in AMOUNTS]), target="y", judge=False)
    with pytest.raises(
        InputError, match=r"holds '38,367' in row 1, .*Hint: write it as the others are, such as 1000.5"
    ):
        plain.predict(pd.DataFrame({"amount": ["38,367"], "kind": ["c1"]}))


def test_a_missing_text_with_spaces_around_it_is_missing_among_numbers(tmp_path):
    path = write(tmp_path / "t.csv", [" unknown ", *(f" {x:.0f} " for x in AMOUNTS)])
    model = deciban.train(path, target="y", judge=False, missing="unknown")
    assert model.ledger.parts[0].weight.sum() == 200
    with pytest.raises(InputError, match=r"holds 'unknown' in line 2, which is not a number"):
        list(open_source(path).batches({"amount": "number"}))


def test_written_numbers_and_dates_of_workbooks_and_databases(tmp_path):
    frame = pd.DataFrame({"amount": [STYLES["euros"][0](x) for x in AMOUNTS], "y": ["a", "b"] * 100})
    frame["day"] = [f"{i % 28 + 1:02}.{i % 12 + 1:02}.2024" for i in range(200)]
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    with contextlib.closing(sqlite3.connect(tmp_path / "t.db")) as database:
        frame.to_sql("t", database, index=False)
    models = [deciban.train(tmp_path / f"t.{end}", target="y", judge=False) for end in ("csv", "xlsx", "db")]
    assert models[0].columns == models[1].columns == models[2].columns
    assert models[0].ledger == models[1].ledger == models[2].ledger
    frame.loc[7, "amount"] = "much"
    frame.to_excel(tmp_path / "bad.xlsx", index=False)
    with pytest.raises(
        InputError, match=r"column 'amount' of .*bad.xlsx' holds 'much' in row 8, which is not a number"
    ):
        list(models[0].predict(tmp_path / "bad.xlsx"))
    with pytest.warns(DecibanWarning, match=r"1 cell of .*'much' in row 8"):
        assert len(models[0].predict(tmp_path / "bad.xlsx", bad_cells="missing").read_all()) == 200


def test_hints_do_not_propose_to_leave_out_a_number(tmp_path):
    model = tmp_path / "m.deciban"
    done("train", write(tmp_path / "t.csv", [f"{x:.0f}" for x in AMOUNTS]), "--target", "y", "-o", model)
    new = write(tmp_path / "new.csv", ["38,367"])
    words = call("predict", model, new).stderr
    assert "holds '38,367' in line 2, which is not a number" in words
    assert "--missing" not in words
    assert "--bad-cells" not in words
    assert "--decimal . reads it as 38367" in words
    assert "--decimal , reads it as 38.367" in words
    assert done("predict", model, new, "--decimal", ".").stdout == done(
        "predict", model, write(tmp_path / "new.csv", ["38367"])
    ).stdout  # fmt: skip
    given = call("train", write(tmp_path / "t.csv", ["5", "3 to 4"] * 50), "--target", "y", "--as", "amount=number")
    assert "holds '3 to 4', which is not a number, so its role cannot be number" in given.stderr
    assert "--missing" not in given.stderr
    unit = call("predict", model, write(tmp_path / "new.csv", ["70 kg"])).stderr
    assert "Hint: write the number without a unit\n" in unit


def test_a_word_may_be_a_mark_of_a_missing_value(tmp_path):
    path = write(tmp_path / "t.csv", ["unknown"] + [f"{x:.0f}" for x in AMOUNTS])
    with pytest.raises(InputError, match=r"--as amount=category .* reads it as text; --missing 'unknown'"):
        deciban.train(path, target="y", roles={"amount": "number"})


@pytest.mark.parametrize(
    ("cells", "decimal"),
    [
        (["1,5", "x"], ","),
        (["38,367", "1.5"], "."),
        (["38,367"], ","),
        (["1,234,567"], "."),
        (["1.234,5", "1.234"], ","),
        (["0,367", "1,234"], ","),
        (["1.5", "2.25"], "."),
        ([], "."),
    ],
)
def test_the_decimal_mark_of_a_file_is_that_of_cells_that_leave_no_choice(cells, decimal):
    assert detect_decimal(cells) == decimal


def test_thousands_in_a_file_with_tabs_and_decimal_points(tmp_path):
    path = tmp_path / "t.tsv"
    amounts, sizes = 1000 + AMOUNTS.astype(int), np.random.default_rng(2).permutation(200) / 8
    lines = [f"{amounts[i]:,}\t{sizes[i]}\t{'ab'[i % 2]}" for i in range(200)]
    path.write_text("\n".join(["income\tx\ty", *lines]) + "\n")
    model = deciban.train(path, target="y", numbers="number", judge=False)
    assert model.columns[0].format == NumberFormat(".", ",")
    means = model.ledger.parts[0].mean.mean(axis=0)
    assert np.allclose(means, [amounts.mean(), sizes.mean()])


def test_a_comma_that_may_be_either_is_noted_and_can_be_decided(tmp_path):
    path = write(tmp_path / "t.csv", [f"{int(x) % 900 + 1},{int(x) % 1000:03}" for x in AMOUNTS * 7], ";")
    open_mark = deciban.train(path, target="y", judge=False)
    assert "is read as" in open_mark.columns[0].reason
    assert open_mark.columns[0].format is None
    points = deciban.train(path, target="y", judge=False, decimal=".")
    assert points.columns[0].format == NumberFormat(".", ",")
    assert open_mark.ledger != points.ledger


def test_formats_of_numbers_in_json_lines_and_given_roles(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text("".join(f'{{"x": "${x:,.2f}", "y": "{"ab"[i % 2]}"}}\n' for i, x in enumerate(AMOUNTS)))
    model = deciban.train(path, target="y", judge=False)
    assert model.columns[0].format == NumberFormat(".", ",", "$")
    assert math.isclose(deciban.train(path, target="y", roles={"x": "number"}).ledger.parts[0].weight.sum(), 200)


def test_plain_texts_of_numbers_in_a_frame_stay_categories():
    frame = pd.DataFrame({"zone": ["1", "2", "3", "4"] * 50, "y": ["a", "b"] * 100})
    assert deciban.train(frame, target="y", judge=False).roles["zone"] == "category"


@pytest.mark.parametrize("value", [";", ""])
def test_another_decimal_mark_is_refused(value):
    with pytest.raises(InputError, match="decimal must be"):
        FileOptions(decimal=value)


def test_an_order_of_written_numbers_and_dates_is_their_own(tmp_path):
    """Rows in order, written so that the order of texts is another."""
    n = 240
    rows = [(f"{i * 100:,}", f"{i % 28 + 1}.{i // 28 + 1}.2024", "ab"[i % 2], i) for i in range(n)]
    frame = pd.DataFrame(rows, columns=["amount", "day", "y", "place"])
    figures = [
        deciban.evaluate(frame[["x", "y", name]], target="y", order=name, folds=4, roles={name: "skip"}).log_loss
        for frame in [frame.assign(x=np.random.default_rng(1).normal(np.arange(n) % 2, 1 + np.arange(n) / n))]
        for name in ("place", "amount", "day")
    ]
    assert figures[0] == figures[1] == figures[2]


def test_head_is_as_it_is_written(tmp_path):
    path = write(tmp_path / "t.csv", ["1,5", "2,25"], ";")
    assert open_source(path).head(2)["amount"].to_pylist() == ["1,5", "2,25"]


def test_a_mark_after_a_single_zero_is_a_decimal_mark(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("price;y\n" + "".join(f'"0,{100 + i} €";{"ab"[i % 2]}\n' for i in range(60)))
    model = deciban.train(path, target="y", judge=False)
    assert model.ranges["price"] == pytest.approx((0.1, 0.159))
