"""Where results go: a file that is written whole or not at all, or standard output; figures for programs as JSON."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deciban.cli.error_handling import stop_if_interrupted
from deciban.errors import InputError
from deciban.formatting import escape_controls

if TYPE_CHECKING:
    from deciban.model.model import Model

HINT = "Hint: -o names another place"


def check_output(path: str | Path, inputs: Sequence[str | Path] = ()) -> None:
    """Refuse, before any work is done, a file that could not be written or that is being read."""
    if str(path) == "-":
        return
    from deciban.atomic_write import refuse_unwritable

    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise InputError(f"cannot write {str(path)!r}: there is no folder {str(target.parent)!r}. {HINT}")
    try:
        refuse_unwritable(target)
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise PermissionError(13, "no permission to write in its folder")
    except OSError as error:
        raise cannot_write(path, error) from None
    for other in inputs:
        if target.exists() and os.path.exists(other) and target.samefile(other):
            raise InputError(f"{str(path)!r} is what is read, so it is not overwritten. {HINT}")


def cannot_write(path: str | Path, error: OSError) -> InputError:
    """The refusal of a file system, worded."""
    return InputError(f"cannot write {str(path)!r}: {(error.strerror or str(error)).lower()}. {HINT}")


@contextmanager
def atomic_file(path: str | Path, mode: int = 0o666) -> Iterator[Path]:
    """An unfinished file that takes the name when the block ends well, with this mode less the umask."""
    from deciban.atomic_write import whole

    try:
        with whole(path, mode) as unfinished:
            yield unfinished
            stop_if_interrupted()
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise cannot_write(path, error) from None


def save(model: Model, path: str | Path) -> None:
    """Write a model file, or the same bytes to standard output for '-'."""
    stop_if_interrupted()
    if str(path) != "-":
        model.save(path)
        return
    with tempfile.TemporaryDirectory(prefix="deciban-") as folder:
        file = Path(folder) / "model.deciban"
        model.save(file)
        with file.open("rb") as complete:
            shutil.copyfileobj(complete, sys.stdout.buffer)


def print_json(figures: Any) -> None:
    """Figures on standard output, as every reader of JSON takes them."""
    from deciban.plain_json import json_text

    print(escape_for_terminal(json_text(figures, indent=2)))


def escape_for_terminal(text: str) -> str:
    """Escape what a terminal would obey, line ends apart, where standard output is one; pipes and files stay raw."""
    return escape_controls(text, keep="\n") if sys.stdout.isatty() else text


def format_file_size(path: str | Path) -> str:
    """How large a file is, for people."""
    size = float(os.path.getsize(path))
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"
