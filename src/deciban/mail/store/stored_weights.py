"""The fits of models in a store: weights of tokens, and the models' parameters."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from deciban.errors import InputError
from deciban.mail.store.sqlite_errors import FIT_HINT, invalid_value
from deciban.mail.store.store_file import MAX_LABELS, StoreFile

MAX_WEIGHT: Final = 1e100
"""The largest fitted weight in absolute value: sums and products of weights and counts stay finite."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A model's parameters, when it was fitted and after how many changes, and weights of some tokens."""

    model: str
    time: float
    changes: int
    meta: dict[str, Any]
    scores: dict[str, tuple[float, ...]] = field(default_factory=dict)


def save_fit(
    file: StoreFile, model: str, numbers: Sequence[int], columns: Sequence[Sequence[float]], meta: dict[str, Any],
    changes: int | None,
) -> None:  # fmt: skip
    """Replace a model's weights; those that are 0, or of tokens that are gone meanwhile, are left out."""
    rows = [row for row in zip(_to_list(numbers), *map(_to_list, columns), strict=True) if any(row[1:])]
    if not all(abs(value) <= MAX_WEIGHT for row in rows for value in row[1:]):
        raise InputError(
            f"model {model!r}: every weight must be a finite number from -{MAX_WEIGHT:g} to {MAX_WEIGHT:g}. "
            "Hint: NaN, an infinity or a larger one is among them"
        )
    parameters = json.dumps(meta, ensure_ascii=False, sort_keys=True)
    old = file.db.execute("SELECT id FROM fit WHERE model = ?", (model,)).fetchone()
    if old:
        forget_fit(file, old[0])
    changes = file.setting("changes", 0) if changes is None else changes
    statement = "INSERT INTO fit (model, time, changes, scores, meta) VALUES (?, ?, ?, ?, ?)"
    made = file.db.execute(statement, (model, time.time(), changes, len(columns), parameters)).lastrowid
    names = [f"score_{i + 1}" for i in range(len(columns))]
    declared = "".join(f", {name} REAL NOT NULL" for name in names)
    file.db.execute(f"CREATE TABLE fitted_{made} (number INTEGER PRIMARY KEY{declared})")
    placeholders = ", ?" * len(columns)
    file.db.executemany(f"INSERT INTO fitted_{made} VALUES (?{placeholders})", sorted(rows))
    file.db.execute(f"DELETE FROM fitted_{made} WHERE number NOT IN (SELECT number FROM token)")


def _to_list(values: Sequence[Any]) -> list[Any]:
    """Return Python numbers, which alone SQLite accepts, also from an array."""
    numbers: list[Any] = values.tolist() if hasattr(values, "tolist") else list(values)
    return numbers


def forget_fit(file: StoreFile, fit: int) -> None:
    """Delete a fit."""
    file.db.execute(f"DROP TABLE IF EXISTS fitted_{fit:d}")
    file.db.execute("DELETE FROM fit WHERE id = ?", (fit,))


def join_scores(file: StoreFile, model: str) -> tuple[str, int]:
    """Return the JOIN that adds a model's weights to `token`, and how many scores it has."""
    row = file.db.execute("SELECT id, scores FROM fit WHERE model = ?", (model,)).fetchone()
    return (f"LEFT JOIN fitted_{row[0]} USING (number)", _check_scores(file, model, row[1])) if row else ("", 0)


def _check_scores(file: StoreFile, model: str, scores: object) -> int:
    if not isinstance(scores, int) or not 0 <= scores <= MAX_LABELS:
        rule = f"a fit has 0 to {MAX_LABELS} scores, and that of model {model!r} is said to have {scores!r:.60}"
        raise invalid_value(file.path, rule, FIT_HINT)
    return scores


def find_fit(file: StoreFile, model: str) -> tuple[Fit, str] | None:
    """Return the fit of a model, and the query for its weights of words."""
    query = "SELECT id, time, changes, scores, meta FROM fit WHERE model = ?"
    row = file.db.execute(query, (model,)).fetchone()
    if row is None:
        return None
    fit, when, changes, scores, meta = row
    names = "".join(f", score_{i + 1}" for i in range(_check_scores(file, model, scores)))
    weights = f"SELECT word{names} FROM token JOIN fitted_{fit} USING (number)"
    return Fit(model, when, changes, json.loads(meta)), weights
