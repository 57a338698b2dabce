"""Files in chunks, decompressed if they are packed by gzip: one chunk is in memory at a time."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO

from deciban.errors import InputError

CHUNK_BYTES = 1 << 18
"""Bytes read at a time."""

PACKED_CHUNK_BYTES = 1 << 14
"""Packed bytes unpacked at a time: a damaged chunk is unpacked again, byte by byte."""

GZIP = b"\x1f\x8b"
ARCHIVES = {
    b"BZh": "is packed by bzip2. Hint: bzcat FILE | deciban mail … -",
    b"\xfd7zXZ": "is packed by xz. Hint: xzcat FILE | deciban mail … -",
    b"\x28\xb5\x2f\xfd": "is packed by zstd. Hint: zstdcat FILE | deciban mail … -",
    b"PK\x03\x04": "is a zip archive. Hint: unpack it, and give the folder",
    b"SQLite format 3\0": "is a database, not mail. Hint: the store is named by --store",
}
"""Beginnings of files that are not mail, and what to report."""


def read_chunks(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the unpacked bytes of a stream in chunks; a packed one is recognised by its first bytes."""
    chunks = _read_stream(stream, name)
    first = next(chunks, b"")
    if first.startswith(GZIP):
        chunks = _unpack_gzip(first, chunks, name)
        first = next(chunks, b"")
    _refuse_archives(first, name)
    if first:
        yield first
    yield from chunks


def _read_stream(stream: BinaryIO, name: str) -> Iterator[bytes]:
    at = 0
    try:
        while chunk := stream.read(CHUNK_BYTES):
            yield chunk
            at += len(chunk)
    except OSError as error:
        raise InputError(f"{name}: cannot be read beyond byte {at}: {error.strerror or error}") from None


def _refuse_archives(first: bytes, name: str) -> None:
    for magic, what in ARCHIVES.items():
        if first.startswith(magic):
            raise InputError(f"{name}: {what}")
    if first[257:262] == b"ustar":
        raise InputError(f"{name}: is a tar archive. Hint: unpack it (tar xf), and give the folder")


def _unpack_gzip(first: bytes, rest: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Unpack gzip members, one after the other; of a damaged stream all bytes before the error are yielded."""
    at, unpacker = 0, zlib.decompressobj(31)
    for packed in _split_chunks(chain([first], rest)):
        left = packed
        while left:
            if unpacker.eof:
                left = left.lstrip(b"\0")  # tapes pad with zeros
                if not left:
                    break
                if left[:1] != GZIP[:1]:
                    return  # as gzip does: bytes after the last member are ignored
                unpacker = zlib.decompressobj(31)
            try:
                yield from _unpack_salvaging(unpacker, left)
            except zlib.error as error:
                raise _damage_error(
                    name, f"is damaged ({error}) within {PACKED_CHUNK_BYTES} bytes of byte {at}"
                ) from None
            left = unpacker.unused_data if unpacker.eof else b""
        at += len(packed)
    if not unpacker.eof:
        raise _damage_error(name, f"ends early, at byte {at}")


def _damage_error(name: str, how: str) -> InputError:
    return InputError(
        f"{name}: the gzip data {how}; what comes before was read. "
        "Hint: fetch or pack the file again; a message learned twice counts once"
    )


def _split_chunks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        for at in range(0, len(chunk), PACKED_CHUNK_BYTES):
            yield chunk[at : at + PACKED_CHUNK_BYTES]


def _unpack_salvaging(unpacker: zlib._Decompress, packed: bytes) -> Iterator[bytes]:
    """Unpack bytes; if some are damaged, yield all that those before unpack to, then raise zlib's error."""
    before, yielded = unpacker.copy(), 0
    try:
        for chunk in _unpack(unpacker, packed):
            yield chunk
            yielded += len(chunk)
    except zlib.error:
        for at in range(len(packed)):
            for chunk in _unpack(before, packed[at : at + 1]):
                yield chunk[yielded:]
                yielded = max(0, yielded - len(chunk))
        raise


def _unpack(unpacker: zlib._Decompress, packed: bytes) -> Iterator[bytes]:
    """Unpack at most a chunk at a time: a few packed bytes may unpack to very many."""
    while True:
        chunk = unpacker.decompress(packed, CHUNK_BYTES)
        if chunk:
            yield chunk
        packed = unpacker.unconsumed_tail
        if unpacker.eof or (not packed and len(chunk) < CHUNK_BYTES):
            return
