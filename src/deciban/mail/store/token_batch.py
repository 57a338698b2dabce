"""Tokens of many messages in a row, as numbers of words that are met: what counting and packing work on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain, count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError
from deciban.mail.store.packing import Numbers


class Memory:
    """All words of a store with their numbers, from one batch to the next, while nobody else changes the store."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.changes: int | None = None
        """How many there had been when these were all; None if they were not asked for, or some are gone."""


class Flat(NamedTuple):
    """How many tokens each message has, all of them in a row as places of words, and the words' places."""

    sizes: Numbers
    which: Numbers
    places: Mapping[str, int]
    memory: Memory | None = None


def flattened(texts: list[Sequence[str]]) -> Flat:
    """Messages as lists of tokens."""
    places: defaultdict[str, int] = defaultdict(count().__next__)
    sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    each = map(places.__getitem__, chain.from_iterable(texts))
    return Flat(sizes, np.fromiter(each, dtype=np.int64, count=int(sizes.sum())), places)


def only(flat: Flat, wanted: NDArray[np.bool_]) -> Flat:
    """Those messages that are wanted, with the words that they have."""
    if wanted.all():
        return flat
    used, which = np.unique(flat.which[np.repeat(wanted, flat.sizes)], return_inverse=True)
    words = list(flat.places)
    places = {words[i]: place for place, i in enumerate(used.tolist())}
    return Flat(flat.sizes[wanted], which, places, flat.memory)


def fitting(flat: Flat, messages: int) -> Flat:
    """What is so many messages, and has no word but theirs."""
    met = np.bincount(flat.which, minlength=len(flat.places))
    if len(flat.sizes) != messages or flat.sizes.sum() != len(flat.which):
        raise InputError(f"tokens of {len(flat.sizes)} messages do not fit together with {messages} messages")
    if len(met) != len(flat.places) or not met.all():
        raise InputError("some words are of no message, or some tokens are no word")
    return flat


def distinct(flat: Flat, rank: Numbers) -> tuple[Numbers, Numbers]:
    """How many words each message has, and their ranks in a row: rising, each once."""
    pairs = np.repeat(np.arange(len(flat.sizes)) << 32, flat.sizes)
    pairs |= rank[flat.which]
    pairs.sort()
    if len(pairs):
        again = np.flatnonzero(pairs[1:] == pairs[:-1])
        pairs = np.delete(pairs, again) if len(again) else pairs
    sizes = np.diff(np.searchsorted(pairs, np.arange(len(flat.sizes) + 1) << 32))
    return sizes, pairs & 0xFFFFFFFF
