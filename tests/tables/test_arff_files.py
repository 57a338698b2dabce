"""ARFF files: what Weka writes is read as Weka reads it, everything else is an error with its line."""

import contextlib
import datetime

import numpy as np
import pyarrow as pa
import pytest
from scipy.io import arff as scipy_arff

import deciban
from deciban.errors import InputError
from deciban.sources.source import FileOptions, open_source

WEATHER = """% the weather data of the Weka book
@RELATION weather

@attribute outlook {sunny, overcast, rainy}
@attribute 'the temperature' real   % in degrees
@attribute humidity NUMERIC
@attribute windy {TRUE, FALSE}
@attribute "it's noted" string
@attribute seen date "yyyy-MM-dd HH:mm"
@attribute play{yes,no}

@DATA
sunny,85,85,FALSE,'hot, dry',"2024-01-31 12:30",no
% a comment
sunny, 80 ,90,TRUE,'it\\'s \\"hot\\"',?,no
overcast,83,?,FALSE,'50% cloud',"2024-02-01 00:00",yes   % and one more

rainy,-7e1,96,FALSE,?,"2024-03-01 23:59",yes
?,68,80,FALSE,rain and sun,"2024-03-02 01:02",?
"""


def read(path, text=None, **options):
    if text is not None:
        path.write_text(text)
    source = open_source(path, options=FileOptions(**options))
    return source.head(1000)


def test_every_kind_of_attribute_and_quoting_is_read(tmp_path):
    table = read(tmp_path / "t.arff", WEATHER)
    assert table.column_names == ["outlook", "the temperature", "humidity", "windy", "it's noted", "seen", "play"]
    assert table.to_pydict() == {
        "outlook": ["sunny", "sunny", "overcast", "rainy", None],
        "the temperature": [85, 80, 83, -70, 68],
        "humidity": [85, 90, None, 96, 80],
        "windy": ["FALSE", "TRUE", "FALSE", "FALSE", "FALSE"],
        "it's noted": ["hot, dry", 'it\'s "hot"', "50% cloud", None, "rain and sun"],
        "seen": [
            datetime.datetime(2024, 1, 31, 12, 30),
            None,
            datetime.datetime(2024, 2, 1),
            datetime.datetime(2024, 3, 1, 23, 59),
            datetime.datetime(2024, 3, 2, 1, 2),
        ],
        "play": ["no", "no", "yes", "yes", None],
    }
    assert pa.types.is_dictionary(table.schema.field("outlook").type)


def test_scipy_reads_the_same_numbers_and_nominal_values(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["@relation r", "@attribute a numeric", "@attribute b {x,z}", "@attribute c real", "@data"]
    lines += [
        f"{rng.normal()},{rng.choice(['x', 'z'])},{'?' if rng.random() < 0.2 else rng.normal()}" for _ in range(99)
    ]
    table = read(tmp_path / "t.arff", "\n".join(lines))
    expected, _ = scipy_arff.loadarff(tmp_path / "t.arff")
    assert table["a"].to_pylist() == expected["a"].tolist()
    assert [value.encode() for value in table["b"].to_pylist()] == expected["b"].tolist()
    np.testing.assert_array_equal(table["c"].to_numpy(), expected["c"])


def test_sparse_rows_leave_zeros_and_first_values_out(tmp_path):
    text = (
        "@relation r\n@attribute a numeric\n@attribute b {no,yes}\n@attribute c string\n@attribute d numeric\n@data\n"
    )
    table = read(tmp_path / "t.arff", text + "{0 5, 1 yes, 2 'x, y', 3 -1}\n{}\n{ 3 ? , 2 abc }\n{1 yes}\n")
    assert table.to_pydict() == {
        "a": [5, 0, 0, 0],
        "b": ["yes", "no", "no", "yes"],
        "c": ["x, y", None, "abc", None],
        "d": [-1, 0, None, 0],
    }


def test_nominal_values_are_categories_whatever_they_look_like(tmp_path):
    lines = ["@relation r", "@attribute code {1,2,3}", "@attribute x numeric", "@attribute y {p,q}", "@data"]
    lines += [f"{1 + i % 3},{i * 7 % 11},{'pq'[i % 2]}" for i in range(60)]
    (tmp_path / "t.arff").write_text("\n".join(lines))
    model = deciban.train(tmp_path / "t.arff", target="y")
    assert model.roles["code"] == "category"
    assert model.predict(tmp_path / "t.arff").read_all().num_rows == 60
    (tmp_path / "t").write_text("% no ending\n\n@relation r\n" + "\n".join(lines[1:]))
    assert deciban.train(tmp_path / "t", target="y").ledger == model.ledger


def test_cells_between_spaces_or_tabs_are_read(tmp_path):
    text = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@data\n1 x\n2\ty\n? x\n"
    assert read(tmp_path / "t.arff", text).to_pydict() == {"a": [1, 2, None], "b": ["x", "y", "x"]}


def test_encodings_compression_and_other_marks_of_missing_values(tmp_path):
    text = "@relation r\r\n@attribute a {né,où}\r\n@attribute b numeric\r\n@data\r\nné,1\r\noù,-999\r\n"
    (tmp_path / "t.arff").write_bytes(text.encode("latin-1"))
    expected = {"a": ["né", "où"], "b": [1, None]}
    assert read(tmp_path / "t.arff", encoding="latin-1", missing=("-999",)).to_pydict() == expected
    with pytest.raises(InputError, match="is not in utf-8"):
        read(tmp_path / "t.arff")
    with pa.output_stream(str(tmp_path / "t.arff.gz"), compression="gzip") as file:
        file.write(("\ufeff" + text).encode())
    assert read(tmp_path / "t.arff.gz", missing=("-999",)).to_pydict() == expected


HEAD = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@attribute c date yyyy-MM-dd\n@data\n"
FAULTS = {
    "": "has no line @data",
    "@relation r\n@attribute a numeric\n": "has no line @data",
    "a,b\n1,2\n": "has 'a,b' in line 1, before @data",
    "@relation r\n@attribute a\n@data\n": "line 2, which declares no attribute that is read",
    "@relation r\n@attribute a relational\n@data\n": "line 2, which declares no attribute that is read",
    "@relation r\n@attribute a {x,'y}\n@data\n": "line 2, which declares no attribute that is read",
    HEAD + "1,x,2024-01-01\n2,x\n": "line 7: it has 2 cells, and there are 3 attributes",
    HEAD + "1,x,2024-01-01,9\n": "line 6: it has 4 cells, and there are 3 attributes",
    HEAD + "one,x,2024-01-01\n": "has 'one' in line 6 for 'a', which is numeric",
    HEAD + "1,x,2024-01-01\n1,z,2024-01-01\n": "has 'z' in line 7 for 'b', which is one of x, y",
    HEAD + "1,x,01.01.2024\n": r"has '01.01.2024' in line 6 for 'c', which is a date \(%Y-%m-%d\)",
    HEAD + "1,x,'2024-01-01\n": "line 6: it has quotes, braces or indices that do not fit",
    HEAD + "1,x,'2024'-01-01\n": "line 6: it has quotes, braces or indices that do not fit",
    HEAD + "1,x,2024-01-01,{5}\n": "weights of rows.* are not read",
    HEAD + "{3 1}\n": "line 6: it has quotes, braces or indices that do not fit",
    HEAD + "{a 1}\n": "line 6: it has quotes, braces or indices that do not fit",
    "@relation r\n@attribute a numeric\n@attribute a numeric\n@data\n1,2\n": "two columns named 'a'",
    "@relation r\n@data\n1\n": "has no columns",
}


@pytest.mark.parametrize("text", FAULTS)
def test_faults_are_named_with_their_line(text, tmp_path):
    with pytest.raises(InputError, match=FAULTS[text]) as refused:
        read(tmp_path / "t.arff", text)
    assert "\n" not in str(refused.value)


def test_a_date_in_a_format_that_python_does_not_have_is_a_text(tmp_path):
    table = read(tmp_path / "t.arff", "@relation r\n@attribute w date \"YYYY-'W'ww\"\n@data\n2024-W05\n")
    assert table.to_pydict() == {"w": ["2024-W05"]}


def test_files_read_together_need_the_same_attributes(tmp_path):
    (tmp_path / "1.arff").write_text(HEAD + "1,x,2024-01-01\n")
    (tmp_path / "2.arff").write_text(HEAD + "2,y,2024-01-02\n")
    assert open_source(str(tmp_path / "*.arff")).head(9)["a"].to_pylist() == [1, 2]
    (tmp_path / "2.arff").write_text(HEAD.replace("{x,y}", "{x,z}"))
    with pytest.raises(InputError, match="has other attributes than"):
        open_source(str(tmp_path / "*.arff"))


def test_no_line_takes_more_than_linear_time(tmp_path):
    for cell in ("'" * 200_001, "\\" * 200_000, "{" * 200_000, " " * 200_000, "'" + "\\'" * 100_000, "%'" * 100_000):
        for text in (HEAD + f"1,x,{cell}\n", HEAD + "{1 " + cell + "}", f"@relation r\n@attribute {cell}\n@data\n"):
            with contextlib.suppress(InputError):
                read(tmp_path / "t.arff", text)
    (tmp_path / "t.arff").write_text("@relation " + "x" * (1 << 25))
    with pytest.raises(InputError, match="longer than"):
        read(tmp_path / "t.arff")
