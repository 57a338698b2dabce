"""The folder that a command fills: all of its files, or none."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from deciban.atomic_write import whole
from deciban.errors import InputError

HINT = "Hint: --folder names another one."


def check_writable(folder: Path) -> None:
    """Refuse, before any work is done, a folder that could not be made or written to; makes nothing."""
    try:
        nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    except OSError as error:
        raise InputError(f"cannot write to the folder {str(folder)!r}: {error.strerror}. {HINT}") from None
    if not nearest.is_dir():
        raise InputError(f"cannot write to the folder {str(folder)!r}: {str(nearest)!r} is a file. {HINT}")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError(f"cannot write to the folder {str(folder)!r}: no permission in {str(nearest)!r}. {HINT}")


def write(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Make the folder and put the files there; none gets its name before all are complete."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as unfinished:
            for name, content in files.items():
                unfinished.enter_context(whole(folder / name)).write_bytes(content)
    except OSError as error:
        raise InputError(f"cannot write to the folder {str(folder)!r}: {error.strerror}. {HINT}") from None
    return [folder / name for name in files]
