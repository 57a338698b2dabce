"""The loops that read words: UTF-8 in, numbers of words out; decode, lower-case, hash, compare, remember.

Never an array is replaced inside a loop: where a table is full the loop stops, the caller gives it more room, and it
goes on from the same place (measured: five times as fast). Indices are unsigned, so that none is checked for being
counted from the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.kernels.compile import kernel, trailing_zeros

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]

C1, C2, C3 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0xD6E8FEB86659FD93)
M63, TOP = np.uint64((1 << 63) - 1), np.uint64(1 << 63)
S8, S29, S31, S32, S56, S64 = (np.uint64(s) for s in (8, 29, 31, 32, 56, 64))
U0, U1, U2, U3, U4, U7 = (np.uint64(s) for s in (0, 1, 2, 3, 4, 7))
U6, U12, U18 = (np.uint64(s) for s in (6, 12, 18))
LOW32 = np.uint64((1 << 32) - 1)
LOW6, LOW4, LOW3 = np.uint64(0x3F), np.uint64(0x0F), np.uint64(0x07)

TOKEN, SPECIAL, SPACE, STEP = np.uint32(1 << 31), np.uint32(1 << 30), np.uint32(1 << 29), np.uint32((1 << 21) - 1)
BROKEN, LAST_CHARACTER, PAGE_BITS, LOW8 = np.uint64(0xFFFD), np.uint64(0x10FFFF), np.uint64(8), np.uint64(255)

SIGNS, ONES = np.uint64(0x8080808080808080), np.uint64(0x0101010101010101)
U8 = np.uint64(8)
U63, GATHER = np.uint64(63), np.uint64(0x0102040810204080)
"""What brings the lowest bits of eight bytes together into the highest byte."""

EDGES = 4096
"""Bytes whose runs are found at once: a multiple of 64."""

WORD_KIND, WHITESPACE_KIND, SPACE_KIND = range(3)
"""Tokens of word characters, of all but white space, of all but U+0020."""

BLOCK = 64
"""Tokens whose places in a table are fetched together."""

SINGLE = np.uint64((1 << 64) - 1)
"""In place of the two words that a run is made of: it is none."""

DOC, AT, WORDS, END, OUT = range(5)
"""Places in a reader's state: the next document and token; words known, bytes of their texts, numbers put out."""

UNKNOWN = -1


@kernel
def mixed(x: Any) -> Any:
    """A bijection of 63 bits: words of up to seven bytes, packed with their length, never collide."""
    x ^= x >> S31
    x = (x * C1) & M63
    x ^= x >> S29
    x = (x * C2) & M63
    return x ^ (x >> S32)


@kernel
def folded(h: Any, chunk: Any) -> Any:
    """Eight more bytes of a long word."""
    h = (h ^ chunk) * C1
    return h ^ (h >> S32)


@kernel
def hash_of(chunk: Any, h: Any, n: Any) -> Any:
    """The hash of a part of n bytes: those not yet folded are in `chunk`."""
    if n <= U7:
        return mixed(chunk | (n << S56))
    if n & U7:
        h = folded(h, chunk)
    h = (h ^ n) * C2
    return (h ^ (h >> S29)) | TOP


@kernel
def joined(h: Any, part: Any) -> Any:
    """The hash of words with a space between them, from that of all but the last, and that of the last."""
    x = h * C3 + part
    x ^= x >> S32
    x = x * C1
    return (x ^ (x >> S29)) | TOP


@kernel
def decoded(blob: Bytes, at: Any, end: Any) -> Any:
    """The character at a byte that begins one of several bytes, and how many; a broken one is U+FFFD."""
    c = np.uint64(blob[at])
    size, char = U1, BROKEN
    if c >= np.uint64(0xF0) and at + U3 < end:
        size = U4
        char = (c & LOW3) << U18 | (np.uint64(blob[at + U1]) & LOW6) << U12
        char |= (np.uint64(blob[at + U2]) & LOW6) << U6 | (np.uint64(blob[at + U3]) & LOW6)
        char = char if char <= LAST_CHARACTER else BROKEN
    elif c >= np.uint64(0xE0) and c < np.uint64(0xF0) and at + U2 < end:
        size = U3
        char = (c & LOW4) << U12 | (np.uint64(blob[at + U1]) & LOW6) << U6 | (np.uint64(blob[at + U2]) & LOW6)
    elif c >= np.uint64(0xC0) and c < np.uint64(0xE0) and at + U1 < end:
        size = U2
        char = (c & np.uint64(0x1F)) << U6 | (np.uint64(blob[at + U1]) & LOW6)
    return char, size


@kernel
def encoded(char: Any, text: Bytes, at: Any) -> Any:
    """Write a character as UTF-8, and say how many bytes that took."""
    if char < np.uint64(0x80):
        text[at] = char
        return U1
    if char < np.uint64(0x800):
        text[at], text[at + U1] = np.uint64(0xC0) | char >> U6, np.uint64(0x80) | (char & LOW6)
        return U2
    if char < np.uint64(0x10000):
        text[at], text[at + U1] = np.uint64(0xE0) | char >> U12, np.uint64(0x80) | (char >> U6 & LOW6)
        text[at + U2] = np.uint64(0x80) | (char & LOW6)
        return U3
    text[at], text[at + U1] = np.uint64(0xF0) | char >> U18, np.uint64(0x80) | (char >> U12 & LOW6)
    text[at + U2], text[at + U3] = np.uint64(0x80) | (char >> U6 & LOW6), np.uint64(0x80) | (char & LOW6)
    return U4


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
        if (slots[s] ^ h) >> S32 == U0:
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
def between(x: Any, low: Any, high: Any) -> Any:
    """Bit 7 of each byte of x, all below 128, that lies from low to high (both eight times in a word)."""
    return ((x | SIGNS) - low) & ((high | SIGNS) - x) & SIGNS


@kernel
def of_tokens(x: Any, kind: int) -> Any:
    """Bit 7 of each byte of x, all below 128, that belongs to a token: eight at a time in place of one."""
    if kind == WORD_KIND:
        letters = between(x | (ONES * np.uint64(0x20)), ONES * np.uint64(0x61), ONES * np.uint64(0x7A))
        digits = between(x, ONES * np.uint64(0x30), ONES * np.uint64(0x39))
        return letters | digits | between(x, ONES * np.uint64(0x5F), ONES * np.uint64(0x5F))
    if kind == WHITESPACE_KIND:
        blank = between(x, ONES * np.uint64(0x09), ONES * np.uint64(0x0D))
        return ~(blank | between(x, ONES * np.uint64(0x1C), ONES * np.uint64(0x20))) & SIGNS
    return ~between(x, ONES * np.uint64(0x20), ONES * np.uint64(0x20)) & SIGNS


@kernel
def lowered(x: Any) -> Any:
    """Eight bytes below 128 in lower case: what lies from A to Z has bit 5 set."""
    return x | between(x, ONES * np.uint64(0x41), ONES * np.uint64(0x5A)) >> U2


@kernel
def word_at(blob: Bytes, at: Any) -> Any:
    """Eight bytes as one number: the compiler makes one load of it, as the place is unsigned and never wraps."""
    word = U0
    for j in range(8):
        word |= np.uint64(blob[at + np.uint64(j)]) << np.uint64(8 * j)
    return word


@kernel
def few_at(blob: Bytes, at: Any, end: Any) -> Any:
    """The bytes up to the end, fewer than eight, as one number."""
    word = U0
    for j in range(end - at):
        word |= np.uint64(blob[at + np.uint64(j)]) << np.uint64(8 * j)
    return word


@kernel
def eight_bits(x: Any, kind: int) -> Any:
    """A bit for each of eight bytes that is of a token or of a character beyond ASCII."""
    mine = of_tokens(x & ~SIGNS, kind) | (x & SIGNS)
    return ((mine >> U7) * GATHER) >> S56


@kernel
def bits_of(blob: Bytes, at: Any, end: Any, kind: int) -> Any:
    """A bit for each of the next 64 bytes that is of a token or of a character beyond ASCII."""
    if at + S64 <= np.uint64(len(blob)):
        bits = eight_bits(word_at(blob, at), kind)
        bits |= eight_bits(word_at(blob, at + np.uint64(8)), kind) << np.uint64(8)
        bits |= eight_bits(word_at(blob, at + np.uint64(16)), kind) << np.uint64(16)
        bits |= eight_bits(word_at(blob, at + np.uint64(24)), kind) << np.uint64(24)
        bits |= eight_bits(word_at(blob, at + np.uint64(32)), kind) << np.uint64(32)
        bits |= eight_bits(word_at(blob, at + np.uint64(40)), kind) << np.uint64(40)
        bits |= eight_bits(word_at(blob, at + np.uint64(48)), kind) << np.uint64(48)
        bits |= eight_bits(word_at(blob, at + np.uint64(56)), kind) << np.uint64(56)
    else:
        bits, p = U0, at
        while p < end:
            bits |= (eight_bits(np.uint64(blob[p]), kind) & U1) << (p - at)
            p += U1
            if p - at == S64:
                break
    return bits if at + S64 <= end else bits & ((U1 << (end - at)) - U1)


@kernel
def find_edges(blob: Bytes, at: Any, stop: Any, end: Any, kind: int, n: int, edges: Ints) -> int:
    """Where runs of such bytes begin and end, from `at` to `stop`; n edges, of which the last may be an open run's.

    They are where the bits change: no branch depends on the text itself, which no processor could foresee.
    """
    inside = np.uint64(n & 1)
    while at < stop:
        bits = bits_of(blob, at, end, kind)
        changes = bits ^ (bits << U1 | inside)
        while changes:
            edges[n] = np.int64(at + trailing_zeros(changes))
            n += 1
            changes &= changes - U1
        inside = bits >> U63
        at += S64
    return n


@kernel
def store(text: Bytes, at: Any, chunk: Any) -> None:
    """Write eight bytes; those behind a token's end will be written over."""
    for j in range(8):
        text[at + np.uint64(j)] = np.uint8(chunk >> np.uint64(8 * j) & LOW8)


@kernel
def find_tokens(
    blob: Bytes, offsets: Ints, order: Ints, kind: int, lower: bool, page: Any, entry: Any, least: int, paper: Bytes,
    hashes: Hashes, content: Hashes, sizes: Ints, bounds: Ints, strange: Any,
) -> None:  # fmt: skip
    """The tokens of the documents of `order`: hash, size in bytes, and content.

    That is the token itself up to seven bytes, for longer ones where they stand on `paper`. A document with a
    character whose lower case takes more to know is marked in `strange`, and has no tokens.

    Runs of bytes are found 64 bytes at a time, then each is read, eight at a time where it is ASCII, else character
    by character. Tokens are looked up in another loop: so the processor waits for many places of the table at once.
    """
    out, written, edges, size = U0, U0, np.empty(EDGES + 2, np.int64), np.uint64(len(blob))
    for i in range(len(order)):
        at, end = np.uint64(offsets[order[i]]), np.uint64(offsets[order[i] + 1])
        odd, n = False, 0
        while at < end and not odd:
            stop = min(at + np.uint64(EDGES), end)
            n = find_edges(blob, at, stop, end, kind, n, edges)
            at = stop
            if at == end and n & 1:
                edges[n] = np.int64(end)
                n += 1
            for r in range(0, n - 1, 2):
                a, b = np.uint64(edges[r]), np.uint64(edges[r + 1])
                n_bytes, h, p, beyond = b - a, U0, a, U0
                if b + U8 > size:  # eight bytes from its last ones on would be too many
                    beyond = U1
                while p + U8 <= b and not beyond:
                    x = word_at(blob, p)
                    beyond = x & SIGNS
                    x = lowered(x & ~SIGNS) if lower else x
                    store(paper, written + (p - a), x)
                    h, p = folded(h, x), p + U8
                if not beyond:
                    x = word_at(blob, p) & ((U1 << ((b - p) << U3)) - U1)
                    beyond = x & SIGNS
                    x = lowered(x & ~SIGNS) if lower else x
                    if n_bytes > U7:
                        store(paper, written + (p - a), x)
                if beyond:
                    out, written, odd = read_run(
                        blob, a, b, page, entry, least, paper, hashes, content, sizes, out, written
                    )
                elif np.int64(n_bytes) >= least:
                    hashes[out], sizes[out] = hash_of(x, h, n_bytes), np.int64(n_bytes)
                    content[out] = x if n_bytes <= U7 else written
                    written += n_bytes if n_bytes > U7 else U0
                    out += U1
                if odd:
                    break
            edges[0], n = edges[n - 1] if n & 1 else edges[0], n & 1
        if odd:
            strange[i], out = 1, np.uint64(bounds[i])
        bounds[i + 1] = np.int64(out)


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


@kernel
def read_run(
    blob: Bytes, at: Any, end: Any, page: Any, entry: Any, least: int, paper: Bytes, hashes: Hashes, content: Hashes,
    sizes: Ints, out: Any, written: Any,
) -> Any:  # fmt: skip
    """The tokens of a run that is not of ASCII alone; how much was put out and written, and whether it is odd."""
    odd = False
    while at < end and not odd:
        at, n, chars, chunk, h, odd = read_slowly(blob, at, end, page, entry, paper, written)
        if chars >= least and not odd:
            hashes[out], sizes[out] = hash_of(chunk, h, n), np.int64(n)
            content[out] = chunk if n <= U7 else written
            written += n if n > U7 else U0
            out += U1
    return out, written, odd


@kernel
def read_slowly(blob: Bytes, at: Any, end: Any, page: Any, entry: Any, token: Bytes, to: Any) -> Any:
    """The token that begins here, character by character: what follows it, its bytes, characters, chunk and hash.

    The last says whether it ended at a character whose lower case takes more to know.
    """
    n, chars, chunk, shift, h = U0, np.int64(0), U0, U0, U0
    while at < end:
        if blob[at] < 128:
            char, taken = np.uint64(blob[at]), U1
        else:
            char, taken = decoded(blob, at, end)
        at += taken
        e = entry[page[char >> PAGE_BITS], char & LOW8]
        if not e & TOKEN:
            return at, n, chars, chunk, h, (e & SPECIAL) != 0
        chars += 1
        for _ in range(encoded((char + np.uint64(e & STEP)) & np.uint64(STEP), token, to + n)):
            chunk |= np.uint64(token[to + n]) << shift
            n += U1
            shift += S8
            if shift == S64:
                h, chunk, shift = folded(h, chunk), U0, U0
    return at, n, chars, chunk, h, False
