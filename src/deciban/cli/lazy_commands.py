"""Commands that are loaded when they are called: a long list of them costs those nothing who call one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

import typer
from typer.core import TyperGroup


@dataclass(frozen=True)
class LazyCommand:
    """Where a command is: a module with a function, the example of its help, and what the list says of it.

    A module may say `SPOKEN`, the class of a command that takes its arguments in a way of its own. A group of
    commands has no example, and `function` is its `typer.Typer`.
    """

    what: str
    module: str
    function: str = "command"
    example: str = "EXAMPLE"

    def load(self, name: str) -> Any:
        """The command itself."""
        module = import_module(self.module)
        found = getattr(module, self.function)
        alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        alone.callback()(lambda: None)
        if isinstance(found, typer.Typer):
            alone.add_typer(found, name=name)
        else:
            spoken = getattr(module, "SPOKEN", None)
            alone.command(name, short_help=self.what, epilog=getattr(module, self.example), cls=spoken)(found)
        return cast(Any, typer.main.get_command(alone)).commands[name]


class Shelf(MutableMapping[str, Any]):
    """Commands by name, in order, each loaded when it is taken."""

    def __init__(self, later: Mapping[str, LazyCommand], there: Mapping[str, Any]) -> None:
        self._all: dict[str, Any] = {**later, **there}

    def __getitem__(self, name: str) -> Any:
        found = self._all[name]
        if isinstance(found, LazyCommand):
            found = self._all[name] = found.load(name)
        return found

    def __setitem__(self, name: str, command: Any) -> None:
        self._all[name] = command

    def __delitem__(self, name: str) -> None:
        del self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def says(self, name: str) -> str:
        """What the list says of a command, which need not be loaded for it."""
        found = self._all[name]
        return found.what if isinstance(found, LazyCommand) else found.get_short_help_str(100)


def group(later: Mapping[str, LazyCommand], kind: type[TyperGroup] = TyperGroup) -> type[TyperGroup]:
    """The class of a group that has these commands, before those that are there already."""

    class Group(kind):  # type: ignore[valid-type, misc]
        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            there: Mapping[str, Any] = given.get("commands") or {}
            self.commands = Shelf(later, there)

        def list_commands(self, ctx: Any) -> list[str]:
            return list(self.commands)

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            with formatter.section("Commands"):
                formatter.write_dl([(name, self.commands.says(name)) for name in self.commands])

    return Group
