"""Schema: the names of what a ledger counts, and how two of them line up."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.errors import SchemaError
from deciban.ledger.needs import Kind
from deciban.ledger.statistic import Statistic

Label = Any
Places = NDArray[np.intp]
Names = tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """Features that one statistic counts together.

    `names` are the features' names, if they have any; `levels` the names of a categorical feature's
    levels, if they have any (without them levels are the codes 0, 1, 2, … and may grow); `reading` how a value
    is read before it is counted.
    """

    kind: Kind
    width: int
    names: tuple[str, ...] | None = None
    levels: tuple[tuple[str, ...], ...] | None = None
    reading: str = "x"

    def choose(self, features: Sequence[int]) -> Block:
        """The same with these features alone, in this order."""
        names = None if self.names is None else tuple(self.names[j] for j in features)
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
            [[b.kind, b.width, b.names, b.levels, b.reading] for b in self.blocks],
        ]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _canonical(label: Label) -> list[str]:
    """A label in writing, the same for labels that are equal: 1, 1.0 and True are one class."""
    if isinstance(label, (bool, int, float, np.number, np.bool_)):
        return ["number", str(int(label)) if float(label).is_integer() else repr(float(label))]
    return [type(label).__name__, str(label)]


@dataclass(frozen=True)
class Move:
    """Where the classes, features and levels of one schema go in another."""

    classes: Places
    n_classes: int
    features: tuple[Places | None, ...]
    levels: tuple[tuple[list[Places | None], list[int]] | None, ...]

    def rows(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Class weights at their new places."""
        out = np.zeros(self.n_classes)
        out[self.classes] = weight
        return out

    def apply(self, block: int, statistic: Statistic) -> Statistic:
        """One block's statistic at its new places."""
        order, levels = self.features[block], self.levels[block]
        if order is not None:
            statistic = statistic.reorder(order)
        if levels is not None:
            statistic = statistic.relevel(*levels)
        return statistic.spread(self.classes, self.n_classes)


def unite(a: Schema, b: Schema) -> tuple[Schema, Move, Move]:
    """The schema that counts what either counts, and how each moves there; refused if they cannot line up.

    Classes and named levels are united, in sorted order; features of the same names in another order are reordered.
    """
    classes = _united_classes(a.classes, b.classes)
    pairs = [_unite_blocks(x, y, _sorted_union) for x, y in _paired(a, b)]
    schema = Schema(classes, tuple(block for block, _, _ in pairs))
    return (
        schema,
        _move(a, classes, [None for _ in pairs], [levels for _, _, (levels, _) in pairs]),
        _move(b, classes, [order for _, order, _ in pairs], [levels for _, _, (_, levels) in pairs]),
    )


def fit(b: Schema, into: Schema) -> Move:
    """How what b counts moves into another schema, unchanged; refused if that has no place for a class or a level."""
    known = set(into.classes)
    strange = [label for label in b.classes if label not in known]
    if strange:
        raise SchemaError(f"class {strange[0]!r} is not known. Hint: one of {list(into.classes)[:5]}")
    pairs = [_unite_blocks(x, y, _all_known) for x, y in _paired(into, b)]
    return _move(b, into.classes, [order for _, order, _ in pairs], [levels for _, _, (_, levels) in pairs])


def _paired(a: Schema, b: Schema) -> Iterator[tuple[Block, Block]]:
    if len(a.blocks) != len(b.blocks):
        raise SchemaError(f"one has {len(a.blocks)} blocks of features, the other {len(b.blocks)}")
    return zip(a.blocks, b.blocks)


def _move(old: Schema, classes: tuple[Label, ...], features: Sequence[Any], levels: Sequence[Any]) -> Move:
    place = {label: i for i, label in enumerate(classes)}
    index = np.array([place[label] for label in old.classes], dtype=np.intp)
    return Move(index, len(classes), tuple(features), tuple(levels))


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


def _united_classes(a: tuple[Label, ...], b: tuple[Label, ...]) -> tuple[Label, ...]:
    if a == b:
        return a
    try:
        return tuple(in_order({*a, *b}))
    except TypeError:
        raise SchemaError(
            f"classes of different types cannot be put in one order: {list(a)[:5]} and {list(b)[:5]}. "
            f"Hint: use the same kind of label on both sides."
        ) from None


def _unite_blocks(
    a: Block, b: Block, united: Callable[[Names, Names], Names]
) -> tuple[Block, Places | None, tuple[Any, Any]]:
    if a.kind != b.kind:
        raise SchemaError(f"one counts {a.kind}, the other {b.kind}. Hint: train both as the same family.")
    if a.reading != b.reading:
        raise SchemaError(f"one counts {a.reading}, the other {b.reading}. Hint: read the data of both the same way.")
    if a.width != b.width:
        raise SchemaError(f"one has {a.width} features, the other {b.width}{_only(a, b)}")
    order = _order(a, b)
    if (a.levels is None) != (b.levels is None):
        raise SchemaError(
            "the levels of one have names, those of the other are bare codes. Hint: name both, or neither."
        )
    if a.levels is None or b.levels is None:
        return a, order, (None, None)
    theirs = b.levels if order is None else tuple(b.levels[j] for j in order)
    if a.levels == theirs:
        return a, order, (None, None)
    levels = tuple(x if x == y else united(x, y) for x, y in zip(a.levels, theirs))
    sizes = [len(names) for names in levels]
    return (
        Block(a.kind, a.width, a.names, levels, a.reading),
        order,
        ((_places(a.levels, levels), sizes), (_places(theirs, levels), sizes)),
    )


def _sorted_union(x: Names, y: Names) -> Names:
    """All names in sorted order, so that it does not show who met whom first."""
    return tuple(sorted(dict.fromkeys((*x, *y))))  # in their order: two sorted runs are merged, not sorted


def _all_known(x: Names, y: Names) -> Names:
    """The names of x, which must be known to have those of y."""
    strange = set(y).difference(x)
    if strange:
        raise SchemaError(f"level {min(strange)!r} is not known. Hint: one of {list(x)[:5]}")
    return x


def _places(old: Sequence[Names], new: Sequence[Names]) -> list[Places | None]:
    """Where the names of each feature are now; None where they have not moved."""
    return [None if x is y else _place(x, y) for x, y in zip(old, new)]


def _place(old: Names, new: Names) -> Places:
    place = dict(zip(new, range(len(new))))
    return np.fromiter(map(place.__getitem__, old), dtype=np.intp, count=len(old))


def _order(a: Block, b: Block) -> Places | None:
    """Where b's features lie in a's order; None where they already do."""
    if a.names == b.names or a.names is None or b.names is None:
        return None
    for block in (a, b):
        twice = [name for name, times in Counter(block.names).items() if times > 1]
        if twice:
            raise SchemaError(f"two features are both named {min(twice)!r}, so they cannot be lined up by name")
    if set(a.names) != set(b.names):
        raise SchemaError(f"the features differ{_only(a, b)}")
    place = {name: j for j, name in enumerate(b.names)}
    return np.array([place[name] for name in a.names], dtype=np.intp)


def _only(a: Block, b: Block) -> str:
    """Which names stand on one side alone."""
    if a.names is None or b.names is None:
        return ""
    first, second = set(a.names), set(b.names)
    mine = [n for n in a.names if n not in second]
    theirs = [n for n in b.names if n not in first]
    return f": only in the first {mine[:5]}, only in the second {theirs[:5]}"
