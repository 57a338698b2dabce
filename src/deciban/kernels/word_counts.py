"""The loops that count words: streams of numbers into sums by class and word, or into rows of a sparse matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Codes
from deciban.kernels.compile import kernel
from deciban.kernels.utf8 import U0, U1, Bytes, Hashes, Ints

Floats = NDArray[np.float64]

CLASS, TOUCHED, ENTRIES, SERIAL = range(4)
"""Places in a counter's state: the class being summed, its words so far, the entries of the classes before, and how
many documents there were."""

TOTAL, DOCUMENTS, SEEN = range(3)
"""Places in the sums of a word: its values, its documents, and which document had it last."""

COUNTS, PRESENCE, LOG = range(3)
PLAIN, SUM, EUCLID = range(3)


@kernel
def value_of(n: int, values: int) -> float:
    """What a word counts for that occurs n times."""
    if values == COUNTS:
        return float(n)
    return 1.0 if values == PRESENCE else np.log1p(n)


@kernel
def length_of(times: Codes, distinct: Codes, m: int, values: int, length: int) -> float:
    """What the values of a document are divided by."""
    if length == PLAIN:
        return 1.0
    whole = 0.0
    for j in range(m):
        x = value_of(times[distinct[j]], values)
        whole += x if length == SUM else x * x
    return whole if length == SUM else np.sqrt(whole)


@kernel
def flush(state: Ints, sums: Floats, touched: Codes, word: Codes, klass: Codes, entries: Floats) -> None:
    """The sums of a class become entries, and all is zero again."""
    at = state[ENTRIES]
    for j in range(state[TOUCHED]):
        v = np.uint64(touched[j])
        word[at], klass[at] = touched[j], state[CLASS]
        entries[at, 0], entries[at, 1] = sums[v, TOTAL], sums[v, DOCUMENTS]
        sums[v, TOTAL] = sums[v, DOCUMENTS] = 0.0
        at += 1
    state[ENTRIES], state[TOUCHED] = at, 0


@kernel
def count_documents(
    first: int, stream: Ints, bounds: Ints, codes: Codes, weight: Floats, values: int, length: int,
    times: Codes, distinct: Codes, sums: Floats, touched: Codes, state: Ints, word: Codes, klass: Codes,
    entries: Floats,
) -> int:  # fmt: skip
    """Add documents to the sums of their classes; the first one for which the entries have no room, or their number.

    Documents that follow each other should be of one class: its words are summed in one place, and become entries
    when another class comes.
    """
    whole = length == PLAIN and values != LOG
    for i in range(first, len(codes)):
        if codes[i] != state[CLASS]:
            if state[ENTRIES] + state[TOUCHED] > len(word):
                return i
            flush(state, sums, touched, word, klass, entries)
            state[CLASS] = codes[i]
        w = weight[i] if len(weight) else 1.0
        a, b = np.uint64(bounds[i]), np.uint64(bounds[i + 1])
        state[SERIAL] += 1
        if whole:
            state[TOUCHED] = add_whole(stream, a, b, w, values, float(state[SERIAL]), sums, touched, state[TOUCHED])
        else:
            state[TOUCHED] = add_shares(
                stream, a, b, w, values, length, times, distinct, sums, touched, state[TOUCHED]
            )
    return len(codes)


@kernel
def add_whole(
    stream: Ints, a: Any, b: Any, w: float, values: int, serial: float, sums: Floats, touched: Codes, n_touched: int
) -> int:
    """Add the tokens of a document, each in one place: what it has of a word, and whether it is the first of them."""
    for t in range(a, b):
        v = np.uint64(stream[t])
        if sums[v, SEEN] != serial:
            sums[v, SEEN] = serial
            if sums[v, DOCUMENTS] == 0.0:
                touched[n_touched] = v
                n_touched += 1
            sums[v, DOCUMENTS] += w
            sums[v, TOTAL] += w
        elif values == COUNTS:
            sums[v, TOTAL] += w
    return n_touched


@kernel
def add_shares(
    stream: Ints, a: Any, b: Any, w: float, values: int, length: int, times: Codes, distinct: Codes, sums: Floats,
    touched: Codes, n_touched: int,
) -> int:  # fmt: skip
    """Add what each different word of a document counts for, which takes the whole document to know."""
    m = 0
    for t in range(a, b):
        v = np.uint64(stream[t])
        if times[v] == 0:
            distinct[m] = v
            m += 1
        times[v] += 1
    share = w / length_of(times, distinct, m, values, length) if m else w
    for j in range(m):
        v = np.uint64(distinct[j])
        if sums[v, DOCUMENTS] == 0.0:
            touched[n_touched] = v
            n_touched += 1
        sums[v, TOTAL] += share * value_of(times[v], values)
        sums[v, DOCUMENTS] += w
        times[v] = 0
    return n_touched


@kernel
def fill_rows(
    stream: Ints, bounds: Ints, place: Codes, values: int, length: int, times: Codes, distinct: Codes, indptr: Ints,
    indices: Codes, data: Floats,
) -> None:  # fmt: skip
    """Documents as rows of a sparse matrix, columns ascending; `place` is the column of a word, −1 for none."""
    at = 0
    for i in range(len(bounds) - 1):
        m = 0
        for t in range(bounds[i], bounds[i + 1]):
            v = stream[t]
            if v >= 0 and len(place):
                v = np.int64(place[v])
            if v < 0:
                continue
            if times[v] == 0:
                distinct[m] = v
                m += 1
            times[v] += 1
        distinct[:m].sort()
        whole = length_of(times, distinct, m, values, length)
        for j in range(m):
            v = distinct[j]
            indices[at], data[at] = v, value_of(times[v], values) / whole
            times[v] = 0
            at += 1
        indptr[i + 1] = at


@kernel
def place_words(order: Ints, hashes: Hashes, begin: Ints, size: Ints, text: Bytes, place: Ints, first: Ints) -> int:
    """Number words in the order of their hashes, equal ones alike; how many there are.

    `order` sorts them by hash; where different words have equal hashes it is sorted on, by their bytes.
    """
    n, i = 0, 0
    while i < len(order):
        end = i + 1
        while end < len(order) and hashes[order[end]] == hashes[order[i]]:
            end += 1
        sort_run(order, i, end, begin, size, text)
        for j in range(i, end):
            if j == i or compared(order[j - 1], order[j], begin, size, text) != 0:
                first[n] = order[j]
                n += 1
            place[order[j]] = n - 1
        i = end
    return n


@kernel
def sort_run(order: Ints, a: int, b: int, begin: Ints, size: Ints, text: Bytes) -> None:
    """Words of one hash by their bytes: nearly always one word, as often as there are parts to be joined."""
    for i in range(a + 1, b):
        j = i
        while j > a and compared(order[j - 1], order[j], begin, size, text) > 0:
            order[j - 1], order[j] = order[j], order[j - 1]
            j -= 1


@kernel
def compared(a: int, b: int, begin: Ints, size: Ints, text: Bytes) -> int:
    """Below zero, zero or above: word a comes before b, is the same, or comes after."""
    for j in range(min(size[a], size[b])):
        x, y = text[begin[a] + j], text[begin[b] + j]
        if x != y:
            return -1 if x < y else 1
    return size[a] - size[b]


@kernel
def copy_words(first: Ints, begin: Ints, text: Bytes, offsets: Ints, blob: Bytes) -> None:
    """Texts of words, one after another."""
    for i in range(len(first)):
        source, n = np.uint64(begin[first[i]]), np.uint64(offsets[i + 1] - offsets[i])
        at, j = np.uint64(offsets[i]), U0
        while j < n:
            blob[at + j] = text[source + j]
            j += U1


@kernel
def sort_entries(
    place: Any, word: Codes, klass: Codes, entries: Floats, cursor: Ints, out_klass: Codes, out: Floats
) -> None:
    """Entries to their words: `cursor` says where those of each begin, and in the end where they end.

    Those of a word are kept by class; an entry of a class that is there already is added to it. Documents come by
    class, so that nearly always only the last entry is looked at.
    """
    for i in range(len(word)):
        v = place[word[i]]
        start, end = cursor[v, 0], cursor[v, 1]
        j = end
        while j > start and out_klass[j - 1] > klass[i]:
            j -= 1
        if j > start and out_klass[j - 1] == klass[i]:
            out[j - 1, 0] += entries[i, 0]
            out[j - 1, 1] += entries[i, 1]
            continue
        for q in range(end, j, -1):
            out_klass[q], out[q, 0], out[q, 1] = out_klass[q - 1], out[q - 1, 0], out[q - 1, 1]
        out_klass[j], out[j, 0], out[j, 1] = klass[i], entries[i, 0], entries[i, 1]
        cursor[v, 1] = end + 1


@kernel
def close_gaps(cursor: Ints, klass: Codes, entries: Floats, start: Ints) -> int:
    """Move entries up over the room that was left for those that were added to others; how many there are."""
    at = 0
    for v in range(len(cursor)):
        for j in range(cursor[v, 0], cursor[v, 1]):
            klass[at], entries[at, 0], entries[at, 1] = klass[j], entries[j, 0], entries[j, 1]
            at += 1
        start[v + 1] = at
    return at
