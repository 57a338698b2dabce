r"""Alphabets: for every character whether it belongs to a token, and its lower case, from the running interpreter.

Word characters are those that `\w` matches; tables made once a process, compact because most pages are alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deciban.kernels.utf8 import SPACE, SPECIAL, STEP, TOKEN
from deciban.ledger.hashing import SURROGATES
from deciban.text.words import PATTERNS as OF_TOKENS

N_CHARACTERS = 0x110000
PAGE = 256

CONTEXTUAL = 0x3A3
"""Σ, whose lower case is another at the end of a word."""

SPECIALS = [0x130, CONTEXTUAL]
"""With it the İ, whose lower case is two characters."""

Kind = Literal["words", "whitespace", "space"]
"""Which characters tokens are made of: word characters, all but white space, all but U+0020."""

PATTERNS = {**OF_TOKENS, "space": "[^ ]+"}
"""In the order of the kernels' numbers for them."""


@dataclass(frozen=True, eq=False)
class Alphabet:
    """The entry of character c is `entry[page[c >> 8], c & 255]`; `kind` and `lower` say how ASCII is read."""

    kind: int
    lower: bool
    page: NDArray[np.uint16]
    entry: NDArray[np.uint32]


@cache
def alphabet(kind: Kind, lower: bool) -> Alphabet:
    """The alphabet of a kind of token, after lower-casing if asked for."""
    folded, special = _lowered() if lower else (np.arange(N_CHARACTERS, dtype=np.uint32), [])
    entry: NDArray[np.uint32] = np.bitwise_and(folded - np.arange(N_CHARACTERS, dtype=np.uint32), STEP)
    entry[_matching(PATTERNS[kind])[folded]] |= TOKEN
    entry[_matching(r"\s+")[folded]] |= SPACE
    entry[special] = SPECIAL
    return Alphabet(list(PATTERNS).index(kind), lower, *_paged(entry))


def _every_character() -> str:
    return np.arange(N_CHARACTERS, dtype="<u4").tobytes().decode("utf-32-le", SURROGATES)


@cache
def _matching(pattern: str) -> NDArray[np.bool_]:
    """Which characters a pattern of runs matches."""
    found = np.zeros(N_CHARACTERS, dtype=np.bool_)
    for run in re.finditer(pattern, _every_character()):
        found[run.start() : run.end()] = True
    return found


@cache
def _lowered() -> tuple[NDArray[np.uint32], list[int]]:
    """The lower case of each character, and the characters that have none of one character for themselves."""
    special = SPECIALS
    plain, lowered = _lowered_without(special)
    if len(lowered) != len(plain):  # an interpreter with other rules
        special = sorted({CONTEXTUAL, *(c for c in range(N_CHARACTERS) if len(chr(c).lower()) != 1)})
        plain, lowered = _lowered_without(special)
    out = np.arange(N_CHARACTERS, dtype=np.uint32)
    out[plain] = np.frombuffer(lowered.encode("utf-32-le", SURROGATES), dtype="<u4")
    return out, special


def _lowered_without(special: list[int]) -> tuple[NDArray[np.uint32], str]:
    plain = np.delete(np.arange(N_CHARACTERS, dtype=np.uint32), special)
    return plain, plain.astype("<u4").tobytes().decode("utf-32-le", SURROGATES).lower()


def _paged(entry: NDArray[np.uint32]) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
    """Pages that are alike are kept once."""
    rows = entry.reshape(-1, PAGE)
    number: dict[bytes, int] = {}
    page = [number.setdefault(row.tobytes(), len(number)) for row in rows]
    first = np.unique(np.array(page), return_index=True)[1]
    return np.array(page, dtype=np.uint16), np.ascontiguousarray(rows[first])
