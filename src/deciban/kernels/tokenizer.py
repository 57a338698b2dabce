"""Kernels on UTF-8 that find tokens: the hash and the bytes of each.

Bytes are read and hashed eight at a time, as machine words. Indices are unsigned, so that none is tested for negative
values.
"""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from deciban.kernels.execution import kernel
from deciban.kernels.word_hashes import U7, U56, add_chunk, finish_hash

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]

U0, U1, U2, U3, U4, U6, U8 = (np.uint64(n) for n in (0, 1, 2, 3, 4, 6, 8))
U12, U18, U63, U64 = (np.uint64(n) for n in (12, 18, 63, 64))
LOW3, LOW4, LOW6, LOW8, LOW32 = (np.uint64((1 << bits) - 1) for bits in (3, 4, 6, 8, 32))
REPLACEMENT_CHARACTER, LAST_CHARACTER = np.uint64(0xFFFD), np.uint64(0x10FFFF)

SIGNS, ONES = np.uint64(0x8080808080808080), np.uint64(0x0101010101010101)
"""Bit 7, and bit 0, of each of eight bytes."""

TOKEN, SPECIAL, SPACE, SINGLE = (np.uint32(1 << bit) for bit in (31, 30, 29, 28))
CASE_OFFSET = np.uint32((1 << 21) - 1)
"""Masks of the entry of a character in a character table: it is part of a token; its lower case is not one character
in every context; it is white space; it is a token by itself; and (CASE_OFFSET) the offset of its lower case from it,
modulo 2²¹."""

WORD_KIND, NON_WHITESPACE_KIND, PUNCTUATION_KIND = range(3)
"""Kinds of tokens: of word characters, of all but white space, or of word characters with each other character but
white space as a token by itself; any other number: of all but U+0020."""

BLANK = np.uint64(32)

GATHER_FACTOR = np.uint64(0x0102040810204080)
"""Factor that gathers the lowest bits of eight bytes in the highest byte."""

PASS_BYTES = 4096
"""Bytes whose runs are found in one pass: a multiple of 64."""


class Alphabet(NamedTuple):
    """A character table: the entry of character c is `entry[page[c >> 8], c & 255]`; see `TOKEN`.

    Of ASCII text only `kind` (of tokens) and `lower` (convert to lower case) are used.
    """

    kind: int
    lower: bool
    page: NDArray[np.uint16]
    entry: NDArray[np.uint32]


class TokenArrays(NamedTuple):
    """The hash of each token, its size in bytes and its content, and the texts of long tokens.

    The content is the token itself up to seven bytes, for longer ones the index of its first byte in `texts`.
    """

    hashes: Hashes
    contents: Hashes
    sizes: Ints
    texts: Bytes


def _trailing_zeros(typing_context: Any, x: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), build


trailing_zeros: Any = intrinsic(_trailing_zeros)
"""The number of trailing zero bits of a non-zero number: one instruction, which NumPy does not offer."""


@kernel
def decode_character(blob: Bytes, at: Any, end: Any) -> Any:
    """Decode the character that begins at a byte; return it and its size in bytes.

    It is U+FFFD if truncated, out of range or a lone continuation byte; continuation bytes are not checked.
    """
    c = np.uint64(blob[at])
    if c < np.uint64(0x80):
        return c, U1
    size, char = U1, REPLACEMENT_CHARACTER
    if c >= np.uint64(0xF0) and at + U3 < end:
        size = U4
        char = (c & LOW3) << U18 | (np.uint64(blob[at + U1]) & LOW6) << U12
        char |= (np.uint64(blob[at + U2]) & LOW6) << U6 | (np.uint64(blob[at + U3]) & LOW6)
        char = char if char <= LAST_CHARACTER else REPLACEMENT_CHARACTER
    elif c >= np.uint64(0xE0) and c < np.uint64(0xF0) and at + U2 < end:
        size = U3
        char = (c & LOW4) << U12 | (np.uint64(blob[at + U1]) & LOW6) << U6 | (np.uint64(blob[at + U2]) & LOW6)
    elif c >= np.uint64(0xC0) and c < np.uint64(0xE0) and at + U1 < end:
        size = U2
        char = (c & np.uint64(0x1F)) << U6 | (np.uint64(blob[at + U1]) & LOW6)
    return char, size


@kernel
def encode_character(char: Any, text: Bytes, at: Any) -> Any:
    """Write a character as UTF-8 to `text` from `at` on, and return its size in bytes."""
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
def mark_bytes_in_range(x: Any, low: Any, high: Any) -> Any:
    """Return bit 7 of each byte of x, all below 128, in the range low to high (each repeated in all eight bytes)."""
    return ((x | SIGNS) - low) & ((high | SIGNS) - x) & SIGNS


@kernel
def mark_token_bytes(x: Any, kind: int) -> Any:
    """Return bit 7 of each byte of x, all below 128, that belongs to a token: eight bytes at a time."""
    if kind == WORD_KIND:
        alphabetic = mark_bytes_in_range(x | (ONES * np.uint64(0x20)), ONES * np.uint64(0x61), ONES * np.uint64(0x7A))
        digits = mark_bytes_in_range(x, ONES * np.uint64(0x30), ONES * np.uint64(0x39))
        return alphabetic | digits | mark_bytes_in_range(x, ONES * np.uint64(0x5F), ONES * np.uint64(0x5F))
    if kind == NON_WHITESPACE_KIND:
        blank = mark_bytes_in_range(x, ONES * np.uint64(0x09), ONES * np.uint64(0x0D))
        return ~(blank | mark_bytes_in_range(x, ONES * np.uint64(0x1C), ONES * np.uint64(0x20))) & SIGNS
    return ~mark_bytes_in_range(x, ONES * np.uint64(0x20), ONES * np.uint64(0x20)) & SIGNS


@kernel
def lower_ascii(x: Any) -> Any:
    """Convert eight bytes below 128 to lower case: bytes from A to Z get bit 5."""
    return x | mark_bytes_in_range(x, ONES * np.uint64(0x41), ONES * np.uint64(0x5A)) >> U2


@kernel
def load_word(blob: Bytes, at: Any) -> Any:
    """Load eight bytes as one number: one instruction, since `at` is unsigned and never wraps."""
    word = U0
    for j in range(8):
        word |= np.uint64(blob[at + np.uint64(j)]) << np.uint64(8 * j)
    return word


@kernel
def store(text: Bytes, at: Any, chunk: Any) -> None:
    """Write the eight bytes of `chunk` to `text` from `at` on; those after a token's end will be overwritten."""
    for j in range(8):
        text[at + np.uint64(j)] = np.uint8(chunk >> np.uint64(8 * j) & LOW8)


@kernel
def gather_token_bits(x: Any, kind: int) -> Any:
    """Return a bit for each of eight bytes: whether it belongs to a token or to a non-ASCII character."""
    token_bits = mark_token_bytes(x & ~SIGNS, kind) | (x & SIGNS)
    return ((token_bits >> U7) * GATHER_FACTOR) >> U56


@kernel
def read_token_bits(blob: Bytes, at: Any, end: Any, kind: int) -> Any:
    """Return a bit for each of the next 64 bytes: whether it belongs to a token or to a non-ASCII character."""
    if at + U64 <= np.uint64(len(blob)):
        bits = U0
        for j in range(8):
            step = np.uint64(8 * j)
            bits |= gather_token_bits(load_word(blob, at + step), kind) << step
    else:
        bits, p = U0, at
        while p < end:
            bits |= (gather_token_bits(np.uint64(blob[p]), kind) & U1) << (p - at)
            p += U1
            if p - at == U64:
                break
    return bits if at + U64 <= end else bits & ((U1 << (end - at)) - U1)


@kernel
def find_edges(blob: Bytes, at: Any, stop: Any, end: Any, kind: int, n: int, edges: Ints) -> int:
    """Find where runs of token or non-ASCII bytes begin and end, from `at` to `stop`.

    `n` is the number of edges already in `edges`; returns their new number (odd: the last run has not ended).
    Edges are where the bits change: no branch depends on the text itself, which no processor could predict.
    """
    inside = np.uint64(n & 1)
    while at < stop:
        bits = read_token_bits(blob, at, end, kind)
        changes = bits ^ (bits << U1 | inside)
        while changes:
            edges[n] = np.int64(at + trailing_zeros(changes))
            n += 1
            changes &= changes - U1
        inside = bits >> U63
        at += U64
    return n


@kernel
def find_edges_and_singles(blob: Bytes, at: Any, stop: Any, end: Any, n: int, edges: Ints) -> int:
    """Find edges as `find_edges`, of runs of word characters, and of each ASCII punctuation character by itself."""
    inside = np.uint64(n & 1)
    while at < stop:
        words = read_token_bits(blob, at, end, WORD_KIND)
        singles = read_token_bits(blob, at, end, NON_WHITESPACE_KIND) & ~words
        changes = words ^ (words << U1 | inside)
        left = changes | singles
        while left:
            lowest = left & (~left + U1)
            place = np.int64(at + trailing_zeros(left))
            if changes & lowest:
                edges[n] = place
                n += 1
            if singles & lowest:
                edges[n], edges[n + 1] = place, place + 1
                n += 2
            left ^= lowest
        inside = words >> U63
        at += U64
    return n


@kernel
def find_tokens(
    blob: Bytes, offsets: Ints, order: Ints, alphabet: Alphabet, min_characters: int, tokens: TokenArrays,
    bounds: Ints, special: Any,
) -> None:  # fmt: skip
    """Write the tokens of at least `min_characters` in the documents of `order`; `bounds` is where those of each end.

    A document with a character whose lower case depends on its context is marked in `special`, and has no tokens. The
    arrays of `tokens` have space for all (see `text.lexicon.TokenBuffers`).

    Runs of bytes are found 64 bytes at a time, then each is read, eight bytes at a time where it is ASCII, else by
    character; all in one loop, since a call for each run would take longer than the run. Tokens are looked up by
    another kernel (`word_lookup.look_up`), which fetches many slots of its table together.
    """
    hashes, contents, sizes, texts = tokens
    kind, lower, page, entry = alphabet
    out, written, edges, size = U0, U0, np.empty(2 * PASS_BYTES + 2, np.int64), np.uint64(len(blob))
    for i in range(len(order)):
        at, end = np.uint64(offsets[order[i]]), np.uint64(offsets[order[i] + 1])
        is_special, n = False, 0
        while at < end and not is_special:
            stop = min(at + np.uint64(PASS_BYTES), end)
            if kind == PUNCTUATION_KIND:
                n = find_edges_and_singles(blob, at, stop, end, n, edges)
            else:
                n = find_edges(blob, at, stop, end, kind, n, edges)
            at = stop
            if at == end and n & 1:
                edges[n] = np.int64(end)
                n += 1
            for r in range(0, n - 1, 2):
                a, b = np.uint64(edges[r]), np.uint64(edges[r + 1])
                n_bytes, h, p, beyond = b - a, U0, a, U0
                if b + U8 > size:  # loading eight bytes from its end would exceed the array
                    beyond = U1
                while p + U8 <= b and not beyond:
                    x = load_word(blob, p)
                    beyond = x & SIGNS
                    x = lower_ascii(x & ~SIGNS) if lower else x
                    store(texts, written + (p - a), x)
                    h, p = add_chunk(h, x), p + U8
                if not beyond:
                    x = load_word(blob, p) & ((U1 << ((b - p) << U3)) - U1)
                    beyond = x & SIGNS
                    x = lower_ascii(x & ~SIGNS) if lower else x
                    if n_bytes > U7:
                        store(texts, written + (p - a), x)
                if beyond:
                    out, written, is_special = read_run(
                        blob, a, b, page, entry, min_characters, hashes, contents, sizes, texts, out, written
                    )
                elif np.int64(n_bytes) >= min_characters:
                    hashes[out], sizes[out] = finish_hash(x, h, n_bytes), np.int64(n_bytes)
                    contents[out] = x if n_bytes <= U7 else written
                    written += n_bytes if n_bytes > U7 else U0
                    out += U1
                if is_special:
                    break
            edges[0], n = edges[n - 1] if n & 1 else edges[0], n & 1
        if is_special:
            special[i], out = 1, np.uint64(bounds[i])
        bounds[i + 1] = np.int64(out)


@kernel
def read_run(
    blob: Bytes, at: Any, end: Any, page: Any, entry: Any, min_characters: int, hashes: Hashes, contents: Hashes,
    sizes: Ints, texts: Bytes, out: Any, written: Any,
) -> Any:  # fmt: skip
    """Append the tokens of a run with non-ASCII characters to the arrays, from token `out` and byte `written` on.

    Returns the new `out` and `written`, and whether a character has a lower case that depends on its context.
    """
    is_special = False
    while at < end and not is_special:
        at, n, chars, chunk, h, is_special = read_by_character(blob, at, end, page, entry, texts, written)
        if chars >= min_characters and not is_special:
            hashes[out], sizes[out] = finish_hash(chunk, h, n), np.int64(n)
            contents[out] = chunk if n <= U7 else written
            written += n if n > U7 else U0
            out += U1
    return out, written, is_special


@kernel
def read_by_character(blob: Bytes, at: Any, end: Any, page: Any, entry: Any, token: Bytes, to: Any) -> Any:
    """Read a token by character, and write it to `token` from `to` on, in lower case where the table has one.

    Returns where reading ended (after the character that ended the token), the token's number of bytes and of
    characters, the bytes not yet in the hash, the hash, and whether its lower case depends on the context.
    """
    n, chars, chunk, shift, h = U0, np.int64(0), U0, U0, U0
    while at < end:
        char, n_bytes = decode_character(blob, at, end)
        e = entry[page[char >> U8], char & LOW8]
        if e & SINGLE and n:
            return at, n, chars, chunk, h, False
        at += n_bytes
        if not e & (TOKEN | SINGLE):
            return at, n, chars, chunk, h, (e & SPECIAL) != 0
        chars += 1
        for _ in range(encode_character((char + np.uint64(e & CASE_OFFSET)) & np.uint64(CASE_OFFSET), token, to + n)):
            chunk |= np.uint64(token[to + n]) << shift
            n += U1
            shift += U8
            if shift == U64:
                h, chunk, shift = add_chunk(h, chunk), U0, U0
        if e & SINGLE:
            break
    return at, n, chars, chunk, h, False


@kernel
def prepare_characters(
    blob: Bytes, at: Any, end: Any, alphabet: Alphabet, in_words: bool, text: Bytes, marks: Ints
) -> int:
    """Write a document in the alphabet's case, and where each character begins.

    Each run of two or more white-space characters is written as one space. `in_words`: a single one is too, and a
    space is before the first and after the last word. Returns the number of characters, or −1 for a document with a
    character whose lower case depends on its context.
    """
    page, entry = alphabet.page, alphabet.entry
    n, size, spaces, first_space = 0, U0, 0, U0
    if in_words:
        text[0], marks[0], n, size, spaces = 32, 0, 1, U1, 1
    while at < end:
        char, n_bytes = decode_character(blob, at, end)
        at += n_bytes
        e = entry[page[char >> U8], char & LOW8]
        if e & SPECIAL:
            return -1
        char = (char + np.uint64(e & CASE_OFFSET)) & np.uint64(CASE_OFFSET)
        if e & SPACE:
            spaces += 1
            if spaces == 1:
                first_space = size
            if spaces > 1 or in_words:
                size, char = first_space, BLANK
                n -= 1 if spaces > 1 else 0
        else:
            spaces = 0
        marks[n] = np.int64(size)
        size += encode_character(char, text, size)
        n += 1
    if in_words and spaces == 0:
        marks[n] = np.int64(size)
        size += encode_character(BLANK, text, size)
        n += 1
    marks[n] = np.int64(size)
    return n
