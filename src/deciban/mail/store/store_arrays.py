"""The content of a store as arrays: messages, to which models are fitted; their fits; tokens, to classify mail by."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError
from deciban.mail.store.ageing import MAX_EXACT_WEIGHT, is_number
from deciban.mail.store.sqlite_errors import FIT_HINT, MEND_HINT, invalid_value
from deciban.mail.store.store_file import StoreFile
from deciban.mail.store.store_schema import MAX_LABELS, column
from deciban.mail.store.stored_messages import Numbers, unpack

ROWS_PER_FETCH: Final = 300
"""Rows of a table that are converted at a time."""

MAX_WEIGHT: Final = 1e100
"""The largest fitted weight in absolute value: sums and products of weights and counts stay finite."""


@dataclass(frozen=True, slots=True)
class StoreRows:
    """A row per message, in the order they were learned; a column per token, by rising number (CSR, all ones)."""

    label_names: tuple[str, ...]
    labels: Numbers
    """Label of each message: an index of label_names."""
    weights: Array
    """As they are stored: `Store.unit` is that of a message of now."""
    times: Array
    digests: list[bytes]
    indptr: Numbers
    indices: Numbers
    """Columns, rising within each row: those of message i are indices[indptr[i]:indptr[i + 1]]."""
    numbers: Numbers
    """Number of each column's token in the store, for `Store.save_fit`."""
    changes: int
    """The store's count of changes when this was read."""

    def take(self, kept: Numbers) -> "StoreRows":
        """Return some of the messages, by rising index; the columns stay."""
        sizes, is_kept = np.diff(self.indptr), np.zeros(len(self.labels), dtype=bool)
        is_kept[kept] = True
        return replace(
            self, labels=self.labels[kept], weights=self.weights[kept], times=self.times[kept],
            digests=[self.digests[i] for i in kept.tolist()],
            indptr=np.concatenate([[0], np.cumsum(sizes[kept])]), indices=self.indices[np.repeat(is_kept, sizes)],
        )  # fmt: skip


def read_rows(file: StoreFile) -> StoreRows:
    """Read every message of a store, inside one transaction."""
    labels = file.labels()
    place = {label: i for i, label in enumerate(labels.values())}
    found = file.db.execute("SELECT label, weight, time, digest, tokens FROM message ORDER BY id").fetchall()
    fields: list[Any] = list(zip(*found)) or [()] * 5
    label, weight, when, digest, blobs = fields
    weights, times = np.array(weight, dtype=np.float64), np.array(when, dtype=np.float64)
    if not (((weights > 0) & (weights < MAX_EXACT_WEIGHT)).all() and np.isfinite(times).all()):
        raise invalid_value(file.path, "each message must have a positive weight and a finite time", MEND_HINT)
    tokens, n = unpack(blobs)
    numbers = np.fromiter((i for (i,) in file.db.execute("SELECT number FROM token ORDER BY number")), dtype=np.int64)
    index = np.minimum(np.searchsorted(numbers, tokens), max(0, len(numbers) - 1))
    if not np.array_equal(numbers[index], tokens):
        raise LookupError("messages have tokens that are not there")
    return StoreRows(
        label_names=tuple(labels), labels=np.array([place[k] for k in label], dtype=np.int64), weights=weights,
        times=times, digests=list(digest), indptr=np.concatenate([[0], np.cumsum(n)]), indices=index,
        numbers=numbers, changes=file.setting("changes", 0),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fit:
    """The fit of a model: its id, how many scores it has, when and after how many changes, and its parameters."""

    id: int
    scores: int
    model: str
    time: float
    changes: int
    meta: dict[str, Any]


def read_fit(file: StoreFile, model: str) -> Fit | None:
    """Return the last fit of a model, None if there is none."""
    query = "SELECT id, scores, time, changes, meta FROM fit WHERE model = ?"
    row = file.db.execute(query, (model,)).fetchone()
    if row is None:
        return None
    fit, scores, when, changes, meta = row
    if not is_number(scores, 0, MAX_LABELS, only=int):
        rule = f"a fit has 0 to {MAX_LABELS} scores, and that of model {model!r} is recorded with {scores!r:.60}"
        raise invalid_value(file.path, rule, FIT_HINT)
    if not isinstance(found := json.loads(meta), dict):
        rule = f"parameters of a fit are a JSON object, and those of model {model!r} are {meta!r:.60}"
        raise invalid_value(file.path, rule, FIT_HINT)
    return Fit(fit, scores, model, when, changes, found)


def save_fit(
    file: StoreFile, model: str, numbers: Sequence[int] | Numbers, columns: Sequence[Sequence[float] | Array],
    meta: dict[str, Any], changes: int | None,
) -> None:  # fmt: skip
    """Replace a model's weights; those that are 0, or of tokens that are gone meanwhile, are left out."""
    values = np.array(columns, dtype=np.float64).reshape(len(columns), len(numbers))
    if not (np.abs(values) <= MAX_WEIGHT).all():
        raise InputError(
            f"model {model!r}: every weight must be a finite number from -{MAX_WEIGHT:g} to {MAX_WEIGHT:g}. "
            "Hint: NaN, an infinity or a larger one is among them"
        )
    parameters = json.dumps(meta, ensure_ascii=False, sort_keys=True)
    for (old,) in file.db.execute("SELECT id FROM fit WHERE model = ?", (model,)).fetchall():
        file.db.execute(f"DROP TABLE IF EXISTS fitted_{old:d}")
        file.db.execute("DELETE FROM fit WHERE id = ?", (old,))
    changes = file.setting("changes", 0) if changes is None else changes
    statement = "INSERT INTO fit (model, time, changes, scores, meta) VALUES (?, ?, ?, ?, ?)"
    made = file.db.execute(statement, (model, time.time(), changes, len(columns), parameters)).lastrowid
    declared = "".join(f", {name} REAL NOT NULL" for name in _score_names(len(columns)))
    file.db.execute(f"CREATE TABLE fitted_{made} (number INTEGER PRIMARY KEY{declared})")
    kept = np.flatnonzero(values.any(axis=0))
    rows = zip(np.array(numbers)[kept].tolist(), *values[:, kept].tolist())
    file.db.executemany(f"INSERT INTO fitted_{made} VALUES (?{', ?' * len(columns)})", sorted(rows))
    file.db.execute(f"DELETE FROM fitted_{made} WHERE number NOT IN (SELECT number FROM token)")


def _score_names(n: int) -> list[str]:
    """Return the columns of a fit's table that hold scores."""
    return [f"score_{i + 1}" for i in range(n)]


class StoredTokens(NamedTuple):
    """Tokens of a store, a row each: words, weights of each label's messages that have them, and a model's scores."""

    words: Sequence[str]
    counts: Array
    scores: Array


def read_tokens(file: StoreFile, model: str | None, wanted: Sequence[str] | None) -> StoredTokens:
    """Read those of the wanted words (in no order; None: all, by rising number) that there are, in one transaction.

    A score is 0 where the model has none; without a model there are no scores.
    """
    labels = list(file.labels().values())
    fit = read_fit(file, model) if model else None
    n = fit.scores if fit else 0
    join = f"LEFT JOIN fitted_{fit.id} USING (number)" if fit else ""
    names = ", ".join(["word", *map(column, labels), *_score_names(n)])
    query = f"SELECT {names} FROM token {join}"
    if wanted is None:
        found: Iterator[tuple[Any, ...]] = file.db.execute(f"{query} ORDER BY number")
    else:
        found = file.select_in(f"{query} WHERE word IN", wanted)
    words, values = _split_columns(found, len(labels) + n)
    counts, scores = values[:, : len(labels)], values[:, len(labels) :]
    if not ((counts >= 0) & (counts < MAX_EXACT_WEIGHT)).all():
        raise invalid_value(file.path, f"the count of a token must be from 0 to {MAX_EXACT_WEIGHT:.0f}", MEND_HINT)
    if (np.abs(scores) > MAX_WEIGHT).any():
        rule = f"a weight of model {model!r} must be from -{MAX_WEIGHT:g} to {MAX_WEIGHT:g}"
        raise invalid_value(file.path, rule, FIT_HINT)
    return StoredTokens(words, counts, np.nan_to_num(scores))


def _split_columns(rows: Iterator[tuple[Any, ...]], width: int) -> tuple[list[str], Array]:
    """Separate words from numbers, some rows at a time, so that not all of them are in memory as tuples.

    Of 157 000 tokens, all rows at once took 0.30 s, this 0.24.
    """
    words: list[str] = []
    numbers = [np.empty((width, 0))]
    while some := list(islice(rows, ROWS_PER_FETCH)):
        more, *columns = zip(*some)
        words += more
        numbers.append(np.array(columns, dtype=np.float64).reshape(width, len(more)))
    return words, np.concatenate(numbers, axis=1).T
