"""Learning and unlearning: every message adds its weight to its tokens' counts, and takes away precisely the same."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deciban.errors import StoreError
from deciban.mail.store.ageing import HEAVIEST, Ageing
from deciban.mail.store.batched_queries import AT_ONCE, ask
from deciban.mail.store.packing import Numbers, pack, unpack
from deciban.mail.store.store_file import StoreFile
from deciban.mail.store.store_schema import TOKEN_INDEX, column
from deciban.mail.store.stored_message import Entry, LearnCounts, together
from deciban.mail.store.token_batch import Flat, Memory, distinct, flattened, only

SCAN: Final = 4
"""Looking a word up costs as much as reading so many rows in turn."""

MOST_REMEMBERED: Final = 1 << 21
"""Words of a store that are remembered from one batch to the next: some 300 MB."""

Weights = NDArray[np.float64]


def learn(file: StoreFile, entries: Sequence[Entry]) -> dict[str, LearnCounts]:
    """Learn each message that is not known as just that, inside a transaction; what came of it, by label."""
    return _learn(
        file, entries, lambda wanted: flattened([entries[i].tokens for i in np.flatnonzero(wanted).tolist()])
    )


def learn_flat(file: StoreFile, heads: Sequence[Entry], flat: Flat) -> dict[str, LearnCounts]:
    """The same, of messages whose tokens are all in a row."""
    return _learn(file, heads, lambda wanted: only(flat, wanted))


def _learn(
    file: StoreFile, heads: Sequence[Entry], texts: Callable[[NDArray[np.bool_]], Flat]
) -> dict[str, LearnCounts]:
    held = labels_of(file, [head.digest for head in heads])
    last, learned = _wanted(heads, dict(held))
    if last:
        ids = {name: file.label_id(name) for name in dict.fromkeys(head.label for head in heads)}
        wanted = np.zeros(len(heads), dtype=np.bool_)
        wanted[list(last.values())] = True
        flat = texts(wanted)
        if unlearn(file, [digest for digest in last if digest in held]) and flat.memory:
            flat.memory.changes = None
        _add(file, [heads[i] for i in sorted(last.values())], flat, ids)
        total = together(learned.values())
        file.put("last_learned", clock.time())
        file.note(f"learned {total.new} new messages, moved {total.moved}", total.new + total.moved)
        if flat.memory and 0 < len(flat.memory.numbers) < MOST_REMEMBERED:
            flat.memory.changes = file.setting("changes")
    return learned


def _wanted(heads: Sequence[Entry], labels: dict[bytes, str]) -> tuple[dict[bytes, int], dict[str, LearnCounts]]:
    """Which entry each message is in the end, when they are learned one by one."""
    last: dict[bytes, int] = {}
    came: dict[str, list[int]] = {}
    for i, head in enumerate(heads):
        before = labels.get(head.digest)
        counts = came.setdefault(head.label, [0, 0, 0])
        counts[0 if before is None else 1 if before == head.label else 2] += 1
        if before != head.label:
            last[head.digest], labels[head.digest] = i, head.label
    return last, {label: LearnCounts(*counts) for label, counts in came.items()}


def labels_of(file: StoreFile, digests: Iterable[bytes]) -> dict[bytes, str]:
    """Under which label messages are known; those that are not are left out."""
    asked = "SELECT digest, name FROM message JOIN label ON label.id = message.label WHERE digest IN"
    return dict(ask(file, asked, digests))


def _add(file: StoreFile, heads: list[Entry], flat: Flat, ids: dict[str, int]) -> None:
    ageing = current_ageing(file, max(head.time or 0.0 for head in heads))
    label = np.array([ids[head.label] for head in heads])
    weight = np.array([ageing.weight(head.time or 0.0) for head in heads])
    numbers, known = _numbered(file, flat)
    order = np.argsort(numbers)  # so that a message's words, in rising order, have rising numbers
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    sizes, word = distinct(flat, rank)
    sums = summed(word, sizes, label, weight, len(order))
    numbers, known = numbers[order], known[order]
    shift(file, numbers[known], {k: total[known] for k, total in sums.items()})
    words = list(flat.places)
    fresh = [words[i] for i in order[~known].tolist()]
    _insert(file, numbers[~known], fresh, {k: total[~known] for k, total in sums.items()})
    file.db.executemany(
        "INSERT INTO message (digest, label, time, weight, tokens) VALUES (?, ?, ?, ?, ?)",
        zip(
            [h.digest for h in heads],
            label.tolist(),
            [h.time for h in heads],
            weight.tolist(),
            pack(numbers[word], sizes),
        ),
    )
    _tell_labels(file, label, weight, 1)


def summed(word: Numbers, sizes: Numbers, label: Numbers, weight: Weights, n: int) -> dict[int, Weights]:
    """The weight of each label's messages that have a word, for each of n words."""
    sums = {}
    for k in sorted(set(label.tolist())):
        each = np.repeat(np.where(label == k, weight, 0.0), sizes)
        sums[k] = np.asarray(np.bincount(word, weights=each, minlength=n), dtype=np.float64)
    return sums


def current_ageing(file: StoreFile, time: float) -> Ageing:
    """How messages age here; the first that is learned sets the origin."""
    ageing = Ageing(file.setting("half_life"), file.setting("origin"))
    begun = ageing.beginning(time)
    if begun is not ageing:
        file.put("origin", begun.origin)
    return begun


def _numbered(file: StoreFile, flat: Flat) -> tuple[Numbers, NDArray[np.bool_]]:
    """Each word's number, and whether it had one; new ones get the next, those that were seen most often first.

    So common words are near each other, in the file and in what is packed. Among equals the alphabet decides: new
    words that come in its order are entered in a third of the time.
    """
    following, words = next_number(file), flat.places
    had = _had(file, flat, following)
    numbers = np.fromiter(map(had.get, words, repeat(-1)), dtype=np.int64, count=len(words))
    known = numbers >= 0
    spelt, fresh = list(words), np.flatnonzero(~known)
    if len(fresh) < following:  # or else the index will be made anew
        fresh = np.array(sorted(fresh.tolist(), key=spelt.__getitem__), dtype=np.int64)
    often = np.frexp(np.bincount(flat.which, minlength=len(words))[fresh])[1]  # as powers of two
    numbers[fresh[np.argsort(-often, kind="stable")]] = following + np.arange(len(fresh))
    if flat.memory and flat.memory.numbers is had:
        had.update(zip(map(spelt.__getitem__, fresh.tolist()), numbers[fresh].tolist()))
    return numbers, known


def _had(file: StoreFile, flat: Flat, following: int) -> dict[str, int]:
    """The numbers of those words that are there, of all if so many are asked for."""
    memory, words = flat.memory or Memory(), flat.places
    then, memory.changes = memory.changes, None  # should this batch not be learned, its new words have no numbers
    if then is not None and then == file.setting("changes"):
        return memory.numbers
    memory.numbers = {}
    if following > SCAN * len(words):
        return dict(ask(file, "SELECT word, number FROM token WHERE word IN", words))
    memory.numbers.update(file.db.execute("SELECT word, number FROM token"))
    return memory.numbers


def next_number(file: StoreFile) -> int:
    """A number that no token has, or ever had: what was fitted to one that is gone is not taken for another's."""
    top = file.db.execute("SELECT max(number) FROM token").fetchone()[0]
    return max(0 if top is None else top + 1, file.setting("next_number", 0))


def _insert(file: StoreFile, numbers: Numbers, words: list[str], sums: dict[int, Weights]) -> None:
    """Enter new words, many rows to a statement: that is twice as fast as one by one.

    If there are more of them than of old ones, their index is made anew afterwards: that is faster still.
    """
    anew = len(words) and len(words) >= numbers[0]
    if anew:
        file.db.execute("DROP INDEX token_word")
    names = "".join(f", {column(label)}" for label in sums)
    fields = [numbers.tolist(), words, *(total.tolist() for total in sums.values())]
    many = max(1, AT_ONCE // len(fields))
    upto = len(words) // many * many
    for rows, begin, end in ((many, 0, upto), (1, upto, len(words))):
        row = f"(?{', ?' * (len(fields) - 1)})"
        question = f"INSERT INTO token (number, word{names}) VALUES {', '.join([row] * rows)}"
        values = chain.from_iterable(zip(*(field[begin:end] for field in fields)))
        file.db.executemany(question, zip(*[values] * (rows * len(fields))))
    if anew:
        file.db.execute(TOKEN_INDEX)


def shift(file: StoreFile, numbers: Numbers, by: dict[int, Weights]) -> None:
    """Add to the counts of tokens that are there, label by label."""
    if len(numbers):
        sets = ", ".join(f"{column(label)} = {column(label)} + ?" for label in by)
        each = zip(*(amount.tolist() for amount in by.values()), numbers.tolist())
        file.db.executemany(f"UPDATE token SET {sets} WHERE number = ?", each)


def _tell_labels(file: StoreFile, label: Numbers, weight: Weights, sign: int) -> None:
    for k in sorted(set(label.tolist())):
        change = (sign * int((label == k).sum()), sign * float(weight[label == k].sum()), k)
        file.db.execute("UPDATE label SET messages = messages + ?, weight = weight + ? WHERE id = ?", change)
    heaviest = file.db.execute("SELECT max(weight) FROM label").fetchone()[0]
    if heaviest >= HEAVIEST:
        raise StoreError(
            f"mail store {str(file.path)!r} would hold more than it can add up exactly: a label's messages may "
            f"weigh up to {HEAVIEST:.0f} together. Hint: tidy it"
        )


def unlearn(file: StoreFile, digests: Sequence[bytes]) -> int:
    """Take away what these messages have added, as if they had never come; how many were known."""
    held = list(ask(file, "SELECT id, label, weight, tokens FROM message WHERE digest IN", dict.fromkeys(digests)))
    if not held:
        return 0
    ids, labels, weights, blobs = zip(*held)
    label, weight = np.array(labels), np.array(weights)
    flat, n = unpack(list(blobs))
    numbers, which = np.unique(flat, return_inverse=True)
    shift(file, numbers, summed(which, n, label, -weight, len(numbers)))
    drop_empty(file, numbers)
    file.db.executemany("DELETE FROM message WHERE id = ?", ((i,) for i in ids))
    _tell_labels(file, label, weight, -1)
    return len(held)


def drop_empty(file: StoreFile, numbers: Numbers) -> None:
    """Forget words that no message has any more, and what was fitted to them."""
    file.put("next_number", next_number(file))
    empty = "".join(f" AND {column(label)} = 0" for label in file.labels().values())
    gone = [(i,) for (i,) in ask(file, "SELECT number FROM token WHERE number IN", numbers.tolist(), empty)]
    tables = [f"fitted_{fit:d}" for (fit,) in file.db.execute("SELECT id FROM fit")]
    for table in ["token", *tables]:
        file.db.executemany(f"DELETE FROM {table} WHERE number = ?", gone)


def relabel(file: StoreFile, digest: bytes, label: str) -> None:
    """Move a message that is known, with its time and weight, to another label."""
    row = "SELECT id, label, weight, tokens FROM message WHERE digest = ?"
    message, before, weight, blob = file.db.execute(row, (digest,)).fetchone()
    after = file.label_id(label)
    if after == before:
        return
    numbers, _ = unpack([blob])
    each = np.full(len(numbers), weight)
    shift(file, numbers, {before: -each, after: each})
    file.db.execute("UPDATE message SET label = ? WHERE id = ?", (after, message))
    _tell_labels(file, np.array([before]), np.array([weight]), -1)
    _tell_labels(file, np.array([after]), np.array([weight]), 1)
