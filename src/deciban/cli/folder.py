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
    """Make the folder and put the files there; none gets its name before all are complete."""
    unfinished: dict[Path, Path] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            unfinished[folder / name] = _unfinished(folder, name)
            unfinished[folder / name].write_bytes(content)
        for path, complete in unfinished.items():
            os.replace(complete, path)
    except OSError as error:
        raise InputError(f"cannot write to the folder {str(folder)!r}: {error.strerror}. {HINT}") from None
    finally:
        for leftover in unfinished.values():
            leftover.unlink(missing_ok=True)
    return list(unfinished)


def _unfinished(folder: Path, name: str) -> Path:
    """A new file beside the one it will become, as readable as any new file."""
    handle, path = tempfile.mkstemp(dir=folder, prefix=f".{name}.")
    os.close(handle)
    os.chmod(path, 0o666 & ~_umask())
    return Path(path)


def _umask() -> int:
    """What a new file may not allow; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
