"""Columns that are joined: which may be, and what becomes of their roles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from deciban.errors import InputError, did_you_mean
from deciban.model.columns import JOIN_SEPARATOR, JOINABLE, OPEN, Column, Role
from deciban.model.model_options import JOINT_COVARIANCES
from deciban.sources.source import role_hint

BELLS: tuple[Role, ...] = ("number", "binned", "count", *OPEN)
"""Roles of numbers; joined they are bells, unless another role was asked for."""

Blocks = Sequence[Sequence[str]]
"""Groups of columns by their names."""


def join_columns(
    columns: Sequence[Column], blocks: Blocks | str | None, given: Mapping[str, str] | None = None
) -> list[Column]:
    """The columns, those of each block joined: numbers under one bell, flags and categories as their combinations.

    `given` are the roles that the user named. "numbers" joins all numbers but those whose role is another by name.
    """
    known = {column.name: column for column in columns}
    if isinstance(blocks, str) and blocks == "numbers":
        blocks = _all_numbers(columns, given or {})
    for block in checked_blocks(blocks, known):
        together = [_settled(known[name], given or {}) for name in block]
        _check_kinds(block, together)
        known |= {column.name: _told(column, block) for column in together}
    _check_names(list(known.values()))
    return list(known.values())


def _all_numbers(columns: Sequence[Column], given: Mapping[str, str]) -> Blocks:
    names = [column.name for column in columns if _settled(column, given).role == "number"]
    if len(names) < 2:
        raise InputError(
            f"blocks='numbers' joins all numbers, and there {'is one' if names else 'are none'}. Hint: leave it out"
        )
    return [names]


def check_shape(covariance: str | None, columns: Sequence[Column]) -> None:
    """Refuse a shape of covariance that no column takes."""
    if covariance is None:
        return
    together = [column.name for column in columns if column.block and column.role == "number"]
    if covariance in JOINT_COVARIANCES and not together:
        raise InputError(
            f"covariance={covariance!r} is the shape of numbers that are joined, and none are. "
            f"Hint: blocks='numbers' joins them all"
        )
    if covariance not in JOINT_COVARIANCES and together:
        raise InputError(
            f"column {together[0]!r} is joined with others, whose covariance is "
            f"{' or '.join(map(repr, JOINT_COVARIANCES))}, not {covariance!r}. Hint: leave the block out, and each number has a bell of its own"
        )


def checked_blocks(blocks: Blocks | None, known: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The blocks, each with its names in order; refused where they are no groups of two or more known columns."""
    if blocks is None:
        return []
    if isinstance(blocks, (str, Mapping)) or not all(_is_group(block) for block in blocks):
        raise InputError(
            f"blocks are lists of columns' names, [['height', 'weight'], …], or 'numbers'; not {blocks!r}"
        )
    for block in blocks:
        if len(block) < 2:
            raise InputError(f"a block joins two columns or more, not {list(block)}. Hint: leave it out")
        for name in block:
            if name not in known:
                raise InputError(
                    f"{name!r} is to be joined, and is no column to learn from{did_you_mean(name, [*known])}"
                )
    times = Counter(name for block in blocks for name in block)
    twice = [name for name, n in times.items() if n > 1]
    if twice:
        raise InputError(f"column {twice[0]!r} is named twice among the blocks; a column is joined once")
    return [tuple(sorted(block)) for block in blocks]


def _is_group(block: Any) -> bool:
    return isinstance(block, Sequence) and not isinstance(block, str) and all(isinstance(n, str) for n in block)


def _settled(column: Column, given: Mapping[str, str]) -> Column:
    """A number whose role nobody named is a bell among others."""
    return replace(column, role="number") if column.role in BELLS and column.name not in given else column


def _check_kinds(block: tuple[str, ...], columns: Sequence[Column]) -> None:
    """Refuse columns that cannot be joined, each for its own reason."""
    for column in columns:
        if column.role not in JOINABLE:
            role = f"is left out ({column.reason})" if column.role == "skip" else f"is a {column.role}"
            other = "number" if column.role in BELLS else "category"
            raise InputError(
                f"column {column.name!r} {role}, and only numbers, or flags and categories, can be joined. "
                f"Hint: {role_hint(column.name, other)}, or leave it out of the block"
            )
    kinds = {JOINABLE[column.role]: column for column in columns}
    if len(kinds) > 1:
        bell, level = kinds["gaussian"], kinds["combinations"]
        raise InputError(
            f"columns {bell.name!r} ({bell.role}) and {level.name!r} ({level.role}) are of different kinds: numbers "
            f"are joined with numbers, flags and categories with each other. "
            f"Hint: {role_hint(bell.name, 'category')} "
            f"takes its values as names, or leave one out of {list(block)}"
        )


def _told(column: Column, block: tuple[str, ...]) -> Column:
    others = ", ".join(name for name in block if name != column.name)
    return replace(column, reason=f"joined with {others}", block=block)


def _check_names(columns: Sequence[Column]) -> None:
    """Refuse combinations that are named as a column is, or as other combinations are."""
    blocks = {column.block for column in columns if column.block and column.role != "number"}
    used = Counter([column.name for column in columns] + [JOIN_SEPARATOR.join(block) for block in blocks])
    for block in sorted(blocks):
        if used[JOIN_SEPARATOR.join(block)] > 1:
            raise InputError(
                f"{JOIN_SEPARATOR.join(block)!r} names both a column and columns that are joined. Hint: rename one"
            )
