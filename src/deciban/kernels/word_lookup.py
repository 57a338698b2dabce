"""Kernels that look up the numbers of words in a hash table and insert new words.

No array is replaced inside a kernel: where a table is full the kernel returns, the caller enlarges it and calls the
kernel again, which continues at the same token.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deciban.kernels.compile import kernel
from deciban.kernels.utf8 import LOW32, TOP, U0, U1, U7, U32, Bytes, Hashes, Ints, store

BLOCK = 64
"""Tokens whose slots of the table are fetched together."""

NO_NGRAM = np.uint64((1 << 64) - 1)
"""Stands for the key of an n-gram where a word is none."""

DOC, AT, WORDS, END, OUT = range(5)
"""Indices into a reader's state: next document, next token, number of words, bytes of their texts, output length."""

UNKNOWN = -1
"""The number of a word that is not in the table."""


@kernel
def find_slot(
    h: Any, token: Bytes, at: Any, n: Any, slots: Hashes, hashes: Hashes, text: Bytes, begin: Ints, size: Ints
) -> Any:
    """Return the slot of a token in the table, or the empty slot where it belongs; long ones are compared by bytes.

    A slot holds the upper half of the hash and the number of the word, counted from 1. The whole hash is stored
    with the words: common ones come early, so their hashes lie close together, and the table is half as large.
    """
    mask = np.uint64(len(slots) - 1)
    s = h & mask
    while slots[s] != U0:
        if (slots[s] ^ h) >> U32 == U0:
            word = (slots[s] & LOW32) - U1
            if hashes[word] == h:
                if h < TOP:
                    return s
                if np.uint64(size[word]) == n and bytes_are_equal(text, np.uint64(begin[word]), token, at, n):
                    return s
        s = (s + U1) & mask
    return s


@kernel
def bytes_are_equal(text: Bytes, a: Any, token: Bytes, b: Any, n: Any) -> Any:
    """Return whether n bytes at a of `text` equal those at b of `token`."""
    j = U0
    while j < n and text[a + j] == token[b + j]:
        j += U1
    return j == n


@kernel
def insert_words(count: int, hashes: Hashes, pair: Hashes, slots: Hashes) -> None:
    """Insert single words into a larger table; all are different, so none is compared."""
    mask = np.uint64(len(slots) - 1)
    for i in range(count):
        if len(pair) and pair[i] != NO_NGRAM:
            continue
        s = hashes[i] & mask
        while slots[s] != U0:
            s = (s + U1) & mask
        slots[s] = pack_slot(hashes[i], i)


@kernel
def pack_slot(h: Any, number: Any) -> Any:
    """Return the content of the slot of a word."""
    return (h & ~LOW32) | np.uint64(number + 1)


@kernel
def look_up(
    hashes: Hashes, content: Hashes, sizes: Ints, paper: Bytes, n_tokens: int, grow: bool, limit: int, slots: Hashes,
    known: Hashes, begin: Ints, size: Ints, text: Bytes, state: Ints, out: Ints,
) -> bool:  # fmt: skip
    """Write the numbers of tokens, UNKNOWN for a new one unless `grow`; return False where the table is full.

    The slots of a block of tokens are fetched before the first of them is examined.
    """
    found, mask = np.empty(BLOCK, np.uint64), np.uint64(len(slots) - 1)
    t, n_words, end = np.uint64(state[AT]), state[WORDS], np.uint64(state[END])
    while t < np.uint64(n_tokens):
        if grow and n_words + BLOCK > limit:
            state[AT], state[WORDS], state[END] = np.int64(t), n_words, np.int64(end)
            return False
        stop = min(t + np.uint64(BLOCK), np.uint64(n_tokens))
        for p in range(t, stop):
            found[p - t] = slots[hashes[p] & mask]
        for p in range(t, stop):
            h, n, place = hashes[p], np.uint64(sizes[p]), found[p - t]
            word = np.int64(place & LOW32) - 1
            if place == U0 or h >= TOP or known[np.uint64(word)] != h:
                s = find_slot(h, paper, content[p], n, slots, known, text, begin, size)
                word = np.int64(slots[s] & LOW32) - 1
                if word == UNKNOWN and grow:
                    word, slots[s] = n_words, pack_slot(h, n_words)
                    known[word], begin[word], size[word] = h, np.int64(end), np.int64(n)
                    append_text(text, end, n, content[p], paper)
                    end, n_words = end + n, n_words + 1
            out[p] = word
        t = stop
    state[AT], state[WORDS], state[END] = np.int64(t), n_words, np.int64(end)
    return True


@kernel
def append_text(text: Bytes, at: Any, n: Any, content: Any, paper: Bytes) -> None:
    """Append the text of a new word to those of the known words."""
    if n <= U7:
        store(text, at, content)
    else:
        for j in range(n):
            text[at + np.uint64(j)] = paper[content + np.uint64(j)]


@kernel
def remove_stop_words(n_stop: int, numbers: Ints, bounds: Ints, out_bounds: Ints) -> int:
    """Remove stop words, which have the lowest numbers, in place; return the number of tokens that are left."""
    out = 0
    for i in range(len(bounds) - 1):
        for t in range(bounds[i], bounds[i + 1]):
            if numbers[t] >= n_stop or numbers[t] == UNKNOWN:
                numbers[out] = numbers[t]
                out += 1
        out_bounds[i + 1] = out
    return out
