"""Letters: UTF-8 in machine words of eight bytes; hashes, characters, lower case, and which bytes make tokens."""

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
BROKEN, LAST_CHARACTER = np.uint64(0xFFFD), np.uint64(0x10FFFF)

SIGNS, ONES = np.uint64(0x8080808080808080), np.uint64(0x0101010101010101)
"""Bit 7, and bit 0, of each of eight bytes."""

TOKEN, SPECIAL, SPACE, STEP = np.uint32(1 << 31), np.uint32(1 << 30), np.uint32(1 << 29), np.uint32((1 << 21) - 1)
"""The entry of a character in an alphabet: part of a token; its lower case is not one character, whatever stands
beside it; white space; and the step from it to its lower case, modulo 2²¹."""

WORD_KIND, WHITESPACE_KIND = range(2)
"""Tokens of word characters, of all but white space; else of all but U+0020."""


@kernel
def mixed(x: Any) -> Any:
    """A bijection of 63 bits: words of up to seven bytes, packed with their length, never collide."""
    x ^= x >> U31
    x = (x * C1) & M63
    x ^= x >> U29
    x = (x * C2) & M63
    return x ^ (x >> U32)


@kernel
def folded(h: Any, chunk: Any) -> Any:
    """Eight more bytes of a long word."""
    h = (h ^ chunk) * C1
    return h ^ (h >> U32)


@kernel
def hash_of(chunk: Any, h: Any, n: Any) -> Any:
    """The hash of a part of n bytes: those not yet folded are in `chunk`."""
    if n <= U7:
        return mixed(chunk | (n << U56))
    if n & U7:
        h = folded(h, chunk)
    h = (h ^ n) * C2
    return (h ^ (h >> U29)) | TOP


@kernel
def joined(h: Any, part: Any) -> Any:
    """The hash of words with a space between them, from that of all but the last, and that of the last."""
    x = h * C3 + part
    x ^= x >> U32
    x = x * C1
    return (x ^ (x >> U29)) | TOP


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
def store(text: Bytes, at: Any, chunk: Any) -> None:
    """Write eight bytes; those behind a token's end will be written over."""
    for j in range(8):
        text[at + np.uint64(j)] = np.uint8(chunk >> np.uint64(8 * j) & LOW8)
