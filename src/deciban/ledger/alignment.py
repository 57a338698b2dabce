"""How what two schemas count lines up: classes, features, words and levels by their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from deciban.errors import SchemaError
from deciban.ledger.bags import Bags
from deciban.ledger.schema import Block, Label, Schema, in_order
from deciban.ledger.statistic import Statistic
from deciban.ledger.vocabulary import Vocabulary

Places = NDArray[np.intp]
Names = tuple[str, ...]


@dataclass(frozen=True)
class BlockMapping:
    """Where the features, words or levels of one block go in another; None: they stay.

    `order` says which feature comes to each place; `words` and `levels` to which place each goes, among how many.
    """

    order: Places | None = None
    words: tuple[Places, int] | None = None
    levels: tuple[list[Places | None], list[int]] | None = None

    def apply(self, statistic: Statistic) -> Statistic:
        """The block's statistic at its new places."""
        if self.order is not None:
            statistic = statistic.reorder(self.order)
        if self.words is not None:
            statistic = cast(Bags, statistic).widen(*self.words)
        if self.levels is not None:
            statistic = statistic.relevel(*self.levels)
        return statistic


@dataclass(frozen=True)
class Move:
    """Where everything that one schema counts goes in another."""

    classes: Places
    n_classes: int
    blocks: tuple[BlockMapping, ...]

    def rows(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Class weights at their new places."""
        out = np.zeros(self.n_classes)
        out[self.classes] = weight
        return out

    def apply(self, block: int, statistic: Statistic) -> Statistic:
        """One block's statistic at its new places."""
        return self.blocks[block].apply(statistic).spread(self.classes, self.n_classes)


Joined = tuple[Block, BlockMapping, BlockMapping]
"""A block that counts what two do, and how each of the two moves there."""


def unite(a: Schema, b: Schema) -> tuple[Schema, Move, Move]:
    """The schema that counts what either counts, and how each moves there; refused if they cannot line up.

    Classes, named levels and words are united, in order; features of the same names in another order are reordered.
    """
    classes = _united_classes(a.classes, b.classes)
    joined = [_join(x, y, grows=True) for x, y in _paired(a, b)]
    schema = Schema(classes, tuple(block for block, _, _ in joined))
    return schema, _move(a, classes, [mine for _, mine, _ in joined]), _move(b, classes, [its for *_, its in joined])


def fit(b: Schema, into: Schema) -> Move:
    """How what b counts moves into another schema, unchanged; refused if that has no place for a name."""
    known = set(into.classes)
    strange = [label for label in b.classes if label not in known]
    if strange:
        raise SchemaError(f"class {strange[0]!r} is not known. Hint: one of {list(into.classes)[:5]}")
    return _move(b, into.classes, [_join(x, y, grows=False)[2] for x, y in _paired(into, b)])


def _paired(a: Schema, b: Schema) -> Iterator[tuple[Block, Block]]:
    if len(a.blocks) != len(b.blocks):
        raise SchemaError(f"one has {len(a.blocks)} blocks of features, the other {len(b.blocks)}")
    return zip(a.blocks, b.blocks)


def _move(old: Schema, classes: tuple[Label, ...], blocks: Sequence[BlockMapping]) -> Move:
    place = {label: i for i, label in enumerate(classes)}
    index = np.array([place[label] for label in old.classes], dtype=np.intp)
    return Move(index, len(classes), tuple(blocks))


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


def _join(a: Block, b: Block, grows: bool) -> Joined:
    """Two blocks as one; unless it grows, a as it is, which must have room for all of b."""
    if a.kind != b.kind:
        raise SchemaError(f"one counts {a.kind}, the other {b.kind}. Hint: train both as the same family.")
    if a.reading != b.reading:
        raise SchemaError(f"one counts {a.reading}, the other {b.reading}. Hint: read the data of both the same way.")
    if isinstance(a.names, Vocabulary) or isinstance(b.names, Vocabulary):
        return _join_words(a, b, grows)
    if a.width != b.width:
        raise SchemaError(f"one has {a.width} features, the other {b.width}{_only(a, b)}")
    return _join_levels(a, b, _order(a, b), grows)


def _join_words(a: Block, b: Block, grows: bool) -> Joined:
    if not isinstance(a.names, Vocabulary) or not isinstance(b.names, Vocabulary):
        raise SchemaError("one has kept its words, the other has not. Hint: read the texts of both the same way.")
    if grows:
        words, mine, its = a.names.unite(b.names)
        size = len(words)
        return (
            replace(a, width=size, names=words),
            BlockMapping(words=None if words is a.names else (mine, size)),
            BlockMapping(words=(its, size)),
        )
    its = a.names.find(b.names)
    if (its < 0).any():
        strange = b.names[int(np.argmin(its))]
        raise SchemaError(f"word {strange!r} is not known. Hint: take away only texts that were learned.")
    return a, BlockMapping(), BlockMapping(words=(its, a.width))


def _join_levels(a: Block, b: Block, order: Places | None, grows: bool) -> Joined:
    if (a.levels is None) != (b.levels is None):
        raise SchemaError(
            "the levels of one have names, those of the other are bare codes. Hint: name both, or neither."
        )
    if a.levels is None or b.levels is None:
        return a, BlockMapping(), BlockMapping(order)
    theirs = b.levels if order is None else tuple(b.levels[j] for j in order)
    if a.levels == theirs:
        return a, BlockMapping(), BlockMapping(order)
    united = _sorted_union if grows else _all_known
    levels = tuple(x if x == y else united(x, y) for x, y in zip(a.levels, theirs))
    sizes = [len(names) for names in levels]
    mine, its = (_places(a.levels, levels), sizes), (_places(theirs, levels), sizes)
    return replace(a, levels=levels), BlockMapping(levels=mine), BlockMapping(order, levels=its)


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
