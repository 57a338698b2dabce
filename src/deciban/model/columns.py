"""Columns and their roles: which family models each, and which block of features it belongs to.

The combinations of the levels of joined flags and categories are the levels of one category. A combination is written
as its levels with `&` between them, so that a model file needs no other kind of name; a `&` or a backslash within a
level is escaped by a backslash.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError
from deciban.ledger.schema import Kind
from deciban.sources.arrow_cells import DATE_PARTS, LevelEncoder
from deciban.sources.date_formats import ISO, DateFormat
from deciban.sources.document_files import FILE, TEXT
from deciban.sources.number_formats import NumberFormat
from deciban.sources.source import ColumnReading

Role = Literal["number", "binned", "count", "flag", "category", "date", "text", "skip", "undecided", "countable"]

ROLES: Mapping[str, str] = {
    "number": "a quantity, normally distributed in each class (Gaussian)",
    "binned": "a quantity of any distribution, in bins",
    "count": "how often something happened (Poisson)",
    "flag": "one of two values (Bernoulli)",
    "category": "one of several values",
    "date": "a date, by weekday, hour and, beyond a year, month",
    "text": "free text, by its words (multinomial)",
    "skip": "left out",
}
"""The meaning of each role. Two more are open until the end of training: `undecided` becomes number or binned,
`countable` one of these or count."""

OPEN_ROLES: tuple[Role, ...] = ("undecided", "countable")
"""Roles of columns that are counted in several ways, until the counts decide between them."""

BLOCKS: Mapping[Kind, tuple[Role, ...]] = {
    "moments": ("number", "undecided", "countable"),
    "grid": ("binned", "undecided", "countable"),
    "counts": ("count", "countable"),
    "levels": ("flag", "category", "date"),
    "bags": ("text",),
}
"""The roles that each kind of statistic serves, in the order of a model's blocks; joined numbers have `scatter`."""

JOINABLE_ROLES: Mapping[Role, Literal["gaussian", "combinations"]] = {
    "number": "gaussian",
    "flag": "combinations",
    "category": "combinations",
}
"""The roles whose columns can be joined, and how they are modelled: a joint Gaussian, or combinations of levels."""

MAX_LABEL_SHARE, MIN_LABEL_ROWS = 0.5, 50
"""The share of distinct values, among this number of rows or more, up to which a column can be the target."""

JOIN_SEPARATOR = " & "
"""The separator between the names of joined columns, and between the levels of a combination."""

MAX_COMBINATION_KEY = 1 << 62
"""Largest number that stands for a combination: beyond it, the combinations that occur are renumbered."""


@dataclass(frozen=True)
class Column:
    """A column of the table, its role and the reason for it; for a date also the parts that it is split into.

    `block` names the columns that it is joined with, itself among them: numbers as one Gaussian with covariances,
    flags and categories as one category of their combinations. `format` is how its numbers or dates are written,
    where that is not as programs write them; `note` says so until the role is decided. The levels of a flag or
    category may be `numeric`: it is read as numbers, so that 1.0 is the level 1. `cells`, where there are any, are
    those on which its dependence on other columns is counted: the cuts between cells of numbers, or the levels that
    have a cell each, all others sharing one.
    """

    name: str
    role: Role
    reason: str = ""
    parts: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    format: NumberFormat | DateFormat | None = None
    note: str = field(default="", compare=False)
    numeric: bool = False
    cells: tuple[float, ...] | tuple[str, ...] = ()
    is_open: bool = field(default=False, compare=False)
    """Whether all rows are to decide which parts of a date there are, or whether a skipped column has values."""

    @property
    def reading(self) -> ColumnReading:
        """How the column is read from a file without types: as number, date, text (levels) or words."""
        if self.role == "text":
            return "words"
        if self.role == "date":
            return self.format if isinstance(self.format, DateFormat) else ISO
        if self.role in BLOCKS["levels"] and not self.numeric:
            return "text"
        return self.format if isinstance(self.format, NumberFormat) else "number"

    @property
    def features(self) -> "tuple[Feature, ...]":
        """The features read from the column, for any role: itself, the parts of a date, or the joint category."""
        if self.block and self.role != "number":
            return (Feature(JOIN_SEPARATOR.join(self.block), "category", joined=self.block),)
        if self.role == "date":
            return tuple(Feature(self.name, self.role, part) for part in self.parts)
        return (Feature(self.name, self.role),)

    @property
    def modelled_features(self) -> "tuple[Feature, ...]":
        """The features of the column that a model uses: none while its role is skip, undecided or countable."""
        return () if self.role in ("skip", *OPEN_ROLES) else self.features


@dataclass(frozen=True)
class Feature:
    """One column of a matrix: a column of the table, a part of a date, or the combinations of several columns."""

    column: str
    role: Role
    part: str | None = None
    joined: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name in explanations: the column, or `column.part` for a part of a date."""
        return self.column if self.part is None else f"{self.column}.{self.part}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that the feature is read from."""
        return self.joined or (self.column,)

    @property
    def fixed_levels(self) -> tuple[str, ...]:
        """The levels that are known in advance: those of a part of a date."""
        return () if self.part is None else tuple(DATE_PARTS[self.part])


class FeatureBlock(NamedTuple):
    """The features of one block, and the kind of statistic that counts them."""

    kind: Kind
    features: tuple[Feature, ...]


@dataclass(frozen=True)
class Layout:
    """The assignment of features to blocks."""

    columns: tuple[Column, ...]

    @cached_property
    def blocks(self) -> tuple[FeatureBlock, ...]:
        """The blocks that have any features; each set of joined numbers is a block (`scatter`), and so is each text.

        Two columns or more with `cells` are also in the block `pairs`. The texts come last, sorted by name: a
        vocabulary does not name its column, so two models must agree about their order, whatever that of the columns.
        """
        found = [FeatureBlock(kind, self._select_features(roles)) for kind, roles in BLOCKS.items() if kind != "bags"]
        joined = sorted({column.block for column in self.columns if column.block and column.role == "number"})
        texts = sorted(self._select_features(BLOCKS["bags"]), key=lambda feature: feature.column)
        paired = [feature for column in self.columns if column.cells for feature in column.features]
        return (
            *(group for group in found if group.features),
            *(FeatureBlock("scatter", tuple(Feature(name, "number") for name in names)) for names in joined),
            *([FeatureBlock("pairs", tuple(paired))] if len(paired) > 1 else ()),
            *(FeatureBlock("bags", (text,)) for text in texts),
        )

    def _select_features(self, roles: Sequence[Role]) -> tuple[Feature, ...]:
        """Return the features of columns with these roles, except joined numbers; each combination once."""
        columns = [c for c in self.columns if c.role in roles and not (c.block and c.role == "number")]
        found = (feature for column in columns for feature in column.features)
        if not any(column.block for column in columns):
            return tuple(found)
        return tuple(dict.fromkeys(found))  # combinations take the position of the first of their columns

    @cached_property
    def cells(self) -> dict[str, tuple[float, ...] | tuple[str, ...]]:
        """The cells of each column that has any; see `Column`."""
        return {column.name: column.cells for column in self.columns if column.cells}

    @property
    def n_cells(self) -> int:
        """The largest number of cells of a column that has any: one more than its cuts or levels."""
        return max(len(cells) + 1 for cells in self.cells.values())

    def block_index(self, kind: Kind) -> int | None:
        """Return the index of the first block of this kind; None if there is none."""
        return next((i for i, group in enumerate(self.blocks) if group.kind == kind), None)

    @property
    def levels(self) -> tuple[Feature, ...]:
        """The features that are levels."""
        return next((group.features for group in self.blocks if group.kind == "levels"), ())

    @property
    def texts(self) -> tuple[Feature, ...]:
        """The features that are texts: their blocks are the last."""
        return tuple(group.features[0] for group in self.blocks if group.kind == "bags")

    @property
    def has_whole_files(self) -> bool:
        """Whether rows are files of documents: the columns are a text and the file that it comes from."""
        roles = {column.name: column.role for column in self.columns}
        return roles.get(FILE) == "skip" and [f.column for f in self.features_in_table_order()] == [TEXT]

    @cached_property
    def number_names(self) -> tuple[str, ...]:
        """The names of the features that are numbers, each once, in the order of the blocks."""
        return tuple(self._number_places)

    def select_numbers(self, columns: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the columns of `number_names`, from those of each block."""
        return [columns[block][j] for block, j in self._number_places.values()]

    @cached_property
    def _number_places(self) -> dict[str, tuple[int, int]]:
        """The block of each number and its place there; the first where its role is open."""
        places: dict[str, tuple[int, int]] = {}
        for i, (kind, features) in enumerate(self.blocks):
            for j, feature in enumerate(features if kind not in ("levels", "pairs", "bags") else ()):
                places.setdefault(feature.name, (i, j))
        return places

    @property
    def open_dates(self) -> tuple[str, ...]:
        """The names of the dates whose span may decide whether their month is a feature."""
        return tuple(column.name for column in self.columns if column.is_open and "month" in column.parts)

    @property
    def empty_columns(self) -> tuple[str, ...]:
        """The names of the columns that are skipped because no row that was looked at has a value."""
        return tuple(column.name for column in self.columns if column.is_open and column.role == "skip")

    def readings(self) -> dict[str, ColumnReading]:
        """Return how each column that is not skipped is read from a file without types."""
        return {column.name: column.reading for column in self.columns if column.role != "skip"}

    def features_in_table_order(self) -> tuple[Feature, ...]:
        """Return every feature of a decided role once, in the order of the table."""
        return tuple(dict.fromkeys(feature for column in self.columns for feature in column.modelled_features))

    def features_by_block(self) -> tuple[Feature, ...]:
        """Return the features of all blocks in order; one with an open role occurs once per block."""
        return tuple(feature for group in self.blocks for feature in group.features)


def to_name(name: Any) -> Any:
    """Return a column's name as text if it is a whole number, as pandas frames have them; other values unchanged."""
    is_whole = isinstance(name, (int, np.integer)) and not isinstance(name, bool)
    return str(name) if is_whole else name


def check_distinct_labels(target: str, distinct: int, n: int) -> None:
    """Raise an InputError if `distinct` values in n rows are those of a quantity or an identifier, not classes."""
    if n >= MIN_LABEL_ROWS and distinct > MAX_LABEL_SHARE * n:
        raise InputError(
            f"column {target!r} has {distinct} different values in {n} rows, so it names no classes. "
            f"Hint: another target; a quantity can be cut into classes first"
        )


def join_levels(levels: Sequence[str]) -> str:
    r"""Return the name of a combination of levels.

    >>> join_levels(["chest", "female"]), join_levels(["R&B", "yes"])
    ('chest & female', 'R\\&B & yes')
    """
    return JOIN_SEPARATOR.join(re.sub(r"([\\&])", r"\\\1", level) for level in levels)


def split_levels(name: str) -> list[str]:
    r"""Return the levels of a combination.

    >>> split_levels("chest & female"), split_levels(r"R\&B & yes")
    (['chest', 'female'], ['R&B', 'yes'])
    """
    return [re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL) for part in name.split(JOIN_SEPARATOR)]


def is_combination(name: str, n_columns: int) -> bool:
    """Return whether this is the name of a combination of `n_columns` levels."""
    levels = split_levels(name)
    return len(levels) == n_columns and join_levels(levels) == name


class Combinations:
    """The combinations of several columns and their codes, in order of appearance; fixed, or extended while encoding.

    Like `LevelEncoder`, but for several columns at a time; a combination in which one level is missing is missing.
    """

    def __init__(self, names: Sequence[str], known: Sequence[str] = (), grows: bool = False) -> None:
        self.list, self.grows, n_columns = list(known), grows, len(names)
        self._codes = {name: v for v, name in enumerate(self.list)}
        valid = [levels for levels in map(split_levels, self.list) if len(levels) == n_columns]
        levels = [list(dict.fromkeys(column)) for column in zip(*valid)] or [[] for _ in range(n_columns)]
        self.columns = [LevelEncoder(level, grows=True, column=name) for name, level in zip(names, levels)]

    def __len__(self) -> int:
        return len(self.list)

    def encode(self, arrays: Sequence[Any]) -> NDArray[np.int64]:
        """Return a code for each row: −1 where a cell is missing, one past the last for an unknown combination."""
        codes = np.stack([names.encode(array) for names, array in zip(self.columns, arrays, strict=True)])
        out = np.full(codes.shape[1], -1, dtype=np.int64)
        complete = np.flatnonzero((codes >= 0).all(axis=0))
        if len(complete):
            first, which = _find_unique_columns(codes[:, complete])
            found = [tuple(codes[:, row].tolist()) for row in complete[first]]
            out[complete] = np.array([self._encode_one(combination) for combination in found], dtype=np.int64)[which]
        return out

    def _encode_one(self, combination: tuple[int, ...]) -> int:
        """Return the code of one combination of the columns' own codes; a growing encoder adds a new one."""
        name = join_levels([names.list[v] for names, v in zip(self.columns, combination)])
        if self.grows and name not in self._codes:
            self._codes[name] = len(self.list)
            self.list.append(name)
        return self._codes.get(name, len(self.list))


def _find_unique_columns(codes: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first index of each unique column, in order of appearance, and which of these each column is."""
    key, size = codes[0], int(codes[0].max()) + 1
    for row in codes[1:]:
        levels = int(row.max()) + 1
        if size > MAX_COMBINATION_KEY // levels:
            _, key = np.unique(key, return_inverse=True)
            size = int(key.max()) + 1
        key, size = key * levels + row, size * levels
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return first[order], rank[which.reshape(-1)]
