"""Copies of streams: pipes, sockets and standard input can be read once, and tables are read more often than that."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import BinaryIO

from deciban.errors import change_errors
from deciban.sources.source import COPY_NAMES, convert_read_errors, quote_path

COMPRESSION_MARKS = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}
"""The first bytes of compressed data, and the ending of its file name."""


def is_pipe(path: str) -> bool:
    """Return whether a path names a stream: a named pipe, `<(…)` of a shell, a socket or a device."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextmanager
def spool(stream: BinaryIO, name: str, shown: str) -> Iterator[str]:
    """Yield the path of a temporary copy of a stream, read to its end; it is deleted after the block.

    The copy has the given name, with the ending of compressed data where the stream is compressed and its name does
    not show it. `shown` stands for it in messages.
    """
    start = stream.read(4)
    ending = next((ending for mark, ending in COMPRESSION_MARKS.items() if start.startswith(mark)), "")
    with tempfile.TemporaryDirectory(prefix="deciban-") as folder:
        path = os.path.join(folder, name if name.lower().endswith(ending) else name + ending)
        with open(path, "wb") as file:
            file.write(start)
            shutil.copyfileobj(stream, file, 1 << 20)
        COPY_NAMES[path] = shown
        try:
            yield path
        finally:
            del COPY_NAMES[path]


@contextmanager
def spool_pipes(paths: Sequence[str]) -> Iterator[list[str]]:
    """Yield the paths, each pipe replaced by a temporary copy, which is deleted after the block."""
    with ExitStack() as copies:
        found = []
        for path in paths:
            if is_pipe(path):
                with convert_read_errors(quote_path(path)), open(path, "rb") as stream:
                    found.append(copies.enter_context(spool(stream, os.path.basename(path), quote_path(path))))
            else:
                found.append(path)
        yield found


def name_in_errors(names: Mapping[str, str]) -> AbstractContextManager[None]:
    """Replace the paths of temporary copies in errors of the block by names that the user knows."""

    def change(message: str) -> str:
        for path, name in names.items():
            shown = name if path in COPY_NAMES and COPY_NAMES[path] == name else repr(name)
            message = message.replace(repr(path), shown).replace(path, name)
        return message

    return change_errors(change)
