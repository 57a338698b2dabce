"""What models found out, kept beside what they found it in: weights of tokens, and the models' own notes."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from deciban.errors import InputError
from deciban.mail.store.sqlite_errors import FIT_HINT, invalid_value
from deciban.mail.store.store_file import MOST_LABELS, StoreFile

MAX_WEIGHT: Final = 1e100
"""The largest fitted weight in absolute value: sums and products of weights and counts stay finite."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A model's own notes, when it was fitted and after how many changes of the store, and weights of some tokens."""

    model: str
    time: float
    changes: int
    meta: dict[str, Any]
    scores: dict[str, tuple[float, ...]] = field(default_factory=dict)


def save_fit(
    file: StoreFile,
    model: str,
    numbers: Sequence[int],
    columns: Sequence[Sequence[float]],
    meta: dict[str, Any],
    changes: int | None,
) -> None:
    """Put a model's weights in the place of those it had; of tokens that are gone meanwhile, or weigh 0, none."""
    rows = [row for row in zip(_listed(numbers), *map(_listed, columns), strict=True) if any(row[1:])]
    if not all(abs(value) <= MAX_WEIGHT for row in rows for value in row[1:]):
        raise InputError(
            f"model {model!r}: every weight must be a finite number from -{MAX_WEIGHT:g} to {MAX_WEIGHT:g}. "
            "Hint: NaN, an infinity or a larger one is among them"
        )
    notes = json.dumps(meta, ensure_ascii=False, sort_keys=True)
    old = file.db.execute("SELECT id FROM fit WHERE model = ?", (model,)).fetchone()
    if old:
        forget_fit(file, old[0])
    changes = file.setting("changes", 0) if changes is None else changes
    asked = "INSERT INTO fit (model, time, changes, scores, meta) VALUES (?, ?, ?, ?, ?)"
    made = file.db.execute(asked, (model, time.time(), changes, len(columns), notes)).lastrowid
    names = [f"score_{i + 1}" for i in range(len(columns))]
    declared = "".join(f", {name} REAL NOT NULL" for name in names)
    file.db.execute(f"CREATE TABLE fitted_{made} (number INTEGER PRIMARY KEY{declared})")
    places = ", ?" * len(columns)
    file.db.executemany(f"INSERT INTO fitted_{made} VALUES (?{places})", sorted(rows))
    file.db.execute(f"DELETE FROM fitted_{made} WHERE number NOT IN (SELECT number FROM token)")


def _listed(values: Sequence[Any]) -> list[Any]:
    """Python's own numbers, of arrays too: SQLite knows no others."""
    listed: list[Any] = values.tolist() if hasattr(values, "tolist") else list(values)
    return listed


def forget_fit(file: StoreFile, fit: int) -> None:
    """Take away a model's weights and notes."""
    file.db.execute(f"DROP TABLE IF EXISTS fitted_{fit:d}")
    file.db.execute("DELETE FROM fit WHERE id = ?", (fit,))


def join_scores(file: StoreFile, model: str) -> tuple[str, int]:
    """What is to be joined to `token` for a model's weights, and how many scores it has."""
    row = file.db.execute("SELECT id, scores FROM fit WHERE model = ?", (model,)).fetchone()
    return (f"LEFT JOIN fitted_{row[0]} USING (number)", _checked_scores(file, model, row[1])) if row else ("", 0)


def _checked_scores(file: StoreFile, model: str, scores: object) -> int:
    if not isinstance(scores, int) or not 0 <= scores <= MOST_LABELS:
        rule = f"a fit has 0 to {MOST_LABELS} scores, and that of model {model!r} is said to have {scores!r:.60}"
        raise invalid_value(file.path, rule, FIT_HINT)
    return scores


def find_fit(file: StoreFile, model: str) -> tuple[Fit, str] | None:
    """A model's notes, and the question for its weights of words."""
    asked = "SELECT id, time, changes, scores, meta FROM fit WHERE model = ?"
    row = file.db.execute(asked, (model,)).fetchone()
    if row is None:
        return None
    fit, when, changes, scores, meta = row
    names = "".join(f", score_{i + 1}" for i in range(_checked_scores(file, model, scores)))
    question = f"SELECT word{names} FROM token JOIN fitted_{fit} USING (number)"
    return Fit(model, when, changes, json.loads(meta)), question
