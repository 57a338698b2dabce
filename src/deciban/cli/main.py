"""The entry point of the `deciban` command, and its exit codes."""

import errno
import os
import sys
from contextlib import suppress
from typing import NoReturn

from deciban.cli.command_groups import INTERRUPTED, OUTPUT_CLOSED, REFUSED


def main() -> None:
    """Run the command line; characters that the terminal cannot show are printed as '?'."""
    _replace_closed_streams()
    for name in ("stdout", "stderr"):
        if hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(errors="replace")
    try:
        _run(sys.argv[1:])
    except KeyboardInterrupt:
        _exit_immediately(INTERRUPTED)
    except BrokenPipeError:
        _exit_immediately(OUTPUT_CLOSED)
    except SystemExit as exiting:
        if exiting.code == INTERRUPTED:
            _exit_immediately(INTERRUPTED)
        _flush_or_exit(exiting)
        raise
    except OSError as error:
        if error.errno not in (errno.EBADF, errno.ENOSPC) or error.filename is not None:
            raise
        from deciban.cli.error_handling import describe_error  # from help, which is printed without it

        print(f"error: {describe_error(error)}", file=sys.stderr)
        _exit_immediately(REFUSED)


def _replace_closed_streams() -> None:
    """Give standard streams that are closed a descriptor: a file that is opened later must not take its number.

    Reading standard input or writing standard output then fails with an error, where a command needs it. Output to a
    closed standard error is dropped.
    """
    for name, flags in (("stdin", os.O_WRONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.open(os.devnull, flags), "r" if name == "stdin" else "w"))  # noqa: SIM115


def _run(arguments: list[str]) -> None:
    """Run a command, or print the completions that a shell asks for.

    Commands for mail need as little memory as possible, and so load no module of the other commands.
    """
    if "_DECIBAN_COMPLETE" in os.environ:
        from deciban.cli.completion import complete

        print("".join(f"{word}\n" for word in complete(arguments)), end="")  # an empty line would be a completion
    elif arguments[:1] == ["mail"]:
        from deciban.cli.mail.commands import run as run_mail

        _flush_and_exit(run_mail(arguments[1:]))
    else:
        from deciban.cli.app import run

        sys.exit(run(arguments))


def _flush_and_exit(code: int) -> NoReturn:
    """Write what is left of the output of a finished command, then exit without freeing memory.

    Freeing the memory of many messages would only take time.
    """
    try:
        sys.stdout.flush()
    except OSError:
        sys.exit(code)  # `main` handles it
    _exit_immediately(code)


def _flush_or_exit(exiting: SystemExit) -> None:
    """Write what is left of the output before an orderly exit; exit immediately if that fails.

    Python would try to write it again, and exit with another code.
    """
    code = exiting.code if isinstance(exiting.code, int) and exiting.code else REFUSED
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _exit_immediately(OUTPUT_CLOSED)
    except OSError:
        _exit_immediately(code)
    if isinstance(exiting.__context__, BrokenPipeError):  # rich converts it to an exit
        _exit_immediately(OUTPUT_CLOSED)


def _exit_immediately(code: int) -> NoReturn:
    """End the process without writing standard output and without the clean-up of Python.

    An orderly exit would write to a closed pipe, and would crash after Ctrl-C while threads of a library are still
    running.
    """
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
