"""Text files in other encodings than UTF-8, copied to temporary files in UTF-8 that DuckDB reads.

DuckDB itself reads UTF-16 and Latin-1, and downloads an extension for others; Python reads any.
"""

from __future__ import annotations

import codecs
import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from functools import lru_cache

from deciban.errors import InputError
from deciban.sources.document_files import BYTE_ORDER_MARK, open_decompressed
from deciban.sources.source import convert_read_errors, quote_path
from deciban.text.documents import check_decoding

CHUNK_BYTES = 1 << 22
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""The first bytes of files that state their encoding; the marks of UTF-32 begin with those of UTF-16."""

NAMES_OF_UTF8 = ("utf-8", "utf-8-sig", "ascii")
WINDOWS_LETTERS = frozenset(range(0x80, 0xA0)) - {0x81, 0x8D, 0x8F, 0x90, 0x9D}
"""The bytes that are letters in the encoding of Windows, and control characters in Latin-1."""


class Utf8Copies:
    """Copies of files in UTF-8, by the paths of the originals; they are deleted with this object.

    A file that is in UTF-8 is not copied, unless its first cell is in quotes and a byte order mark precedes it:
    DuckDB would not find the end of the quotes.
    """

    def __init__(self, encodings: dict[str, str]) -> None:
        self.folder = tempfile.mkdtemp(prefix="deciban-")
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.paths: dict[str, str] = {}
        for number, (path, encoding) in enumerate(encodings.items()):
            self.paths[path] = os.path.join(self.folder, f"{number}.csv")
            _copy(path, self.paths[path], encoding)

    def find(self, path: str) -> str:
        """Return the path of the copy of a file, or its own path where it has none."""
        return self.paths.get(path, path)


def copy_to_utf8(paths: Sequence[str], encoding: str) -> Utf8Copies | None:
    """Copy the files that are not in UTF-8: by their byte order mark, else by this encoding; None if all are.

    The last copies are kept, so that a table that is opened several times is copied once.
    """
    check_decoding(encoding, "strict")
    name = codecs.lookup(encoding).name
    found = {path: _detect_encoding(path, name) for path in paths}
    others = {path: other for path, other in found.items() if other not in ("utf-8", "ascii")}
    if not others:
        return None
    versions = tuple((stat.st_ino, stat.st_size, stat.st_mtime_ns) for stat in map(os.stat, others))
    return _make_copies(tuple(others.items()), versions)


@lru_cache(maxsize=1)
def _make_copies(encodings: tuple[tuple[str, str], ...], versions: tuple[tuple[int, ...], ...]) -> Utf8Copies:
    return Utf8Copies(dict(encodings))


def _detect_encoding(path: str, given: str) -> str:
    """Return the encoding that a file's byte order mark states, or the given one.

    UTF-16 without a mark is little-endian, as Windows writes it, unless every other byte from the first is 0.
    """
    with convert_read_errors(quote_path(path)), open_decompressed(path) as file:
        start = bytes(file.read(1000))
    if given in NAMES_OF_UTF8 and start.startswith(codecs.BOM_UTF8):
        return "utf-8-sig" if start[3:4] in (b'"', b"'") else "utf-8"
    if given in NAMES_OF_UTF8 or given.startswith(("utf-16", "utf-32")):
        for mark, encoding in BYTE_ORDER_MARKS.items():
            if start.startswith(mark):
                return encoding
    if given in NAMES_OF_UTF8:
        return "utf-8"
    if given == "utf-16":
        return "utf-16-be" if start[::2].count(0) > start[1::2].count(0) else "utf-16-le"
    return given


def _copy(path: str, copy: str, encoding: str) -> None:
    """Write the text of a file to another in UTF-8; raise an InputError for bytes that the encoding does not have."""
    decoder = codecs.getincrementaldecoder(encoding)()
    n_lines, is_first = 1, True
    with convert_read_errors(quote_path(path)), open_decompressed(path) as file, open(copy, "wb") as out:
        raw = b"more"
        while raw:
            raw = bytes(file.read(CHUNK_BYTES))
            try:
                text = decoder.decode(raw, final=not raw)
            except UnicodeDecodeError as error:
                line = n_lines + _count_lines(error.object[: error.start].decode(encoding, "ignore"))
                raise InputError(
                    f"{quote_path(path)} {describe_invalid_byte(encoding, line, error.object[error.start])}"
                ) from None
            n_lines += _count_lines(text)
            out.write((text.removeprefix(BYTE_ORDER_MARK) if is_first else text).encode("utf-8", "surrogatepass"))
            is_first = is_first and not text


def _count_lines(text: str) -> int:
    return text.count("\n") or text.count("\r")


def describe_invalid_byte(encoding: str, line: int, byte: int) -> str:
    """Describe a line with a byte that its encoding does not have, as the predicate of a message; hint at another."""
    other = "cp1252" if byte in WINDOWS_LETTERS else "latin-1"
    other = "utf-8" if encoding == other else other
    return (
        f"is not in {'UTF-8' if encoding in NAMES_OF_UTF8 else encoding} in line {line}. "
        f"Hint: --encoding {other} (encoding={other!r}), or the one in which it was written"
    )
