"""Codes of short texts straight from Arrow's buffers.

Telling texts apart is most of our own work on a CSV file; Arrow's `dictionary_encode` takes texts of any length, and
twice as long over short ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.ledger.hashing import SURROGATES

MOST_NAMES = 1 << 16
"""With more names than this Arrow's own table is as good."""


class ShortTexts:
    """A table from texts of up to 15 bytes to their codes, filled as names become known."""

    def __init__(self, kernels: ModuleType) -> None:
        self.kernels = kernels
        self.n_known = 0
        self._make_room(256)

    def _make_room(self, size: int) -> None:
        self.lows, self.highs = np.zeros((2, size), dtype=np.uint64)
        self.codes = np.full(size, -1, dtype=np.int64)
        self.n_known = 0

    def learn(self, names: Sequence[str]) -> bool:
        """Take in the names that are new since the last time; False where there are too many."""
        if len(names) > MOST_NAMES:
            return False
        if 2 * len(names) > len(self.codes):
            self._make_room(1 << (4 * len(names)).bit_length())
        fresh = [(i, name.encode("utf-8", SURROGATES)) for i, name in enumerate(names[self.n_known :], self.n_known)]
        short = [(i, *self.kernels.pack_text(text)) for i, text in fresh if len(text) <= self.kernels.MAX_TEXT_BYTES]
        if short:
            code, low, high = zip(*short)
            words = [np.array(each, dtype=np.uint64) for each in (low, high)]
            self.kernels.insert_texts(*words, np.array(code, dtype=np.int64), self.lows, self.highs, self.codes)
        self.n_known = len(names)
        return True

    def find(self, array: Any) -> NDArray[np.int64] | None:
        """The codes of an Arrow array of strings; `UNKNOWN` for new ones, None where one is too long."""
        _, offsets, utf8 = array.buffers()
        missing = np.asarray(array.is_null()) if array.null_count else np.zeros(0, dtype=np.bool_)
        ends = np.frombuffer(offsets, dtype=np.int32)[array.offset : array.offset + len(array) + 1]
        content = np.zeros(0, dtype=np.uint8) if utf8 is None else np.frombuffer(utf8, dtype=np.uint8)
        out = np.empty(len(array), dtype=np.int64)
        new = self.kernels.find_codes(content, ends, missing, self.lows, self.highs, self.codes, out)
        return None if new < 0 else out
