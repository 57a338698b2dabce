"""Bags of words drawn class by class, without a table of classes × words.

A class's words are its own, each in its share, and beside them every word there is, all in equal shares: that is what
pseudo-counts come to. So a word is drawn by looking for a random number among the running totals of what the class
has; beyond the last of them it is any word.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError
from deciban.ledger import Tallies

LONGEST = 1 << 24
"""Words of the longest document that is drawn, on average."""

DRAWN_AT_ONCE = 1 << 22
"""Words drawn at a time, about."""


class Rates(NamedTuple):
    """The weight of each entry, that of any word beside it by class, and the mean length of a class's documents."""

    own: Array
    flat: Array
    length: Array


def draw(part: Tallies, rates: Rates, codes: NDArray[np.intp], rng: np.random.Generator) -> Any:
    """A bag for each class code, CSR; lengths are Poisson about their mean."""
    from scipy.sparse import csr_array, vstack

    longest = float(rates.length.max(initial=0.0))
    if longest > LONGEST:
        raise InputError(
            f"documents of {longest:g} words on average are too long to draw: at most {LONGEST}. "
            f"Hint: scale the model down."
        )
    urn = _Urn(part, rates)
    step = max(1, int(DRAWN_AT_ONCE / max(longest, 1.0)))
    bags = [csr_array((0, part.n_features))]
    bags += [urn.bags(codes[at : at + step], rng) for at in range(0, len(codes), step)]
    return csr_array(vstack(bags))


class _Urn:
    """The entries class by class, with their running totals."""

    def __init__(self, part: Tallies, rates: Rates) -> None:
        order = np.argsort(part.klass, kind="stable")
        self.word, self.length, self.flat, self.V = part.feature[order], rates.length, rates.flat, part.n_features
        first = np.concatenate([[0], np.cumsum(np.bincount(part.klass, minlength=part.n_classes))])
        self.first, self.last = first[:-1], first[1:] - 1
        self.total = np.concatenate([[0.0], np.cumsum(rates.own[order])])
        self.below, self.own = self.total[first[:-1]], np.diff(self.total[first])

    def bags(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Any:
        """A bag for each class code."""
        from scipy.sparse import csr_array

        row = np.repeat(np.arange(len(codes)), rng.poisson(self.length[codes]))
        k = codes[row]
        spot = rng.random(len(k)) * (self.own + self.flat * self.V)[k]
        beside = spot >= self.own[k]
        word = np.empty(len(k), dtype=np.intp)
        word[beside] = rng.integers(0, max(self.V, 1), int(beside.sum()))
        k, spot = k[~beside], spot[~beside]
        at = np.searchsorted(self.total, self.below[k] + spot, side="right") - 1
        word[~beside] = self.word[np.clip(at, self.first[k], self.last[k])]
        return csr_array((np.ones(len(row)), (row, word)), shape=(len(codes), self.V))
