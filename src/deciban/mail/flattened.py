"""Tokens of many messages in a row, as numbers of words that are met: what counting and packing work on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError
from deciban.mail.bundles import Bundle
from deciban.mail.packing import Numbers


class Flat(NamedTuple):
    """How many tokens each message has, all of them in a row as places of words, and the words' places."""

    sizes: Numbers
    which: Numbers
    places: dict[str, int]


def flattened(texts: list[Sequence[str]]) -> Flat:
    """Messages as lists of tokens."""
    places: defaultdict[str, int] = defaultdict(count().__next__)
    sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    each = map(places.__getitem__, chain.from_iterable(texts))
    return Flat(sizes, np.fromiter(each, dtype=np.int64, count=int(sizes.sum())), places)


def joined(bundles: Sequence[Bundle], wanted: NDArray[np.bool_]) -> Flat:
    """Those messages of bundles that are wanted."""
    places: defaultdict[str, int] = defaultdict(count().__next__)
    sizes, which, at = [], [], 0
    for bundle in bundles:
        some = wanted[at : at + len(bundle.sizes)]
        at += len(bundle.sizes)
        size, mine, words = _kept(bundle, some)
        place = np.fromiter(map(places.__getitem__, words), dtype=np.int64, count=len(words))
        sizes.append(size)
        which.append(place[mine])
    return Flat(np.concatenate(sizes), np.concatenate(which), places)


def _kept(bundle: Bundle, wanted: NDArray[np.bool_]) -> tuple[Numbers, Numbers, Sequence[str]]:
    size, which = np.array(bundle.sizes, dtype=np.int64), np.array(bundle.which, dtype=np.int64)
    met = np.bincount(which, minlength=len(bundle.words))
    if len(met) != len(bundle.words) or not met.all():
        raise InputError("a bundle has words that none of its messages has, or lacks some. Hint: bundled(entries)")
    if wanted.all():
        return size, which, bundle.words
    used, which = np.unique(which[np.repeat(wanted, size)], return_inverse=True)
    return size[wanted], which, [bundle.words[i] for i in used.tolist()]


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
