"""How a command fails: in a line or two with a way out, and exit code 1."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from deciban.errors import DecibanError


@contextmanager
def manners(debug: bool) -> Iterator[None]:
    """Turn errors into words on stderr; with `debug` let them through."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except BrokenPipeError:  # whoever read our output has left: nothing to tell, and nobody to tell it to
        raise
    except Exception as error:
        if debug:
            raise
        typer.echo(f"error: {_words(error)}", err=True)
        raise typer.Exit(1) from None


def _words(error: Exception) -> str:
    if isinstance(error, DecibanError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    return f"{type(error).__name__}: {error}\nHint: --debug shows where it happened."
