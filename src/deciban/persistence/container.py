"""Writing: named arrays and a JSON header become one safetensors file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.atomic_write import whole
from deciban.errors import ModelFileError
from deciban.persistence import strict_json as strict
from deciban.persistence.array_layout import NAMES, described
from deciban.persistence.checksum import checksum

FORMAT = 1
"""The format that is written; this and every earlier one can be read."""


def write(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file whole or not at all: until it is complete and on the disk, what was there before stays.

    An array that occurs under two names is stored once.
    """
    stored, aliases, transposed = _stored(arrays)
    text = strict.write(
        {
            "format": FORMAT,
            "library": library_version(),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "header": dict(header),
            "checksums": {n: described(NAMES[a.dtype], a.shape, checksum(a.reshape(-1))) for n, a in stored.items()},
            "aliases": aliases,
            "transposed": transposed,
        }
    )
    metadata = {"deciban": text, "checksum": checksum(text.encode())}
    try:
        with whole(path) as unfinished:
            _save(stored, unfinished, metadata)
    except OSError as error:
        raise ModelFileError(
            f"cannot write the model file {os.fspath(path)!r}: {error.strerror or error}. Nothing was changed. "
            f"Hint: name another place, or make room there."
        ) from None


def library_version() -> str:
    """The version of deciban; asked of the package by name, since no room may lean on the roof."""
    version: str = import_module("deciban").__version__
    return version


def _save(stored: dict[str, NDArray[Any]], path: Path, metadata: dict[str, str]) -> None:
    """By the safetensors library, which writes the arrays from where they are."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    try:
        save_file(stored, path, metadata=metadata)
    except SafetensorError as error:
        raise OSError(_reason(str(error))) from None
    with path.open("rb") as handle:
        length = int.from_bytes(handle.read(8), "little")
    if length > strict.MOST_HEADER:
        raise ModelFileError(
            f"the header of this model takes {length} bytes, and at most {strict.MOST_HEADER} would be read again"
        )


def _reason(message: str) -> str:
    """What the system said, out of the library's message."""
    if quoted := re.search(r'message: "([^"]+)"', message):
        return quoted[1].strip()
    number = re.search(r" \(os error \d+\)", message)
    return message[: number.start()].rpartition(":")[2].strip() if number else message


def _stored(
    arrays: Mapping[str, NDArray[Any]],
) -> tuple[dict[str, NDArray[Any]], dict[str, str], list[str]]:
    """The arrays to be stored, the second names of some, and those that are stored turned.

    Sums depend on the order in memory in their last bit, so an array that is kept by columns comes back so.
    """
    stored: dict[str, NDArray[Any]] = {}
    aliases: dict[str, str] = {}
    transposed: list[str] = []
    seen: dict[tuple[Any, ...], str] = {}
    for name, given in arrays.items():
        key = (given.__array_interface__["data"][0], given.shape, given.strides, given.dtype.str)
        if given.size and key in seen:
            aliases[name] = seen[key]
            continue
        seen[key] = name
        turned = given.flags.f_contiguous and not given.flags.c_contiguous
        stored[name] = _plain(name, given.T if turned else given)
        transposed += [name] if turned else []
    return stored, aliases, transposed


def _plain(name: str, array: NDArray[Any]) -> NDArray[Any]:
    plain = np.require(array, dtype=array.dtype.newbyteorder("<"), requirements="C")
    if plain.dtype not in NAMES:
        raise ModelFileError(
            f"the array {name!r} is of kind {array.dtype}, and model files hold {[str(d) for d in NAMES]} alone"
        )
    return plain
