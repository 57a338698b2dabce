r"""Tables of characters: whether each belongs to a token, and its lower case, taken from the running interpreter.

Word characters are those that `\w` matches; tables are made once per process, compact because most pages are equal.
"""

import re
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deciban.kernels.tokenizer import CASE_OFFSET, PUNCTUATION_KIND, SINGLE, SPACE, SPECIAL, TOKEN, Alphabet
from deciban.ledger.hashing import SURROGATES
from deciban.text.words import PATTERNS as TOKEN_PATTERNS

N_CHARACTERS = 0x110000
PAGE_SIZE = 256

CAPITAL_SIGMA = 0x3A3
"""Σ, whose lower case differs at the end of a word."""

SPECIAL_CHARACTERS = [0x130, CAPITAL_SIGMA]
"""Characters without a lower case of one character: Σ, and İ, whose lower case is two characters."""

Kind = Literal["words", "whitespace", "words and punctuation", "space"]
"""The characters of tokens: word characters; all but white space; word characters, and each punctuation character as
a token of its own; all but U+0020."""

PATTERNS = {**TOKEN_PATTERNS, "space": "[^ ]+"}
"""The pattern of each kind, in the order of the kernels' numbers for them; "space": of stop words."""


@cache
def build_alphabet(kind: Kind, lower: bool) -> Alphabet:
    """Build the alphabet of a kind of token, after lower-casing if wanted."""
    folded, special = _lower_characters() if lower else (np.arange(N_CHARACTERS, dtype=np.uint32), [])
    entry: NDArray[np.uint32] = np.bitwise_and(folded - np.arange(N_CHARACTERS, dtype=np.uint32), CASE_OFFSET)
    number = list(PATTERNS).index(kind)
    if number == PUNCTUATION_KIND:
        entry[match_characters(PATTERNS["words"])[folded]] |= TOKEN
        entry[match_characters(r"[^\w\s]+")[folded]] |= SINGLE
    else:
        entry[match_characters(PATTERNS[kind])[folded]] |= TOKEN
    entry[match_characters(r"\s+")[folded]] |= SPACE
    entry[special] = SPECIAL
    return Alphabet(number, lower, *_split_pages(entry))


@cache
def match_characters(pattern: str) -> NDArray[np.bool_]:
    """Return which characters a pattern of runs matches."""
    found = np.zeros(N_CHARACTERS, dtype=np.bool_)
    every_character = np.arange(N_CHARACTERS, dtype="<u4").tobytes().decode("utf-32-le", SURROGATES)
    for run in re.finditer(pattern, every_character):
        found[run.start() : run.end()] = True
    return found


@cache
def _lower_characters() -> tuple[NDArray[np.uint32], list[int]]:
    """Return the lower case of each character, and the characters without a lower case of one character."""
    special = SPECIAL_CHARACTERS
    plain, lowered = _lower_except(special)
    if len(lowered) != len(plain):  # an interpreter with other rules
        special = sorted({CAPITAL_SIGMA, *(c for c in range(N_CHARACTERS) if len(chr(c).lower()) != 1)})
        plain, lowered = _lower_except(special)
    out = np.arange(N_CHARACTERS, dtype=np.uint32)
    out[plain] = np.frombuffer(lowered.encode("utf-32-le", SURROGATES), dtype="<u4")
    return out, special


def _lower_except(special: list[int]) -> tuple[NDArray[np.uint32], str]:
    plain = np.delete(np.arange(N_CHARACTERS, dtype=np.uint32), special)
    return plain, plain.astype("<u4").tobytes().decode("utf-32-le", SURROGATES).lower()


def _split_pages(entry: NDArray[np.uint32]) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
    """Split the entries into pages, and keep equal pages once."""
    rows = entry.reshape(-1, PAGE_SIZE)
    number: dict[bytes, int] = {}
    page = [number.setdefault(row.tobytes(), len(number)) for row in rows]
    first = np.unique(np.array(page), return_index=True)[1]
    return np.array(page, dtype=np.uint16), np.ascontiguousarray(rows[first])
