"""Kernels that look up the numbers of words in a hash table and insert new words.

No array is replaced inside a kernel: where a table is full the kernel returns, the caller enlarges it and calls the
kernel again, which continues at the same token.
"""

from typing import Any, NamedTuple

import numpy as np

from deciban.kernels.execution import kernel
from deciban.kernels.tokenizer import LOW32, U0, U1, U8, U64, Bytes, Hashes, Ints, TokenArrays, store
from deciban.kernels.word_hashes import TOP, U7, U32, add_chunk, finish_hash, join_hashes, mix_bits

BLOCK = 64
"""Tokens whose slots of the table are fetched together."""

NO_NGRAM = np.uint64((1 << 64) - 1)
"""The key of a word that is not an n-gram."""

DOC, AT, WORDS, END, OUT = range(5)
"""Indices into a reader's state: next document, next token, number of words, bytes of their texts, output length."""

NO_WORD = -1
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
def insert_words(count: int, hashes: Hashes, ngram_parts: Hashes, slots: Hashes) -> None:
    """Insert the first `count` words, without n-grams, into empty slots; all are different, so none is compared."""
    mask = np.uint64(len(slots) - 1)
    for i in range(count):
        if len(ngram_parts) and ngram_parts[i] != NO_NGRAM:
            continue
        s = hashes[i] & mask
        while slots[s] != U0:
            s = (s + U1) & mask
        slots[s] = pack_slot(hashes[i], i)


@kernel
def pack_slot(h: Any, number: Any) -> Any:
    """Return the content of a word's slot: the upper half of its hash, and its number plus 1."""
    return (h & ~LOW32) | np.uint64(number + 1)


@kernel
def look_up(
    tokens: TokenArrays, n_tokens: int, grow: bool, limit: int, table: WordTable, state: Ints, out: Ints
) -> bool:
    """Write the numbers of tokens from state[AT] on to `out`, NO_WORD for a new one unless it is added (`grow`).

    Updates `state`. Returns False where the table might exceed `limit` words: enlarge it and call again. Its `text`
    has space for all tokens. The slots of a block of tokens are fetched before the first of them is examined.
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
            h, n, slot = hashes[p], np.uint64(sizes[p]), found[p - t]
            word = np.int64(slot & LOW32) - 1
            if slot == U0 or h >= TOP or known[np.uint64(word)] != h:
                s = find_slot(h, texts, contents[p], n, slots, known, begin, size, text)
                word = np.int64(slots[s] & LOW32) - 1
                if word == NO_WORD and grow:
                    word, slots[s] = n_words, pack_slot(h, n_words)
                    known[word], begin[word], size[word] = h, np.int64(end), np.int64(n)
                    if n <= U7:
                        store(text, end, contents[p])
                    else:
                        copy_bytes(text, end, texts, contents[p], n)
                    end, n_words = end + n, n_words + 1
            out[p] = word
        t = stop
    state[AT], state[WORDS], state[END] = np.int64(t), n_words, np.int64(end)
    return True


@kernel
def copy_bytes(target: Bytes, at: Any, source: Bytes, begin: Any, n: Any) -> Any:
    """Copy n bytes of `source`, from `begin` on, to `target`, from `at` on; return where the copy ends."""
    for j in range(n):
        target[at + np.uint64(j)] = source[begin + np.uint64(j)]
    return at + n


@kernel
def remove_stop_words(n_stop: int, numbers: Ints, bounds: Ints, out_bounds: Ints) -> int:
    """Remove words with numbers below `n_stop`, in place; write the new bounds; return the number of tokens left."""
    out = 0
    for i in range(len(bounds) - 1):
        for t in range(bounds[i], bounds[i + 1]):
            if numbers[t] >= n_stop or numbers[t] == NO_WORD:
                numbers[out] = numbers[t]
                out += 1
        out_bounds[i + 1] = out
    return out


@kernel
def find_ngram_slot(key: Any, ngram_slots: Hashes, ngram_parts: Hashes) -> Any:
    """Return the slot of an n-gram, or the empty slot where it belongs.

    The key of an n-gram, which `ngram_parts` has for each word, is the number of its first n − 1 words in the upper
    half and that of its last word in the lower half; NO_NGRAM for a single word.
    """
    mask, h = np.uint64(len(ngram_slots) - 1), mix_bits(key)
    s = h & mask
    while ngram_slots[s] != U0:
        if (ngram_slots[s] ^ h) >> U32 == U0 and ngram_parts[(ngram_slots[s] & LOW32) - U1] == key:
            return s
        s = (s + U1) & mask
    return s


@kernel
def insert_ngrams(count: int, ngram_parts: Hashes, ngram_slots: Hashes) -> None:
    """Insert those of the first `count` words that are n-grams into empty `ngram_slots`."""
    for i in range(count):
        if ngram_parts[i] != NO_NGRAM:
            ngram_slots[find_ngram_slot(ngram_parts[i], ngram_slots, ngram_parts)] = pack_slot(
                mix_bits(ngram_parts[i]), i
            )


@kernel
def number_ngrams(
    n: int, first: Ints, tokens: Ints, bounds: Ints, grow: bool, limit: int, ngram_slots: Hashes, hashes: Hashes,
    begin: Ints, ngram_parts: Hashes, state: Ints, out: Ints,
) -> bool:  # fmt: skip
    """Number the n-gram that begins at each token, from the number of its first n − 1 words and its last word.

    `first` has the numbers of (n − 1)-grams, `out` receives those of n-grams: NO_WORD where the document ends before
    or has an unknown word. Updates `state`. Returns False where the tables might exceed `limit` words. The slots of
    a block of n-grams are fetched before the first of them is examined, so as not to wait for each.
    """
    if not len(tokens):
        return True
    keys, found = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    i, t, n_words, mask = np.uint64(state[DOC]), np.uint64(state[AT]), state[WORDS], np.uint64(len(ngram_slots) - 1)
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
            if p + further < end and first[p] != NO_WORD and tokens[p + further] != NO_WORD:
                key = np.uint64(first[p]) << U32 | np.uint64(tokens[p + further])
            keys[p - t], found[p - t] = key, ngram_slots[mix_bits(key) & mask]
        for p in range(t, stop):
            key, slot = keys[p - t], found[p - t]
            if key == NO_NGRAM:
                out[p] = NO_WORD
                continue
            if (slot ^ mix_bits(key)) >> U32 != U0 or slot == U0 or ngram_parts[(slot & LOW32) - U1] != key:
                s = find_ngram_slot(key, ngram_slots, ngram_parts)
                if ngram_slots[s] == U0 and grow:
                    ngram_slots[s], ngram_parts[n_words] = pack_slot(mix_bits(key), n_words), key
                    hashes[n_words], begin[n_words] = join_hashes(hashes[key >> U32], hashes[key & LOW32]), -1
                    n_words += 1
                slot = ngram_slots[s]
            out[p] = np.int64(slot & LOW32) - 1
        t = stop
    state[DOC], state[AT], state[WORDS] = np.int64(i), np.int64(t), n_words
    return True


@kernel
def collect_ngrams(levels: Any, bounds: Ints, numbers: Ints, out_bounds: Ints) -> Any:
    """Write the known n-grams of all lengths (`levels`, one row each) to `numbers`, document by document.

    out_bounds[i + 1] is where those of document i end. Returns the number of n-grams.
    """
    out = U0
    for i in range(len(bounds) - 1):
        for level in range(len(levels)):
            for t in range(np.uint64(bounds[i]), np.uint64(bounds[i + 1])):
                numbers[out] = levels[level, t]
                out += U1 if levels[level, t] != NO_WORD else U0
        out_bounds[i + 1] = np.int64(out)
    return np.int64(out)


@kernel
def hash_ngrams(
    tokens: Ints, bounds: Ints, lowest: int, highest: int, column_mask: Any, numbers: Ints, out_bounds: Ints
) -> int:
    """Write the hashed columns of n-grams to `numbers`, and where each document ends; return the number of n-grams.

    `tokens` are the hashes of words.
    """
    out = 0
    for i in range(len(bounds) - 1):
        for t in range(bounds[i], bounds[i + 1]):
            h = np.uint64(tokens[t])
            for n in range(1, min(highest, bounds[i + 1] - t) + 1):
                if n > 1:
                    h = join_hashes(h, np.uint64(tokens[t + n - 1]))
                if n >= lowest:
                    numbers[out] = np.int64(h & column_mask)
                    out += 1
        out_bounds[i + 1] = out
    return out


@kernel
def write_ngram_texts(count: int, text: Bytes, begin: Ints, size: Ints, ngram_parts: Hashes, end: Any) -> Any:
    """Append the texts of n-grams without one (`begin` below 0) to `text`, which is large enough; return its new end.

    Their sizes have been set by `measure_ngram_texts`.
    """
    for v in range(count):
        if begin[v] < 0:
            begin[v], prefix, last = end, ngram_parts[v] >> U32, ngram_parts[v] & LOW32
            at = copy_bytes(text, np.uint64(end), text, np.uint64(begin[prefix]), np.uint64(size[prefix]))
            text[at] = 32
            end = np.int64(copy_bytes(text, at + U1, text, np.uint64(begin[last]), np.uint64(size[last])))
    return end


@kernel
def measure_ngram_texts(count: int, begin: Ints, size: Ints, ngram_parts: Hashes) -> int:
    """Return how many bytes `write_ngram_texts` will write, and set the sizes of these n-grams."""
    total = 0
    for v in range(count):
        if begin[v] < 0:
            size[v] = size[ngram_parts[v] >> U32] + 1 + size[ngram_parts[v] & LOW32]
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
    grow: bool, limit: int, table: WordTable, state: Ints, numbers: Ints,
) -> bool:  # fmt: skip
    """Write the numbers (or hashed columns) of a prepared document's character n-grams, from state[AT] on.

    Unknown ones are left out unless added (`grow`). Updates `state`. Returns False where tables are full.
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
            begin_byte = np.uint64(marks[a])
            h = hash_bytes(lowered, begin_byte, np.uint64(marks[to]))
            if column_mask != U0:
                numbers[out] = np.int64(h & column_mask)
                out += 1
                continue
            s = find_slot(h, lowered, begin_byte, np.uint64(n_bytes), slots, hashes, begin, size, text)
            if slots[s] == U0:
                if not grow:
                    continue
                slots[s] = pack_slot(h, n_words)
                hashes[n_words], begin[n_words], size[n_words] = h, np.int64(end_of_text), n_bytes
                end_of_text = copy_bytes(text, end_of_text, lowered, begin_byte, np.uint64(n_bytes))
                n_words += 1
            numbers[out] = np.int64(slots[s] & LOW32) - 1
            out += 1
        a += 1
    state[AT], state[WORDS], state[END], state[OUT] = 0, n_words, np.int64(end_of_text), out
    return True
