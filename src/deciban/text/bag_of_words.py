"""Bags: what each word of a document counts for, in plain Python; kernels do the same for large input."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Mapping
from typing import TypeVar

from deciban.ledger.hashing import SURROGATES, hash_word
from deciban.text.words import Words

T = TypeVar("T")


def bag_of(words: Words, text: str, known: Container[str] | None = None) -> dict[str, float]:
    """The words of a text and their values; of the known words alone, where these are given.

    >>> bag_of(Words(values="presence"), "to be or not to be")
    {'to': 1.0, 'be': 1.0, 'or': 1.0, 'not': 1.0}
    """
    tokens = words.tokens_of(text)
    return _valued(words, Counter(tokens if known is None else [token for token in tokens if token in known]))


def hashed_bag_of(words: Words, text: str) -> dict[int, float]:
    """The same by column, where a hash stands for a word."""
    return _valued(words, Counter(column(words, token) for token in words.tokens_of(text)))


def column(words: Words, token: str) -> int:
    """The column of a word whose hash stands for it: the lowest bits."""
    return hash_word(token.encode("utf-8", SURROGATES)) & (words.n_columns - 1)


def _valued(words: Words, counts: Mapping[T, int]) -> dict[T, float]:
    values = {token: _value(words, n) for token, n in counts.items()}
    if words.length is None:
        return values
    size = sum(values.values()) if words.length == "l1" else math.sqrt(sum(v * v for v in values.values()))
    return {token: value / size for token, value in values.items()}


def _value(words: Words, n: int) -> float:
    return float(n) if words.values == "counts" else 1.0 if words.values == "presence" else math.log1p(n)
