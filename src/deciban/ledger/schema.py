"""The schema of a ledger: classes, blocks of features and their names, and the statistic that a family needs.

Two schemas are aligned by the names of their classes, features, words and levels.
"""

import hashlib
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError, SchemaError
from deciban.ledger.counts import Bags
from deciban.ledger.statistic import Statistic
from deciban.ledger.vocabulary import Vocabulary

Label = Any
Names = tuple[str, ...]
Places = NDArray[np.intp]
Kind = Literal["counts", "levels", "moments", "scatter", "cells", "grid", "bags", "pairs"]


@dataclass(frozen=True, slots=True)
class Needs:
    """The statistic that a family requests from an engine, and how a value is read before it is counted.

    `threshold` reads x as the indicator [x > threshold] (Bernoulli). `signed` is False where a negative
    value has no meaning (counts, level codes). `skips` is False where a missing value cannot simply be
    left out (a bag of words: skipping a word would mean that it did not occur). `unit`: values lie in [0, 1].
    `words` describes how a text is tokenised (bags), `cells` is the number of cells of every feature (pairs).
    """

    kind: Kind
    threshold: float | None = None
    signed: bool = True
    skips: bool = True
    unit: bool = False
    words: str = ""
    cells: int = 0

    @property
    def reading(self) -> str:
        """A text that describes how a value is read, for the schema."""
        if self.kind == "bags":
            return self.words
        if self.kind == "pairs":
            return f"one of {self.cells} cells"
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

    def choose(self, features: Sequence[int]) -> "Block":
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
        # a vocabulary of a million words is represented by its digest
        names = [{"words": b.names.digest} if isinstance(b.names, Vocabulary) else b.names for b in self.blocks]
        content = [
            [_canonical(label) for label in self.classes],
            [[b.kind, b.width, name, b.levels, b.reading] for b, name in zip(self.blocks, names)],
        ]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _canonical(label: Label) -> list[str]:
    """Return a text form of a label that is equal for equal labels: 1, 1.0 and True are one class."""
    if isinstance(label, (bool, int, float, np.number, np.bool_)):
        return ["number", str(int(label)) if float(label).is_integer() else repr(float(label))]
    return ["str" if isinstance(label, str) else type(label).__name__, str(label)]


def _choose_names(names: tuple[str, ...] | Vocabulary, features: Sequence[int]) -> tuple[str, ...] | Vocabulary:
    """Return the names of these features; refuse words of a vocabulary in another order than its own, or repeated."""
    if not isinstance(names, Vocabulary):
        return tuple(names[j] for j in features)
    index = np.asarray(features, dtype=np.intp)
    if (index[1:] <= index[:-1]).any():
        raise InputError("the words of a vocabulary have an order of their own. Hint: choose them by rising numbers")
    return names.take(index)


def sort_classes(labels: Iterable[Label]) -> list[Label]:
    """Sort class labels: texts that are all numbers by their size, everything else as Python sorts it.

    >>> sort_classes({"10", "9"}), sort_classes({"b", "10", "9"}), sort_classes({"nan", "10", "9"})
    (['9', '10'], ['10', '9', 'b'], ['10', '9', 'nan'])
    """
    found = list(labels)
    try:
        are_numbers = all(isinstance(label, str) and float(label) == float(label) for label in found)  # not NaN
    except ValueError:
        are_numbers = False
    return sorted(found, key=lambda label: (float(label), label)) if are_numbers else sorted(found)


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

    def __init__(self, blocks: Sequence[Sequence[str]]) -> None:
        self.blocks = blocks
        self.ends = list(accumulate(map(len, blocks)))

    def __len__(self) -> int:
        return self.ends[-1] if self.ends else 0

    def __getitem__(self, j: Any) -> Any:
        if isinstance(j, slice):
            return [self[i] for i in range(len(self))[j]]
        j = range(len(self))[j]
        block = bisect_right(self.ends, j)
        return self.blocks[block][j - (self.ends[block - 1] if block else 0)]


@dataclass(frozen=True)
class BlockMapping:
    """The new places of the features, words or levels of a block in another block; None: they stay.

    `order` is the feature at each new place; `words` and `levels` are the new place of each, and their number.
    """

    order: Places | None = None
    words: tuple[Places, int] | None = None
    levels: tuple[list[Places | None], list[int]] | None = None

    def apply(self, statistic: Statistic) -> Statistic:
        """Return the block's statistic with everything at its new place."""
        if self.order is not None:
            statistic = statistic.take_features(self.order)
        if self.words is not None:
            statistic = cast(Bags, statistic).map_features(*self.words)
        if self.levels is not None:
            statistic = statistic.map_levels(*self.levels)
        return statistic


@dataclass(frozen=True)
class SchemaMapping:
    """The new places of the classes and blocks of a schema in another schema."""

    classes: Places
    n_classes: int
    blocks: tuple[BlockMapping, ...]

    def apply(self, block: int, statistic: Statistic) -> Statistic:
        """Return the statistic of block number `block` with classes, features and levels at their new places."""
        return self.blocks[block].apply(statistic).map_classes(self.classes, self.n_classes)


UnitedBlock = tuple[Block, BlockMapping, BlockMapping]
"""A block that counts the features of two blocks, and the mapping of each of them into it."""


def unite_schemas(a: Schema, b: Schema) -> tuple[Schema, SchemaMapping, SchemaMapping]:
    """Return the union of two schemas and the mapping of each into it; refuse schemas that cannot be aligned.

    Classes, named levels and words are united, in order; features of the same names in another order are reordered.
    """
    classes = _unite_classes(a.classes, b.classes)
    united = [_unite_blocks(x, y, grows=True) for x, y in _pair_blocks(a, b)]
    schema = Schema(classes, tuple(block for block, _, _ in united))
    return (
        schema,
        _map_schema(a, classes, [mine for _, mine, _ in united]),
        _map_schema(b, classes, [its for *_, its in united]),
    )


def map_into(b: Schema, into: Schema) -> SchemaMapping:
    """Return the mapping of b into another schema, which stays as it is; refuse names that it lacks."""
    known = set(into.classes)
    unknown = [label for label in b.classes if label not in known]
    if unknown:
        raise SchemaError(f"class {unknown[0]!r} is not known. Hint: one of {list(into.classes)[:5]}")
    return _map_schema(b, into.classes, [_unite_blocks(x, y, grows=False)[2] for x, y in _pair_blocks(into, b)])


def _pair_blocks(a: Schema, b: Schema) -> Iterator[tuple[Block, Block]]:
    """Return the pairs of blocks at the same place; refuse schemas with different numbers of blocks."""
    if len(a.blocks) != len(b.blocks):
        raise SchemaError(f"one has {len(a.blocks)} blocks of features, the other {len(b.blocks)}")
    return zip(a.blocks, b.blocks)


def _map_schema(old: Schema, classes: tuple[Label, ...], blocks: Sequence[BlockMapping]) -> SchemaMapping:
    """Return the mapping of a schema into one of these classes, given that of each block."""
    return SchemaMapping(_positions(old.classes, classes), len(classes), tuple(blocks))


def _unite_classes(a: tuple[Label, ...], b: tuple[Label, ...]) -> tuple[Label, ...]:
    """Return all classes of both, sorted; those of a, in their order, if both are equal."""
    if a == b:
        return a
    try:
        return tuple(sort_classes({*a, *b}))
    except TypeError:
        raise SchemaError(
            f"classes of different types cannot be put in one order: {list(a)[:5]} and {list(b)[:5]}. "
            f"Hint: use the same kind of label on both sides."
        ) from None


def _unite_blocks(a: Block, b: Block, grows: bool) -> UnitedBlock:
    """Return the union of two blocks; unless `grows` it is a, which must have all names of b. Refuse other blocks."""
    if a.kind != b.kind:
        raise SchemaError(f"one counts {a.kind}, the other {b.kind}. Hint: train both as the same family.")
    if a.reading != b.reading:
        raise SchemaError(f"one counts {a.reading}, the other {b.reading}. Hint: read the data of both the same way.")
    if isinstance(a.names, Vocabulary) or isinstance(b.names, Vocabulary):
        return _unite_words(a, b, grows)
    if a.width != b.width:
        raise SchemaError(f"one has {a.width} features, the other {b.width}{_describe_difference(a, b)}")
    return _unite_levels(a, b, _match_order(a, b), grows)


def _unite_words(a: Block, b: Block, grows: bool) -> UnitedBlock:
    """Return the union of two blocks of words; unless `grows` it is a. Refuse a block without a vocabulary."""
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
        unknown = b.names[int(np.argmin(its))]
        raise SchemaError(f"word {unknown!r} is not known. Hint: take away only texts that were learned.")
    return a, BlockMapping(), BlockMapping(words=(its, a.width))


def _unite_levels(a: Block, b: Block, order: Places | None, grows: bool) -> UnitedBlock:
    """Return the union of two blocks of the same features; `order` has the place in b of each feature of a."""
    if (a.levels is None) != (b.levels is None):
        raise SchemaError(
            "the levels of one have names, those of the other are bare codes. Hint: name both, or neither."
        )
    if a.levels is None or b.levels is None:
        return a, BlockMapping(), BlockMapping(order)
    theirs = b.levels if order is None else tuple(b.levels[j] for j in order)
    if a.levels == theirs:
        return a, BlockMapping(), BlockMapping(order)
    levels = tuple(x if x == y else _unite_names(x, y, grows) for x, y in zip(a.levels, theirs))
    sizes = [len(names) for names in levels]
    mine, its = (_find_moves(a.levels, levels), sizes), (_find_moves(theirs, levels), sizes)
    return replace(a, levels=levels), BlockMapping(levels=mine), BlockMapping(order, levels=its)


def _unite_names(x: Names, y: Names, grows: bool) -> Names:
    """Return all names, sorted so that the order of merging does not matter; or x, if it may not grow."""
    if grows:
        return tuple(sorted(dict.fromkeys((*x, *y))))  # two sorted runs in a row are merged in linear time
    unknown = set(y).difference(x)
    if unknown:
        raise SchemaError(f"level {min(unknown)!r} is not known. Hint: one of {list(x)[:5]}")
    return x


def _find_moves(old: Sequence[Names], new: Sequence[Names]) -> list[Places | None]:
    """Return the new places of the names of each feature; None where they have not moved."""
    return [None if x is y else _positions(x, y) for x, y in zip(old, new)]


def _positions(names: Sequence[Label], among: Sequence[Label]) -> Places:
    """Return the index of each name among others, all of which are there."""
    position = dict(zip(among, range(len(among))))
    return np.fromiter(map(position.__getitem__, names), dtype=np.intp, count=len(names))


def _match_order(a: Block, b: Block) -> Places | None:
    """Return the order of b's features that matches a; None where it does, or one has no names. Refuse others."""
    if a.names == b.names or a.names is None or b.names is None:
        return None
    for block in (a, b):
        twice = [name for name, times in Counter(block.names).items() if times > 1]
        if twice:
            raise SchemaError(f"two features are both named {min(twice)!r}, so they cannot be aligned by name")
    if set(a.names) != set(b.names):
        raise SchemaError(f"the features differ{_describe_difference(a, b)}")
    return _positions(a.names, b.names)


def _describe_difference(a: Block, b: Block) -> str:
    """Return the end of an error message: some of the names that only one block has; "" without names."""
    if a.names is None or b.names is None:
        return ""
    first, second = set(a.names), set(b.names)
    mine = [n for n in a.names if n not in second]
    theirs = [n for n in b.names if n not in first]
    return f": only in the first {mine[:5]}, only in the second {theirs[:5]}"
