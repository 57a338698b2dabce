"""All messages of a store as arrays, which models are fitted to; and all tokens, by which many are judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban.mail.store.ageing import HEAVIEST
from deciban.mail.store.batched_queries import ask
from deciban.mail.store.packing import Numbers, unpack
from deciban.mail.store.sqlite_errors import FIT_HINT, MEND_HINT, invalid_value
from deciban.mail.store.store_file import StoreFile
from deciban.mail.store.store_schema import columns
from deciban.mail.store.stored_weights import MAX_WEIGHT, scores_of


@dataclass(frozen=True, slots=True)
class Rows:
    """A row a message, in the order they were learned; a column a token, by rising number (CSR, all ones)."""

    label_names: tuple[str, ...]
    labels: Numbers
    """Of each message: an index into label_names."""
    weights: NDArray[np.float64]
    times: NDArray[np.float64]
    digests: list[bytes]
    indptr: Numbers
    indices: Numbers
    """Columns, rising within each row: those of message i are indices[indptr[i]:indptr[i + 1]]."""
    numbers: Numbers
    """Of each column: the number that its token has in the store (`Store.words`, `Store.save_fit`)."""
    changes: int
    """Of the store when this was taken."""


def read_rows(file: StoreFile) -> Rows:
    """Every message of a store, inside one reading."""
    labels = file.labels()
    place = {label: i for i, label in enumerate(labels.values())}
    held = file.db.execute("SELECT label, weight, time, digest, tokens FROM message ORDER BY id").fetchall()
    each: tuple[tuple[object, ...], ...] = tuple(zip(*held)) or ((), (), (), (), ())
    label, weight, time, digest, blobs = each
    weights, times = np.array(weight, dtype=np.float64), np.array(time, dtype=np.float64)
    if not (((weights > 0) & (weights < HEAVIEST)).all() and np.isfinite(times).all()):
        rule = "each message must have a positive weight and a finite time"
        raise invalid_value(file.path, rule, MEND_HINT)
    flat, n = unpack(list(blobs))  # type: ignore[arg-type]
    numbers = np.fromiter((i for (i,) in file.db.execute("SELECT number FROM token ORDER BY number")), dtype=np.int64)
    column = np.minimum(np.searchsorted(numbers, flat), max(0, len(numbers) - 1))
    if not np.array_equal(numbers[column], flat):
        raise LookupError("messages have tokens that are not there")
    return Rows(
        label_names=tuple(labels),
        labels=np.array([place[k] for k in label], dtype=np.int64),  # type: ignore[index]
        weights=weights,
        times=times,
        digests=list(digest),  # type: ignore[arg-type]
        indptr=np.concatenate([[0], np.cumsum(n)]),
        indices=column,
        numbers=numbers,
        changes=file.setting("changes", 0),
    )


ROWS: Final = 300
"""Of a table, that are taken in hand at a time."""


class Tokens(NamedTuple):
    """Tokens of a store: their words, the weight of each label's messages that have them, and a model's scores."""

    words: Sequence[str]
    counts: NDArray[np.float64]
    scores: NDArray[np.float64]


def read_tokens(file: StoreFile, model: str | None, asked: Sequence[str] | None) -> Tokens:
    """Those of the words asked for (None: all) that there are, inside one reading.

    A score is 0 where the model has none; without a model there are no scores.
    """
    labels = list(file.labels().values())
    join, n = scores_of(file, model) if model else ("", 0)
    names = columns(labels) + "".join(f", score_{i + 1}" for i in range(n))
    question = f"SELECT word{names} FROM token {join}"
    if asked is None:
        held: Iterator[tuple[Any, ...]] = file.db.execute(f"{question} ORDER BY number")
    else:
        held = ask(file, f"{question} WHERE word IN", asked)
    words, values = _unzipped(held, len(labels) + n)
    counts, scores = values[:, : len(labels)], values[:, len(labels) :]
    if not ((counts >= 0) & (counts < HEAVIEST)).all():
        raise invalid_value(file.path, f"the count of a token must be from 0 to {HEAVIEST:.0f}", MEND_HINT)
    if (np.abs(scores) > MAX_WEIGHT).any():
        rule = f"a weight of model {model!r} must be from -{MAX_WEIGHT:g} to {MAX_WEIGHT:g}"
        raise invalid_value(file.path, rule, FIT_HINT)
    return Tokens(words, counts, np.nan_to_num(scores))


def _unzipped(held: Iterator[tuple[Any, ...]], width: int) -> tuple[list[str], NDArray[np.float64]]:
    """Words, and the numbers beside them; some rows at a time, so that not all of them are there at once.

    Of 157 000 tokens, all rows at once took 0.30 s, this 0.24.
    """
    words: list[str] = []
    numbers = [np.empty((width, 0))]
    while some := list(islice(held, ROWS)):
        more, *columns = zip(*some)
        words += more
        numbers.append(np.array(columns, dtype=np.float64).reshape(width, len(more)))
    return words, np.concatenate(numbers, axis=1).T
