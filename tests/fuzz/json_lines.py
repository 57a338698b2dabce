"""JSON lines: the values are those that Python's json module reads, or the file is refused."""

from __future__ import annotations

import json
import random
from typing import Any

from tests.fuzz.mutation import mutate_bytes, write_input
from tests.fuzz.tables import rows_as_text, seed, use
from tests.tables import clinic

VALUES = (
    "5", "-0", "1e400", "123456789012345678901234567890", "0.1", "1e-400", "NaN", "Infinity", "null", "true", "[]",
    "{}", '""', '"\\ud800"', '"\\u0000"', '"\\ud83d\\ude42"', '"2024-01-01"', '"1"', "[1, 2]", '{"a": null}',
    "1" * 5000, "[" * 3000 + "]" * 3000, '{"a":' * 2000 + "1" + "}" * 2000, "01", "+1", "'x'",
    '"x', '"' + "x" * 100_000 + '"',
)  # fmt: skip
WORDS = (
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b'"',
    b"\\",
    b"\\u",
    b"\n",
    b"\r\n",
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff",
    b" ",
)


def seeds() -> list[bytes]:
    kinds = b'{"a": 1, "b": true, "diagnosis": "ill"}\n{"a": 2.5, "b": false, "diagnosis": "well"}\n' * 5
    return [seed(clinic.json_lines, "t.jsonl"), kinds]


def mutate(raw: bytes, rng: random.Random) -> bytes:
    lines = raw.split(b"\n")
    at = rng.randrange(len(lines))
    match rng.randrange(8):
        case 0 | 1 | 2:  # another value, a key twice, a new key
            try:
                row = json.loads(lines[at])
                pairs = [[json.dumps(key), json.dumps(value)] for key, value in row.items()]
                for _ in range(rng.randint(1, 3)):
                    key = rng.choice([*(key for key, _ in pairs), '"new"', '""', '"AGE"', rng.choice(VALUES)])
                    pairs[rng.randrange(len(pairs))][rng.choice([0, 1, 1])] = rng.choice([key, rng.choice(VALUES)])
                lines[at] = ("{" + ", ".join(map(": ".join, pairs)) + "}").encode()
            except ValueError:
                pass
            if rng.random() < 0.7:
                return b"\n".join(lines)
        case 3:
            lines[at] = rng.choice(VALUES).encode()
            if rng.random() < 0.3:
                return lines[at]
        case 4:
            many = rng.choice([100, 2000, 20_000])
            lines = [b"{" + b", ".join(b'"k%d": 1' % i for i in range(many)) + b"}", *lines[:2]]
        case 5:
            return raw.decode("utf-8", "replace").encode(rng.choice(["utf-16", "latin-1", "utf-8-sig"]), "replace")
    return mutate_bytes(b"\n".join(lines), rng, WORDS, rng.choice([1, 1, 2, 5]))


def check(raw: bytes) -> None:
    path = write_input("t.jsonl", raw)
    columns, rows = rows_as_text(path)
    expected = _read(raw)
    if expected is not None:
        assert len(rows) == len(expected), "as many rows as lines"
        assert set(columns) == {key for row in expected for key in row} or not expected, "columns differ"
        for row, line in zip(rows, expected):
            for name, cell in zip(columns, row):
                assert _equal(cell, line.get(name)), f"a value differs from that of the json module: {name[:20]!r}"
    use(path)


def _read(raw: bytes) -> list[dict[str, Any]] | None:
    """The objects that Python's json module reads, a line each; None where it refuses one or a key comes twice."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a key comes twice")
        return dict(pairs)

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        lines = [line for line in raw.decode("utf-8").split("\n") if line.strip()]
        rows = [json.loads(line, object_pairs_hook=unique, parse_constant=refuse) for line in lines]
    except (ValueError, RecursionError):
        return None
    return rows if all(isinstance(row, dict) for row in rows) else None


def _equal(cell: Any, value: Any) -> bool:
    """Whether a cell, a number, a flag or a text, stands for a value of JSON."""
    if value is None or cell is None:
        return value is cell
    if isinstance(value, str):
        return cell == value
    if isinstance(cell, str):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            return False
    if isinstance(cell, bool) or isinstance(value, bool):
        return cell is value
    try:
        return cell == value or float(cell) == float(value)
    except (OverflowError, TypeError, ValueError):  # an integer beyond 1.8e308, or not a number
        return False
