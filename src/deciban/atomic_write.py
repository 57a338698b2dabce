"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LONGEST = 180
"""Bytes of a name that are repeated in that of its unfinished file: most file systems end at 255."""


@contextmanager
def whole(path: str | os.PathLike[str], mode: int = 0o666) -> Iterator[Path]:
    """An unfinished file beside `path`, which takes its name when the block ends well and is gone when it does not.

    It may be read by whom `mode` and the umask let. A crash, a full disk or a refusal leaves what had the name before
    as it was. Raises OSError.
    """
    target = Path(os.path.realpath(path))  # a link goes on pointing to what it pointed to
    refuse_unwritable(target)
    unfinished = empty_file_beside(target, mode)
    mode = unfinished.stat().st_mode
    try:
        yield unfinished
        os.chmod(unfinished, mode)  # the block may have put another file in its place
        _sync(unfinished)
        os.replace(unfinished, target)
        _sync(target.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def refuse_unwritable(target: Path) -> None:
    """Refuse a folder, a device, or a file that is protected: a new name would quietly take its place."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(21, "it is a folder", str(target))
    if not stat.S_ISREG(mode):
        raise PermissionError(1, "it is no ordinary file", str(target))
    if not os.access(target, os.W_OK):
        raise PermissionError(13, "no permission to write to it", str(target))


def empty_file_beside(target: Path, mode: int) -> Path:
    """Make a new, empty file in the folder of `target`, under a name of its own, and close it."""
    start = os.fsdecode(os.fsencode(target.name)[:LONGEST])
    path = target.with_name(f".{start}.{secrets.token_hex(6)}.part")
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    return path


def _sync(path: Path) -> None:
    """Have the disk know it; some systems cannot open a folder, and need not."""
    if path.is_dir():
        with suppress(OSError):
            _sync_handle(os.open(path, os.O_RDONLY))
    else:
        _sync_handle(os.open(path, os.O_RDWR))


def _sync_handle(handle: int) -> None:
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
