"""Learning and unlearning: each message adds its weight to its tokens' counts, and removing it subtracts the same."""

import time as clock
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import StoreError
from deciban.formatting import format_count
from deciban.mail.store.ageing import MAX_EXACT_WEIGHT, Ageing
from deciban.mail.store.store_file import MAX_QUERY_VALUES, StoreFile
from deciban.mail.store.store_schema import TOKEN_INDEX, column
from deciban.mail.store.stored_messages import LearnCounts, Numbers, TokenBatch, WordMemory, add_counts, pack, unpack

LOOKUP_COST_ROWS: Final = 4
"""Looking a word up costs as much as reading so many rows in sequence."""

MAX_REMEMBERED_WORDS: Final = 1 << 21
"""Words of a store that are remembered from one batch to the next: some 300 MB."""


def learn(file: StoreFile, batch: TokenBatch, memory: WordMemory | None = None) -> dict[str, LearnCounts]:
    """Learn each message that is not known under its label, inside a transaction; return the counts by label.

    `memory` is updated in place.
    """
    known = find_labels(file, batch.digests)
    last, learned = _select_unlearned(batch, dict(known))
    if last:
        ids = {name: file.ensure_label(name) for name in dict.fromkeys(batch.labels)}
        wanted = np.zeros(len(batch), dtype=np.bool_)
        wanted[list(last.values())] = True
        memory = memory or WordMemory()
        if unlearn(file, [digest for digest in last if digest in known]):
            memory.changes = None
        _add(file, batch.take(wanted), ids, memory)
        total = add_counts(learned.values())
        file.put("last_learned", clock.time())
        file.note(f"learned {format_count(total.new, 'message')}, moved {total.moved}", total.new + total.moved)
        if 0 < len(memory.numbers) < MAX_REMEMBERED_WORDS:
            memory.changes = file.setting("changes")
    return learned


def _select_unlearned(batch: TokenBatch, labels: dict[bytes, str]) -> tuple[dict[bytes, int], dict[str, LearnCounts]]:
    """Return the last position of each message to learn, and the counts by label; `labels` is updated in place."""
    last: dict[bytes, int] = {}
    found: dict[str, list[int]] = {}
    for i, (digest, label) in enumerate(zip(batch.digests, batch.labels)):
        before = labels.get(digest)
        counts = found.setdefault(label, [0, 0, 0])
        counts[0 if before is None else 1 if before == label else 2] += 1
        if before != label:
            last[digest], labels[digest] = i, label
    return last, {label: LearnCounts(*counts) for label, counts in found.items()}


def find_labels(file: StoreFile, digests: Iterable[bytes]) -> dict[bytes, str]:
    """Return the labels of those messages that are known, by digest."""
    query = "SELECT digest, name FROM message JOIN label ON label.id = message.label WHERE digest IN"
    return dict(file.select_in(query, digests))


def _add(file: StoreFile, batch: TokenBatch, ids: dict[str, int], memory: WordMemory) -> None:
    """Store messages that are not known, and add their weights to the counts of their words and labels."""
    times = [time or 0.0 for time in batch.times]
    ageing = begin_ageing(file, max(times))
    label = np.array([ids[name] for name in batch.labels])
    weight = np.array([ageing.weight(time) for time in times])
    numbers, known = _number_words(file, batch, memory)
    order = np.argsort(numbers)  # so that a message's words, in rising order, have rising numbers
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    sizes, word = batch.distinct_ranks(rank)
    sums = sum_weights(word, sizes, label, weight, len(order))
    numbers, known = numbers[order], known[order]
    add_to_counts(file, numbers[known], {k: total[known] for k, total in sums.items()})
    new = [batch.words[i] for i in order[~known].tolist()]
    _insert(file, numbers[~known], new, {k: total[~known] for k, total in sums.items()})
    file.db.executemany(
        "INSERT INTO message (digest, label, time, weight, tokens) VALUES (?, ?, ?, ?, ?)",
        zip(batch.digests, label.tolist(), batch.times, weight.tolist(), pack(numbers[word], sizes)),
    )
    _update_labels(file, label, weight, 1)


def sum_weights(word: Numbers, sizes: Numbers, label: Numbers, weight: Array, n: int) -> dict[int, Array]:
    """Return by label the weight of its messages that have a word, for each of n words."""
    sums = {}
    for k in sorted(set(label.tolist())):
        each = np.repeat(np.where(label == k, weight, 0.0), sizes)
        sums[k] = np.asarray(np.bincount(word, weights=each, minlength=n), dtype=np.float64)
    return sums


def begin_ageing(file: StoreFile, time: float) -> Ageing:
    """Return how messages age here; the time of the first that is learned becomes the origin."""
    ageing = file.ageing
    if ageing.half_life is not None and ageing.origin is None:
        file.put("origin", time)
    return file.ageing


def _number_words(file: StoreFile, batch: TokenBatch, memory: WordMemory) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return each word's number, and whether it had one; new words get the next numbers, the most frequent first.

    So common words are near each other, in the file and in packed messages. Equally frequent words are numbered in
    alphabetical order: new words that come in this order are inserted in a third of the time.
    """
    following, words = next_number(file), batch.words
    numbers_of = _find_numbers(file, words, memory, following)
    numbers = np.fromiter(map(numbers_of.get, words, repeat(-1)), dtype=np.int64, count=len(words))
    known = numbers >= 0
    new = np.flatnonzero(~known)
    if len(new) < following:  # or else the index will be rebuilt
        new = np.array(sorted(new.tolist(), key=words.__getitem__), dtype=np.int64)
    frequency = np.frexp(np.bincount(batch.indices, minlength=len(words))[new])[1]  # as powers of two
    numbers[new[np.argsort(-frequency, kind="stable")]] = following + np.arange(len(new))
    if memory.numbers is numbers_of:
        numbers_of.update(zip(map(words.__getitem__, new.tolist()), numbers[new].tolist()))
    return numbers, known


def _find_numbers(file: StoreFile, words: Sequence[str], memory: WordMemory, following: int) -> dict[str, int]:
    """Return the numbers of the words that are there, or of all words of the store if that is faster."""
    then, memory.changes = memory.changes, None  # should this batch not be learned, its new words have no numbers
    if then is not None and then == file.setting("changes"):
        return memory.numbers
    memory.numbers = {}
    if following > LOOKUP_COST_ROWS * len(words):
        return dict(file.select_in("SELECT word, number FROM token WHERE word IN", words))
    memory.numbers.update(file.db.execute("SELECT word, number FROM token"))
    return memory.numbers


def next_number(file: StoreFile) -> int:
    """Return a number that no token has or ever had: a weight fitted to a removed one must not be another's."""
    top = file.db.execute("SELECT max(number) FROM token").fetchone()[0]
    return max(0 if top is None else top + 1, file.setting("next_number", 0))


def _insert(file: StoreFile, numbers: Numbers, words: list[str], sums: dict[int, Array]) -> None:
    """Insert new words, many rows to a statement: that is twice as fast as one by one.

    If there are more of them than of old ones, their index is rebuilt afterwards: that is faster still.
    """
    rebuild = len(words) and len(words) >= numbers[0]
    if rebuild:
        file.db.execute("DROP INDEX token_word")
    names = "".join(f", {column(label)}" for label in sums)
    fields = [numbers.tolist(), words, *(total.tolist() for total in sums.values())]
    many = max(1, MAX_QUERY_VALUES // len(fields))
    upto = len(words) // many * many
    for rows, begin, end in ((many, 0, upto), (1, upto, len(words))):
        row = f"(?{', ?' * (len(fields) - 1)})"
        statement = f"INSERT INTO token (number, word{names}) VALUES {', '.join([row] * rows)}"
        values = chain.from_iterable(zip(*(field[begin:end] for field in fields)))
        file.db.executemany(statement, zip(*[values] * (rows * len(fields))))
    if rebuild:
        file.db.execute(TOKEN_INDEX)


def add_to_counts(file: StoreFile, numbers: Numbers, amounts: dict[int, Array]) -> None:
    """Add to the counts of tokens that are there, label by label."""
    if len(numbers):
        sets = ", ".join(f"{column(label)} = {column(label)} + ?" for label in amounts)
        each = zip(*(amount.tolist() for amount in amounts.values()), numbers.tolist())
        file.db.executemany(f"UPDATE token SET {sets} WHERE number = ?", each)


def _update_labels(file: StoreFile, label: Numbers, weight: Array, sign: int) -> None:
    """Add messages to the totals of their labels (sign 1) or subtract them (-1); StoreError above the exact sums."""
    for k in sorted(set(label.tolist())):
        change = (sign * int((label == k).sum()), sign * float(weight[label == k].sum()), k)
        file.db.execute("UPDATE label SET messages = messages + ?, weight = weight + ? WHERE id = ?", change)
    heaviest = file.db.execute("SELECT max(weight) FROM label").fetchone()[0]
    if heaviest >= MAX_EXACT_WEIGHT:
        raise StoreError(
            f"mail store {str(file.path)!r} would hold more than it can add up exactly: a label's messages may "
            f"weigh up to {MAX_EXACT_WEIGHT:.0f} together. Hint: tidy it"
        )


def unlearn(file: StoreFile, digests: Sequence[bytes]) -> int:
    """Subtract the weights of these messages, as if they had never been learned; return how many were known."""
    query = "SELECT id, label, weight, tokens FROM message WHERE digest IN"
    found = list(file.select_in(query, dict.fromkeys(digests)))
    if not found:
        return 0
    ids, labels, weights, blobs = zip(*found)
    label, weight = np.array(labels), np.array(weights)
    tokens, n = unpack(blobs)
    numbers, index = np.unique(tokens, return_inverse=True)
    add_to_counts(file, numbers, sum_weights(index, n, label, -weight, len(numbers)))
    drop_empty(file, numbers)
    file.db.executemany("DELETE FROM message WHERE id = ?", ((i,) for i in ids))
    _update_labels(file, label, weight, -1)
    return len(found)


def drop_empty(file: StoreFile, numbers: Numbers) -> None:
    """Delete those of these words that no message has any more, and the weights that were fitted to them."""
    file.put("next_number", next_number(file))
    empty = "".join(f" AND {column(label)} = 0" for label in file.labels().values())
    gone = [(i,) for (i,) in file.select_in("SELECT number FROM token WHERE number IN", numbers.tolist(), empty)]
    tables = [f"fitted_{fit:d}" for (fit,) in file.db.execute("SELECT id FROM fit")]
    for table in ["token", *tables]:
        file.db.executemany(f"DELETE FROM {table} WHERE number = ?", gone)


def relabel(file: StoreFile, digest: bytes, label: str) -> None:
    """Move a message that is known under another label to this one, with its time and weight."""
    row = "SELECT id, label, weight, tokens FROM message WHERE digest = ?"
    message, before, weight, blob = file.db.execute(row, (digest,)).fetchone()
    after = file.ensure_label(label)
    numbers, _ = unpack([blob])
    each = np.full(len(numbers), weight)
    add_to_counts(file, numbers, {before: -each, after: each})
    file.db.execute("UPDATE message SET label = ? WHERE id = ?", (after, message))
    _update_labels(file, np.array([before]), np.array([weight]), -1)
    _update_labels(file, np.array([after]), np.array([weight]), 1)
