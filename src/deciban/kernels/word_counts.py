"""Kernels that count words: streams of word numbers to totals by class and word, or to rows of a sparse matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Codes
from deciban.kernels.execution import kernel
from deciban.kernels.tokenizer import U0, U1, Bytes, Hashes, Ints

Floats = NDArray[np.float64]

CLASS, TOUCHED, ENTRIES, SERIAL = range(4)
"""Indices into a counter's state: the class being summed, the number of its words so far, the number of entries of
the classes before, and the number of documents."""

TOTAL, DOCUMENTS, SEEN = range(3)
"""Indices into the sums of a word: its values, its documents, and the last document that contained it."""

COUNTS, PRESENCE, LOG = range(3)
"""Kinds of values of a word: occurrences, presence, ln(1 + occurrences)."""

PLAIN, SUM, EUCLID = range(3)
"""Kinds of normalisation of a document: none, by the sum of its values, by their Euclidean norm."""


@kernel
def value_of(n: int, values: int) -> float:
    """Return the value of a word that occurs n times."""
    if values == COUNTS:
        return float(n)
    return 1.0 if values == PRESENCE else np.log1p(n)


@kernel
def find_divisor(times: Codes, distinct: Codes, m: int, values: int, length: int) -> float:
    """Return the divisor of the values of a document."""
    if length == PLAIN:
        return 1.0
    total = 0.0
    for j in range(m):
        x = value_of(times[distinct[j]], values)
        total += x if length == SUM else x * x
    return total if length == SUM else np.sqrt(total)


@kernel
def flush(state: Ints, sums: Floats, touched: Codes, word: Codes, klass: Codes, entries: Floats) -> None:
    """Convert the sums of a class to entries, and reset the sums to zero."""
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
    """Add documents to the sums of their classes; return the first one at which `entries` is full, or their number.

    Consecutive documents should be of one class: its words are summed in one array, and become entries
    when the class changes.
    """
    is_plain = length == PLAIN and values != LOG
    for i in range(first, len(codes)):
        if codes[i] != state[CLASS]:
            if state[ENTRIES] + state[TOUCHED] > len(word):
                return i
            flush(state, sums, touched, word, klass, entries)
            state[CLASS] = codes[i]
        w = weight[i] if len(weight) else 1.0
        a, b = np.uint64(bounds[i]), np.uint64(bounds[i + 1])
        state[SERIAL] += 1
        if is_plain:
            state[TOUCHED] = add_tokens(stream, a, b, w, values, float(state[SERIAL]), sums, touched, state[TOUCHED])
        else:
            state[TOUCHED] = add_distinct_words(
                stream, a, b, w, values, length, times, distinct, sums, touched, state[TOUCHED]
            )
    return len(codes)


@kernel
def add_tokens(
    stream: Ints, a: Any, b: Any, w: float, values: int, serial: float, sums: Floats, touched: Codes, n_touched: int
) -> int:
    """Add the tokens of a document without normalisation: occurrences or presence, and documents."""
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
def add_distinct_words(
    stream: Ints, a: Any, b: Any, w: float, values: int, length: int, times: Codes, distinct: Codes, sums: Floats,
    touched: Codes, n_touched: int,
) -> int:  # fmt: skip
    """Add the value of each distinct word of a document, which depends on the whole document."""
    m = 0
    for t in range(a, b):
        v = np.uint64(stream[t])
        if times[v] == 0:
            distinct[m] = v
            m += 1
        times[v] += 1
    share = w / find_divisor(times, distinct, m, values, length) if m else w
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
    """Convert documents to rows of a sparse matrix, columns ascending; `place`: column of a word, −1 for none."""
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
        divisor = find_divisor(times, distinct, m, values, length)
        for j in range(m):
            v = distinct[j]
            indices[at], data[at] = v, value_of(times[v], values) / divisor
            times[v] = 0
            at += 1
        indptr[i + 1] = at


@kernel
def place_words(order: Ints, hashes: Hashes, begin: Ints, size: Ints, text: Bytes, place: Ints, first: Ints) -> int:
    """Number words in the order of their hashes, equal words alike; return the number of distinct words.

    `order` sorts them by hash; where different words have equal hashes it is sorted further, by their bytes.
    """
    n, i = 0, 0
    while i < len(order):
        end = i + 1
        while end < len(order) and hashes[order[end]] == hashes[order[i]]:
            end += 1
        sort_run(order, i, end, begin, size, text)
        for j in range(i, end):
            if j == i or compare_words(order[j - 1], order[j], begin, size, text) != 0:
                first[n] = order[j]
                n += 1
            place[order[j]] = n - 1
        i = end
    return n


@kernel
def sort_run(order: Ints, a: int, b: int, begin: Ints, size: Ints, text: Bytes) -> None:
    """Sort words of equal hash by their bytes: nearly always one word, once for each part that is merged."""
    for i in range(a + 1, b):
        j = i
        while j > a and compare_words(order[j - 1], order[j], begin, size, text) > 0:
            order[j - 1], order[j] = order[j], order[j - 1]
            j -= 1


@kernel
def compare_words(a: int, b: int, begin: Ints, size: Ints, text: Bytes) -> int:
    """Return a number below zero, zero or above zero: word a comes before b, equals it, or comes after."""
    for j in range(min(size[a], size[b])):
        x, y = text[begin[a] + j], text[begin[b] + j]
        if x != y:
            return -1 if x < y else 1
    return size[a] - size[b]


@kernel
def copy_words(first: Ints, begin: Ints, text: Bytes, offsets: Ints, blob: Bytes) -> None:
    """Copy the texts of words one after another to `blob`."""
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
    """Move entries to their words: `cursor` is where those of each begin, and finally where they end.

    The entries of a word are sorted by class; an entry of a class that is present is added to it. Documents come by
    class, so that nearly always only the last entry is examined.
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
    """Close the gaps of entries that were added to others; return the number of entries."""
    at = 0
    for v in range(len(cursor)):
        for j in range(cursor[v, 0], cursor[v, 1]):
            klass[at], entries[at, 0], entries[at, 1] = klass[j], entries[j, 0], entries[j, 1]
            at += 1
        start[v + 1] = at
    return at
