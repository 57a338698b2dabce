"""The container of a model file: named arrays and a JSON header in one safetensors file.

Writing is atomic. Reading trusts nothing in the file, and maps large files instead of copying them.
"""

import io
import mmap
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from deciban.atomic_write import atomic_write
from deciban.errors import ModelFileError
from deciban.ledger.hashing import SURROGATES
from deciban.persistence.file_header import (
    DTYPE_NAMES,
    MAX_FILE_HEADER_BYTES,
    ArraySpan,
    checksum,
    format_array_entry,
    format_json,
    parse_json,
    parse_layout,
)
from deciban.persistence.section import Section, escape_and_shorten

FORMAT_VERSION = 1
"""The version of the format that is written; this and every earlier one can be read."""

EAGER_CHECK_BYTES = 16 << 20
"""Bytes of arrays up to which a file is checked in full when it is opened; larger files array by array, on use."""

METADATA_KEYS = {"format", "library", "created", "header", "checksums", "aliases", "transposed"}
"""The keys of the JSON text that deciban stores in the safetensors metadata."""


def write(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file atomically: until it is complete and on the disk, the file that was there before stays.

    An array that occurs under two names is stored once.
    """
    stored, metadata = _prepare_contents(header, arrays)
    try:
        with atomic_write(path) as unfinished:
            _save_safetensors(stored, unfinished, metadata)
    except OSError as error:
        raise ModelFileError(
            f"cannot write the model file {os.fspath(path)!r}: {error.strerror or error}. Nothing was changed. "
            f"Hint: choose another directory, or free disk space."
        ) from None


def write_bytes(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes of the file that `write` would write; too long a header is not refused."""
    from safetensors.numpy import save

    stored, metadata = _prepare_contents(header, arrays)
    content: bytes = save(stored, metadata=metadata)
    return content


def _prepare_contents(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Return the arrays to store, each once, and the metadata of the file with their checksums."""
    stored, aliases, transposed = _deduplicate(arrays)
    entries = {
        name: format_array_entry(DTYPE_NAMES[array.dtype], array.shape, checksum(array.reshape(-1)))
        for name, array in stored.items()
    }
    text = format_json(
        {
            "format": FORMAT_VERSION,
            "library": get_library_version(),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "header": dict(header),
            "checksums": entries,
            "aliases": aliases,
            "transposed": transposed,
        }
    )
    return stored, {"deciban": text, "checksum": checksum(text.encode())}


def get_library_version() -> str:
    """Return the version of deciban; the package is imported by name, since it is a layer above."""
    version: str = import_module("deciban").__version__
    return version


def _save_safetensors(stored: dict[str, NDArray[Any]], path: Path, metadata: dict[str, str]) -> None:
    """Write the file with the safetensors library, which does not copy the arrays; refuse too long a header."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    try:
        save_file(stored, path, metadata=metadata)
    except SafetensorError as error:
        raise OSError(_extract_system_error(str(error))) from None
    with path.open("rb") as handle:
        length = int.from_bytes(handle.read(8), "little")
    if length > MAX_FILE_HEADER_BYTES:
        raise ModelFileError(
            f"the header of this model takes {length} bytes, and at most {MAX_FILE_HEADER_BYTES} can be read again"
        )


def _extract_system_error(message: str) -> str:
    """Return the operating system's error text within the safetensors library's message."""
    if quoted := re.search(r'message: "([^"]+)"', message):
        return quoted[1].strip()
    number = re.search(r" \(os error \d+\)", message)
    return message[: number.start()].rpartition(":")[2].strip() if number else message


def _deduplicate(arrays: Mapping[str, NDArray[Any]]) -> tuple[dict[str, NDArray[Any]], dict[str, str], list[str]]:
    """Return the arrays to store, the names that are aliases of others, and the names of those stored transposed.

    Stored arrays are little-endian and in C order. The last bit of a sum depends on the order in memory, so an array
    in Fortran order is read back in Fortran order.
    """
    stored: dict[str, NDArray[Any]] = {}
    aliases: dict[str, str] = {}
    transposed: list[str] = []
    seen: dict[tuple[Any, ...], str] = {}
    for name, array in arrays.items():
        key = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)
        if array.size and key in seen:
            aliases[name] = seen[key]
            continue
        seen[key] = name
        is_fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        transposed += [name] if is_fortran else []
        array = array.T if is_fortran else array
        stored[name] = np.require(array, dtype=array.dtype.newbyteorder("<"), requirements="C")
        if stored[name].dtype not in DTYPE_NAMES:
            known = [str(dtype) for dtype in DTYPE_NAMES]
            raise ModelFileError(f"the array {name!r} is of dtype {array.dtype}, and model files hold {known} only")
    return stored, aliases, transposed


@dataclass(frozen=True, eq=False)
class Contents:
    """The contents of a file: its header and arrays, and when and by which version of deciban it was written.

    `checked` tells whether all arrays were verified when it was opened; the others are when they are used.
    """

    header: dict[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    path: str
    format: int
    library: str
    created: str
    checked: bool

    def section(self) -> Section:
        """Return the outermost section of the file, to read it part by part."""
        return Section(self.header, self.arrays, file=self.path, eager=self.checked)


def read(path: str | os.PathLike[str], verify: bool = False) -> Contents:
    """Open a model file: the header is checked now, the arrays if they are small or with `verify`, else when used.

    Raises ModelFileError with the reason.
    """
    name = os.fspath(path)
    try:
        if not stat.S_ISREG(os.stat(name).st_mode):  # opening a pipe would block
            raise ModelFileError("it is not an ordinary file")
        with open(name, "rb") as handle:
            return _read_contents(handle, name, verify)
    except ModelFileError as error:
        fault = str(error).removeprefix(f"{name!r}: ")  # an array names the file, as it may be read later
        raise ModelFileError(f"cannot read the model file {name!r}: {escape_and_shorten(fault)}") from None
    except OSError as error:
        raise ModelFileError(f"cannot read the model file {name!r}: {error.strerror or error}") from None


def read_bytes(content: bytes, name: str) -> Contents:
    """Return the contents of a file in memory; `name` names it in errors of its arrays and sections. See `read`."""
    return _read_contents(io.BytesIO(content), name, verify=False)


def _read_contents(handle: BinaryIO, name: str, verify: bool) -> Contents:
    size = handle.seek(0, os.SEEK_END)
    handle.seek(0)
    first = handle.read(8)
    length = int.from_bytes(first, "little")
    if len(first) < 8 or not 2 <= length <= size - 8:
        raise ModelFileError("it is not a model file, or was cut off: its header does not end within it")
    if length > MAX_FILE_HEADER_BYTES or length % 8:
        raise ModelFileError(f"it is not a model file: its header would take {length} bytes")
    table = parse_json(handle.read(length), "its header")
    metadata = _parse_metadata(table.pop("__metadata__", None))
    spans = parse_layout(table, size - 8 - length)
    arrays = CheckedArrays(_read_data(handle, 8 + length, size), spans, metadata, name)
    checked = verify or size - 8 - length <= EAGER_CHECK_BYTES
    if checked:
        for array in arrays:
            arrays[array]
    return Contents(
        metadata["header"], arrays, name, metadata["format"], metadata["library"], metadata["created"], checked
    )


def _parse_metadata(metadata: Any) -> dict[str, Any]:
    """Return deciban's own part of the header, whose checksum, keys and format version are checked."""
    if not isinstance(metadata, dict) or not isinstance(metadata.get("deciban"), str):
        raise ModelFileError("it is not a model of deciban: its header has no entry 'deciban'")
    text = parse_json(metadata["deciban"], "its header")
    number = text.get("format")
    if type(number) is int and number > FORMAT_VERSION:
        raise ModelFileError(
            f"it was written by deciban {str(text.get('library'))[:20]} in format {number}; this is deciban "
            f"{get_library_version()}, which reads formats up to {FORMAT_VERSION}. Hint: upgrade deciban."
        )
    if metadata.keys() != {"deciban", "checksum"} or metadata["checksum"] != checksum(
        metadata["deciban"].encode("utf-8", SURROGATES)
    ):
        raise ModelFileError("it is damaged: its header does not have the checksum it was written with")
    if type(number) is not int or number < 1 or text.keys() != METADATA_KEYS:
        raise ModelFileError("its header is not that of a model file")
    for key, kind in {"library": str, "created": str, "header": dict, "checksums": dict, "aliases": dict}.items():
        if not isinstance(text[key], kind):
            raise ModelFileError(f"its header's entry {key!r} is a {type(text[key]).__name__}")
    return text


def _read_data(handle: BinaryIO, start: int, size: int) -> NDArray[np.uint8]:
    """Return the bytes from `start` to the end: those of a small file in memory, those of a large one mapped."""
    if isinstance(handle, io.BytesIO):
        return np.frombuffer(bytearray(handle.getbuffer()[start:]), dtype=np.uint8)  # writable, as those of a file
    if size - start <= EAGER_CHECK_BYTES:
        data = np.fromfile(handle, dtype=np.uint8, count=size - start)
        if len(data) < size - start:
            raise ModelFileError("it was cut off while it was read")
        return data
    # Private pages: the arrays are as writable as any, so that kernels need no second version for them.
    return np.frombuffer(mmap.mmap(handle.fileno(), size, access=mmap.ACCESS_COPY), dtype=np.uint8)[start:]


class CheckedArrays(Mapping[str, NDArray[Any]]):
    """The arrays of a file by name; the checksum of each is verified at its first use."""

    def __init__(
        self, data: NDArray[np.uint8], spans: dict[str, ArraySpan], metadata: Mapping[str, Any], file: str
    ) -> None:
        self._data, self._spans, self._checksums, self._file = data, spans, metadata["checksums"], file
        self._aliases, transposed = metadata["aliases"], metadata["transposed"]
        if self._checksums.keys() != spans.keys():
            raise ModelFileError("it is damaged: its arrays are not those it was written with")
        is_list = isinstance(transposed, list)
        named = [*self._aliases.values(), *(transposed if is_list else ())]
        if not is_list or not all(isinstance(n, str) and n in spans for n in named) or self._aliases.keys() & spans:
            raise ModelFileError("its header names arrays that it does not have")
        self._transposed = frozenset(transposed)
        self._verified: set[str] = set()

    def __getitem__(self, name: str) -> NDArray[Any]:
        name = self._aliases.get(name, name)
        span = self._spans[name]
        if name not in self._verified:
            content = self._data[span.start : span.end]
            if self._checksums[name] != format_array_entry(span.dtype, span.shape, checksum(content)):
                raise ModelFileError(f"{self._file!r}: it is damaged: the array {name!r} is not what was written")
            if span.dtype == "BOOL" and content.size and content.max() > 1:
                raise ModelFileError(f"{self._file!r}: the array {name!r} has a value that is not Boolean")
            self._verified.add(name)
        array = span.view(self._data)
        return array.T if name in self._transposed else array

    def __iter__(self) -> Iterator[str]:
        return iter([*self._spans, *self._aliases])

    def __len__(self) -> int:
        return len(self._spans) + len(self._aliases)
