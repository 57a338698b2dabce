"""Options that a picture borrows from the command whose figures it draws: worded once, and taken as they are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput

Command = Callable[..., None]

TABLE = ("data", "sql", "folders", "format", "encoding", "errors", "missing", "hive")
"""The options that say which table is read, and how."""

SHOWN = ("json", "debug")
"""Those that say how figures are shown."""


def borrowing(theirs: Command, *left_out: str) -> Callable[[Command], Command]:
    """Give a command all options of another but these, beside its own; it gets them by name.

    >>> def weigh(flour: int = 1, json: bool = False) -> None: ...
    >>> @borrowing(weigh)
    ... def bake(*, hours: int = 2, **given: int) -> None: ...
    >>> str(inspect.signature(bake))
    '(*, hours: int = 2, flour: int = 1) -> None'
    """

    def decorated(ours: Command) -> Command:
        own = [p for p in _parameters(ours) if p.kind is not inspect.Parameter.VAR_KEYWORD]
        names = {*SHOWN, *left_out, *(p.name for p in own)}
        both = [*own, *(p for p in _parameters(theirs) if p.name not in names)]
        by_name = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in both]
        ours.__signature__ = inspect.Signature(by_name, return_annotation=None)  # type: ignore[attr-defined]
        return ours

    return decorated


def _parameters(command: Command) -> list[inspect.Parameter]:
    return list(inspect.signature(command, eval_str=True).parameters.values())


@contextmanager
def table_of(options: Mapping[str, Any]) -> Iterator[TableInput]:
    """The table that borrowed options name, for the time of the block."""
    from deciban.cli.inputs import given

    named: list[Any] = [options.get(name) for name in TABLE]
    with given(*named) as table:
        yield table


def wishes(options: Mapping[str, Any], *apart: str) -> dict[str, Any]:
    """What borrowed options say about the model: all but the table and those apart; a switch that is off, nothing.

    >>> wishes({"data": ["a.csv"], "alpha": 2.0, "presence": False, "target": "y"}, "target")
    {'alpha': 2.0, 'presence': None}
    """
    rest = {name: value for name, value in options.items() if name not in (*TABLE, *apart)}
    return {name: None if value is False else value for name, value in rest.items()}
