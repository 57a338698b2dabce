"""The schema of a ledger: classes, blocks of features and their names, and the statistic that a family needs."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal

import numpy as np

from deciban.errors import InputError
from deciban.ledger.vocabulary import Vocabulary

Label = Any
Kind = Literal["counts", "levels", "moments", "scatter", "cells", "grid", "bags"]


@dataclass(frozen=True, slots=True)
class Needs:
    """The statistic that a family requests from an engine, and how a value is read before it is counted.

    `threshold` reads x as the indicator [x > threshold] (Bernoulli). `signed` is False where a negative
    value has no meaning (counts, level codes). `skips` is False where a missing value cannot simply be
    left out (a bag of words: skipping a word would mean that it did not occur). `unit`: values lie in [0, 1].
    `words` describes how a text is tokenised (bags).
    """

    kind: Kind
    threshold: float | None = None
    signed: bool = True
    skips: bool = True
    unit: bool = False
    words: str = ""

    @property
    def reading(self) -> str:
        """A text that describes how a value is read, for the schema."""
        if self.kind == "bags":
            return self.words
        return "x" if self.threshold is None else f"[x > {self.threshold!r}]"


@dataclass(frozen=True)
class Block:
    """Features that one statistic counts together.

    `names` are the names of the features, if they have any; a vocabulary, which may grow, if the features are words.
    `levels` are the names of the levels of each categorical feature, if they have any (without them levels are the
    codes 0, 1, 2, … and may grow); `reading` describes how a value is read before it is counted.
    """

    kind: Kind
    width: int
    names: tuple[str, ...] | Vocabulary | None = None
    levels: tuple[tuple[str, ...], ...] | None = None
    reading: str = "x"

    def choose(self, features: Sequence[int]) -> Block:
        """Return the block of these features alone, in this order."""
        names = None if self.names is None else _choose_names(self.names, features)
        levels = None if self.levels is None else tuple(self.levels[j] for j in features)
        return Block(self.kind, len(features), names, levels, self.reading)


@dataclass(frozen=True)
class Schema:
    """The classes, in order, and the blocks of features.

    >>> a = Schema(("ham", "spam"), (Block("counts", 2, ("bet", "cat")),))
    >>> a.fingerprint == Schema(("ham", "spam"), (Block("counts", 2, ("bet", "cat")),)).fingerprint
    True
    """

    classes: tuple[Label, ...]
    blocks: tuple[Block, ...]

    @cached_property
    def fingerprint(self) -> str:
        """A hexadecimal digest of the schema: equal schemas, and only they, have equal fingerprints."""
        content = [
            [_canonical(label) for label in self.classes],
            [[b.kind, b.width, _fingerprint_names(b.names), b.levels, b.reading] for b in self.blocks],
        ]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _canonical(label: Label) -> list[str]:
    """Return a text form of a label that is equal for equal labels: 1, 1.0 and True are one class."""
    if isinstance(label, (bool, int, float, np.number, np.bool_)):
        return ["number", str(int(label)) if float(label).is_integer() else repr(float(label))]
    return [type(label).__name__, str(label)]


def _fingerprint_names(names: tuple[str, ...] | Vocabulary | None) -> Any:
    """Return the names for a fingerprint: for a vocabulary of a million words, its digest."""
    return {"words": names.digest} if isinstance(names, Vocabulary) else names


def _choose_names(names: tuple[str, ...] | Vocabulary, features: Sequence[int]) -> tuple[str, ...] | Vocabulary:
    if not isinstance(names, Vocabulary):
        return tuple(names[j] for j in features)
    index = np.asarray(features, dtype=np.intp)
    if (index[1:] <= index[:-1]).any():
        raise InputError("the words of a vocabulary have an order of their own. Hint: choose them by rising numbers")
    return names.take(index)


def sort_classes(labels: Iterable[Label]) -> list[Label]:
    """Sort class labels: texts that are all numbers by their size, everything else as Python sorts it.

    >>> sort_classes({"10", "9"}), sort_classes({"b", "10", "9"})
    (['9', '10'], ['10', '9', 'b'])
    """
    found = list(labels)
    try:
        texts = all(isinstance(label, str) for label in found)
        return sorted(found, key=lambda label: (float(label), label)) if texts else sorted(found)
    except ValueError:
        return sorted(found)


def feature_names(schema: Schema) -> Sequence[str]:
    """Return the names of all features, created or looked up on access: a model may have a million.

    Features without names are numbered within their block.
    """
    named = [NumberedNames(block.width) if block.names is None else block.names for block in schema.blocks]
    return named[0] if len(named) == 1 else ChainedNames(named)


class NumberedNames(Sequence[str]):
    """The names x0, x1, x2 …, created on access."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, j: Any) -> Any:
        if isinstance(j, slice):
            return [f"x{i}" for i in range(self.length)[j]]
        return f"x{range(self.length)[j]}"


class ChainedNames(Sequence[str]):
    """The names of several blocks, one after the other, without copying them."""

    def __init__(self, parts: Sequence[Sequence[str]]) -> None:
        self.parts = parts
        self.ends = list(accumulate(map(len, parts)))

    def __len__(self) -> int:
        return self.ends[-1] if self.ends else 0

    def __getitem__(self, j: Any) -> Any:
        if isinstance(j, slice):
            return [self[i] for i in range(len(self))[j]]
        j = range(len(self))[j]
        part = bisect_right(self.ends, j)
        return self.parts[part][j - (self.ends[part - 1] if part else 0)]
