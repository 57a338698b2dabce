"""Bytes of files in pieces, unpacked if they are packed: a piece is in memory at a time."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO

from deciban.errors import InputError

PIECE = 1 << 18
"""Bytes read at a time."""

PACKED_PIECE = 1 << 14
"""Packed bytes taken at a time: what one damaged piece can make us go through again."""

GZIP = b"\x1f\x8b"
OTHERS = {
    b"BZh": "is packed by bzip2. Hint: bzcat FILE | deciban mail … -",
    b"\xfd7zXZ": "is packed by xz. Hint: xzcat FILE | deciban mail … -",
    b"\x28\xb5\x2f\xfd": "is packed by zstd. Hint: zstdcat FILE | deciban mail … -",
    b"PK\x03\x04": "is a zip archive. Hint: unpack it, and give the folder",
    b"SQLite format 3\0": "is a database, not mail. Hint: the store is named by --store",
}
"""How files begin that would only look like very strange messages."""


def pieces_of(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """What a stream holds, piece by piece and unpacked; a packed one is known by its first bytes."""
    pieces = _read(stream, name)
    first = next(pieces, b"")
    if first.startswith(GZIP):
        pieces = _unpacked(first, pieces, name)
        first = next(pieces, b"")
    _refuse_archives(first, name)
    if first:
        yield first
    yield from pieces


def _read(stream: BinaryIO, name: str) -> Iterator[bytes]:
    at = 0
    try:
        while piece := stream.read(PIECE):
            yield piece
            at += len(piece)
    except OSError as error:
        raise InputError(f"{name}: cannot be read beyond byte {at}: {error.strerror or error}") from None


def _refuse_archives(first: bytes, name: str) -> None:
    for magic, what in OTHERS.items():
        if first.startswith(magic):
            raise InputError(f"{name}: {what}")
    if first[257:262] == b"ustar":
        raise InputError(f"{name}: is a tar archive. Hint: unpack it (tar xf), and give the folder")


def _unpacked(first: bytes, rest: Iterator[bytes], name: str) -> Iterator[bytes]:
    """What gzip members hold, one after the other; a stream that breaks gives all it holds before the error."""
    at, unpacker = 0, zlib.decompressobj(31)
    for packed in _small(chain([first], rest)):
        left = packed
        while left:
            if unpacker.eof:
                left = left.lstrip(b"\0")  # tapes pad with zeros
                if not left:
                    break
                if left[:1] != GZIP[:1]:
                    return  # as gzip does: what trails the last member is none of ours
                unpacker = zlib.decompressobj(31)
            try:
                yield from _salvaging(unpacker, left)
            except zlib.error as error:
                raise _broken(name, f"is damaged ({error}) within {PACKED_PIECE} bytes of byte {at}") from None
            left = unpacker.unused_data if unpacker.eof else b""
        at += len(packed)
    if not unpacker.eof:
        raise _broken(name, f"ends early, at byte {at}")


def _broken(name: str, how: str) -> InputError:
    return InputError(
        f"{name}: the gzip data {how}; what comes before was read. "
        "Hint: fetch or pack the file again; a message learned twice counts once"
    )


def _small(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        for at in range(0, len(piece), PACKED_PIECE):
            yield piece[at : at + PACKED_PIECE]


def _salvaging(unpacker: zlib._Decompress, packed: bytes) -> Iterator[bytes]:
    """What packed bytes come to; if some are damaged, all that those before come to, then zlib's error."""
    before, given = unpacker.copy(), 0
    try:
        for piece in _unpack(unpacker, packed):
            yield piece
            given += len(piece)
    except zlib.error:
        for at in range(len(packed)):
            for piece in _unpack(before, packed[at : at + 1]):
                yield piece[given:]
                given = max(0, given - len(piece))
        raise


def _unpack(unpacker: zlib._Decompress, packed: bytes) -> Iterator[bytes]:
    """At most a piece at a time: a few packed bytes may come to very many."""
    while True:
        piece = unpacker.decompress(packed, PIECE)
        if piece:
            yield piece
        packed = unpacker.unconsumed_tail
        if unpacker.eof or (not packed and len(piece) < PIECE):
            return
