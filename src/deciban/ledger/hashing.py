"""Fixed hash functions of words and of row numbers: their values never depend on the machine or the version."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]
Hashes = NDArray[np.uint64]

SURROGATES: Final = "surrogatepass"
"""Error handler for UTF-8: lone surrogates, as in undecodable file names, are kept."""

C1: Final = 0x9E3779B97F4A7C15
C2: Final = 0xC2B2AE3D27D4EB4F
C3: Final = 0xD6E8FEB86659FD93
M63: Final = (1 << 63) - 1
M64: Final = (1 << 64) - 1
TOP: Final = 1 << 63

MAX_SHORT_BYTES: Final = 7
"""No two different parts of at most this many bytes have equal hashes."""

MIN_VECTORISED_WORDS: Final = 16
"""Fewer words than this are hashed one by one, which is faster than vectorised hashing."""

BYTE_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)
"""Bit masks of the lowest n of eight bytes."""


def hash_word(word: bytes) -> int:
    """Return the hash of a word's UTF-8; words joined by spaces (n-grams) are hashed from the hashes of their parts.

    The top bit is 0 exactly if the word is one part of at most seven bytes; equal hashes then mean equal words.
    """
    first, *others = word.split(b" ")
    return _join_hashes(_hash_part(first), map(_hash_part, others))


def _join_hashes(h: int, parts: Iterable[int]) -> int:
    """Return the hash of a word from that of its beginning and those of its further parts, in their order."""
    for part in parts:
        x = (h * C3 + part) & M64
        x ^= x >> 32
        x = x * C1 & M64
        x ^= x >> 29
        h = x | TOP
    return h


def _hash_part(part: bytes) -> int:
    """Return the hash of a word, or of a part of it, without spaces."""
    n = len(part)
    if n <= MAX_SHORT_BYTES:
        return _mix_short(int.from_bytes(part, "little") | n << 56)
    h = (_absorb(0, part) ^ n) * C2 & M64
    return (h ^ h >> 29) | TOP


def _mix_short(x: int) -> int:
    """Mix the bits of a short part; each step is invertible, so short parts never have equal hashes."""
    x ^= x >> 31
    x = x * C1 & M63
    x ^= x >> 29
    x = x * C2 & M63
    return x ^ x >> 32


def _absorb(h: int, part: bytes) -> int:
    """Return the hash state h after further bytes, eight at a time, the last padded with zeros."""
    padded = part + bytes(-len(part) % 8)
    for chunk in np.frombuffer(padded, dtype="<u8").tolist():
        h = (h ^ chunk) * C1 & M64
        h ^= h >> 32
    return h


def hash_words(blob: Bytes, offsets: Offsets) -> Hashes:
    """Return `hash_word` of the words that fill a blob, word i being blob[offsets[i]:offsets[i+1]]."""
    n = len(offsets) - 1
    if n < MIN_VECTORISED_WORDS:
        ends = offsets.tolist()
        each = [hash_word(blob[a:b].tobytes()) for a, b in pairwise(ends)]
        return np.array(each, dtype=np.uint64)
    spaces = np.flatnonzero(blob == ord(" "))
    if not spaces.size:
        return _hash_parts(blob, offsets[:-1], np.diff(offsets))
    more = np.bincount(np.searchsorted(offsets, spaces, side="right") - 1, minlength=n)
    first = np.cumsum(more) - more + np.arange(n)
    start, end = np.empty((2, n + len(spaces)), dtype=np.int64)
    inner = np.ones(len(start), dtype=np.bool_)
    inner[first] = False
    start[first], start[inner] = offsets[:-1], spaces + 1
    last = first + more
    inner[first], inner[last] = True, False
    end[last], end[inner] = offsets[1:], spaces
    return _join_hashes_of_words(_hash_parts(blob, start, end - start), first, more)


def _join_hashes_of_words(parts: Hashes, first: NDArray[np.int64], more: NDArray[np.int64]) -> Hashes:
    """Combine the hashes of parts to those of words: word i is part first[i] and the `more[i]` parts after it."""
    h = parts[first]
    step, words = 1, np.flatnonzero(more)
    while len(words) >= MIN_VECTORISED_WORDS:
        x = h[words] * np.uint64(C3) + parts[first[words] + step]
        x ^= x >> np.uint64(32)
        x *= np.uint64(C1)
        x ^= x >> np.uint64(29)
        h[words] = x | np.uint64(TOP)
        step += 1
        words = words[more[words] >= step]
    for i in words.tolist():  # a few words of very many parts
        h[i] = _join_hashes(int(h[i]), parts[first[i] + step : first[i] + more[i] + 1].tolist())
    return h


def _hash_parts(blob: Bytes, start: NDArray[np.int64], n: NDArray[np.int64]) -> Hashes:
    """Return `_hash_part` of many parts, part i being the n[i] bytes of the blob from start[i] on."""
    padded = np.concatenate([blob, np.zeros(16, dtype=np.uint8)])
    # the eight bytes from each byte offset on
    eight: Hashes = np.ndarray((len(blob) + 8,), dtype="<u8", buffer=padded.data, strides=(1,))
    x = (eight[start] & BYTE_MASKS[np.minimum(n, MAX_SHORT_BYTES)]) | n.astype(np.uint64) << np.uint64(56)
    x ^= x >> np.uint64(31)
    x = x * np.uint64(C1) & np.uint64(M63)
    x ^= x >> np.uint64(29)
    x = x * np.uint64(C2) & np.uint64(M63)
    x ^= x >> np.uint64(32)
    long = np.flatnonzero(n > MAX_SHORT_BYTES)
    x[long] = _hash_long(blob, eight, start[long], n[long])
    return x


def _hash_long(blob: Bytes, eight: Hashes, start: NDArray[np.int64], n: NDArray[np.int64]) -> Hashes:
    """Return `_hash_part` of parts of more than seven bytes; `eight` has the eight bytes at each place."""
    h, at, parts = np.zeros(len(n), dtype=np.uint64), 0, np.arange(len(n))
    while len(parts) >= MIN_VECTORISED_WORDS:
        chunk = eight[start[parts] + at] & BYTE_MASKS[np.minimum(n[parts] - at, 8)]
        x = (h[parts] ^ chunk) * np.uint64(C1)
        h[parts] = x ^ x >> np.uint64(32)
        at += 8
        parts = parts[n[parts] > at]
    for i in parts.tolist():  # a few very long ones
        h[i] = _absorb(int(h[i]), blob[start[i] + at : start[i] + n[i]].tobytes())
    h ^= n.astype(np.uint64)
    h *= np.uint64(C2)
    h ^= h >> np.uint64(29)
    return h | np.uint64(TOP)


def hash_row_numbers(number: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a fixed 64-bit hash of each row number i: output i of SplitMix64 with seed 0 (Steele et al. 2014).

    Rows with the lowest hashes are a uniform sample.

    >>> (hash_row_numbers(np.arange(3)) >> np.uint64(60)).tolist()
    [14, 6, 0]
    """
    z = (number.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        z ^= z >> np.uint64(shift)
        z *= np.uint64(factor)
    return z


def hash_rows_of_part(part: int, number: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a fixed 64-bit hash of rows by the part of a table that they are in and their numbers there.

    >>> bool((hash_rows_of_part(0, np.arange(3)) == hash_rows_of_part(1, np.arange(3))).any())
    False
    """
    return hash_row_numbers(number + hash_row_numbers(np.array([part])).view(np.int64))


def sample_row_numbers(n: int, max_rows: int) -> NDArray[np.intp]:
    """Return the numbers, ascending, of at most `max_rows` of n rows: a uniform sample that is always the same.

    >>> sample_row_numbers(3, 10).tolist(), sample_row_numbers(1000, 4).tolist()
    ([0, 1, 2], [366, 410, 503, 821])
    """
    if n <= max_rows:
        return np.arange(n)
    return np.sort(np.argsort(hash_row_numbers(np.arange(n)), kind="stable")[:max_rows])
