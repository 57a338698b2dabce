"""Learning and unlearning: every message adds its weight to its tokens' counts, and takes away precisely the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count, islice, repeat
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deciban.errors import StoreError
from deciban.mail.ageing import HEAVIEST, Ageing
from deciban.mail.entry import Entry, Learned
from deciban.mail.opened import Opened
from deciban.mail.packing import Numbers, pack, unpack
from deciban.mail.schema import column

AT_ONCE: Final = 500
"""Values asked for in one question: older SQLites take at most 999."""

SCAN: Final = 4
"""Looking a word up costs as much as reading so many rows in turn."""

Weights = NDArray[np.float64]


def learn(file: Opened, entries: Sequence[Entry]) -> Learned:
    """Learn each message that is not known as just that, inside a transaction."""
    held = labels_of(file, [entry.digest for entry in entries])
    wanted, learned = _wanted(entries, dict(held))
    if wanted:
        ids = {name: file.label_id(name) for name in dict.fromkeys(entry.label for entry in entries)}
        unlearn(file, [digest for digest in wanted if digest in held])
        _add(file, list(wanted.values()), ids)
        file.put("last_learned", max(entry.time or 0.0 for entry in wanted.values()))
        file.note(f"learned {learned.new} new messages, moved {learned.moved}", learned.new + learned.moved)
    return learned


def _wanted(entries: Sequence[Entry], labels: dict[bytes, str]) -> tuple[dict[bytes, Entry], Learned]:
    """What each message is in the end, when they are learned one by one."""
    wanted: dict[bytes, Entry] = {}
    new = known = moved = 0
    for entry in entries:
        before = labels.get(entry.digest)
        if before == entry.label:
            known += 1
            continue
        new, moved = (new + 1, moved) if before is None else (new, moved + 1)
        wanted[entry.digest], labels[entry.digest] = entry, entry.label
    return wanted, Learned(new, known, moved)


def labels_of(file: Opened, digests: Iterable[bytes]) -> dict[bytes, str]:
    """Under which label messages are known; those that are not are left out."""
    asked = "SELECT digest, name FROM message JOIN label ON label.id = message.label WHERE digest IN"
    return dict(ask(file, asked, digests))


def ask(file: Opened, question: str, values: Iterable[Any], more: str = "") -> Iterator[tuple[Any, ...]]:
    """The rows of a SELECT … WHERE … IN any number of values."""
    rest = iter(values)
    while some := list(islice(rest, AT_ONCE)):
        yield from file.db.execute(f"{question} ({','.join('?' * len(some))}) {more}", some)


def _add(file: Opened, entries: list[Entry], ids: dict[str, int]) -> None:
    ageing = current_ageing(file, max(entry.time or 0.0 for entry in entries))
    label = np.array([ids[entry.label] for entry in entries])
    weight = np.array([ageing.weight(entry.time or 0.0) for entry in entries])
    n, which, index = _flattened([entry.tokens for entry in entries])
    numbers, known = _numbered(file, index, np.bincount(which, minlength=len(index)))
    order = np.argsort(numbers)  # so that a message's words, in rising order, have rising numbers
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    message, word = _distinct(n, rank[which])
    n = np.bincount(message, minlength=len(entries))
    sums = {k: _summed(word, weight[message], label[message] == k, len(index)) for k in np.unique(label).tolist()}
    known = known[order]
    shift(file, numbers[order][known], {k: total[known] for k, total in sums.items()})
    words = list(index)
    fresh = [words[i] for i in order[~known].tolist()]
    _insert(file, numbers[order][~known], fresh, {k: total[~known] for k, total in sums.items()})
    blobs = pack(numbers[order][word], n)
    file.db.executemany(
        "INSERT INTO message (digest, label, time, weight, tokens) VALUES (?, ?, ?, ?, ?)",
        zip((e.digest for e in entries), label.tolist(), (e.time for e in entries), weight.tolist(), blobs),
    )
    _tell_labels(file, label, weight, 1)


def current_ageing(file: Opened, time: float) -> Ageing:
    """How messages age here; the first that is learned sets the origin."""
    ageing = Ageing(file.setting("half_life"), file.setting("origin"))
    begun = ageing.beginning(time)
    if begun is not ageing:
        file.put("origin", begun.origin)
    return begun


def _flattened(texts: list[Sequence[str]]) -> tuple[Numbers, Numbers, dict[str, int]]:
    """How many tokens each message has, all of them in a row as indices, and the words' indices."""
    index: defaultdict[str, int] = defaultdict(count().__next__)
    n = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    each = map(index.__getitem__, chain.from_iterable(texts))
    return n, np.fromiter(each, dtype=np.int64, count=int(n.sum())), index


def _numbered(file: Opened, index: dict[str, int], seen: Numbers) -> tuple[Numbers, NDArray[np.bool_]]:
    """Each word's number, and whether it had one; new ones get the next, those that were seen most often first.

    So common words are near each other, in the file and in what is packed. Among equals the alphabet decides, which
    the index of words is in: 250 000 of them are entered in a third of the time.
    """
    following = next_number(file)
    if following <= SCAN * len(index):
        had = dict(file.db.execute("SELECT word, number FROM token"))
    else:
        had = dict(ask(file, "SELECT word, number FROM token WHERE word IN", index))
    numbers = np.fromiter(map(had.get, index, repeat(-1)), dtype=np.int64, count=len(index))
    known = numbers >= 0
    spelt = sorted(index.keys() - had.keys())
    fresh = np.fromiter(map(index.__getitem__, spelt), dtype=np.int64, count=len(spelt))
    often = np.frexp(seen[fresh])[1]  # as powers of two
    numbers[fresh[np.argsort(-often, kind="stable")]] = following + np.arange(len(fresh))
    return numbers, known


def next_number(file: Opened) -> int:
    """A number that no token has, or ever had: what was fitted to one that is gone is not taken for another's."""
    top = file.db.execute("SELECT max(number) FROM token").fetchone()[0]
    return max(0 if top is None else top + 1, file.setting("next_number", 0))


def _distinct(n: Numbers, word: Numbers) -> tuple[Numbers, Numbers]:
    """(message, word) in rising order, each pair once."""
    pairs = np.repeat(np.arange(len(n)), n) << 32 | word
    pairs.sort()
    pairs = pairs[np.concatenate([[True], pairs[1:] != pairs[:-1]])] if len(pairs) else pairs
    return pairs >> 32, pairs & 0xFFFFFFFF


def _summed(word: Numbers, weight: Weights, of: NDArray[np.bool_], n: int) -> Weights:
    return np.asarray(np.bincount(word[of], weights=weight[of], minlength=n), dtype=np.float64)


def _insert(file: Opened, numbers: Numbers, words: list[str], sums: dict[int, Weights]) -> None:
    """Enter new words, many rows to a statement: that is twice as fast as one by one."""
    names = "".join(f", {column(label)}" for label in sums)
    fields = [numbers.tolist(), words, *(total.tolist() for total in sums.values())]
    many = max(1, AT_ONCE // len(fields))
    upto = len(words) // many * many
    for rows, begin, end in ((many, 0, upto), (1, upto, len(words))):
        row = f"(?{', ?' * (len(fields) - 1)})"
        question = f"INSERT INTO token (number, word{names}) VALUES {', '.join([row] * rows)}"
        values = chain.from_iterable(zip(*(field[begin:end] for field in fields)))
        file.db.executemany(question, zip(*[values] * (rows * len(fields))))


def shift(file: Opened, numbers: Numbers, by: dict[int, Weights]) -> None:
    """Add to the counts of tokens that are there, label by label."""
    if len(numbers):
        sets = ", ".join(f"{column(label)} = {column(label)} + ?" for label in by)
        each = zip(*(amount.tolist() for amount in by.values()), numbers.tolist())
        file.db.executemany(f"UPDATE token SET {sets} WHERE number = ?", each)


def _tell_labels(file: Opened, label: Numbers, weight: Weights, sign: int) -> None:
    for k in np.unique(label).tolist():
        change = (sign * int((label == k).sum()), sign * float(weight[label == k].sum()), k)
        file.db.execute("UPDATE label SET messages = messages + ?, weight = weight + ? WHERE id = ?", change)
    heaviest = file.db.execute("SELECT max(weight) FROM label").fetchone()[0]
    if heaviest >= HEAVIEST:
        raise StoreError(
            f"mail store {str(file.path)!r} would hold more than it can add up exactly: a label's messages may "
            f"weigh up to {HEAVIEST:.0f} together. Hint: tidy it"
        )


def unlearn(file: Opened, digests: Sequence[bytes]) -> int:
    """Take away what these messages have added, as if they had never come; how many were known."""
    held = list(ask(file, "SELECT id, label, weight, tokens FROM message WHERE digest IN", dict.fromkeys(digests)))
    if not held:
        return 0
    ids, labels, weights, blobs = zip(*held)
    label, weight = np.array(labels), np.array(weights)
    flat, n = unpack(list(blobs))
    numbers, which = np.unique(flat, return_inverse=True)
    of, each = np.repeat(label, n), np.repeat(-weight, n)
    shift(file, numbers, {k: _summed(which, each, of == k, len(numbers)) for k in np.unique(label).tolist()})
    drop_empty(file, numbers)
    file.db.executemany("DELETE FROM message WHERE id = ?", ((i,) for i in ids))
    _tell_labels(file, label, weight, -1)
    return len(held)


def drop_empty(file: Opened, numbers: Numbers) -> None:
    """Forget words that no message has any more, and what was fitted to them."""
    file.put("next_number", next_number(file))
    empty = "".join(f" AND {column(label)} = 0" for label in file.labels().values())
    gone = [(i,) for (i,) in ask(file, "SELECT number FROM token WHERE number IN", numbers.tolist(), empty)]
    tables = [f"fitted_{fit:d}" for (fit,) in file.db.execute("SELECT id FROM fit")]
    for table in ["token", *tables]:
        file.db.executemany(f"DELETE FROM {table} WHERE number = ?", gone)


def relabel(file: Opened, digest: bytes, label: str) -> None:
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
