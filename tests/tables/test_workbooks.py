"""Excel workbooks: sheets, types of cells, blank names, and files that no program should trust."""

import builtins
import datetime
import re
import zipfile

import openpyxl
import pyarrow as pa
import pytest

import deciban
from deciban.errors import InputError, MissingExtraError
from deciban.sources import workbooks
from deciban.sources.source import FileOptions, open_source
from tests.cli.terminal import done, program

N = 40
HEADER = ["age", "cough", "seen", "smoker", "diagnosis"]
ROWS = [
    [
        30 + i % 23 + 0.5 * (i % 2),
        ["dry", "wet"][i % 2],
        datetime.datetime(2024, 1 + i % 12, 3, i % 24),
        i % 3 == 0,
        "ab"[i % 2],
    ]
    for i in range(N)
]


def write(path, **sheets):
    """Write a workbook with the rows of each sheet."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def rewrite(path, **parts):
    """Replace parts of a workbook, by the ends of their names."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            change = next((parts[end] for end in parts if name.endswith(end.replace("__", "."))), None)
            archive.writestr(name, content if change is None else change(content))
    return path


def test_cells_have_their_types(tmp_path):
    path = write(tmp_path / "t.xlsx", patients=[HEADER, *ROWS])
    head = open_source(path).head(N)
    assert head.schema.types == [pa.float64(), pa.string(), pa.timestamp("us"), pa.bool_(), pa.string()]
    model = deciban.train(path, target="diagnosis")
    assert (model.roles["cough"], model.roles["seen"], model.roles["smoker"]) == ("category", "date", "flag")
    assert next(c.parts for c in model.columns if c.name == "seen") == ("weekday", "hour")
    assert model.predict(path).read_all().num_rows == N
    assert deciban.evaluate(path, model=model).rows == N


def test_numbers_that_are_texts_are_numbers_and_markers_are_missing(tmp_path):
    rows = [
        [str(row[0]) if i % 2 else row[0], "NA" if i == 7 else f" {row[1]} ", *row[2:]] for i, row in enumerate(ROWS)
    ]
    rows[3][0], rows[5][0] = "n/a", ""
    model = deciban.train(write(tmp_path / "t.xlsx", s=[HEADER, *rows]), target="diagnosis", numbers="number")
    assert model.roles["age"] == "number"
    assert model.origin.markers == {"age": {"n/a": 1}, "cough": {"NA": 1}}
    assert model.describe().columns[0].rows == N - 2
    rows[4][0] = "old"
    path = write(tmp_path / "t.xlsx", s=[HEADER, *rows])
    with pytest.raises(InputError, match=r"column 'age' of .*t.xlsx' holds 'old' in row 5, which is not a number"):
        model.predict(path).read_all()


def test_a_sheet_is_chosen_by_name_or_is_the_only_one_with_cells(tmp_path):
    others = [["x", "diagnosis"], *([i % 5, "ab"[i % 2]] for i in range(N))]
    path = write(tmp_path / "t.xlsx", patients=[HEADER, *ROWS], empty=[], others=others)
    with pytest.raises(
        InputError, match=r"has 2 sheets. Hint: --table NAME \(table='NAME'\) reads one of patients, others"
    ):
        deciban.train(path, target="diagnosis")
    with pytest.raises(InputError, match=r"has no sheet 'patient'; did you mean 'patients'\?"):
        deciban.train(path, target="diagnosis", table="patient")
    with pytest.raises(InputError, match=r"sheet 'empty' of .* is empty"):
        deciban.train(path, target="diagnosis", table="empty")
    assert set(deciban.train(path, target="diagnosis", table="others", judge=False).roles) == {"x"}
    out = done("train", path, "--table", "patients", "--target", "diagnosis", "-o", tmp_path / "m.deciban").stdout
    assert "learned from 40 rows" in out
    done("predict", tmp_path / "m.deciban", path, "--table", "patients")
    one = write(tmp_path / "one.xlsx", empty=[], patients=[HEADER, *ROWS])
    assert deciban.train(one, target="diagnosis", judge=False).origin.rows_read == N


def test_blank_names_rows_and_cells(tmp_path):
    rows = [
        [],
        [None, None],
        ["age", None, "diagnosis", None],
        *([i % 9, "uv"[i % 2], "ab"[i % 2]] for i in range(N)),
        [],
        [],
    ]
    rows.insert(20, [None, "", None])
    source = open_source(write(tmp_path / "t.xlsx", s=rows))
    assert source.columns == ["age", "column2", "diagnosis"]
    assert source.head(100).num_rows == N
    rows[23] = [1, "u", "a", None, "a note"]
    path = write(tmp_path / "t.xlsx", s=rows)
    with pytest.raises(InputError, match="has a value in row 24 and column 5, and its header names 3 columns"):
        deciban.train(path, target="diagnosis")
    with pytest.raises(InputError, match="two columns named 'a'"):
        open_source(write(tmp_path / "t.xlsx", s=[["a", "a"], [1, 2]]))


def test_several_workbooks_are_read_one_after_the_other(tmp_path):
    write(tmp_path / "1.xlsx", s=[HEADER, *ROWS[:15]])
    write(tmp_path / "2.xlsx", s=[HEADER, *ROWS[15:]])
    whole = write(tmp_path / "whole.xlsx", s=[HEADER, *ROWS])
    together = deciban.train(str(tmp_path / "[12].xlsx"), target="diagnosis")
    assert together.ledger == deciban.train(whole, target="diagnosis").ledger
    write(tmp_path / "2.xlsx", s=[["age"], [1]])
    with pytest.raises(InputError, match="has other columns than"):
        open_source(str(tmp_path / "[12].xlsx"))


def test_a_formula_needs_its_result(tmp_path):
    path = write(tmp_path / "t.xlsx", s=[["a", "b", "y"], *([i % 7, f"=A{i + 2}*2", "ab"[i % 2]] for i in range(N))])
    with pytest.raises(
        InputError, match=r"formula in cell B2 of sheet 's', and not its result. Hint: open it in Excel"
    ):
        deciban.train(path, target="y")
    # as Excel saves it: a number, and a text that is empty
    rewrite(path, sheet1__xml=lambda xml: re.sub(rb"</f><v ?/>|</f><v></v>", b"</f><v>5</v>", xml))
    assert open_source(path).head(3)["b"].to_pylist() == [5, 5, 5]
    rewrite(
        path,
        sheet1__xml=lambda xml: re.sub(rb'<c r="(B\d+)"><f>(.*?)</f><v>5', rb'<c r="\1" t="str"><f>\2</f><v>', xml),
    )
    assert open_source(path).head(3)["b"].to_pylist() == [None] * 3


def test_workbooks_with_macros_are_read_and_the_macros_are_not(tmp_path):
    path = write(tmp_path / "t.xlsm", s=[HEADER, *ROWS])
    main = b"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
    macros = b"application/vnd.ms-excel.sheet.macroEnabled.main+xml"
    rewrite(path, **{"[Content_Types]__xml": lambda xml: xml.replace(main, macros)})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("xl/vbaProject.bin", b"\0" * 1000)
    assert deciban.train(path, target="diagnosis", judge=False).origin.rows_read == N


def cut(path):
    path.write_bytes(path.read_bytes()[:-500])


def bomb(path):
    rewrite(path, styles__xml=lambda xml: b"<sst>" + b" " * (1 << 26) + b"</sst>")


def entities(path):
    declarations = b"".join(
        b'<!ENTITY e%d "%s">' % (i, b"&e%d;" % (i - 1) * 20 if i else b"lol" * 20) for i in range(12)
    )
    rewrite(path, sheet1__xml=lambda xml: xml.replace(b"<worksheet", b"<!DOCTYPE x [%s]><worksheet" % declarations, 1)
            .replace(b"<v>", b"<v>&e11;", 1))  # fmt: skip


def far_row(path):
    rewrite(path, sheet1__xml=lambda xml: xml.replace(b'<row r="3"', b'<row r="99999999999"'))


def far_column(path):
    rewrite(path, sheet1__xml=lambda xml: xml.replace(b'r="A3"', b'r="ZZZZZZZ3"'))


def no_strings(path):
    rewrite(path, sheet1__xml=lambda xml: xml.replace(b't="n"', b't="s"'))


def other_archive(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<x/>")


HOSTILE = {
    "cut off": (cut, "cannot be read as an Excel workbook"),
    "no archive": (lambda path: path.write_bytes(b"PK\3\4" + b"\1" * 500), "cannot be read as an Excel workbook"),
    "text": (lambda path: path.write_text("age,diagnosis\n1,a"), "cannot be read as an Excel workbook"),
    "empty": (lambda path: path.write_bytes(b""), "cannot be read as an Excel workbook"),
    "another archive": (other_archive, "cannot be read as an Excel workbook"),
    "an old file": (lambda path: path.write_bytes(b"\xd0\xcf\x11\xe0" + b"\0" * 600), "an old Excel file"),
    "a bomb": (bomb, "67 108 875 once it is unpacked"),
    "entities": (entities, "cannot be read as an Excel workbook"),
    "a far row": (far_row, None),
    "a far column": (far_column, "cannot be read as an Excel workbook"),
    "no such string": (no_strings, "cannot be read as an Excel workbook"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_damaged_and_hostile_workbooks_are_refused_in_one_line(kind, tmp_path):
    path = write(tmp_path / "t.xlsx", s=[HEADER, *ROWS])
    damage, words = HOSTILE[kind]
    damage(path)
    if words is None:
        assert open_source(path).head(N).num_rows < N
        return
    with pytest.raises(InputError, match=words) as refused:
        deciban.train(path, target="diagnosis")
    assert "\n" not in str(refused.value)
    assert "t.xlsx" in str(refused.value)


def test_other_spreadsheets_and_tables_that_have_no_sheets_are_refused(tmp_path):
    for name in ("t.xls", "t.ods", "t.xlsb"):
        (tmp_path / name).write_bytes(b"\0")
        with pytest.raises(InputError, match=r"not read. Hint: save it as .xlsx or as CSV"):
            open_source(tmp_path / name)
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"--table .* is read as csv. Hint: leave it out"):
        open_source(tmp_path / "t.csv", options=FileOptions(table="s"))
    with pytest.raises(InputError, match=r"--table .* is for files"):
        deciban.train({"a": [1], "b": [2]}, target="a", table="s")
    (tmp_path / "t.xlsx.gz").write_bytes(b"\x1f\x8b")
    with pytest.raises(InputError, match=r"compressed.*unpack it first"):
        open_source(tmp_path / "t.xlsx.gz")


def test_a_missing_library_names_the_extra(tmp_path, monkeypatch):
    path = write(tmp_path / "t.xlsx", s=[HEADER, *ROWS])
    found = builtins.__import__

    def refuse(name, *arguments):
        if name.startswith("openpyxl"):
            raise ImportError(name)
        return found(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=r"pip install 'deciban\[excel\]'"):
        open_source(path)


def test_a_workbook_from_a_pipe_is_known_by_its_first_bytes(tmp_path):
    path = write(tmp_path / "t.xlsx", s=[HEADER, *ROWS])
    with path.open("rb") as rows:
        ran = program("train", "-", "--target", "diagnosis", "-o", tmp_path / "m.deciban", stdin=rows)
    assert "learned from 40 rows" in ran.stdout


def test_rows_are_read_in_parts_of_different_types(tmp_path, monkeypatch):
    monkeypatch.setattr(workbooks, "ROWS_PER_PART", 7)
    rows = [
        [i if i < 20 else i + 0.5, None if i < 10 else "x", i if i < 30 else "many", "ab"[i % 2]] for i in range(N)
    ]
    head = open_source(write(tmp_path / "t.xlsx", s=[["a", "b", "c", "y"], *rows])).head(N)
    assert head.schema.types == [pa.float64(), pa.string(), pa.string(), pa.string()]
    assert head["c"].to_pylist() == [str(row[2]) for row in rows]
    assert head["a"].to_pylist() == [row[0] for row in rows]


def test_the_library_warns_of_nothing_that_it_leaves_out(tmp_path, recwarn):
    path = write(tmp_path / "t.xlsx", s=[HEADER, *ROWS])
    extension = b'<extLst><ext uri="{CCE6A557-97BC-4b89-ADB6-D9C93CAAB3DF}"/></extLst></worksheet>'
    rewrite(path, sheet1__xml=lambda xml: xml.replace(b"</worksheet>", extension))
    open_source(path).head(5)
    assert not recwarn


@pytest.mark.parametrize("labels", [[0, 1], [0.5, 1.5], [True, False]], ids=["integers", "floats", "booleans"])
def test_the_target_may_hold_numbers_or_booleans(labels, tmp_path):
    rows = [[float(i * 7 % 23), labels[i % 2]] for i in range(N)]
    path = write(tmp_path / "t.xlsx", t=[["x", "y"], *rows])
    model = deciban.train(path, target="y")
    assert set(model.predict(path).read_all().column(0).to_pylist()) <= set(labels)
