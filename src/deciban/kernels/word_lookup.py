"""Kernels that look up the numbers of words in a hash table and insert new words.

No array is replaced inside a kernel: where a table is full the kernel returns, the caller enlarges it and calls the
kernel again, which continues at the same token.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from deciban.kernels.execution import kernel
from deciban.kernels.tokenizer import (
    LOW32,
    TOP,
    U0,
    U1,
    U7,
    U8,
    U32,
    U64,
    Bytes,
    Hashes,
    Ints,
    TokenArrays,
    add_chunk,
    finish_hash,
    join_hashes,
    mix_bits,
    store,
)

BLOCK = 64
"""Tokens whose slots of the table are fetched together."""

NO_NGRAM = np.uint64((1 << 64) - 1)
"""Stands for the key of an n-gram where a word is none."""

DOC, AT, WORDS, END, OUT = range(5)
"""Indices into a reader's state: next document, next token, number of words, bytes of their texts, output length."""

UNKNOWN = -1
"""The number of a word that is not in the table."""


class WordTable(NamedTuple):
    """A hash table of words: its slots, and for each word its hash, and where its text begins and its size.

    A slot holds the upper half of the hash and the number of the word, counted from 1. The whole hash is stored
    with the words: common ones come early, so their hashes lie close together, and the table is half as large.
    """

    slots: Hashes
    hashes: Hashes
    begin: Ints
    size: Ints
    text: Bytes


@kernel
def find_slot(
    h: Any, token: Bytes, at: Any, n: Any, slots: Hashes, hashes: Hashes, begin: Ints, size: Ints, text: Bytes
) -> Any:
    """Return the slot of a token, or the empty slot where it belongs; long tokens are compared by their bytes.

    It takes the arrays of the table: as a tuple they would be counted as references in every call (4 % slower).
    """
    mask = np.uint64(len(slots) - 1)
    s = h & mask
    while slots[s] != U0:
        if (slots[s] ^ h) >> U32 == U0:
            word = (slots[s] & LOW32) - U1
            if hashes[word] == h:
                if h < TOP:
                    return s
                if np.uint64(size[word]) == n and are_bytes_equal(text, np.uint64(begin[word]), token, at, n):
                    return s
        s = (s + U1) & mask
    return s


@kernel
def are_bytes_equal(text: Bytes, a: Any, token: Bytes, b: Any, n: Any) -> Any:
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
    tokens: TokenArrays, n_tokens: int, grow: bool, limit: int, table: WordTable, state: Ints, out: Ints
) -> bool:
    """Write the numbers of tokens, UNKNOWN for a new one unless `grow`; return False where the table is full.

    The slots of a block of tokens are fetched before the first of them is examined.
    """
    hashes, contents, sizes, texts = tokens
    slots, known, begin, size, text = table
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
                s = find_slot(h, texts, contents[p], n, slots, known, begin, size, text)
                word = np.int64(slots[s] & LOW32) - 1
                if word == UNKNOWN and grow:
                    word, slots[s] = n_words, pack_slot(h, n_words)
                    known[word], begin[word], size[word] = h, np.int64(end), np.int64(n)
                    append_text(text, end, n, contents[p], texts)
                    end, n_words = end + n, n_words + 1
            out[p] = word
        t = stop
    state[AT], state[WORDS], state[END] = np.int64(t), n_words, np.int64(end)
    return True


@kernel
def append_text(text: Bytes, at: Any, n: Any, content: Any, texts: Bytes) -> None:
    """Append the text of a new word to those of the known words."""
    if n <= U7:
        store(text, at, content)
    else:
        for j in range(n):
            text[at + np.uint64(j)] = texts[content + np.uint64(j)]


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


@kernel
def find_ngram_slot(key: Any, pairs: Hashes, pair: Hashes) -> Any:
    """Return the slot of an n-gram (its first n − 1 words and its last), or the empty slot where it belongs."""
    mask, h = np.uint64(len(pairs) - 1), mix_bits(key)
    s = h & mask
    while pairs[s] != U0:
        if (pairs[s] ^ h) >> U32 == U0 and pair[(pairs[s] & LOW32) - U1] == key:
            return s
        s = (s + U1) & mask
    return s


@kernel
def insert_ngrams(count: int, pair: Hashes, pairs: Hashes) -> None:
    """Insert n-grams into a larger table."""
    for i in range(count):
        if pair[i] != NO_NGRAM:
            pairs[find_ngram_slot(pair[i], pairs, pair)] = pack_slot(mix_bits(pair[i]), i)


@kernel
def number_ngrams(
    n: int, first: Ints, tokens: Ints, bounds: Ints, grow: bool, limit: int, pairs: Hashes, hashes: Hashes,
    begin: Ints, pair: Hashes, state: Ints, out: Ints,
) -> bool:  # fmt: skip
    """Number the n-gram that begins at each token, from the number of its first n − 1 words and its last word.

    UNKNOWN where the document ends before, or has an unknown word. Returns False where the tables are full. The
    slots of a block of n-grams are fetched before the first of them is examined, so as not to wait for each.
    """
    if not len(tokens):
        return True
    keys, found = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    i, t, n_words, mask = np.uint64(state[DOC]), np.uint64(state[AT]), state[WORDS], np.uint64(len(pairs) - 1)
    end, further = np.uint64(bounds[i + U1]), np.uint64(n - 1)
    while t < np.uint64(len(tokens)):
        if grow and n_words + BLOCK > limit:
            state[DOC], state[AT], state[WORDS] = np.int64(i), np.int64(t), n_words
            return False
        stop = min(t + np.uint64(BLOCK), np.uint64(len(tokens)))
        for p in range(t, stop):
            while p >= end:
                i += U1
                end = np.uint64(bounds[i + U1])
            key = NO_NGRAM
            if p + further < end and first[p] != UNKNOWN and tokens[p + further] != UNKNOWN:
                key = np.uint64(first[p]) << U32 | np.uint64(tokens[p + further])
            keys[p - t], found[p - t] = key, pairs[mix_bits(key) & mask]
        for p in range(t, stop):
            key, place = keys[p - t], found[p - t]
            if key == NO_NGRAM:
                out[p] = UNKNOWN
                continue
            if (place ^ mix_bits(key)) >> U32 != U0 or place == U0 or pair[(place & LOW32) - U1] != key:
                s = find_ngram_slot(key, pairs, pair)
                if pairs[s] == U0 and grow:
                    pairs[s], pair[n_words] = pack_slot(mix_bits(key), n_words), key
                    hashes[n_words], begin[n_words] = join_hashes(hashes[key >> U32], hashes[key & LOW32]), -1
                    n_words += 1
                place = pairs[s]
            out[p] = np.int64(place & LOW32) - 1
        t = stop
    state[DOC], state[AT], state[WORDS] = np.int64(i), np.int64(t), n_words
    return True


@kernel
def collect_ngrams(levels: Any, bounds: Ints, stream: Ints, out_bounds: Ints) -> Any:
    """Collect the n-grams of every length, document by document, without unknown ones; return their number."""
    out = U0
    for i in range(len(bounds) - 1):
        for level in range(len(levels)):
            for t in range(np.uint64(bounds[i]), np.uint64(bounds[i + 1])):
                stream[out] = levels[level, t]
                out += U1 if levels[level, t] != UNKNOWN else U0
        out_bounds[i + 1] = np.int64(out)
    return np.int64(out)


@kernel
def hash_ngrams(
    tokens: Ints, bounds: Ints, lowest: int, highest: int, column_mask: Any, stream: Ints, out_bounds: Ints
) -> int:
    """Write the hashed columns of n-grams of words, which are given by their hashes; return their number."""
    out = 0
    for i in range(len(bounds) - 1):
        for t in range(bounds[i], bounds[i + 1]):
            h = np.uint64(tokens[t])
            for n in range(1, min(highest, bounds[i + 1] - t) + 1):
                if n > 1:
                    h = join_hashes(h, np.uint64(tokens[t + n - 1]))
                if n >= lowest:
                    stream[out] = np.int64(h & column_mask)
                    out += 1
        out_bounds[i + 1] = out
    return out


@kernel
def copy_bytes(text: Bytes, at: int, source: int, n: int) -> int:
    """Copy n bytes within `text`, and return where the copy ends."""
    for j in range(n):
        text[at + j] = text[source + j]
    return at + n


@kernel
def write_ngram_texts(count: int, text: Bytes, begin: Ints, size: Ints, pair: Hashes, at: int) -> int:
    """Append the texts of n-grams to those of single words, in an array that is large enough; return the new end."""
    for v in range(count):
        if begin[v] < 0:
            begin[v], prefix, last = at, pair[v] >> U32, pair[v] & LOW32
            at = copy_bytes(text, at, begin[prefix], size[prefix])
            text[at] = 32
            at = copy_bytes(text, at + 1, begin[last], size[last])
    return at


@kernel
def measure_ngram_texts(count: int, begin: Ints, size: Ints, pair: Hashes) -> int:
    """Return how many bytes `write_ngram_texts` will write, and set the sizes of the n-grams."""
    total = 0
    for v in range(count):
        if begin[v] < 0:
            size[v] = size[pair[v] >> U32] + 1 + size[pair[v] & LOW32]
            total += size[v]
    return total


@kernel
def hash_bytes(text: Bytes, at: Any, end: Any) -> Any:
    """Return the hash of a text: those of its parts between single spaces, joined."""
    joined, first = U0, True
    n, chunk, shift, h = U0, U0, U0, U0
    while at <= end:
        if at == end or text[at] == 32:
            part = finish_hash(chunk, h, n)
            joined = part if first else join_hashes(joined, part)
            first, n, chunk, shift, h = False, U0, U0, U0, U0
        else:
            chunk |= np.uint64(text[at]) << shift
            n += U1
            shift += U8
            if shift == U64:
                h, chunk, shift = add_chunk(h, chunk), U0, U0
        at += U1
    return joined


@kernel
def number_character_ngrams(
    lowered: Bytes, marks: Ints, n_chars: int, in_words: bool, lowest: int, highest: int, column_mask: Any,
    grow: bool, limit: int, table: WordTable, state: Ints, stream: Ints,
) -> bool:  # fmt: skip
    """Number the character n-grams of a prepared document, from the one in `state` on; False: tables are full.

    `in_words`: no n-gram reaches beyond the spaces around a word, and a word shorter than n counts once.
    """
    slots, hashes, begin, size, text = table
    a, n_words, end_of_text, out = state[AT], state[WORDS], np.uint64(state[END]), state[OUT]
    while a < n_chars:
        stop = n_chars
        if in_words:
            if a == n_chars - 1:
                break
            stop = a + 1
            while stop < n_chars and lowered[marks[stop]] != 32:
                stop += 1
            stop += 1
        at_space = in_words and lowered[marks[a]] == 32
        if grow and (n_words + highest > limit or len(text) < np.int64(end_of_text) + 4 * highest * highest):
            state[AT], state[WORDS], state[END], state[OUT] = a, n_words, np.int64(end_of_text), out
            return False
        for n in range(lowest, highest + 1):
            to = a + n
            if to > stop:
                if not at_space:
                    break
                if n > lowest and to - 1 >= stop:
                    break
                to = stop
            n_bytes = marks[to] - marks[a]
            place = np.uint64(marks[a])
            h = hash_bytes(lowered, place, np.uint64(marks[to]))
            if column_mask != U0:
                stream[out] = np.int64(h & column_mask)
                out += 1
                continue
            s = find_slot(h, lowered, place, np.uint64(n_bytes), slots, hashes, begin, size, text)
            if slots[s] == U0:
                if not grow:
                    continue
                slots[s] = pack_slot(h, n_words)
                hashes[n_words], begin[n_words], size[n_words] = h, np.int64(end_of_text), n_bytes
                for j in range(n_bytes):
                    text[end_of_text + np.uint64(j)] = lowered[marks[a] + j]
                end_of_text += np.uint64(n_bytes)
                n_words += 1
            stream[out] = np.int64(slots[s] & LOW32) - 1
            out += 1
        a += 1
    state[AT], state[WORDS], state[END], state[OUT] = 0, n_words, np.int64(end_of_text), out
    return True
