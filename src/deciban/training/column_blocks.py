"""Blocks of joined columns: the checks of which columns can be joined, and their roles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from deciban.errors import InputError, did_you_mean
from deciban.model.columns import JOIN_SEPARATOR, JOINABLE_ROLES, OPEN_ROLES, Column, Role
from deciban.model.model_options import JOINT_COVARIANCES
from deciban.sources.source import role_hint

NUMBER_ROLES: tuple[Role, ...] = ("number", "binned", "count", *OPEN_ROLES)
"""The roles of numbers; joined numbers are Gaussian, unless another role was given."""

Blocks = Sequence[Sequence[str]]
"""Groups of columns by their names."""


def join_columns(
    columns: Sequence[Column], blocks: Blocks | str | None, given: Mapping[str, str] | None = None
) -> list[Column]:
    """Join the columns of each block: numbers as a Gaussian, flags and categories as their combinations.

    `given` are the roles that the user has given. "numbers" joins all numbers but those with another given role.
    """
    known = {column.name: column for column in columns}
    if isinstance(blocks, str) and blocks == "numbers":
        blocks = _all_numbers(columns, given or {})
    for block in check_blocks(blocks, known):
        members = [_as_number(known[name], given or {}) for name in block]
        _check_kinds(block, members)
        known |= {column.name: _set_block(column, block) for column in members}
    _check_names(list(known.values()))
    return list(known.values())


def _all_numbers(columns: Sequence[Column], given: Mapping[str, str]) -> Blocks:
    names = [column.name for column in columns if _as_number(column, given).role == "number"]
    if len(names) < 2:
        raise InputError(
            f"blocks='numbers' joins all numbers, and there {'is one' if names else 'are none'}. Hint: leave it out"
        )
    return [names]


def check_shape(covariance: str | None, columns: Sequence[Column]) -> None:
    """Raise an error if no column can have this covariance."""
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
            f"{' or '.join(map(repr, JOINT_COVARIANCES))}, not {covariance!r}. "
            f"Hint: leave the block out, and each number has a variance of its own"
        )


def check_blocks(blocks: Blocks | None, known: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Check that the blocks are groups of two or more known columns, and return them with their names in order."""
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


def _as_number(column: Column, given: Mapping[str, str]) -> Column:
    """Return a number as a Gaussian, unless its role was given."""
    return replace(column, role="number") if column.role in NUMBER_ROLES and column.name not in given else column


def _check_kinds(block: tuple[str, ...], columns: Sequence[Column]) -> None:
    """Raise an error for columns that cannot be joined, with the reason."""
    for column in columns:
        if column.role not in JOINABLE_ROLES:
            role = f"is left out ({column.reason})" if column.role == "skip" else f"is a {column.role}"
            other = "number" if column.role in NUMBER_ROLES else "category"
            raise InputError(
                f"column {column.name!r} {role}, and only numbers, or flags and categories, can be joined. "
                f"Hint: {role_hint(column.name, other)}, or leave it out of the block"
            )
    kinds = {JOINABLE_ROLES[column.role]: column for column in columns}
    if len(kinds) > 1:
        number, level = kinds["gaussian"], kinds["combinations"]
        raise InputError(
            f"columns {number.name!r} ({number.role}) and {level.name!r} ({level.role}) are of different kinds: "
            f"numbers are joined with numbers, flags and categories with each other. "
            f"Hint: {role_hint(number.name, 'category')} takes its values as names, or leave one out of {list(block)}"
        )


def _set_block(column: Column, block: tuple[str, ...]) -> Column:
    others = ", ".join(name for name in block if name != column.name)
    return replace(column, reason=f"joined with {others}", block=block)


def _check_names(columns: Sequence[Column]) -> None:
    """Raise an error if combinations have the name of a column, or of other combinations."""
    blocks = {column.block for column in columns if column.block and column.role != "number"}
    used = Counter([column.name for column in columns] + [JOIN_SEPARATOR.join(block) for block in blocks])
    for block in sorted(blocks):
        if used[JOIN_SEPARATOR.join(block)] > 1:
            raise InputError(
                f"{JOIN_SEPARATOR.join(block)!r} names both a column and columns that are joined. Hint: rename one"
            )
