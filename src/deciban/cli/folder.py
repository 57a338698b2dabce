"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

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
    """Make the folder and put the files there, each under its name only once it is complete."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_put(folder / name, content) for name, content in files.items()]
    except OSError as error:
        raise InputError(f"cannot write to the folder {str(folder)!r}: {error.strerror}. {HINT}") from None


def _put(path: Path, content: bytes) -> Path:
    handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(unfinished, 0o666 & ~_umask())
        os.replace(unfinished, path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise
    return path


def _umask() -> int:
    """What a new file may not allow; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
