"""Files and folders that commands write, completely or not at all; model files and JSON on standard output."""

from __future__ import annotations

import math
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deciban.cli.error_handling import stop_if_interrupted
from deciban.errors import DecibanError, InputError
from deciban.formatting import escape_controls
from deciban.load_model import COMPRESSED_ENDINGS

if TYPE_CHECKING:
    from deciban.model.model import Model

HINT = "Hint: -o names another place"
ENDING = ".deciban"

MAX_LOCK_SECONDS = 30.0
"""How long a command waits for a server that is writing the model file."""


def check_output(path: str | Path, inputs: Sequence[str | Path] = ()) -> None:
    """Refuse, before any work is done, a file that cannot be written or that is one of the inputs; accept "-"."""
    if str(path) == "-":
        return
    from deciban.atomic_write import check_writable

    target = Path(os.path.realpath(path))
    if str(path).endswith(os.sep):
        raise InputError(f"cannot write {str(path)!r}: it is the name of a folder. {HINT}")
    if not target.parent.is_dir():
        raise InputError(f"cannot write {str(path)!r}: there is no folder {str(target.parent)!r}. {HINT}")
    try:
        check_writable(target)
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise PermissionError(13, "no permission to write in its folder")
    except OSError as error:
        raise write_error(path, error) from None
    for other in inputs:
        if target.exists() and os.path.exists(other) and target.samefile(other):
            raise InputError(f"{str(path)!r} is being read, so it is not overwritten. {HINT}")


def write_error(path: str | Path, error: OSError) -> InputError:
    """Return the error for a file that cannot be written, from that of the file system."""
    return InputError(f"cannot write {str(path)!r}: {(error.strerror or str(error)).lower()}. {HINT}")


@contextmanager
def atomic_file(path: str | Path, mode: int = 0o666) -> Iterator[Path]:
    """Yield a temporary file that replaces `path` if the block succeeds, with this mode less the umask.

    Raises InputError for an OSError, in the block too, and KeyboardInterrupt where one was suppressed in the block.
    """
    from deciban.atomic_write import atomic_write

    try:
        with atomic_write(path, mode) as unfinished:
            yield unfinished
            stop_if_interrupted()
    except (BrokenPipeError, DecibanError):  # an error of a mail store is an OSError
        raise
    except OSError as error:
        raise write_error(path, error) from None


def default_file(paths: Sequence[str]) -> str:
    """Return the default name of a model file: the name of its table, in the current folder.

    >>> default_file(["data/heart.csv.gz"]), default_file(["day-*.csv"]), default_file(["-"])
    ('heart.deciban', 'day.deciban', 'model.deciban')
    """
    name = Path(paths[0]).name if paths and not paths[0].startswith("/dev/") else ""
    for ending in COMPRESSED_ENDINGS:
        name = name.removesuffix(ending)
    stem = re.sub(r"[*?\[\]]+", "", Path(name).stem).strip("-_. ")
    return f"{stem or 'model'}{ENDING}"


def save(model: Model, path: str | Path) -> None:
    """Write a model file, or its bytes to standard output for '-'."""
    stop_if_interrupted()
    if str(path) != "-":
        model.save(path)
        return
    with tempfile.TemporaryDirectory(prefix="deciban-") as folder:
        file = Path(folder) / "model.deciban"
        model.save(file)
        with file.open("rb") as complete:
            shutil.copyfileobj(complete, sys.stdout.buffer)


@contextmanager
def lock_for_change(path: str | Path) -> Iterator[None]:
    """Lock a model file that the block changes: other commands wait, and servers that learn rows into it too.

    Rows that a server has learned, but not written into the file yet, are an InputError, as they would be lost.
    """
    from deciban.server import journal

    real = os.path.realpath(path)
    with ExitStack() as held:
        held.enter_context(journal.lock_model_file(real, math.inf))
        if os.path.exists(real + journal.LOCK_ENDING):
            try:
                held.enter_context(journal.lock_model(real, time.monotonic() + MAX_LOCK_SECONDS))
                has_entries = os.path.exists(real) and journal.has_entries(real)
            except TimeoutError:
                raise InputError(f"a server is writing {str(path)!r}. Hint: try again later") from None
            except PermissionError:
                raise InputError(f"a server of another account learns into {str(path)!r}. {HINT}") from None
            if has_entries:
                raise InputError(
                    f"a server has learned rows that {str(path)!r} does not have yet: they are in its journal. Hint: "
                    f"try again in some seconds; or start deciban serve --learning, which writes them into the file"
                )
        yield


def print_json(figures: Any) -> None:
    """Print figures on standard output as standard JSON, indented; NumPy values become plain ones, NaN null."""
    from deciban.plain_json import to_json

    print(escape_for_terminal(to_json(figures, indent=2)))


def escape_for_terminal(text: str) -> str:
    """Escape control characters except line ends if standard output is a terminal; pipes and files stay raw."""
    return escape_controls(text, keep="\n") if sys.stdout.isatty() else text


def folder_error(folder: Path, why: str | None) -> InputError:
    """Return the error for a folder that cannot be written to."""
    return InputError(f"cannot write to the folder {str(folder)!r}: {why}. Hint: --folder names another one.")


def check_folder(folder: Path) -> None:
    """Refuse, before any work is done, a folder that cannot be created or written to; create nothing."""
    try:
        nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    except OSError as error:
        raise folder_error(folder, error.strerror) from None
    if not nearest.is_dir():
        raise folder_error(folder, f"{str(nearest)!r} is a file")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise folder_error(folder, f"no permission in {str(nearest)!r}")


def write_folder(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write files into a new or existing folder and return their paths; no name appears before all are complete."""
    from deciban.atomic_write import atomic_write

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as unfinished:
            for name, content in files.items():
                unfinished.enter_context(atomic_write(folder / name)).write_bytes(content)
    except OSError as error:
        raise folder_error(folder, error.strerror) from None
    return [folder / name for name in files]
