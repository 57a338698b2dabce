"""The `deciban` command: how it begins, and how it ends."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from deciban.cli.exit_codes import INTERRUPTED, REFUSED, UNREAD

if TYPE_CHECKING:
    from deciban.cli.app import app as app


def __getattr__(name: str) -> Any:
    """`app`, all commands, loaded where it is asked for."""
    if name == "app":
        from deciban.cli.app import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def main() -> None:
    """The console entry point; a terminal that lacks a character gets '?' and no error."""
    _replace_closed_streams()
    for name in ("stdout", "stderr"):
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
        _flush_or_leave(leaving)
        raise
    except OSError as error:
        if error.errno not in (errno.EBADF, errno.ENOSPC) or error.filename is not None:
            raise
        from deciban.cli.error_handling import in_words  # help, or whatever else typer prints by itself

        print(f"error: {in_words(error)}", file=sys.stderr)
        _leave(REFUSED)


def _replace_closed_streams() -> None:
    """Give standard streams that are closed a descriptor: a file that is opened later must not take its number.

    Standard input can then not be read, nor standard output be written: that is an error, and not silence, where a
    command needs it. What goes to a closed standard error is dropped.
    """
    for name, flags in (("stdin", os.O_WRONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.open(os.devnull, flags), "r" if name == "stdin" else "w"))  # noqa: SIM115


def _run(arguments: list[str]) -> None:
    """Run a command; those for mail have a parser of their own, which loads in a tenth of the time of typer."""
    if arguments[:1] == ["mail"]:
        from deciban.cli.mail.commands import run

        _end(run(arguments[1:]))
    from deciban.cli.app import app

    app()


def _end(code: int) -> NoReturn:
    """End a call that has done all: nobody needs the memory of many messages given back bit by bit."""
    try:
        sys.stdout.flush()
    except OSError:
        sys.exit(code)  # `main` knows what that means
    _leave(code)


def _flush_or_leave(leaving: SystemExit) -> None:
    """End at once where standard output cannot be written: Python would try again, and exit with another code."""
    code = leaving.code if isinstance(leaving.code, int) and leaving.code else REFUSED
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _leave(UNREAD)
    except OSError:
        _leave(code)
    if isinstance(leaving.__context__, BrokenPipeError):  # typer and rich make an exit of their own of it
        _leave(UNREAD)


def _leave(code: int) -> NoReturn:
    """End at once: an orderly end writes what a closed pipe still waits for, and crashes where, after Ctrl-C, a
    library's threads are at work still.
    """
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
