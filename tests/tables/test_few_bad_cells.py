"""A typing error among numbers or dates is an error that names its place; the column does not become a category."""

import datetime

import pytest

import deciban
from deciban.errors import DecibanWarning, InputError
from tests.tables import test_sqlite_files, test_workbooks

N = 100
NUMBERS = [f"{17 + i * 7 % 53}.{i % 10}1" for i in range(N)]
DATES = [f"{1 + i % 28:02}.{1 + i * 5 % 12:02}.2024" for i in range(N)]
COUNTS = [str(1 + i % 4) for i in range(N)]


def write(path, cells, labels=None):
    labels = labels or ["ab"[i % 2] for i in range(len(cells))]
    path.write_text("x,y\n" + "".join(f"{cell},{label}\n" for cell, label in zip(cells, labels)))
    return path


def change(cells, place, cell):
    return [*cells[:place], cell, *cells[place + 1 :]]


@pytest.mark.parametrize("roles", [{}, {"x": "as inferred"}], ids=["inferred", "given"])
@pytest.mark.parametrize(
    ("cells", "bad", "role"),
    [
        (NUMBERS, "oops", "number"),
        (NUMBERS, "12 kg", "number"),
        (DATES, "31.02.2024", "date"),
        (DATES, "soon", "date"),
    ],
)
def test_one_bad_cell_is_named(cells, bad, role, roles, tmp_path):
    given = {"x": role} if roles else {}
    path = write(tmp_path / "t.csv", change(cells, 40, bad))
    with pytest.raises(
        InputError, match=rf"column 'x' of '.*t\.csv' holds '{bad}' in line 42, which is not a"
    ) as error:
        deciban.train(path, target="y", roles=given)
    if bad != "12 kg":  # a number, which is not to be left out
        assert "--bad-cells missing (bad_cells='missing')" in str(error.value)
    with pytest.warns(DecibanWarning, match=f"1 cell .* counted as missing.*'{bad}' in row 41"):
        model = deciban.train(path, target="y", roles=given, bad_cells="missing")
    assert model.roles["x"] in ({"date"} if role == "date" else {"number", "binned"})
    assert deciban.train(path, target="y", roles={"x": "category"}).roles == {"x": "category"}


@pytest.mark.parametrize("place", [0, 99])
def test_the_place_of_the_cell_does_not_matter(place, tmp_path):
    path = write(tmp_path / "t.csv", change(NUMBERS, place, "oops"))
    with pytest.raises(InputError, match=f"'oops' in line {place + 2}"):
        deciban.train(path, target="y")


def test_a_text_among_few_different_numbers_is_a_level(tmp_path):
    model = deciban.train(write(tmp_path / "t.csv", change(COUNTS, 7, "5+")), target="y")
    assert model.roles == {"x": "category"}


def test_many_texts_among_numbers_are_values(tmp_path):
    cells = [cell if i % 4 else f"old-{i % 12}" for i, cell in enumerate(NUMBERS)]
    assert deciban.train(write(tmp_path / "t.csv", cells), target="y").roles == {"x": "category"}


@pytest.mark.parametrize("cells", [NUMBERS, DATES], ids=["numbers", "dates"])
def test_a_row_without_a_class_has_no_bad_cell(cells, tmp_path):
    """As the last line of a spreadsheet has them."""
    labels = ["ab"[i % 2] for i in range(N)]
    plain = deciban.train(write(tmp_path / "t.csv", cells, labels), target="y")
    with_total = deciban.train(write(tmp_path / "u.csv", [*cells, "Total"], [*labels, ""]), target="y")
    assert with_total.roles == plain.roles
    assert with_total.describe().to_dict()["classes"] == plain.describe().to_dict()["classes"]


@pytest.mark.parametrize("cells", [[float(cell) for cell in NUMBERS], DATES], ids=["numbers", "dates"])
def test_workbooks_and_databases_name_the_row(cells, tmp_path):
    cells = change(cells, 40, "oops")
    rows = [(cell, "ab"[i % 2]) for i, cell in enumerate(cells)]
    paths = [
        test_workbooks.write(tmp_path / "t.xlsx", t=[["x", "y"], *rows]),
        test_sqlite_files.write(tmp_path / "t.db", "create table t (x, y)", rows=rows),
    ]
    for path in paths:
        with pytest.raises(InputError, match="holds 'oops' in row 41, which is not a"):
            deciban.train(path, target="y")


def test_dates_of_a_workbook_may_have_a_text_among_them(tmp_path):
    rows = [[datetime.datetime(2024, 1 + i % 12, 3), "ab"[i % 2]] for i in range(N)]
    rows[40][0] = "soon"
    path = test_workbooks.write(tmp_path / "t.xlsx", t=[["x", "y"], *rows])
    with pytest.raises(InputError, match="holds 'soon' in row 41, which is not a date"):
        deciban.train(path, target="y")
