"""Schema: the names of what a ledger counts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deciban.errors import InputError
from deciban.ledger.needs import Kind
from deciban.ledger.vocabulary import Vocabulary

Label = Any


@dataclass(frozen=True)
class Block:
    """Features that one statistic counts together.

    `names` are the features' names, if they have any, and a vocabulary if the features are words, which may be
    more tomorrow; `levels` the names of a categorical feature's
    levels, if they have any (without them levels are the codes 0, 1, 2, … and may grow); `reading` how a value
    is read before it is counted.
    """

    kind: Kind
    width: int
    names: tuple[str, ...] | Vocabulary | None = None
    levels: tuple[tuple[str, ...], ...] | None = None
    reading: str = "x"

    def choose(self, features: Sequence[int]) -> Block:
        """The same with these features alone, in this order."""
        names = None if self.names is None else _chosen(self.names, features)
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
        """A short name for exactly this schema: equal schemas, and only they, have equal fingerprints."""
        content = [
            [_canonical(label) for label in self.classes],
            [[b.kind, b.width, _in_writing(b.names), b.levels, b.reading] for b in self.blocks],
        ]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _canonical(label: Label) -> list[str]:
    """A label in writing, the same for labels that are equal: 1, 1.0 and True are one class."""
    if isinstance(label, (bool, int, float, np.number, np.bool_)):
        return ["number", str(int(label)) if float(label).is_integer() else repr(float(label))]
    return [type(label).__name__, str(label)]


def _in_writing(names: tuple[str, ...] | Vocabulary | None) -> Any:
    """Names as a fingerprint has them: of a million words their own is enough."""
    return {"words": names.digest} if isinstance(names, Vocabulary) else names


def _chosen(names: tuple[str, ...] | Vocabulary, features: Sequence[int]) -> tuple[str, ...] | Vocabulary:
    if not isinstance(names, Vocabulary):
        return tuple(names[j] for j in features)
    index = np.asarray(features, dtype=np.intp)
    if (index[1:] <= index[:-1]).any():
        raise InputError("the words of a vocabulary have an order of their own. Hint: choose them by rising numbers")
    return names.take(index)


def in_order(labels: Iterable[Label]) -> list[Label]:
    """Classes in their order: texts that are all numbers by their size, everything else as Python sorts it.

    >>> in_order({"10", "9"}), in_order({"b", "10", "9"})
    (['9', '10'], ['10', '9', 'b'])
    """
    told = list(labels)
    try:
        return sorted(told, key=lambda label: (float(label), label)) if _texts(told) else sorted(told)
    except ValueError:
        return sorted(told)


def _texts(labels: Sequence[Label]) -> bool:
    return all(isinstance(label, str) for label in labels)
