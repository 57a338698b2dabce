"""CSV files of many programs: encodings, Excel's line `sep=;`, spaces around cells, stray quotes."""

import csv
import gzip

import pytest

import deciban
from deciban.errors import InputError
from deciban.sources.source import FileOptions, open_source
from deciban.sources.utf8_copies import copy_to_utf8
from tests.cli.terminal import call, done

ROWS = [("café", "1,5", "a"), ("thé – “vert”", "2,5", "b"), ("straße €", "3,5", "a"), ("café", "7,5", "b")]
TEXT = "\r\n".join(["größe;zahl;y", *(";".join(row) for row in ROWS * 10), ""])


def cells(path, **options):
    source = open_source(path, options=FileOptions(**options))
    (batch,) = source.batches(dict.fromkeys(source.columns, "text"))
    return [tuple(row.values()) for row in batch.to_pylist()]


@pytest.mark.parametrize(
    "encoding",
    ["cp1252", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "mac_roman", "UTF8", "cp1250"],
)
def test_any_encoding_of_python_is_read(encoding, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(TEXT.encode(encoding))
    assert cells(path, encoding=encoding) == ROWS * 10
    assert open_source(path, options=FileOptions(encoding=encoding)).columns == ["größe", "zahl", "y"]
    model = deciban.train(path, target="y", encoding=encoding, judge=False)
    assert model.origin.rows_read == 40
    assert list(model.predict(path, encoding=encoding))
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(TEXT.encode(encoding)))
    assert cells(tmp_path / "t.csv.gz", encoding=encoding) == ROWS * 10


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_byte_order_mark_states_the_encoding(encoding, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(TEXT.encode(encoding))
    assert cells(path) == ROWS * 10


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_read_by_its_name_and_hinted_at_without(encoding, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(TEXT.encode(encoding))
    assert cells(path, encoding="utf-16") == ROWS * 10
    with pytest.raises(InputError, match=rf"not a text file. Hint: .*--encoding {encoding}"):
        open_source(path)


@pytest.mark.parametrize("place", ["größe", "café"])
def test_invalid_bytes_are_one_error_in_header_and_values(place, tmp_path):
    path = tmp_path / "t.csv"
    text = "name,größe,y\n" + "tea,1,a\ncafé,2,b\n" * 9
    broken = text.replace("größe" if place == "café" else "café", "plain")
    path.write_bytes(broken.encode("latin-1"))
    line = 1 if place == "größe" else 3
    words = rf"t.csv' is not in UTF-8 in line {line}. Hint: --encoding latin-1 \(encoding='latin-1'\)"
    with pytest.raises(InputError, match=words):
        deciban.train(path, target="y")
    path.write_bytes(broken.replace("é", "€").replace("ö", "€").encode("cp1252"))
    with pytest.raises(InputError, match=rf"is not in UTF-8 in line {line}. Hint: --encoding cp1252"):
        deciban.train(path, target="y")


def test_bytes_that_the_encoding_does_not_have_are_named_with_their_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,y\n1,a\n2,\x81\n")
    with pytest.raises(InputError, match=r"t.csv' is not in cp1252 in line 3. Hint: --encoding latin-1"):
        deciban.train(path, target="y", encoding="cp1252")
    for encoding in ("base64", "klingon", ""):
        with pytest.raises(InputError, match=r"encoding .* is not known|cannot|encoding"):
            deciban.train(path, target="y", encoding=encoding or "x")


def test_faults_of_a_file_in_another_encoding_name_the_file_itself(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("größe,y\n1,a\n2,b,c\n".encode("cp1252"))
    words = call("train", path, "--target", "y", "--encoding", "cp1252").stderr
    assert f"'{path}' is ragged: 3 cells in line 3" in words
    path.write_bytes(("größe,y\n" + "1,a\n" * 30_000 + "zwölf,b\n").encode("cp1252"))
    words = call("train", path, "--target", "y", "--encoding", "cp1252", "--no-judge").stderr
    assert f"column 'größe' of '{path}' holds 'zwölf' in line 30002" in words


def test_copies_in_utf_8_are_deleted_with_the_table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(TEXT.encode("cp1252"))
    copies = copy_to_utf8([str(path)], "cp1252")
    assert copies is copy_to_utf8([str(path)], "cp1252")
    path.write_bytes(TEXT.encode("cp1252") + b"x;1;b\r\n")
    other = copy_to_utf8([str(path)], "cp1252")
    assert other is not copies
    folder = copies.folder
    del copies
    import os

    assert not os.path.exists(folder)
    assert os.path.exists(other.folder)
    assert copy_to_utf8([str(path)], "utf-8") is None


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=;", "sep=,", "sep=\t", "sep=|", "sep=:"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_excels_line_names_the_delimiter(first, line_end, tmp_path):
    path = tmp_path / "t.csv"
    mark = first.strip('"')[-1]
    lines = [first, mark.join(["a b", "x", "y"]), *(mark.join([f"t{i % 3}", str(i), "pq"[i % 2]]) for i in range(40))]
    for bom in ("", "\ufeff"):
        path.write_bytes((bom + line_end.join([*lines, ""])).encode())
        model = deciban.train(path, target="y", judge=False, roles={"x": "number"})
        assert model.origin.rows_read == 40
        assert [column.name for column in model.columns] == ["a b", "x"]
    path.write_bytes(line_end.join([*lines, mark.join(["t", "oops", "p"]), ""]).encode())
    with pytest.raises(InputError, match="holds 'oops' in line 43, which is not a number"):
        list(open_source(path).batches({"x": "number"}))
    path.write_bytes(line_end.join([*lines, mark.join(["t", "1", "p", "q"]), ""]).encode())
    with pytest.raises(InputError, match="4 cells in line 43 where the header has 3"):
        list(open_source(path).batches({"x": "number"}))


def test_files_with_and_without_excels_line_are_not_read_together(tmp_path):
    (tmp_path / "1.csv").write_text("sep=;\nx;y\n1;a\n")
    (tmp_path / "2.csv").write_text("x;y\n1;a\n")
    with pytest.raises(InputError, match=r"2.csv' has another delimiter .* or only one has a line sep="):
        open_source(tmp_path / "*.csv")


def test_excels_line_that_ends_in_another_way_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"sep=;\nx;y\r1;a\r2;b\r")
    with pytest.raises(InputError, match=r"in line 2: it ends with '\\r', and the first line with '\\n'"):
        open_source(path)


def test_spaces_around_cells_and_names_are_trimmed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        " colour , x ,y\n red, 1 ,a\nred ,2, b\n\u00a0red\u202f,3,a\n  ,4,b \n blue ,?,\ta\n" * 1 + "red,5,a\n" * 6
    )
    model = deciban.train(path, target="y", judge=False)
    assert [column.name for column in model.columns] == ["colour", "x"]
    assert model.ledger.schema.blocks[-1].levels == (("blue", "red"),)
    assert model.classes == ["a", "b"]
    assert model.ledger.parts[-1].weight.sum() == 10
    assert cells(path, missing=("blue",))[4][0] is None


def test_copied_cells_keep_their_spaces(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("colour,y\n" + " red ,a\nblue,b\n" * 20)
    model = tmp_path / "m.deciban"
    done("train", path, "--target", "y", "-o", model)
    with_copy = done("predict", model, path, "--keep", "colour").stdout.splitlines()
    assert with_copy[1].startswith(" red ,a,")
    without = done("predict", model, path).stdout.splitlines()
    assert [line.split(",", 1)[1] for line in with_copy] == without


STRAY = 'size\tname\ty\n5" pipe\tx\ta\n"6 pipe\tx "y" z\tb\n"7"" pipe\t"\ta\n'


def test_stray_quotes_are_read_as_characters_where_that_is_asked_for(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text(STRAY * 1)
    assert cells(path, quote="none") == [('5" pipe', "x", "a"), ('"6 pipe', 'x "y" z', "b"), ('"7"" pipe', '"', "a")]
    with pytest.raises(InputError, match=r"line 3: a quote is not closed.*--quote none \(quote='none'\)"):
        cells(path)
    path.write_text(STRAY + STRAY.partition("\n")[2] * 20)
    shown = done("train", path, "--target", "y", "--quote", "none", "-o", tmp_path / "m.deciban").stdout
    assert "63 rows" in shown
    path.write_text('"size\tname\ty\n1\tx\ta\n')
    with pytest.raises(InputError, match=r"the header .* opens a quote .*--quote none"):
        open_source(path)
    assert open_source(path, options=FileOptions(quote="none")).columns == ['"size', "name", "y"]


def test_another_quotation_mark(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("'a, b',y\n'x, ''y''',p\n\"z\",q\n")
    assert cells(path, quote="'") == [("x, 'y'", "p"), ('"z"', "q")]
    path.write_text("a,y\n'x,p\n")
    with pytest.raises(InputError, match="line 2: a quote is not closed"):
        cells(path, quote="'")
    assert "one ASCII character is needed, or none" in call("train", path, "--quote", "ab").stderr
    for quote in ("ab", "«", "\n"):
        with pytest.raises(InputError, match="quote must be one ASCII character, or 'none'"):
            FileOptions(quote=quote)


def test_a_file_that_excel_writes_as_unicode_text(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_bytes(
        "\r\n".join(["größe\tpreis\ty", *(f"{i}\t1.{i:03},50 €\t{'ab'[i % 2]}" for i in range(60))]).encode("utf-16")
    )
    model = deciban.train(path, target="y", judge=False, numbers="number")
    assert round(model.ledger.parts[0].mean.mean(axis=0)[-1], 6) == 1000.5 + 29.5


def test_cells_are_those_of_pythons_reader_without_quotes(tmp_path):
    path = tmp_path / "t.tsv"
    lines = ['a\t"b', '"x""\ty', "\"\t'", 'p"q\t""']
    path.write_text("\n".join(["u\tv", *lines]) + "\n")
    expected = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert [list(row) for row in cells(path, quote="none")] == expected


def test_a_byte_order_mark_before_a_quoted_name_of_two_lines(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes('\ufeff"a\nb",c\n1,2\n3,4\n'.encode())
    assert open_source(path).columns == ["a\nb", "c"]
    assert cells(path) == [("1", "2"), ("3", "4")]
