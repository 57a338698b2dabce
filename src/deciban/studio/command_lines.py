"""Steps as the command line and Python have them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from deciban.studio.workspace import Workspace


def format_table_words(workspace: Workspace) -> str:
    """Return the words of a command line that name the open table, its target and the roles that were chosen."""
    data = workspace.need_data()
    roles = [f"--as {shlex.quote(f'{name}={role}')}" for name, role in workspace.roles.items()]
    return " ".join([data.shell_name, f"--target {shlex.quote(workspace.need_target())}", *roles])


def format_table_arguments(workspace: Workspace, **more: Any) -> str:
    """Return the arguments of a Python call: the open table, its target, the roles that were chosen, and others."""
    roles = {"roles": workspace.roles} if workspace.roles else {}
    named = {"target": workspace.need_target(), **roles, **more}
    return ", ".join([repr(workspace.need_data().name), *(f"{name}={value!r}" for name, value in named.items())])


def format_options(options: Mapping[str, Any]) -> str:
    """Return options of a command line, each after a blank; those without a value are left out.

    >>> format_options({"columns": "a,b", "classes": "", "covariance": "full"})
    ' --columns a,b --covariance full'
    """
    given = {name: str(value) for name, value in options.items() if value not in ("", None)}
    return "".join(f" --{name} {shlex.quote(value)}" for name, value in given.items())
