"""Random small tables with odd names and values, settings, and rows to predict."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import deciban

NAMES = [
    "age", "a b", 'say "ah"', "it's", "new\nline", 'x"; drop table data; --', "select", "a`b", "100%", "ünïcode ☃",
    "a.b", "表", "rows", "Add", "x:0", "a/b", "a & b", "p(yes)", "1", "group", "<b>", "\\", "İ",
]  # fmt: skip
"""Names of columns that some surface must quote."""

CLASSES = [
    ["ill", "well"], [True, False], [0, 1], [1, 2, 10], [1.0, 2.5], ["yes", "no"], ["b'b", 'c"c', "d\nd"],
    ["é", "表", "☃ ", "x"], ["a", "b", "c", "d"], ["true", "TRUE"], ["None", "nothing"],
]  # fmt: skip

LEVELS = [
    ["a", "b'b", "c\\c", "d\nd", "é", "R&B"], ["1", "2", "10"], ["1.0", "2.0", "x"], ["true", "maybe", "no"],
    ["f", "m"], ["N", "S", "E", "W"], ["007", "1e5", "x,y", 'say "ah"'], ["A", "a", "á"], ["yes", "no", "y"],
]  # fmt: skip

FLAGS = [[True, False], ["yes", "no"], ["Y", "N"], [1, 0], ["TRUE", "FALSE"], ["1", "0"], ["t", "f"], ["on", "off"]]

CODES = [[1, 2, 3], [9_999_999_999, 10_000_000_000, 12_345_678_901], [1.0, 2.0, 10.0], [0.5, 2.5, -3.0], [0, 5, 70]]

TOKENS = [
    "good", "bad", "tea", "İstanbul", "ΑΣ", "straße", "don't", "表記", "naïve", "x1", "_", "☃", "good,", "(bad)",
    "e\u0301t", "?", "NA",
]  # fmt: skip

FAR = [1e300, -1e300, 1e160, -1e153, 5e-324, -1e-310, 0.0, -0.0, 1e-300, 4e6, 1e15]

SETTINGS: list[dict[str, Any]] = [
    {}, {"structure": "naive"}, {"alpha": 0.0}, {"alpha": "auto"}, {"unseen": "smooth"}, {"prior": "uniform"},
    {"learner": "logistic", "C": 1.0}, {"learner": "evidence", "C": 1.0}, {"learner": "boosted"},
    {"structure": "tan"},
    {"calibrate": "temperature"}, {"calibrate": "platt"}, {"calibrate": "isotonic"}, {"learner": "aode"},
    {"parameter_prior": 0.0}, {"covariance": "spherical"}, {"structure": "tan", "calibrate": "isotonic"},
    {"learner": "evidence", "C": 1.0, "parameter_prior": 0.0},
]  # fmt: skip

WORDS: list[dict[str, Any]] = [
    {}, {"least_length": 1}, {"values": "presence"}, {"values": "log", "length": "l2"}, {"length": "l1"},
    {"tokens": "words and punctuation", "ngrams": 2}, {"tokens": "characters", "ngrams": 2},
    {"tokens": "characters in words", "ngrams": 3}, {"tokens": "whitespace", "lower": False},
]  # fmt: skip


@dataclass
class Case:
    """A model, what it was trained on, and the rows that every surface predicts."""

    seed: int
    table: Any
    options: dict[str, Any]
    model: Any
    rows: Any
    roles: dict[str, str]
    kinds: dict[str, str]

    def describe(self, row: int | None = None) -> str:
        """Return how to make the case again, with one row."""
        cells = "" if row is None else f"\n  row {row}: {self.rows.slice(row, 1).to_pylist()[0]!r}"
        return f"python -m tests.surfaces --seed {self.seed} --cases 1\n  {self.options}{cells}"


def draw_case(seed: int) -> Case:
    """Draw a table, settings and rows, and train."""
    rng = np.random.default_rng([seed, 35])
    n = int(rng.integers(24, 90))
    classes = CLASSES[rng.integers(len(CLASSES))]
    k = np.concatenate([np.arange(len(classes)).repeat(3), rng.integers(0, len(classes), n - 3 * len(classes))])
    kinds = _draw_kinds(rng)
    names = [NAMES[i] for i in rng.permutation(len(NAMES))[: len(kinds)]]
    columns, roles = {}, {}
    for name, kind in zip(names, kinds):
        roles[name], cells = DRAWS[kind](rng, k)
        gone = rng.random(n) < rng.choice([0.0, 0.0, 0.15])
        columns[name] = pa.array([None if missing else cell for cell, missing in zip(cells, gone)])
    table = pa.table({**columns, "target": pa.array([classes[each] for each in k])})
    given = {name: role for name, role in roles.items() if role == "text" or rng.random() < 0.7}
    options = {"roles": given, "target": "target", **SETTINGS[rng.integers(len(SETTINGS))]}
    if "text" in roles.values():
        options["words"] = WORDS[rng.integers(len(WORDS))]
    options |= _draw_blocks(rng, roles, options)
    model = deciban.train(table, judge=False, **options)
    rows = _draw_rows(rng, table.drop_columns(["target"]), dict(zip(names, kinds)))
    rows = _respell_flags(rng, rows, [name for name, role in roles.items() if role == "flag"])
    return Case(seed, table, options, model, rows, roles, dict(zip(names, kinds)))


def _draw_kinds(rng: np.random.Generator) -> list[str]:
    kinds = list(rng.choice([kind for kind in DRAWS if kind != "text"], rng.integers(2, 7)))
    return kinds + ["text"] * int(rng.random() < 0.3)


def _draw_blocks(rng: np.random.Generator, roles: dict[str, str], options: dict[str, Any]) -> dict[str, Any]:
    """Join two columns at times."""
    if rng.random() > 0.3 or options.get("learner") == "aode" or options.get("structure") == "tan":
        return {}
    for wanted in (("flag", "category"), ("number",)):
        joined = [name for name, role in roles.items() if role in wanted][:2]
        if len(joined) == 2:
            return {"blocks": [joined], "structure": "naive"}
    return {}


def _draw_rows(rng: np.random.Generator, learned: Any, kinds: dict[str, str]) -> Any:
    """Learned rows, one without any value, and rows with unseen, missing, far and marked cells."""
    rows = [learned.slice(int(i), 1).to_pylist()[0] for i in rng.integers(0, learned.num_rows, 14)]
    rows.append(dict.fromkeys(rows[0]))
    for row in rows[4:14]:
        for name in rng.permutation(list(row))[: rng.integers(1, 3)]:
            row[str(name)] = _draw_odd(rng, kinds[str(name)], learned.schema.field(str(name)).type)
    return pa.Table.from_pylist(rows, schema=learned.schema)


def _respell_flags(rng: np.random.Generator, rows: Any, flags: list[str]) -> Any:
    """Return rows with some flags as another table has them."""
    for name in flags:
        cells, other = rows.column(name).to_pylist(), FLAGS[rng.integers(len(FLAGS) - 1)]
        pair = next((pair for pair in FLAGS if {str(c) for c in cells} <= {"None", *map(str, pair)}), None)
        if pair not in (None, FLAGS[-1]) and rng.random() < 0.5:
            place, known = rows.schema.get_field_index(name), dict(zip(map(str, pair), other))
            rows = rows.set_column(place, name, pa.array([known.get(str(cell)) for cell in cells]))
    return rows


def _draw_odd(rng: np.random.Generator, kind: str, dtype: Any) -> Any:
    if rng.random() < 0.25:
        return None
    if pa.types.is_floating(dtype):
        return float("nan") if rng.random() < 0.2 else 77.0 if kind == "code" else float(rng.choice(FAR))
    if pa.types.is_integer(dtype):
        return int(rng.choice([77, 10**6])) if kind != "flag" else 1
    if pa.types.is_timestamp(dtype):
        return datetime.datetime(1969, 12, 31, 23, 59) if rng.random() < 0.5 else datetime.datetime(2033, 7, 3)
    if pa.types.is_boolean(dtype):
        return bool(rng.random() < 0.5)
    return str(rng.choice(["never seen", "?", "NA", "YES", "false", "1", "1.0", "☃", "f", "a & b"]))


def _number(rng: np.random.Generator, k: Any) -> tuple[str, list[Any]]:
    scale, origin = rng.choice([1e-6, 1.0, 1.0, 1e5]), rng.choice([0.0, 0.0, 50.0, -1e4])
    return "number", (scale * (rng.normal(k, 1.0) + origin)).tolist()


def _binned(rng: np.random.Generator, k: Any) -> tuple[str, list[Any]]:
    return "binned", np.exp(rng.normal(0.7 * k, 1.0)).tolist()


def _count(rng: np.random.Generator, k: Any) -> tuple[str, list[Any]]:
    return "count", rng.poisson(1 + 2 * k).tolist()


def _flag(rng: np.random.Generator, k: Any) -> tuple[str, list[Any]]:
    pair = FLAGS[rng.integers(len(FLAGS))]
    return "flag", [pair[int(u < 0.25 + 0.2 * each)] for u, each in zip(rng.random(len(k)), k)]


def _category(rng: np.random.Generator, k: Any) -> tuple[str, list[Any]]:
    levels = LEVELS[rng.integers(len(LEVELS))]
    return "category", [levels[int(rng.integers(len(levels)) * (each + 1)) % len(levels)] for each in k]


def _code(rng: np.random.Generator, k: Any) -> tuple[str, list[Any]]:
    codes = CODES[rng.integers(len(CODES))]
    return "category", [codes[int(rng.integers(len(codes)) + (rng.random() < 0.3) * each) % len(codes)] for each in k]


def _date(rng: np.random.Generator, k: Any) -> tuple[str, list[Any]]:
    hours = rng.integers(0, 24 * 500, len(k)) * rng.choice([1, 24]) % 12_000
    return "date", [datetime.datetime(2023, 5, 1) + datetime.timedelta(hours=int(h)) for h in hours]


def _text(rng: np.random.Generator, k: Any) -> tuple[str, list[Any]]:
    return "text", [" ".join(rng.choice(TOKENS[each % 3 :], rng.integers(2, 7))) for each in k]


DRAWS = {
    "number": _number, "binned": _binned, "count": _count, "flag": _flag, "category": _category, "code": _code,
    "date": _date, "text": _text,
}  # fmt: skip
"""The kinds of columns, each with the function that draws its role and its cells given the classes of the rows."""
