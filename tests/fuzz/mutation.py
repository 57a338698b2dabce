"""Mutations of bytes that all targets share, and the file that holds the input of a check."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

MAX_INPUT_BYTES = 1 << 20
NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, (1 << 63) - 1, (1 << 64) - 1)


def mutate_bytes(raw: bytes, rng: random.Random, words: Sequence[bytes] = (), most: int = 6) -> bytes:
    """Make up to `most` changes: flip bits, remove, repeat, move or replace bytes, insert `words`."""
    for _ in range(rng.randint(1, most)):
        at, size = rng.randint(0, len(raw)), int(2 ** rng.uniform(0, 9))
        match rng.randrange(9):
            case 0 | 1 if at < len(raw):
                raw = raw[:at] + bytes([raw[at] ^ 1 << rng.randrange(8)]) + raw[at + 1 :]
            case 2:
                raw = raw[:at] + raw[at + size :]
            case 3:
                raw = raw[:at] + raw[at : at + size] * rng.choice([2, 3, 50]) + raw[at + size :]
            case 4:
                raw = raw[:at] + rng.randbytes(size) + raw[at + rng.choice([0, size]) :]
            case 5:
                length = rng.choice([1, 2, 4, 8])
                number = (rng.choice(NUMBERS) & (1 << 8 * length) - 1).to_bytes(length, rng.choice(["little", "big"]))
                raw = raw[:at] + number + raw[at + length :]
            case 6 if rng.random() < 0.3:
                raw = raw[:at]
            case 7:
                there = rng.randint(0, len(raw))
                raw = raw[:at] + raw[there : there + size] + raw[at + size :]
            case _ if words:
                raw = raw[:at] + rng.choice(words) * rng.choice([1, 1, 1, 2, 300]) + raw[at + rng.choice([0, 1]) :]
        raw = raw[:MAX_INPUT_BYTES]
    return raw


def memory_folder() -> str | None:
    """Return a folder in memory for temporary files, if there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def write_input(name: str, raw: bytes) -> Path:
    """Write an input to a file for the check to read; one of that name is overwritten."""
    path = Path(tempfile.gettempdir(), name)
    path.write_bytes(raw)
    return path
