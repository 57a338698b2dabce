"""Keeping a store in order: the size bound, later origins, counting again, and whether all is as it should be."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.mail.store.ageing import Ageing, check_time
from deciban.mail.store.packing import Numbers, unpack
from deciban.mail.store.store_file import StoreFile
from deciban.mail.store.store_schema import column, columns
from deciban.mail.store.store_updates import drop_empty, unlearn

AT_ONCE: Final = 2000
"""Messages whose tokens are unpacked together."""

LOOSE: Final = 0.25
"""Of the file; if more is empty after tidying, it is given back to the disk."""

MOST_TOLD: Final = 20
"""ProblemHandler of one kind that are told one by one."""


class Tidied(NamedTuple):
    """How many messages were unlearned to keep the bound, and whether weights have a later origin."""

    unlearned: int
    renewed: bool


def keep_bound(file: StoreFile, most: int) -> int:
    """Unlearn the oldest messages until there are at most so many; how many went.

    No label is brought below its equal share of the bound, so that a flood of spam does not wash away all ham.
    """
    left = dict(file.db.execute("SELECT id, messages FROM label"))
    excess, share = sum(left.values()) - most, most // max(1, len(left))
    if excess <= 0:
        return 0
    gone: list[bytes] = []
    for label, digest in file.db.execute("SELECT label, digest FROM message ORDER BY time, digest").fetchall():
        if len(gone) < excess and left[label] > share:
            left[label] -= 1
            gone.append(digest)
    for at in range(0, len(gone), AT_ONCE):
        unlearn(file, gone[at : at + AT_ONCE])
    return len(gone)


def renew(file: StoreFile, half_life: float | None) -> None:
    """Weigh all messages anew, the newest 1."""
    newest = newest_time(file)
    file.put("half_life", half_life)
    file.put("origin", None if half_life is None else newest)
    recount(file, Ageing(half_life, newest))


def newest_time(file: StoreFile) -> float | None:
    """The time of the newest message."""
    newest: float | None = file.db.execute("SELECT max(time) FROM message").fetchone()[0]
    return None if newest is None else check_time(newest)


def recount(file: StoreFile, ageing: Ageing | None = None) -> None:
    """Make all counts anew from the messages, with the weights they have or, by an ageing, should have."""
    if ageing is not None:
        held = file.db.execute("SELECT id, time FROM message").fetchall()
        file.db.executemany("UPDATE message SET weight = ? WHERE id = ?", [(ageing.weight(t), i) for i, t in held])
    numbers, sums, labels, _ = counted(file)
    each = zip(*(total.tolist() for total in sums.values()), numbers.tolist())
    if sums:
        sets = ", ".join(f"{column(label)} = ?" for label in sums)
        file.db.executemany(f"UPDATE token SET {sets} WHERE number = ?", each)
    told = ((n, weight, label) for label, (n, weight) in labels.items())
    file.db.executemany("UPDATE label SET messages = ?, weight = ? WHERE id = ?", told)
    empty = np.ones(len(numbers), dtype=np.bool_)
    for total in sums.values():
        empty &= total == 0
    drop_empty(file, numbers[empty])


def counted(file: StoreFile) -> tuple[Numbers, dict[int, Array], dict[int, tuple[int, float]], int]:
    """Numbers of tokens, their sums by label, labels' messages and weights, and how many tokens are missing."""
    numbers = np.array([i for (i,) in file.db.execute("SELECT number FROM token ORDER BY number")], dtype=np.int64)
    ids = list(file.labels().values())
    sums = {label: np.zeros(len(numbers)) for label in ids}
    totals = dict.fromkeys(ids, (0, 0.0))
    lost = 0
    for label, weight, flat, n in _unpacked(file):
        at = np.minimum(np.searchsorted(numbers, flat), max(0, len(numbers) - 1))
        there = numbers[at] == flat if len(numbers) else np.zeros(len(flat), dtype=np.bool_)
        lost += int(len(flat) - there.sum())
        of, each = np.repeat(label, n), np.repeat(weight, n)
        for k in np.unique(label).tolist():
            some = there & (of == k)
            sums.setdefault(k, np.zeros(len(numbers)))
            sums[k] += np.bincount(at[some], weights=each[some], minlength=len(numbers))
            n_k, w_k = totals.get(k, (0, 0.0))
            totals[k] = (n_k + int((label == k).sum()), w_k + float(weight[label == k].sum()))
    return numbers, sums, totals, lost


def _unpacked(file: StoreFile) -> Iterator[tuple[Numbers, Array, Numbers, Numbers]]:
    """Labels, weights, tokens in a row and how many each has, of some messages at a time."""
    asked = file.db.execute("SELECT label, weight, tokens FROM message ORDER BY id")
    while some := asked.fetchmany(AT_ONCE):
        label, weight, blobs = zip(*some)
        flat, n = unpack(list(blobs))
        yield np.array(label), np.array(weight), flat, n


def compact(file: StoreFile) -> None:
    """Give back to the disk what is empty in the file; left for another time if somebody is in the way."""
    with suppress(sqlite3.OperationalError):
        pages = file.db.execute("PRAGMA page_count").fetchone()[0]
        if file.db.execute("PRAGMA freelist_count").fetchone()[0] > LOOSE * pages:
            file.db.execute("VACUUM")
        file.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def problems(file: StoreFile) -> list[str]:
    """What is not as it should be, in words; counts are compared with those made anew from all messages."""
    found = [f"SQLite: {said}" for (said,) in file.db.execute("PRAGMA integrity_check") if said != "ok"]
    if found:
        return found
    numbers, sums, labels, lost = counted(file)
    if lost:
        found.append(f"{lost} tokens of messages have no word")
    found += _wrong_labels(file, labels) + _wrong_tokens(file, numbers, sums)
    ageing = Ageing(file.setting("half_life"), file.setting("origin"))
    weights = file.db.execute("SELECT digest, time, weight FROM message")
    odd = [f"message {d.hex()} weighs {w}, not {ageing.weight(t)}" for d, t, w in weights if w != ageing.weight(t)]
    return found + _shortened(odd)


def _wrong_labels(file: StoreFile, labels: dict[int, tuple[int, float]]) -> list[str]:
    held = file.db.execute("SELECT id, name, messages, weight FROM label").fetchall()
    wrong = [
        f"label {name!r} is said to have {messages} messages of weight {weight}; it has {n} of weight {w}"
        for label, name, messages, weight in held
        for n, w in [labels[label]]
        if (messages, weight) != (n, w)
    ]
    strange = set(labels) - {label for label, *_ in held}
    return wrong + [f"messages have label {label}, which is none" for label in sorted(strange)]


def _wrong_tokens(file: StoreFile, numbers: Numbers, sums: dict[int, Array]) -> list[str]:
    names = file.labels()
    ids = list(names.values())
    held = file.db.execute(f"SELECT word{columns(ids)} FROM token ORDER BY number").fetchall()
    stored = np.array([row[1:] for row in held], dtype=np.float64).reshape(len(held), len(ids))
    true = np.array([sums[label] for label in ids], dtype=np.float64).reshape(len(ids), len(held)).T
    wrong: NDArray[np.int64] = np.argwhere(stored != true)
    said = [
        f"token {held[i][0]!r} counts {stored[i, k]} for {list(names)[k]!r}; its messages weigh {true[i, k]}"
        for i, k in wrong.tolist()
    ]
    empty = np.flatnonzero((true == 0).all(axis=1)).tolist()
    return _shortened(said) + _shortened([f"token {held[i][0]!r} is in no message" for i in empty])


def _shortened(said: list[str]) -> list[str]:
    more = len(said) - MOST_TOLD
    return said[:MOST_TOLD] + ([f"… and {more} more like it"] if more > 0 else [])
