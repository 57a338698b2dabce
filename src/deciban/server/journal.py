"""The journal of a model file: learned and forgotten rows that are on disk, but not in the model file yet.

A journal begins with the hash of the model file that its entries are for; if that is not the hash of the present
file, the entries are part of the file already, or of a model that was replaced, and count no more. An entry has its
length and a checksum before it, so that one is recognised that was cut off by a crash, and never acknowledged:

    {"format": 1, "base": "…"}\\n   (length, CRC-32 of 8 bytes, entry)*   entry = header in JSON \\n body
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

from deciban.atomic_write import atomic_write
from deciban.errors import InputError

ENDING = ".journal"
LOCK_ENDING = ".lock"
FRAME = struct.Struct("<II")
FORMAT_VERSION = 1
MAX_ENTRY_BYTES = 1 << 20
"""Bytes of the longest entry; larger ones are written into the model file at once."""

MAX_JOURNAL_HEAD_BYTES = 1 << 10
LOCK_POLL_SECONDS = 0.002
PRIVATE_MODE = 0o600
"""The permissions of journals and locks: entries hold rows."""


@dataclass(frozen=True)
class Entry:
    """Rows that are learned or forgotten: the header says how their bytes are read."""

    header: dict[str, Any]
    body: bytes

    def to_bytes(self) -> bytes:
        """Return the entry as it is written."""
        payload = json.dumps(self.header).encode() + b"\n" + self.body
        return FRAME.pack(len(payload), zlib.crc32(payload)) + payload


@dataclass(frozen=True)
class JournalState:
    """A journal as it was read: where its entries begin and end (0: it is for another model file), and its file."""

    start: int = 0
    end: int = 0
    stamp: tuple[int, ...] = ()

    @property
    def has_entries(self) -> bool:
        """Whether there are entries that the model file does not include."""
        return self.end > self.start


def read_stamp(path: str) -> tuple[int, ...]:
    """Return device, inode, size and time of a file, by which a change is noticed; empty where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def read_entries(path: str, base: str, start: int) -> tuple[list[Entry], JournalState]:
    """Return the entries after the byte `start` (0: all), and the state of the journal for this base.

    A journal that is for another base, damaged, or shorter than `start` has no entries, and begins and ends at 0.
    """
    stamp = read_stamp(path)
    try:
        with open(path, "rb") as file:
            head = _read_head(file, base)
            if head == 0 or start > stamp[2]:
                return [], JournalState(stamp=stamp)
            end = max(head, start)
            file.seek(end)
            entries = []
            while (entry := _read_entry(file)) is not None:
                entries.append(entry)
                end = file.tell()
            return entries, JournalState(head, end, stamp)
    except (FileNotFoundError, IndexError):
        return [], JournalState(stamp=stamp)


def has_entries(path: str) -> bool:
    """Return whether the journal of a model file has entries that the file does not include."""
    return bool(read_entries(path + ENDING, hash_file(path), 0)[0])


def _read_head(file: BinaryIO, base: str) -> int:
    """Return where the first entry begins; 0 where the journal is for another base, or damaged."""
    line = file.readline(MAX_JOURNAL_HEAD_BYTES)
    with suppress(ValueError):
        head = json.loads(line)
        if line.endswith(b"\n") and head == {"format": FORMAT_VERSION, "base": base}:
            return len(line)
    return 0


def _read_entry(file: BinaryIO) -> Entry | None:
    """Return the next entry; None at the end, and where the rest was cut off."""
    frame = file.read(FRAME.size)
    if len(frame) < FRAME.size:
        return None
    length, checksum = FRAME.unpack(frame)
    payload = file.read(length) if length <= 2 * MAX_ENTRY_BYTES else b""
    if not length or len(payload) != length or zlib.crc32(payload) != checksum:  # a crash may leave zeros, too
        return None
    header, _, body = payload.partition(b"\n")
    return Entry(json.loads(header), body)


def start_journal(path: str, base: str) -> JournalState:
    """Replace the journal by an empty one for this base; return its state."""
    with atomic_write(path, PRIVATE_MODE) as unfinished:
        unfinished.write_bytes(json.dumps({"format": FORMAT_VERSION, "base": base}).encode() + b"\n")
    stamp = read_stamp(path)
    return JournalState(stamp[2], stamp[2], stamp)


def append_entry(path: str, state: JournalState, entry: Entry) -> JournalState:
    """Write an entry after the others, in place of one that was cut off there, to the disk; return the new state.

    After an error the journal is as it was.
    """
    data = entry.to_bytes()
    with open(path, "r+b", buffering=0) as file:  # after an error, closing would write a buffer again
        try:
            file.truncate(state.end)
            file.seek(state.end)
            unwritten = memoryview(data)
            while unwritten:  # where the disk is full, the first call writes a part, and the second raises the error
                unwritten = unwritten[file.write(unwritten) :]
            os.fsync(file.fileno())
            return JournalState(state.start, file.tell(), read_stamp(path))
        except OSError:
            with suppress(OSError):
                os.ftruncate(file.fileno(), state.end)
            raise


@contextmanager
def lock_model(path: str, deadline: float) -> Iterator[None]:
    """Hold the lock of a model that servers update, against all processes; TimeoutError if it is not free in time."""
    with ExitStack() as held:
        try:
            held.enter_context(_lock_file(path + LOCK_ENDING, os.O_CREAT | os.O_RDWR, deadline))
        except ImportError:
            raise InputError("--learning needs locks of files, which this system does not have") from None
        yield


@contextmanager
def lock_model_file(path: str, deadline: float) -> Iterator[None]:
    """Hold the lock of the model file itself, which commands and servers that start hold: it leaves no other file.

    There is none for a file that cannot be opened, and on systems and file systems without locks. TimeoutError if it
    is not free in time.
    """
    with ExitStack() as held:
        try:
            held.enter_context(_lock_file(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0), deadline))
        except TimeoutError:
            raise
        except (ImportError, OSError):
            pass
        yield


@contextmanager
def _lock_file(path: str, flags: int, deadline: float) -> Iterator[None]:
    """Hold the lock of a file, which is opened again if it is replaced meanwhile."""
    import fcntl

    while True:
        handle = os.open(path, flags, PRIVATE_MODE)
        try:
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise TimeoutError from None
                    time.sleep(LOCK_POLL_SECONDS)
            if read_stamp(path)[:2] == (os.fstat(handle).st_dev, os.fstat(handle).st_ino):
                yield
                return
        finally:
            os.close(handle)  # which releases the lock


def hash_file(path: str) -> str:
    """Return a hash of the contents of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
