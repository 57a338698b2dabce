"""Blocks of joined columns: numbers that share a Gaussian, flags and categories whose combinations are levels."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deciban.errors import InputError, did_you_mean, list_names
from deciban.model.columns import JOIN_SEPARATOR, JOINABLE_ROLES, OPEN_ROLES, Column, Role, to_name
from deciban.model.model_options import JOINT_COVARIANCES
from deciban.sources.source import role_hint

NUMBER_ROLES: tuple[Role, ...] = ("number", "binned", "count", *OPEN_ROLES)
"""The roles of numbers; joined numbers are Gaussian, unless another role was given."""

Blocks = Sequence[Sequence[str]]
"""Groups of columns by their names."""


def to_names(blocks: Any) -> Any:
    """Return groups of columns with whole numbers as texts; what is no list of lists is returned unchanged."""
    if not isinstance(blocks, (list, tuple)):
        return blocks
    return [[to_name(name) for name in block] if isinstance(block, (list, tuple)) else block for block in blocks]


def join_columns(columns: Sequence[Column], blocks: Blocks | str | None, given: Mapping[str, str]) -> list[Column]:
    """Return all columns; those of a block have its names in `block`: a joint Gaussian, or combinations of levels.

    `given` are the roles that the user has given. "numbers" joins all numbers but those with another given role.
    """
    known = {column.name: column for column in columns}
    if isinstance(blocks, str) and blocks == "numbers":
        names = [column.name for column in columns if _to_number(column, given).role == "number"]
        if len(names) < 2:
            number = "is one" if names else "are none"
            raise InputError(f"blocks='numbers' joins all numbers, and there {number}. Hint: leave it out")
        blocks = [names]
    for block in check_blocks(blocks, known):
        members = [_to_number(known[name], given) for name in block]
        _check_kinds(block, members)
        for column in members:
            others = ", ".join(name for name in block if name != column.name)
            known[column.name] = replace(column, reason=f"joined with {others}", block=block)
    _check_names(list(known.values()))
    return list(known.values())


def check_covariance(covariance: str | None, columns: Sequence[Column]) -> None:
    """Raise an InputError if a joint covariance is given without joined numbers, or another one with them."""
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
    """Check that the blocks are groups of two or more known columns, and return each with its names sorted."""
    if blocks is None:
        return []
    wrong = f"blocks are lists of columns' names, [['height', 'weight'], …], or 'numbers'; not {blocks!r}"
    if isinstance(blocks, (str, Mapping)) or not isinstance(blocks, Iterable):
        raise InputError(wrong)
    for block in blocks:
        is_list = isinstance(block, Sequence) and not isinstance(block, str)
        if not is_list or not all(isinstance(name, str) for name in block):
            raise InputError(wrong)
        if len(block) < 2:
            raise InputError(
                f"a block joins two columns or more, not {list_names(block) or 'none'}. Hint: leave it out"
            )
        for name in block:
            if name not in known:
                near = did_you_mean(name, [*known])
                raise InputError(f"{name!r} is to be joined, and is not a column to learn from{near}")
    times = Counter(name for block in blocks for name in block)
    twice = [name for name, n in times.items() if n > 1]
    if twice:
        raise InputError(f"column {twice[0]!r} is named twice among the blocks; a column is joined once")
    return [tuple(sorted(block)) for block in blocks]


def _to_number(column: Column, given: Mapping[str, str]) -> Column:
    """Return a column of numbers with the role "number", unless its role was given; other columns unchanged."""
    return replace(column, role="number") if column.role in NUMBER_ROLES and column.name not in given else column


def _check_kinds(block: tuple[str, ...], columns: Sequence[Column]) -> None:
    """Raise an InputError if a column's role cannot be joined, or if numbers and categories are in one block."""
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
            f"Hint: {role_hint(number.name, 'category')} takes its values as names, or leave one of the block out"
        )


def _check_names(columns: Sequence[Column]) -> None:
    """Raise an error if combinations have the name of a column, or of other combinations."""
    blocks = {column.block for column in columns if column.block and column.role != "number"}
    used = Counter([column.name for column in columns] + [JOIN_SEPARATOR.join(block) for block in blocks])
    for block in sorted(blocks):
        if used[JOIN_SEPARATOR.join(block)] > 1:
            raise InputError(
                f"{JOIN_SEPARATOR.join(block)!r} names both a column and columns that are joined. Hint: rename one"
            )
