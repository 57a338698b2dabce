"""Kernels that find tokens in UTF-8: the hash and the bytes of each.

Indices are unsigned, so that none is tested for negative values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deciban.kernels.compile import kernel, trailing_zeros
from deciban.kernels.utf8 import (
    LOW8,
    SIGNS,
    SPECIAL,
    STEP,
    TOKEN,
    U0,
    U1,
    U3,
    U7,
    U8,
    U56,
    U63,
    U64,
    Bytes,
    Hashes,
    Ints,
    add_chunk,
    decode_character,
    encode_character,
    finish_hash,
    lower_ascii,
    store,
    token_bytes,
    word_at,
)  # fmt: skip

GATHER_FACTOR = np.uint64(0x0102040810204080)
"""Factor that gathers the lowest bits of eight bytes in the highest byte."""

PASS_BYTES = 4096
"""Bytes whose runs are found in one pass: a multiple of 64."""


@kernel
def eight_bits(x: Any, kind: int) -> Any:
    """Return a bit for each of eight bytes: whether it belongs to a token or to a non-ASCII character."""
    mine = token_bytes(x & ~SIGNS, kind) | (x & SIGNS)
    return ((mine >> U7) * GATHER_FACTOR) >> U56


@kernel
def bits_of(blob: Bytes, at: Any, end: Any, kind: int) -> Any:
    """Return a bit for each of the next 64 bytes: whether it belongs to a token or to a non-ASCII character."""
    if at + U64 <= np.uint64(len(blob)):
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
            if p - at == U64:
                break
    return bits if at + U64 <= end else bits & ((U1 << (end - at)) - U1)


@kernel
def find_edges(blob: Bytes, at: Any, stop: Any, end: Any, kind: int, n: int, edges: Ints) -> int:
    """Find where runs of such bytes begin and end, from `at` to `stop`; return the number of edges (odd: open run).

    Edges are where the bits change: no branch depends on the text itself, which no processor could predict.
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
        at += U64
    return n


@kernel
def find_tokens(
    blob: Bytes, offsets: Ints, order: Ints, kind: int, lower: bool, page: Any, entry: Any, least: int, paper: Bytes,
    hashes: Hashes, content: Hashes, sizes: Ints, bounds: Ints, special: Any,
) -> None:  # fmt: skip
    """Find the tokens of the documents of `order`: hash, size in bytes, and content.

    The content is the token itself up to seven bytes, for longer ones its place in `paper`. A document with a
    character whose lower case depends on its context is marked in `special`, and has no tokens.

    Runs of bytes are found 64 bytes at a time, then each is read, eight bytes at a time where it is ASCII, else by
    character; all in one loop, since a call for each run would take longer than the run. Tokens are looked up by
    another kernel (`word_lookup.look_up`), which fetches many slots of its table together.
    """
    out, written, edges, size = U0, U0, np.empty(PASS_BYTES + 2, np.int64), np.uint64(len(blob))
    for i in range(len(order)):
        at, end = np.uint64(offsets[order[i]]), np.uint64(offsets[order[i] + 1])
        is_special, n = False, 0
        while at < end and not is_special:
            stop = min(at + np.uint64(PASS_BYTES), end)
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
                    x = word_at(blob, p)
                    beyond = x & SIGNS
                    x = lower_ascii(x & ~SIGNS) if lower else x
                    store(paper, written + (p - a), x)
                    h, p = add_chunk(h, x), p + U8
                if not beyond:
                    x = word_at(blob, p) & ((U1 << ((b - p) << U3)) - U1)
                    beyond = x & SIGNS
                    x = lower_ascii(x & ~SIGNS) if lower else x
                    if n_bytes > U7:
                        store(paper, written + (p - a), x)
                if beyond:
                    out, written, is_special = read_run(
                        blob, a, b, page, entry, least, paper, hashes, content, sizes, out, written
                    )
                elif np.int64(n_bytes) >= least:
                    hashes[out], sizes[out] = finish_hash(x, h, n_bytes), np.int64(n_bytes)
                    content[out] = x if n_bytes <= U7 else written
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
    blob: Bytes, at: Any, end: Any, page: Any, entry: Any, least: int, paper: Bytes, hashes: Hashes, content: Hashes,
    sizes: Ints, out: Any, written: Any,
) -> Any:  # fmt: skip
    """Find the tokens of a run with non-ASCII characters; return `out` and `written`, and whether it is special."""
    is_special = False
    while at < end and not is_special:
        at, n, chars, chunk, h, is_special = read_by_character(blob, at, end, page, entry, paper, written)
        if chars >= least and not is_special:
            hashes[out], sizes[out] = finish_hash(chunk, h, n), np.int64(n)
            content[out] = chunk if n <= U7 else written
            written += n if n > U7 else U0
            out += U1
    return out, written, is_special


@kernel
def read_by_character(blob: Bytes, at: Any, end: Any, page: Any, entry: Any, token: Bytes, to: Any) -> Any:
    """Read a token by character; return the place after it, its bytes, characters, last chunk and hash.

    The last result is whether it ended at a character whose lower case depends on its context.
    """
    n, chars, chunk, shift, h = U0, np.int64(0), U0, U0, U0
    while at < end:
        if blob[at] < 128:
            char, n_bytes_read = np.uint64(blob[at]), U1
        else:
            char, n_bytes_read = decode_character(blob, at, end)
        at += n_bytes_read
        e = entry[page[char >> U8], char & LOW8]
        if not e & TOKEN:
            return at, n, chars, chunk, h, (e & SPECIAL) != 0
        chars += 1
        for _ in range(encode_character((char + np.uint64(e & STEP)) & np.uint64(STEP), token, to + n)):
            chunk |= np.uint64(token[to + n]) << shift
            n += U1
            shift += U8
            if shift == U64:
                h, chunk, shift = add_chunk(h, chunk), U0, U0
    return at, n, chars, chunk, h, False
