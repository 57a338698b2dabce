"""Atomic writing: a file is written completely or not at all."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

MAX_REPEATED_BYTES = 180
"""The number of bytes of a name that its temporary file repeats: most file systems allow 255."""


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: int = 0o666) -> Iterator[Path]:
    """Yield a temporary file in the folder of `path`, which replaces `path` if the block succeeds, else is deleted.

    Its permissions are `mode` less the umask. A crash, a full disk or an error leaves the previous file unchanged.
    Raises OSError.
    """
    target = Path(os.path.realpath(path))  # a link keeps its target
    check_writable(target)
    temporary = create_temporary_file(target, mode)
    mode = temporary.stat().st_mode
    try:
        yield temporary
        os.chmod(temporary, mode)  # the block may have replaced the file
        _sync(temporary)
        os.replace(temporary, target)
        _sync(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(target: Path) -> None:
    """Raise an OSError for a folder, a device, or a protected file; a file that does not exist is accepted."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(21, "it is a folder", str(target))
    if not stat.S_ISREG(mode):
        raise PermissionError(1, "it is not an ordinary file", str(target))
    if not os.access(target, os.W_OK):
        raise PermissionError(13, "no permission to write to it", str(target))


def create_temporary_file(target: Path, mode: int) -> Path:
    """Create an empty file of this mode less the umask, with a random name, in the folder of `target`; return it."""
    start = os.fsdecode(os.fsencode(target.name)[:MAX_REPEATED_BYTES])
    path = target.with_name(f".{start}.{secrets.token_hex(6)}.part")
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    return path


def _sync(path: Path) -> None:
    """Flush a file or folder to disk; some systems cannot open a folder, and need not."""
    is_folder = path.is_dir()
    with suppress(OSError) if is_folder else nullcontext():
        handle = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
