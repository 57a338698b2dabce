"""Kernels that hash words eight bytes at a time, as machine words; `deciban.ledger.hashing` is the definition."""

from typing import Any

import numpy as np

from deciban.kernels.execution import kernel
from deciban.ledger import hashing

C1, C2, C3, M63, TOP = (np.uint64(c) for c in (hashing.C1, hashing.C2, hashing.C3, hashing.M63, hashing.TOP))
U7, U29, U31, U32, U56 = (np.uint64(n) for n in (7, 29, 31, 32, 56))


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
