"""Kernels that count words: numbers of words to totals by class and word, or to rows of a sparse matrix.

`numbers` are the words of all documents, one document after another; `bounds` is where each begins and ends. `times`
(zeros, one per word) and `distinct` are work space, and `times` is zero again at the end.
"""

from typing import Any

import numpy as np

from deciban._typing import Array, Codes
from deciban.kernels.execution import kernel
from deciban.kernels.tokenizer import Bytes, Hashes, Ints
from deciban.kernels.word_lookup import copy_bytes

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
def compute_value(n: int, values: int) -> float:
    """Return the value of a word that occurs n times."""
    if values == COUNTS:
        return float(n)
    return 1.0 if values == PRESENCE else np.log1p(n)


@kernel
def find_divisor(times: Codes, distinct: Codes, m: int, values: int, length: int) -> float:
    """Return the divisor of a document's values: 1, their sum or their norm; `distinct[:m]` are its words."""
    if length == PLAIN:
        return 1.0
    total = 0.0
    for j in range(m):
        x = compute_value(times[distinct[j]], values)
        total += x if length == SUM else x * x
    return total if length == SUM else np.sqrt(total)


@kernel
def flush(state: Ints, sums: Array, touched: Codes, word: Codes, class_code: Codes, entries: Array) -> None:
    """Append the sums of the class being summed to the entries, and reset the sums to zero."""
    at = state[ENTRIES]
    for j in range(state[TOUCHED]):
        v = np.uint64(touched[j])
        word[at], class_code[at] = touched[j], state[CLASS]
        entries[at, 0], entries[at, 1] = sums[v, TOTAL], sums[v, DOCUMENTS]
        sums[v, TOTAL] = sums[v, DOCUMENTS] = 0.0
        at += 1
    state[ENTRIES], state[TOUCHED] = at, 0


@kernel
def count_documents(
    first: int, numbers: Ints, bounds: Ints, codes: Codes, weight: Array, values: int, length: int,
    times: Codes, distinct: Codes, sums: Array, touched: Codes, state: Ints, word: Codes, class_code: Codes,
    entries: Array,
) -> int:  # fmt: skip
    """Add documents from `first` on to the sums of their classes.

    Returns the document at which `entries` is full, or the number of documents. Consecutive documents should be of
    one class: its words are summed in one array, and become entries when the class changes, the last by `flush`.
    """
    is_plain = length == PLAIN and values != LOG
    for i in range(first, len(codes)):
        if codes[i] != state[CLASS]:
            if state[ENTRIES] + state[TOUCHED] > len(word):
                return i
            flush(state, sums, touched, word, class_code, entries)
            state[CLASS] = codes[i]
        w = weight[i] if len(weight) else 1.0
        a, b = np.uint64(bounds[i]), np.uint64(bounds[i + 1])
        state[SERIAL] += 1
        if is_plain:
            state[TOUCHED] = add_tokens(numbers, a, b, w, values, float(state[SERIAL]), sums, touched, state[TOUCHED])
        else:
            state[TOUCHED] = add_distinct_words(
                numbers, a, b, w, values, length, times, distinct, sums, touched, state[TOUCHED]
            )
    return len(codes)


@kernel
def add_tokens(
    numbers: Ints, a: Any, b: Any, w: float, values: int, serial: float, sums: Array, touched: Codes, n_touched: int
) -> int:
    """Add occurrences or presence, and one document, for each word of a document; return the new `n_touched`."""
    for t in range(a, b):
        v = np.uint64(numbers[t])
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
    numbers: Ints, a: Any, b: Any, w: float, values: int, length: int, times: Codes, distinct: Codes, sums: Array,
    touched: Codes, n_touched: int,
) -> int:  # fmt: skip
    """Add the normalised value of each distinct word of a document; return the new `n_touched`."""
    m = 0
    for t in range(a, b):
        v = np.uint64(numbers[t])
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
        sums[v, TOTAL] += share * compute_value(times[v], values)
        sums[v, DOCUMENTS] += w
        times[v] = 0
    return n_touched


@kernel
def fill_rows(
    numbers: Ints, bounds: Ints, column_of: Codes, values: int, length: int, times: Codes, distinct: Codes,
    indptr: Ints, indices: Codes, data: Array,
) -> None:  # fmt: skip
    """Convert documents to rows of a sparse matrix, columns ascending.

    `column_of` is the column of each word, −1 for none; empty: a word's number is its column.
    """
    at = 0
    for i in range(len(bounds) - 1):
        m = 0
        for t in range(bounds[i], bounds[i + 1]):
            v = numbers[t]
            if v >= 0 and len(column_of):
                v = np.int64(column_of[v])
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
            indices[at], data[at] = v, compute_value(times[v], values) / divisor
            times[v] = 0
            at += 1
        indptr[i + 1] = at


@kernel
def number_words(order: Ints, hashes: Hashes, begin: Ints, size: Ints, text: Bytes, out: Ints, first: Ints) -> int:
    """Number words in the order of their hashes, equal words alike; return the number of distinct words.

    `out` receives the number of each word, `first` the first word that has each number.
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
            out[order[j]] = n - 1
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
    """Copy the texts of the words `first` to `blob`, that of first[i] to offsets[i]."""
    for i in range(len(first)):
        n = np.uint64(offsets[i + 1] - offsets[i])
        copy_bytes(blob, np.uint64(offsets[i]), text, np.uint64(begin[first[i]]), n)


@kernel
def sort_entries(
    number_of: Ints, word: Codes, class_code: Codes, entries: Array, cursor: Ints, out_code: Codes, out: Array
) -> None:
    """Copy entries to `out`, ordered by word: cursor[v] is where those of word v begin, and end so far.

    `number_of` has the number v of each shard's word.
    The entries of a word are sorted by class; an entry of a class that is present is added to it. Documents come by
    class, so that nearly always only the last entry is examined.
    """
    for i in range(len(word)):
        v = number_of[word[i]]
        start, end = cursor[v, 0], cursor[v, 1]
        j = end
        while j > start and out_code[j - 1] > class_code[i]:
            j -= 1
        if j > start and out_code[j - 1] == class_code[i]:
            out[j - 1, 0] += entries[i, 0]
            out[j - 1, 1] += entries[i, 1]
            continue
        for q in range(end, j, -1):
            out_code[q], out[q, 0], out[q, 1] = out_code[q - 1], out[q - 1, 0], out[q - 1, 1]
        out_code[j], out[j, 0], out[j, 1] = class_code[i], entries[i, 0], entries[i, 1]
        cursor[v, 1] = end + 1


@kernel
def close_gaps(cursor: Ints, class_code: Codes, entries: Array, start: Ints) -> int:
    """Close the gaps between the words' entries, in place; write where each word begins; return their number."""
    at = 0
    for v in range(len(cursor)):
        for j in range(cursor[v, 0], cursor[v, 1]):
            class_code[at], entries[at, 0], entries[at, 1] = class_code[j], entries[j, 0], entries[j, 1]
            at += 1
        start[v + 1] = at
    return at
