"""Commands that are imported when they are called, so that one command does not load the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

import typer
from typer.core import TyperGroup


@dataclass(frozen=True)
class LazyCommand:
    """The module and function of a command, its line in the list of commands, and the name of its example.

    A group of commands has no example, and `function` is its `typer.Typer`.
    """

    help: str
    module: str
    function: str = "command"
    example: str = "EXAMPLE"

    def load(self, name: str) -> Any:
        """Import the module and return the command."""
        module = import_module(self.module)
        found = getattr(module, self.function)
        parent = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        parent.callback()(lambda: None)
        if isinstance(found, typer.Typer):
            parent.add_typer(found, name=name)
        else:
            parent.command(name, short_help=self.help, epilog=getattr(module, self.example))(found)
        return cast(Any, typer.main.get_command(parent)).commands[name]


class LazyCommands(MutableMapping[str, Any]):
    """Commands by name, in order, each loaded on first access."""

    def __init__(self, lazy: Mapping[str, LazyCommand], loaded: Mapping[str, Any]) -> None:
        self._all: dict[str, Any] = {**lazy, **loaded}

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

    def help_of(self, name: str) -> str:
        """Return the line of a command in the list of commands, without loading it."""
        found = self._all[name]
        return found.help if isinstance(found, LazyCommand) else found.get_short_help_str(100)


def make_group(commands: Mapping[str, LazyCommand], kind: type[TyperGroup] = TyperGroup) -> type[TyperGroup]:
    """Return the class of a group that has these commands, before those that are registered with it."""

    class Group(kind):  # type: ignore[valid-type, misc]
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.commands = LazyCommands(commands, settings.get("commands") or {})

        def list_commands(self, ctx: Any) -> list[str]:
            return list(self.commands)

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            with formatter.section("Commands"):
                formatter.write_dl([(name, self.commands.help_of(name)) for name in self.commands])

    return Group
