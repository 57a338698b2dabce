"""CSV files: the cells are those that Python's csv module reads, or the file is refused."""

from __future__ import annotations

import csv
import io
import random

from deciban.sources.arrow_texts import SPACES
from deciban.sources.csv_start import SEPARATOR_LINE
from tests.fuzz.mutation import mutate_bytes, write_input
from tests.fuzz.tables import rows_as_text, seed, use
from tests.tables import clinic

WORDS = (
    b'"', b'""', b'"""', b",", b";", b"\t", b"|", b"\n", b"\r\n", b"\r", b"\n\n", b"\xef\xbb\xbf", b"\xff\xfe", b"\0",
    b"\xe9", b"\xc3\xa9", b"\xf0\x9f\x99\x82", b"NA", b"nan", b"inf", b"-", b"1e400", b"1,5", b"1_000", b" 1 ",
    b"0x10", b"'", b"\\", b"#", b"\x1b[2J", b'"\n', b'\n"', b'c0" to', b"=1+1", b"true", b"2024-01-01",
    b"sep=;\n", b"31.01.2024", b"01/02/2024", b"12:30 pm", b"$1,234.50", "1.234,50 €".encode(), b"12 %", b" ",
    b"\xc2\xa0",
)  # fmt: skip


def seeds() -> list[bytes]:
    delimited = [seed(clinic.csv, "t.csv", delimiter=mark) for mark in ",;\t|"]
    quoted = b'a,b,diagnosis\r\n"x ""y""",1,ill\r\n"line\nbreak",2,well\r\n'
    line = '"${0},{0:03}.50",{0:02}.{1:02}.2024,{0} kg,{2}\n'
    written = "".join(line.format(i, i % 12 + 1, ("ill", "well")[i % 2]) for i in range(1, 29)).encode()
    excel = b"sep=;\na;b;diagnosis\n" + b"1,5;x;ill\n2,5;y;well\n" * 5
    return [
        *delimited,
        *delimited[:1],
        quoted,
        b"price,day,mass,diagnosis\n" + written,
        excel,
        b"a;b;diagnosis\n1,5;x;ill\n2,5;y;well\n" + b"3,0;x;ill\n" * 9,
    ]


def mutate(raw: bytes, rng: random.Random) -> bytes:
    lines = raw.split(b"\n")
    match rng.randrange(10):
        case 0:  # rows with too few or too many cells
            line = rng.randrange(len(lines))
            lines[line] = rng.choice([lines[line] + b"," * rng.randint(1, 5), lines[line].partition(b",")[2]])
        case 1:  # a huge cell
            line = rng.randrange(len(lines))
            lines[line] += rng.choice([b"x", b"9", b'"', b" ", b"\r", b"\xc3\xa9"]) * rng.choice(
                [1000, 100_000, 900_000]
            )
        case 2:  # many columns
            many = rng.choice([100, 3000])
            lines = [line + b"".join(b",%d" % i for i in range(many)) for line in lines[:3]]
        case 3:  # another encoding
            text = raw.decode("utf-8", "replace")
            return text.encode(rng.choice(["utf-16", "utf-16-le", "latin-1", "utf-8-sig", "utf-32"]), "replace")
        case 4:
            return bytes(rng.choice([b'"', b"\n", b",", b'""', b'"\n', b"a\n", b"\r"])) * rng.choice(
                [10, 10_000, 200_000]
            )
        case 5:
            rng.shuffle(lines)
        case 6:
            lines *= rng.choice([2, 20])
    return mutate_bytes(b"\n".join(lines), rng, WORDS, rng.choice([1, 1, 2, 5]))


def check(raw: bytes) -> None:
    path = write_input("t.csv", raw)
    columns, rows = rows_as_text(path)
    expected = _read(raw, columns)
    if expected is not None:
        assert rows == expected, "cells differ from those of the csv module"
    use(path)


def _read(raw: bytes, columns: list[str]) -> list[tuple[str | None, ...]] | None:
    """The rows that Python's csv module reads; None where it refuses the file."""
    try:
        text = raw.decode("utf-8-sig")
        separator = SEPARATOR_LINE.match(text)
        text = text if separator is None else text[separator.end() :]
        for delimiter in ",;\t|" if separator is None else separator[1]:
            records = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
            header, *rows = [record for record in records if record] or [[]]
            if [name.strip(SPACES) or f"column{i}" for i, name in enumerate(header, 1)] == columns:
                break
        else:
            return None
    except (UnicodeDecodeError, csv.Error):
        return None
    n = len(columns)  # empty cells beyond the header's, as spreadsheets write them, are no data
    assert all(len(row) >= n and not any(row[n:]) for row in rows), "a row with too few or too many cells"
    return [tuple(cell.strip(SPACES) or None for cell in row[:n]) for row in rows]
