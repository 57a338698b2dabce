"""Maintenance of a store: its size limit, renewal of weights, recounting, checks, and backups."""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.atomic_write import atomic_write
from deciban.errors import StoreError
from deciban.mail.store.ageing import check_time
from deciban.mail.store.live_files import companions
from deciban.mail.store.store_file import StoreFile, connect, file_size
from deciban.mail.store.store_schema import APPLICATION_ID, column, read_header
from deciban.mail.store.store_updates import drop_empty, sum_weights, unlearn
from deciban.mail.store.stored_messages import Numbers, unpack

UNPACK_MESSAGES: Final = 2000
"""Messages whose tokens are unpacked together."""

MAX_FREE_FRACTION: Final = 0.25
"""Fraction of the file that may be free after tidying; if more is, the file is compacted."""

MAX_REPORTED_PROBLEMS: Final = 20
"""Number of problems of one kind that are reported one by one."""


class TidyResult(NamedTuple):
    """How many messages were unlearned to keep the limit, and whether weights have a later origin."""

    unlearned: int
    renewed: bool


def enforce_limit(file: StoreFile, most: int) -> int:
    """Unlearn the oldest messages until there are at most so many; return how many were unlearned.

    No label is brought below its equal share of the limit, so that a flood of spam does not displace all ham.
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
    for at in range(0, len(gone), UNPACK_MESSAGES):
        unlearn(file, gone[at : at + UNPACK_MESSAGES])
    return len(gone)


def renew_weights(file: StoreFile, half_life: float | None) -> None:
    """Set the half-life in seconds, and recompute the weights of all messages so that the newest has weight 1."""
    file.put("half_life", half_life)
    file.put("origin", None if half_life is None else newest_time(file))
    recount(file)


def newest_time(file: StoreFile) -> float | None:
    """Return the time of the newest message; None for a store without messages."""
    newest: float | None = file.db.execute("SELECT max(time) FROM message").fetchone()[0]
    return None if newest is None else check_time(newest)


def recount(file: StoreFile) -> None:
    """Recompute the weights of all messages by the store's ageing, and all counts from them."""
    ageing, held = file.ageing, file.db.execute("SELECT id, time FROM message").fetchall()
    file.db.executemany("UPDATE message SET weight = ? WHERE id = ?", [(ageing.weight(t), i) for i, t in held])
    numbers, sums, labels, _ = count_messages(file)
    if sums:
        sets = ", ".join(f"{column(label)} = ?" for label in sums)
        each = zip(*(total.tolist() for total in sums.values()), numbers.tolist())
        file.db.executemany(f"UPDATE token SET {sets} WHERE number = ?", each)
    rows = ((n, weight, label) for label, (n, weight) in labels.items())
    file.db.executemany("UPDATE label SET messages = ?, weight = ? WHERE id = ?", rows)
    drop_empty(file, numbers)


def count_messages(file: StoreFile) -> tuple[Numbers, dict[int, Array], dict[int, tuple[int, float]], int]:
    """Return numbers and sums by label of tokens, messages and weight by label, and how many tokens have no word."""
    numbers = np.array([i for (i,) in file.db.execute("SELECT number FROM token ORDER BY number")], dtype=np.int64)
    ids = list(file.labels().values())
    sums = {label: np.zeros(len(numbers)) for label in ids}
    totals = dict.fromkeys(ids, (0, 0.0))
    lost = 0
    found = file.db.execute("SELECT label, weight, tokens FROM message ORDER BY id")
    while some := found.fetchmany(UNPACK_MESSAGES):
        labels, weights, blobs = zip(*some)
        label, weight = np.array(labels), np.array(weights)
        tokens, sizes = unpack(blobs)
        is_there = np.isin(tokens, numbers)
        lost += int((~is_there).sum())
        sizes = np.bincount(np.repeat(np.arange(len(sizes)), sizes)[is_there], minlength=len(sizes))
        at = np.searchsorted(numbers, tokens[is_there])
        for k, total in sum_weights(at, sizes, label, weight, len(numbers)).items():
            n, w = totals.get(k, (0, 0.0))
            totals[k] = n + int((label == k).sum()), w + float(weight[label == k].sum())
            sums[k] = sums.get(k, 0.0) + total
    return numbers, sums, totals, lost


def compact(file: StoreFile) -> None:
    """Return free space of the file to the disk if it is much, and empty the log; skipped if others use the store."""
    with suppress(sqlite3.OperationalError):
        pages = file.db.execute("PRAGMA page_count").fetchone()[0]
        if file.db.execute("PRAGMA freelist_count").fetchone()[0] > MAX_FREE_FRACTION * pages:
            file.db.execute("VACUUM")
        file.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def find_problems(file: StoreFile) -> list[str]:
    """Describe each problem; counts are compared with those recomputed from all messages."""
    found = [f"SQLite: {text}" for (text,) in file.db.execute("PRAGMA integrity_check") if text != "ok"]
    if found:
        return found
    _, sums, labels, lost = count_messages(file)
    if lost:
        found.append(f"tokens of messages that have no word: {lost}")
    found += _find_wrong_labels(file, labels) + _find_wrong_tokens(file, sums)
    ageing = file.ageing
    weights = file.db.execute("SELECT digest, time, weight FROM message")
    odd = [f"message {d.hex()} weighs {w}, not {ageing.weight(t)}" for d, t, w in weights if w != ageing.weight(t)]
    return found + _shorten(odd)


def _find_wrong_labels(file: StoreFile, labels: dict[int, tuple[int, float]]) -> list[str]:
    """Describe labels whose totals are not those of their messages, and labels of messages that do not exist."""
    held = file.db.execute("SELECT id, name, messages, weight FROM label").fetchall()
    wrong = [
        f"label {name!r} is recorded with {messages} messages of weight {weight}; it has {n} of weight {w}"
        for label, name, messages, weight in held
        for n, w in [labels[label]]
        if (messages, weight) != (n, w)
    ]
    unknown = set(labels) - {label for label, *_ in held}
    return wrong + [f"messages have label {label}, which does not exist" for label in sorted(unknown)]


def _find_wrong_tokens(file: StoreFile, sums: dict[int, Array]) -> list[str]:
    """Describe tokens whose counts are not those of their messages, and tokens that no message has."""
    names = file.labels()
    ids = list(names.values())
    columns = ", ".join(["word", *map(column, ids)])
    held = file.db.execute(f"SELECT {columns} FROM token ORDER BY number").fetchall()
    stored = np.array([row[1:] for row in held], dtype=np.float64).reshape(len(held), len(ids))
    true = np.array([sums[label] for label in ids], dtype=np.float64).reshape(len(ids), len(held)).T
    wrong: NDArray[np.int64] = np.argwhere(stored != true)
    differences = [
        f"token {held[i][0]!r} counts {stored[i, k]} for {list(names)[k]!r}; its messages weigh {true[i, k]}"
        for i, k in wrong.tolist()
    ]
    empty = np.flatnonzero((true == 0).all(axis=1)).tolist()
    return _shorten(differences) + _shorten([f"token {held[i][0]!r} is in no message" for i in empty])


def _shorten(problems: list[str]) -> list[str]:
    """Return the first problems, and a line with the number of all others."""
    more = len(problems) - MAX_REPORTED_PROBLEMS
    return problems[:MAX_REPORTED_PROBLEMS] + ([f"… and {more} more like it"] if more > 0 else [])


def copy_to(file: StoreFile, path: str | os.PathLike[str]) -> None:
    """Copy a store as it is now to a file that only its owner can read, all or nothing; only a copy is replaced."""
    target = Path(os.path.realpath(path))
    _refuse_target(file.path, target)
    try:
        with atomic_write(target, 0o600) as unfinished, closing(sqlite3.connect(unfinished)) as copy:
            file.db.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log; learning makes it WAL again
    except StoreError:
        raise
    except OSError as error:
        reason = f"cannot be written: {error.strerror}. Hint: see its folder"
        raise StoreError(f"backup {str(target)!r} {reason}") from error


def _refuse_target(store: Path, target: Path) -> None:
    """Refuse what is not an earlier backup, or is open; SQLite alone opens the target, which may be in use here."""
    if target == store or (target.exists() and target.samefile(store)):
        reason = "would be the store itself"
    elif target in companions(store):
        reason = "would replace a file of the store itself"
    elif target.is_file() and file_size(target) and not _is_store(target):
        reason = "would replace a file that is not a mail store"
    elif any(companion.exists() for companion in companions(target)):
        reason = "is a store that is in use"
    else:
        return
    raise StoreError(f"backup {str(target)!r} {reason}. Hint: name another file")


def _is_store(target: Path) -> bool:
    """Return whether SQLite finds a mail store; it applies and deletes a log or journal that a killed writer left.

    A file that SQLite cannot read now (locked, not permitted) is refused: it may be another program's database.
    """
    try:
        with closing(connect(target, "mode=rw", 0.0)) as db:
            return read_header(db)[0] == APPLICATION_ID
    except sqlite3.OperationalError as error:
        raise StoreError(
            f"backup {str(target)!r} would replace a file that is in use or cannot be read (SQLite: {error}), "
            "so it may not be a mail store. Hint: try again later, or name another file"
        ) from error
    except sqlite3.DatabaseError:
        return False
