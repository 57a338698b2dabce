"""The loops that look words up: their numbers from a table of hashes, in which new ones are remembered.

Never an array is replaced inside a loop: where a table is full the loop stops, the caller gives it more room, and it
goes on from the same place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deciban.kernels.compile import kernel
from deciban.kernels.utf8 import LOW32, TOP, U0, U1, U7, U32, Bytes, Hashes, Ints, store

BLOCK = 64
"""Tokens whose places in a table are fetched together."""

SINGLE = np.uint64((1 << 64) - 1)
"""In place of the two words that a run is made of: it is none."""

DOC, AT, WORDS, END, OUT = range(5)
"""Places in a reader's state: the next document and token; words known, bytes of their texts, numbers put out."""

UNKNOWN = -1


@kernel
def slot_of(
    h: Any, token: Bytes, at: Any, n: Any, slots: Hashes, hashes: Hashes, text: Bytes, begin: Ints, size: Ints
) -> Any:
    """Where a token is in the table, or the empty place where it belongs; long ones are compared byte by byte.

    A place holds the upper half of the hash and the number of the word, counted from 1. Both halves of the hash stand
    with the words: common ones come early, so theirs lie close together, and the table is half as large.
    """
    mask = np.uint64(len(slots) - 1)
    s = h & mask
    while slots[s] != U0:
        if (slots[s] ^ h) >> U32 == U0:
            held = (slots[s] & LOW32) - U1
            if hashes[held] == h:
                if h < TOP:
                    return s
                if np.uint64(size[held]) == n and same(text, np.uint64(begin[held]), token, at, n):
                    return s
        s = (s + U1) & mask
    return s


@kernel
def same(text: Bytes, a: Any, token: Bytes, b: Any, n: Any) -> Any:
    """Whether n bytes here and there are the same."""
    j = U0
    while j < n and text[a + j] == token[b + j]:
        j += U1
    return j == n


@kernel
def enter(count: int, hashes: Hashes, pair: Hashes, slots: Hashes) -> None:
    """Put single words into a larger table; all are different, so none is compared."""
    mask = np.uint64(len(slots) - 1)
    for i in range(count):
        if len(pair) and pair[i] != SINGLE:
            continue
        s = hashes[i] & mask
        while slots[s] != U0:
            s = (s + U1) & mask
        slots[s] = held(hashes[i], i)


@kernel
def held(h: Any, number: Any) -> Any:
    """What a place of the table holds for a word."""
    return (h & ~LOW32) | np.uint64(number + 1)


@kernel
def look_up(
    hashes: Hashes, content: Hashes, sizes: Ints, paper: Bytes, n_tokens: int, grow: bool, limit: int, slots: Hashes,
    known: Hashes, begin: Ints, size: Ints, text: Bytes, state: Ints, out: Ints,
) -> bool:  # fmt: skip
    """The numbers of tokens, UNKNOWN where one may not be remembered; False: the table is full, give it room.

    The places of a block of tokens are fetched before the first of them is looked at.
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
                s = slot_of(h, paper, content[p], n, slots, known, text, begin, size)
                word = np.int64(slots[s] & LOW32) - 1
                if word == UNKNOWN and grow:
                    word, slots[s] = n_words, held(h, n_words)
                    known[word], begin[word], size[word] = h, np.int64(end), np.int64(n)
                    keep(text, end, n, content[p], paper)
                    end, n_words = end + n, n_words + 1
            out[p] = word
        t = stop
    state[AT], state[WORDS], state[END] = np.int64(t), n_words, np.int64(end)
    return True


@kernel
def keep(text: Bytes, at: Any, n: Any, content: Any, paper: Bytes) -> None:
    """Write the text of a new word behind those that are known."""
    if n <= U7:
        store(text, at, content)
    else:
        for j in range(n):
            text[at + np.uint64(j)] = paper[content + np.uint64(j)]


@kernel
def leave_out(n_stop: int, numbers: Ints, bounds: Ints, out_bounds: Ints) -> int:
    """Close the gaps that stop words, which have the lowest numbers, leave; how many tokens there are then."""
    out = 0
    for i in range(len(bounds) - 1):
        for t in range(bounds[i], bounds[i + 1]):
            if numbers[t] >= n_stop or numbers[t] == UNKNOWN:
                numbers[out] = numbers[t]
                out += 1
        out_bounds[i + 1] = out
    return out
