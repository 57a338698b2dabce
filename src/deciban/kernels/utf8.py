"""Kernels on UTF-8 in machine words of eight bytes: hashes, characters, lower case and bytes of tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.kernels.compile import kernel
from deciban.ledger import hashing

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]

C1, C2, C3, M63, TOP = (np.uint64(c) for c in (hashing.C1, hashing.C2, hashing.C3, hashing.M63, hashing.TOP))

U0, U1, U2, U3, U4, U6, U7, U8 = (np.uint64(n) for n in (0, 1, 2, 3, 4, 6, 7, 8))
U12, U18, U29, U31, U32, U56, U63, U64 = (np.uint64(n) for n in (12, 18, 29, 31, 32, 56, 63, 64))
LOW3, LOW4, LOW6, LOW8, LOW32 = (np.uint64((1 << bits) - 1) for bits in (3, 4, 6, 8, 32))
REPLACEMENT_CHARACTER, LAST_CHARACTER = np.uint64(0xFFFD), np.uint64(0x10FFFF)

SIGNS, ONES = np.uint64(0x8080808080808080), np.uint64(0x0101010101010101)
"""Bit 7, and bit 0, of each of eight bytes."""

TOKEN, SPECIAL, SPACE, STEP = np.uint32(1 << 31), np.uint32(1 << 30), np.uint32(1 << 29), np.uint32((1 << 21) - 1)
"""Fields of the entry of a character in a character table: it is part of a token; its lower case is not one character
in every context; it is white space; and the step from it to its lower case, modulo 2²¹."""

WORD_KIND, WHITESPACE_KIND = range(2)
"""Kinds of tokens: of word characters, or of all but white space; any other number: of all but U+0020."""


@kernel
def mix_bits(x: Any) -> Any:
    """Mix 63 bits by a bijection: words of up to seven bytes, packed with their length, never collide."""
    x ^= x >> U31
    x = (x * C1) & M63
    x ^= x >> U29
    x = (x * C2) & M63
    return x ^ (x >> U32)


@kernel
def add_chunk(h: Any, chunk: Any) -> Any:
    """Add eight more bytes of a long word to its hash."""
    h = (h ^ chunk) * C1
    return h ^ (h >> U32)


@kernel
def finish_hash(chunk: Any, h: Any, n: Any) -> Any:
    """Return the hash of a part of n bytes: those not yet added to h are in `chunk`."""
    if n <= U7:
        return mix_bits(chunk | (n << U56))
    if n & U7:
        h = add_chunk(h, chunk)
    h = (h ^ n) * C2
    return (h ^ (h >> U29)) | TOP


@kernel
def join_hashes(h: Any, part: Any) -> Any:
    """Return the hash of words joined by spaces, from that of all but the last and that of the last."""
    x = h * C3 + part
    x ^= x >> U32
    x = x * C1
    return (x ^ (x >> U29)) | TOP


@kernel
def decode_character(blob: Bytes, at: Any, end: Any) -> Any:
    """Decode the character that begins at a byte; return it and its size in bytes; a malformed one is U+FFFD."""
    c = np.uint64(blob[at])
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
    """Write a character as UTF-8, and return its size in bytes."""
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
def bytes_in_range(x: Any, low: Any, high: Any) -> Any:
    """Return bit 7 of each byte of x, all below 128, in the range low to high (each repeated in all eight bytes)."""
    return ((x | SIGNS) - low) & ((high | SIGNS) - x) & SIGNS


@kernel
def token_bytes(x: Any, kind: int) -> Any:
    """Return bit 7 of each byte of x, all below 128, that belongs to a token: eight bytes at a time."""
    if kind == WORD_KIND:
        alphabetic = bytes_in_range(x | (ONES * np.uint64(0x20)), ONES * np.uint64(0x61), ONES * np.uint64(0x7A))
        digits = bytes_in_range(x, ONES * np.uint64(0x30), ONES * np.uint64(0x39))
        return alphabetic | digits | bytes_in_range(x, ONES * np.uint64(0x5F), ONES * np.uint64(0x5F))
    if kind == WHITESPACE_KIND:
        blank = bytes_in_range(x, ONES * np.uint64(0x09), ONES * np.uint64(0x0D))
        return ~(blank | bytes_in_range(x, ONES * np.uint64(0x1C), ONES * np.uint64(0x20))) & SIGNS
    return ~bytes_in_range(x, ONES * np.uint64(0x20), ONES * np.uint64(0x20)) & SIGNS


@kernel
def lower_ascii(x: Any) -> Any:
    """Convert eight bytes below 128 to lower case: bytes from A to Z get bit 5."""
    return x | bytes_in_range(x, ONES * np.uint64(0x41), ONES * np.uint64(0x5A)) >> U2


@kernel
def word_at(blob: Bytes, at: Any) -> Any:
    """Load eight bytes as one number: one instruction, since the place is unsigned and never wraps."""
    word = U0
    for j in range(8):
        word |= np.uint64(blob[at + np.uint64(j)]) << np.uint64(8 * j)
    return word


@kernel
def store(text: Bytes, at: Any, chunk: Any) -> None:
    """Write eight bytes; those after a token's end will be overwritten."""
    for j in range(8):
        text[at + np.uint64(j)] = np.uint8(chunk >> np.uint64(8 * j) & LOW8)
