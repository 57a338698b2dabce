"""The `deciban` command: how it begins, and how it ends."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from deciban.cli.codes import INTERRUPTED, UNREAD

if TYPE_CHECKING:
    from deciban.cli.app import app as app


def __getattr__(name: str) -> Any:
    """`app`, all commands, loaded where it is asked for."""
    if name == "app":
        from deciban.cli.app import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def main() -> None:
    """The console entry point; a terminal that lacks a character gets '?' and no error, nor does a closed stream."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  as long as the process
        if hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(errors="replace")
    try:
        _run(sys.argv[1:])
    except KeyboardInterrupt:
        _leave(INTERRUPTED)
    except BrokenPipeError:
        _leave(UNREAD)
    except SystemExit as leaving:
        if leaving.code == INTERRUPTED:
            _leave(INTERRUPTED)
        if _unread(leaving):
            _leave(UNREAD)
        raise


def _run(arguments: list[str]) -> None:
    """Call a command; what mail systems call is answered without all that reads options, which takes as long."""
    if arguments[:1] == ["mail"]:
        from deciban.cli.mail.at_once import at_once

        code = at_once(arguments[1:])
        if code is not None:
            _end(code)
    from deciban.cli.app import app

    app()


def _end(code: int) -> NoReturn:
    """End a call that has done all: nobody needs the memory of many messages given back bit by bit."""
    try:
        sys.stdout.flush()
    except OSError:
        sys.exit(code)  # `main` knows what that means
    _leave(code)


def _unread(leaving: SystemExit) -> bool:
    """Whether the reader of a pipe has left: typer and rich make an exit of their own of it, or it shows now."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return isinstance(error, BrokenPipeError)
    return isinstance(leaving.__context__, BrokenPipeError)


def _leave(code: int) -> NoReturn:
    """End at once: an orderly end writes what a closed pipe still waits for, and crashes where, after Ctrl-C, a
    library's threads are at work still.
    """
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
