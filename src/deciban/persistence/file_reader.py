"""Reading: a file is looked at with suspicion, and its arrays are mapped, not copied."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from deciban.errors import ModelFileError
from deciban.ledger.hashing import SURROGATES
from deciban.persistence import strict_json as strict
from deciban.persistence.array_layout import Place, described, places
from deciban.persistence.checksum import checksum
from deciban.persistence.container import FORMAT, library_version
from deciban.persistence.section import Section, escape_and_shorten

CHECKED_AT_ONCE = 16 << 20
"""Bytes of arrays up to which a file is checked in full when it is opened; larger ones array by array, when used."""

TEXT_KEYS = {"format", "library", "created", "header", "checksums", "aliases", "transposed"}


@dataclass(frozen=True, eq=False)
class Contents:
    """What a file holds: the header and the arrays its writer gave, and when and by which version it was written."""

    header: dict[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    path: str
    format: int
    library: str
    created: str
    checked: bool

    def section(self) -> Section:
        """The whole file, for reading it part by part."""
        return Section(self.header, self.arrays, file=self.path, eager=self.checked)


def read(path: str | os.PathLike[str], verify: bool = False) -> Contents:
    """Open a model file: the header is checked now, the arrays if they are small or with `verify`, else when used.

    Raises ModelFileError, saying what is wrong.
    """
    name = os.fspath(path)
    try:
        with _opened(name) as handle:
            return _contents(handle, name, verify)
    except ModelFileError as error:
        raise ModelFileError(f"cannot read the model file {name!r}: {escape_and_shorten(str(error))}") from None
    except OSError as error:
        raise ModelFileError(f"cannot read the model file {name!r}: {error.strerror or error}") from None


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    if not stat.S_ISREG(os.stat(name).st_mode):  # a pipe would be waited for
        raise ModelFileError("it is no ordinary file")
    with open(name, "rb") as handle:
        yield handle


def _contents(handle: BinaryIO, name: str, verify: bool) -> Contents:
    size = os.fstat(handle.fileno()).st_size
    first = handle.read(8)
    length = int.from_bytes(first, "little")
    if len(first) < 8 or not 2 <= length <= size - 8:
        raise ModelFileError("it is no model file, or was cut off: its header does not end within it")
    if length > strict.MOST_HEADER or length % 8:
        raise ModelFileError(f"it is no model file: its header would take {length} bytes")
    table = strict.parse(handle.read(length), "its header")
    text = _text(table.pop("__metadata__", None))
    where = places(table, size - 8 - length)
    arrays = Arrays(_data(handle, 8 + length, size), where, text)
    checked = verify or size - 8 - length <= CHECKED_AT_ONCE
    if checked:
        for array in arrays:
            arrays[array]
    return Contents(text["header"], arrays, name, text["format"], text["library"], text["created"], checked)


def _text(metadata: Any) -> dict[str, Any]:
    """The text that deciban keeps in the header: known, unharmed, and of a format that is understood."""
    if not isinstance(metadata, dict) or not isinstance(metadata.get("deciban"), str):
        raise ModelFileError("it is no model of deciban: its header has no entry 'deciban'")
    text = strict.parse(metadata["deciban"], "its header")
    number = text.get("format")
    if type(number) is int and number > FORMAT:
        raise ModelFileError(
            f"it was written by deciban {str(text.get('library'))[:20]} in format {number}; this is deciban "
            f"{library_version()}, which reads formats up to {FORMAT}. Hint: upgrade deciban."
        )
    if metadata.keys() != {"deciban", "checksum"} or metadata["checksum"] != checksum(
        metadata["deciban"].encode("utf-8", SURROGATES)
    ):
        raise ModelFileError("it is damaged: its header does not have the checksum it was written with")
    if type(number) is not int or number < 1 or text.keys() != TEXT_KEYS:
        raise ModelFileError("its header is not that of a model file")
    for key, kind in {"library": str, "created": str, "header": dict, "checksums": dict, "aliases": dict}.items():
        if not isinstance(text[key], kind):
            raise ModelFileError(f"its header's entry {key!r} is a {type(text[key]).__name__}")
    return text


def _data(handle: BinaryIO, start: int, size: int) -> NDArray[np.uint8]:
    """The bytes after the header: those of a small file in memory, those of a large one mapped."""
    if size - start <= CHECKED_AT_ONCE:
        data = np.fromfile(handle, dtype=np.uint8, count=size - start)
        if len(data) < size - start:
            raise ModelFileError("it was cut off while it was read")
        return data
    # Private pages: the arrays are as writable as any, so that kernels need no second version for them.
    return np.frombuffer(mmap.mmap(handle.fileno(), size, access=mmap.ACCESS_COPY), dtype=np.uint8)[start:]


class Arrays(Mapping[str, NDArray[Any]]):
    """The arrays of a file by name; each is checked when it is first asked for."""

    def __init__(self, data: NDArray[np.uint8], where: dict[str, Place], text: Mapping[str, Any]) -> None:
        self._data, self._where, self._sums = data, where, text["checksums"]
        self._aliases, self._turned = text["aliases"], _names(text["transposed"], where)
        if self._sums.keys() != where.keys():
            raise ModelFileError("it is damaged: its arrays are not those it was written with")
        if not all(isinstance(n, str) and n in where for n in self._aliases.values()) or self._aliases.keys() & where:
            raise ModelFileError("its header names arrays that it does not have")
        self._sound: set[str] = set()

    def __getitem__(self, name: str) -> NDArray[Any]:
        name = self._aliases.get(name, name)
        place = self._where[name]
        array = place.of(self._data)
        if name not in self._sound:
            self._check(name, place)
            self._sound.add(name)
        return array.T if name in self._turned else array

    def _check(self, name: str, place: Place) -> None:
        content = self._data[place.start : place.end]
        if self._sums[name] != described(place.dtype, place.shape, checksum(content)):
            raise ModelFileError(f"it is damaged: the array {name!r} is not what was written")
        if place.dtype == "BOOL" and content.size and content.max() > 1:
            raise ModelFileError(f"the array {name!r} holds something that is neither true nor false")

    def __iter__(self) -> Iterator[str]:
        return iter([*self._where, *self._aliases])

    def __len__(self) -> int:
        return len(self._where) + len(self._aliases)


def _names(listed: Any, known: Mapping[str, Place]) -> frozenset[str]:
    if not isinstance(listed, list) or not all(isinstance(name, str) and name in known for name in listed):
        raise ModelFileError("its header names arrays that it does not have")
    return frozenset(listed)
