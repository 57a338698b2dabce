"""The output on a terminal of cells with control characters."""

import csv
import io
import json
import os
import pty
import subprocess
import sys

import pyarrow as pa
import pytest

from tests.cli.terminal import call, done, program, table

HOSTILE = "\x1b[2Jwiped\x07 \x9b31m \u202etxt.exe\u2066 \x7f zero\u200bwidth"
ESCAPED = "\\u001b[2Jwiped\\u0007 \\u009b31m \\u202etxt.exe\\u2066 \\u007f zero\\u200bwidth"


def on_terminal(*arguments, errors=True):
    """Return what a command writes to a pseudo-terminal, standard output and, with `errors`, standard error."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "deciban.cli.main", *map(str, arguments)]
    environment = {**os.environ, "TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "200"}
    stderr = theirs if errors else subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=stderr, env=environment)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 1 << 16):
            shown += piece
    except OSError:  # the other end was closed
        pass
    os.close(ours)
    process.wait(timeout=120)
    return shown.decode()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A model whose class and level names are hostile, its table, and a line end within a cell."""
    folder = tmp_path_factory.mktemp("hostile")
    rows = [(HOSTILE if i % 2 else "red", i % 7, HOSTILE if i % 3 else "plum") for i in range(60)]
    data = table(folder / "t.csv", "colour\x1b[1m,size,fruit", rows)
    model = folder / "m.deciban"
    done("train", data, "--target", "fruit", "-o", model)
    return folder, data, model


def obeyed(shown):
    """The characters a terminal would obey, line ends apart."""
    return [c for c in shown if not c.isprintable() and c not in "\r\n"]


@pytest.mark.thorough(reason="starts processes, or reads large files: seconds")
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["csv", "json"])
def test_predict_and_sample_escape_on_a_terminal_and_stay_raw_in_a_pipe(hostile, more):
    _, data, model = hostile
    for command in (["predict", model, data, "--all", *more], ["sample", model, "--seed", "1", *more]):
        shown = on_terminal(*command, errors=False)
        assert obeyed(shown) == []
        assert ESCAPED in shown
        piped = program(*command).stdout
        if more:
            rows = [json.loads(line) for line in piped.splitlines()]
            assert [json.loads(line) for line in shown.splitlines()] == rows  # escapes of JSON are JSON
            assert any(row["colour\x1b[1m"] == HOSTILE for row in rows)
        else:
            assert HOSTILE in piped
            assert ESCAPED not in piped


def test_a_line_end_in_a_cell_does_not_make_a_row_on_a_terminal(tmp_path, hostile):
    *_, model = hostile
    data = tmp_path / "two.csv"
    data.write_text('size,note\n1,"a\nforged,plum,1.0"\n')
    asked = ["predict", model, data, "--allow-missing-columns", "--keep", "note"]
    shown = on_terminal(*asked, errors=False).splitlines()
    assert len(shown) == 2
    assert shown[1].startswith('"a\\nforged,plum,1.0",')
    assert list(csv.reader(io.StringIO(program(*asked).stdout)))[1][0] == "a\nforged,plum,1.0"


@pytest.mark.parametrize("command", ["inspect", "explain", "evaluate", "train", "evaluate --json"])
def test_no_report_lets_a_name_through(hostile, command):
    folder, data, model = hostile
    name, *more = command.split()
    asked = {
        "inspect": [model],
        "explain": [model, data],
        "evaluate": [data, "--target", "fruit", *more],
        "train": [data, "--target", "fruit", "-o", folder / "odd\x1b[2J.deciban"],
    }
    shown = on_terminal(name, *asked[name])
    assert "wiped" in shown
    assert obeyed(shown) == []


def test_errors_and_notes_escape_the_names_they_quote(hostile, tmp_path):
    _, data, model = hostile
    odd = tmp_path / "a\x1b[2J\u202e.csv"
    odd.write_bytes(data.read_bytes())
    for command in (
        ["train", odd, "--target", "none"],
        ["train", odd],  # names the columns
        ["predict", model, odd, "--keep", "colour\x1b[2m"],
        ["predict", model, odd, "-o", tmp_path / "out\x1b[2J.csv"],
        ["predict", model, tmp_path / "absent\x1b[2J.csv"],
        ["predict", model, odd, "-o", tmp_path / "out.\x1b[2J"],
    ):
        shown = on_terminal(*command)
        assert shown
        assert obeyed(shown) == []


FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1:A9)", "\t=1", "\r=1", "＝1+1"]
HARMLESS = ["-3.5", "+4", "-1,5", "-.5e-3", "a=b", "", "'=1"]


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_safe_cells_neutralise_formulas_and_leave_numbers(hostile, tmp_path, ending):
    *_, model = hostile
    data = tmp_path / "in.csv"
    with data.open("w", newline="") as file:
        csv.writer(file).writerows([["size", "=note"], *([-1.5, cell] for cell in [*FORMULAS, *HARMLESS])])
    for safe in (True, False):
        out = tmp_path / f"out.{ending}"
        asked = ["--all", "--allow-missing-columns", "-o", out, *(["--safe-cells"] if safe else [])]
        done("predict", model, data, *asked)
        with out.open(newline="") as file:
            head, *rows = csv.reader(file, delimiter="," if ending == "csv" else "\t")
        mark = "'" if safe else ""
        assert head[1] == f"{mark}=note"
        assert [row[0] for row in rows] == ["-1.5"] * len(rows)
        assert [row[1] for row in rows] == [*(mark + cell for cell in FORMULAS), *HARMLESS]


DECEIVING = ["=1+1 \x1b[2J", 'a,b "c" d', None]
BYTES = pa.array([cell and cell.encode() for cell in DECEIVING])


@pytest.mark.parametrize(
    "column",
    [
        *(BYTES, BYTES.cast(pa.large_binary()), BYTES.cast(pa.binary_view()), BYTES.cast(pa.binary(9))),
        *(BYTES.dictionary_encode(), BYTES.cast(pa.binary(9)).dictionary_encode()),
        *(BYTES.cast(pa.string()).dictionary_encode(), BYTES.cast(pa.string()).cast(pa.string_view())),
    ],
    ids=lambda column: str(column.type),
)
def test_bytes_are_escaped_and_neutralised_like_texts(hostile, tmp_path, column):
    *_, model = hostile
    data = tmp_path / "in.arrow"
    with pa.ipc.new_file(str(data), pa.schema([("size", pa.int64()), ("b", column.type)])) as writer:
        writer.write_batch(pa.record_batch({"size": pa.array([1, 2, 3]), "b": column}))
    asked = ["predict", model, data, "--allow-missing-columns", "--keep", "b"]
    shown = on_terminal(*asked, errors=False)
    assert obeyed(shown) == []
    assert "=1+1 \\u001b[2J" in shown
    done(*asked, "--safe-cells", "-o", tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as file:
        assert [row[0] for row in csv.reader(file)] == ["b", "'" + DECEIVING[0], DECEIVING[1], ""]


def test_safe_cells_are_for_text_formats(hostile, tmp_path):
    *_, model = hostile
    for more in (["-o", tmp_path / "out.parquet"], ["--json"]):
        refused = call("sample", model, "--safe-cells", *more)
        assert refused.exit_code == 2
        assert "--safe-cells is for CSV and TSV" in refused.stderr
    assert not (tmp_path / "out.parquet").exists()
