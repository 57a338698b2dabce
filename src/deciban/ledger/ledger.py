"""The ledger: the sufficient statistics of a generative classifier as one value that adds."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.docstrings import document
from deciban.errors import ForgetError, InputError, PrecisionWarning, UndefinedError
from deciban.formatting import format_count
from deciban.ledger.counts import Bags, Counts, Tallies
from deciban.ledger.levels import Cells, Levels
from deciban.ledger.moments import Moments, find_lost_digits
from deciban.ledger.scatter import Scatter
from deciban.ledger.schema import Block, Schema, SchemaMapping, map_into, unite_schemas
from deciban.ledger.statistic import ROUNDING_FRACTION, NotLearnedError, Statistic, place_classes, subtract_checked
from deciban.ledger.vocabulary import Vocabulary


@document()
@dataclass(frozen=True, eq=False)
class Ledger:
    """The sufficient statistics of a generative classifier, as a value that adds.

    `a + b` is the ledger of both data, `a - b` of what is left of a, `a * f` of a whose rows each weigh f
    times as much. Classes are united, features aligned by name; ledgers that cannot be aligned are refused.

    Parameters
    ----------
    schema : Schema
        The names of classes and features, in blocks.
    rows : array
        The weight of the rows of each class.
    parts : tuple of Statistic
        One statistic for each block of the schema.
    squares : array
        The sum of the squared weights of the rows of each class, of survey weights; else zeros.

    Examples
    --------
    >>> from deciban import BernoulliNB
    >>> ledger = BernoulliNB().fit([[1, 0], [0, 1], [1, 1]], ["ill", "well", "ill"]).ledger_
    >>> ledger.rows.tolist(), (ledger + ledger).rows.tolist(), (ledger * 0.5).rows.tolist()
    ([2.0, 1.0], [4.0, 2.0], [1.0, 0.5])
    """

    schema: Schema
    rows: Array
    parts: tuple[Statistic, ...]
    squares: Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.squares is None:
            object.__setattr__(self, "squares", np.zeros_like(self.rows))

    @property
    def n_rows(self) -> float:
        """The weight of all rows."""
        return float(self.rows.sum())

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, Ledger):
            return NotImplemented
        schema, a, b = _align(self, other)
        with np.errstate(over="ignore", invalid="ignore"):
            parts = tuple(x + y for x, y in map(_dense_if_mixed, a.parts, b.parts))
            return type(self)(schema, a.rows + b.rows, parts, a.squares + b.squares)._refuse_overflow()

    def __sub__(self, other: Self) -> Self:
        if not isinstance(other, Ledger):
            return NotImplemented
        left: Self = _subtract(*_align(self, other)[1:])
        return left._with_blocks(list(map(_drop_empty_names, left.schema.blocks, left.parts)))

    def without(self, other: Self) -> Self:
        """Subtract `other` and keep the schema; the operator `-` drops levels and words that no class has any more.

        So the models of a cross-validation, each without the rows of one fold, have one schema.

        >>> from deciban import BernoulliNB
        >>> ledger = BernoulliNB().fit([[1, 0], [0, 1], [1, 1]], ["ill", "well", "ill"]).ledger_
        >>> ledger.without(ledger).rows.tolist()
        [0.0, 0.0]
        """
        if other.schema == self.schema:
            return _subtract(self, other)
        return _subtract(self, _move(other, self.schema, map_into(other.schema, self.schema)))

    def choose(self, columns: Sequence[Sequence[int] | None]) -> Self:
        """Return the ledger of these features alone, given by number for each block; a block without any is dropped.

        None leaves a block as it is. Raises UndefinedError for some features of a joint table.

        >>> from deciban import BernoulliNB
        >>> ledger = BernoulliNB().fit([[1, 0], [0, 1], [1, 1]], ["ill", "well", "ill"]).ledger_
        >>> ledger.choose([[0]]).schema == ledger.schema, ledger.choose([[0]]).rows.tolist()
        (False, [2.0, 1.0])
        """
        if len(columns) != len(self.parts):
            raise InputError(f"columns has {len(columns)} entries for {len(self.parts)} blocks. Hint: one for each")
        pairs = [
            (block, part) if features is None else (block.choose(features), _choose_features(part, features))
            for block, part, features in zip(self.schema.blocks, self.parts, columns)
            if features is None or len(features)
        ]
        return self._with_blocks(pairs)

    def _with_blocks(self, pairs: Sequence[tuple[Block, Statistic]]) -> Self:
        """Return the ledger with these blocks and statistics in place of its own; the classes stay."""
        schema = Schema(self.schema.classes, tuple(block for block, _ in pairs))
        return replace(self, schema=schema, parts=tuple(part for _, part in pairs))

    def __mul__(self, factor: float) -> Self:
        if not isinstance(factor, (int, float, np.integer, np.floating)):
            return NotImplemented
        if not (np.isfinite(factor) and factor >= 0):
            raise InputError(f"a ledger can be scaled by a finite factor ≥ 0, not by {factor!r}")
        f = float(factor)
        with np.errstate(over="ignore", invalid="ignore"):
            parts = tuple(part * f for part in self.parts)
            return type(self)(self.schema, self.rows * f, parts, self.squares * f)._refuse_overflow()

    @property
    def mean_weight(self) -> float:
        """Σw²/Σw of survey weights, else 1: weights divided by it sum to Kish's effective number of rows (1965)."""
        return float(self.squares.sum() / self.n_rows) if self.squares.any() else 1.0

    @property
    def n_effective(self) -> float:
        """The weight of all rows; of survey weights Kish's effective number of rows."""
        return self.n_rows / self.mean_weight

    @cached_property
    def effective(self) -> Self:
        """The ledger by which a model is solved: of survey weights the statistics of each class in effective rows.

        Those of class k are multiplied by Σw/Σw² of its rows. The rows of the classes, from which the prior follows,
        are divided by `mean_weight`, so that their shares stay.
        """
        if not self.squares.any():
            return self
        factor = self.rows / np.where(self.squares > 0, self.squares, 1.0)
        return type(self)(self.schema, self.rows / self.mean_weight, tuple(part * factor for part in self.parts))

    def _refuse_overflow(self) -> Self:
        """Return this ledger; refuse it unless all its sums are finite."""
        for arrays in ({"squared weights": self.squares}, *(part.arrays() for part in self.parts)):
            for name, array in arrays.items():
                if array.dtype.kind == "f" and not np.isfinite(array).all():
                    raise InputError(
                        f"the {name} would be too large (a double holds up to 1.8e308). Nothing was changed. "
                        f"Hint: rescale the columns, or the weights."
                    )
        return self

    __rmul__ = __mul__
    __array_ufunc__ = None  # so that NumPy does not make an array of ledgers

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Ledger)
            and self.schema == other.schema
            and np.array_equal(self.rows, other.rows)
            and np.array_equal(self.squares, other.squares)
            and all(a == b for a, b in map(_dense_if_mixed, self.parts, other.parts))
        )

    def __hash__(self) -> int:
        return hash(self.schema.fingerprint)

    def empty(self) -> Self:
        """Return the neutral element: the ledger of the same schema and no rows.

        >>> from deciban import BernoulliNB
        >>> ledger = BernoulliNB().fit([[1, 0], [0, 1], [1, 1]], ["ill", "well", "ill"]).ledger_
        >>> ledger.empty().rows.tolist(), ledger + ledger.empty() == ledger
        ([0.0, 0.0], True)
        """
        return self * 0.0

    @property
    def nbytes(self) -> int:
        """Memory of the sums in bytes."""
        return sum(array.nbytes for part in self.parts for array in part.arrays().values())

    def __repr__(self) -> str:
        blocks = ", ".join(f"{b.kind} of {b.width}" for b in self.schema.blocks)
        held = f"weight {format_count(self.n_rows)} in {format_count(len(self.rows), 'class')}"
        return f"<Ledger: {held}; {blocks}; {self.schema.fingerprint}>"


@contextmanager
def _names_in_errors(schema: Schema, block: Block | None) -> Iterator[None]:
    """Raise a `NotLearnedError` as a `ForgetError` with the names of class and feature."""
    try:
        yield
    except NotLearnedError as lack:
        names = block.names if block is not None else None
        feature = None if lack.j is None else str(lack.j) if names is None else repr(names[lack.j])
        noun = "word" if isinstance(names, Vocabulary) else "feature"
        raise ForgetError(lack.format_message(repr(schema.classes[lack.k]), feature, noun)) from None


def _align(a: Ledger, b: Ledger) -> tuple[Schema, Ledger, Ledger]:
    """Return the united schema, and both ledgers in it."""
    if a.n_rows and b.n_rows and a.squares.any() != b.squares.any():
        raise InputError(
            "survey weights and counts of rows have no common unit: their ledgers do not add. Nothing was changed. "
            "Hint: learn both with --survey-weights (survey_weights=), or both without"
        )
    if a.schema == b.schema:
        return a.schema, a, b
    schema, move_a, move_b = unite_schemas(a.schema, b.schema)
    return schema, _move(a, schema, move_a), _move(b, schema, move_b)


def _move(ledger: Any, schema: Schema, move: SchemaMapping) -> Any:
    """Return the ledger in another schema, given the mapping into it."""
    parts = tuple(move.apply(i, part) for i, part in enumerate(ledger.parts))
    rows, squares = (place_classes(own, move.classes, move.n_classes) for own in (ledger.rows, ledger.squares))
    return type(ledger)(schema, rows, parts, squares)


def _subtract(a: Any, b: Ledger) -> Any:
    """Subtract b from a, both of one schema; a refusal names class and feature."""
    with _names_in_errors(a.schema, None):
        rows = subtract_checked(a.rows, b.rows, "weight")
        squares = subtract_checked(a.squares, b.squares, "squared weight")
    pairs, parts = list(map(_dense_if_mixed, a.parts, b.parts)), []
    for block, (x, y) in zip(a.schema.blocks, pairs):
        with _names_in_errors(a.schema, block), np.errstate(over="ignore", invalid="ignore"):
            parts.append(x - y)
    left = type(a)(a.schema, rows, tuple(parts), squares)._refuse_overflow()
    for block, (before, _), part in zip(a.schema.blocks, pairs, parts):
        _warn_of_lost_digits(a.schema, block, before, part)
    return left


def _warn_of_lost_digits(schema: Schema, block: Block, before: Statistic, left: Statistic) -> None:
    """Warn where what was subtracted is so large that too few digits of a variance or a count are left."""
    lost, what = None, "count"
    if isinstance(before, Scatter) and isinstance(left, Scatter):
        before, left = before.moments, left.moments
    if isinstance(before, Moments) and isinstance(left, Moments):
        lost, what = find_lost_digits(before, left), "variance"
    elif isinstance(before, (Counts, Tallies, Bags)):
        lost = _find_lost_digits_of_counts(before, left)
    if lost is not None:
        k, j, digits = lost
        feature = str(j) if block.names is None else repr(block.names[j])
        warnings.warn(
            f"what was forgotten is so large that of the {what} of class {schema.classes[k]!r}, feature {feature}, "
            f"{f'only {digits} digits are' if digits else 'no digit is'} left. Hint: fit again without these rows.",
            PrecisionWarning,
            stacklevel=5,
        )


def _find_lost_digits_of_counts(before: Any, left: Any) -> tuple[int, int, int] | None:
    """Return class, feature and digits of the least accurate fractional count, if it has fewer than six digits."""
    before, left = (part.occurrences if isinstance(part, Bags) else part for part in (before, left))
    old, new = before.total, left.total
    if isinstance(left, Tallies):
        old = old[np.searchsorted(before.keys(), left.keys())]
    few = (new > 0) & (new < ROUNDING_FRACTION * old) & (new != np.rint(new))
    if not few.any():
        return None
    share = np.where(few, new / np.where(few, old, 1.0), np.inf)
    at = np.unravel_index(np.argmin(share), share.shape)
    k, j = at if isinstance(left, Counts) else (left.class_code[at], left.feature[at])
    return int(k), int(j), max(0, int(np.log10(share[at] / (4 * np.finfo(np.float64).eps))))


def _drop_empty_names(block: Block, part: Any) -> tuple[Block, Statistic]:
    """Return a block of named levels or of words, and its counts, without those that have no weight."""
    if isinstance(block.names, Vocabulary):
        seen = part.seen
        if seen.all():
            return block, part
        kept, new_places = np.flatnonzero(seen), np.where(seen, np.cumsum(seen) - 1, -1)
        words = block.names.take(kept)
        return replace(block, width=len(words), names=words), part.map_features(new_places, len(words))
    if block.levels is None:
        return block, part
    known = [_has_weight(part, j, len(names)) for j, names in enumerate(block.levels)]
    if all(seen.all() for seen in known):
        return block, part
    levels = tuple(tuple(compress(names, seen)) for seen, names in zip(known, block.levels))
    places = [np.where(seen, np.cumsum(seen) - 1, -1) for seen in known]
    return replace(block, levels=levels), part.map_levels(places, [len(names) for names in levels])


def _has_weight(part: Levels | Cells, j: int, n_levels: int) -> NDArray[np.bool_]:
    """Return whether any class has weight in each level of feature j."""
    seen = np.zeros(n_levels, dtype=np.bool_)
    if isinstance(part, Cells):
        seen[part.cell[:, j]] = True
    else:
        a, b = part.offset[j : j + 2]
        seen[: b - a] = part.table[:, a:b].any(axis=0)
    return seen


def _choose_features(part: Any, features: Sequence[int]) -> Statistic:
    """Return the statistic of these features; tallies become dense; refuse a joint table unless all are chosen."""
    order = np.asarray(features, dtype=np.intp)
    if isinstance(part, Cells) and len(set(features)) < part.n_features:
        raise UndefinedError(
            "a joint table counts all its features together: rows that miss one of them are in no cell, so the table "
            "of some features alone is not known. Hint: learn it again from the rows."
        )
    if isinstance(part, Tallies):
        return part.to_dense().take_features(order)
    return cast(Statistic, part.take_features(order))


def _dense_if_mixed(a: Any, b: Any) -> tuple[Any, Any]:
    """Return two statistics of one block; where only one of two counts is sparse, it is made dense."""
    if isinstance(a, Tallies) and isinstance(b, Counts):
        return a.to_dense(), b
    return a, b.to_dense() if isinstance(a, Counts) and isinstance(b, Tallies) else b


def concatenate_features(parts: Sequence[Statistic]) -> Statistic:
    """Return the statistic of all features, as of one pass, from those of some features each, of one kind and rows.

    The kind is `Counts`, `Moments`, `Levels` or `Grid`.
    """
    first: Any = parts[0]
    if len(parts) == 1:
        return parts[0]
    tables = [part.arrays() for part in parts]
    if isinstance(first, (Counts, Moments)):
        weights = [name for name in tables[0] if name in ("weight", "weight_rest")]
        shared = all(t[n].shape[1] == 1 and np.array_equal(t[n], tables[0][n]) for t in tables for n in weights)
        made = dict(tables[0])
        for name in made.keys() - (weights if shared else ()):  # one column may hold for all features of a part
            columns = [np.broadcast_to(table[name], part.shape) for part, table in zip(parts, tables)]
            made[name] = np.concatenate(columns, axis=1)
        return type(first)(**made)
    made = {name: np.concatenate([t[name] for t in tables], axis=-1) for name in tables[0]}
    made["offset"] = np.cumsum([0, *(v for t in tables for v in np.diff(t["offset"]))], dtype=np.int64)
    return type(first)(**made)
