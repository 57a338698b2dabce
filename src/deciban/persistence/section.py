"""Sections of a model file: each object is written to one and read from it, with every value checked on reading."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from deciban._lazy import pa
from deciban.errors import ModelFileError
from deciban.ledger.hashing import SURROGATES
from deciban.ledger.vocabulary import pack_words

T = TypeVar("T")

Shape = tuple[int | None, ...]
"""The shape of an array; None stands for any length."""

MAX_EXACT_INTEGER = 1 << 53
"""Largest whole number that is read: beyond it, floats do not represent every whole number."""

MAX_REASON_CHARACTERS = 400
"""Characters of a reason in an error message: names in a forged file may be as long as the file."""

MAX_NUMBER = 1e300
"""Largest number that is read unless other bounds are given: sums of such numbers do not overflow."""


@dataclass(eq=False)
class Section:
    """A part of a file: a header, and the arrays whose names begin with the section's name. Sections are nested.

    Writers fill an empty section, which each call returns, and `add` it to a larger one; readers request each value
    by name, type and bounds, and any other value is refused by `refuse`. `file` is None on writing. `eager`: readers
    read and check the whole section now, as of a small file, not only what is used.

    >>> inner = Section().put("alpha", 1.0)
    >>> outer = Section().add("family", inner)
    >>> outer.part("family").number("alpha", minimum=0)
    1.0
    """

    header: dict[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    name: str = ""
    file: str | None = None
    eager: bool = True

    def put(self, name: str, value: Any) -> Section:
        """Write an array, or a JSON value; a float ±∞ or NaN, unless in a list, as text: "inf", "-inf", "nan"."""
        if isinstance(value, np.ndarray):
            self.arrays = {**self.arrays, name: value}
        else:
            is_json = not isinstance(value, float) or math.isfinite(value)
            self.header[name] = value if is_json else repr(float(value))
        return self

    def put_all(self, values: Mapping[str, Any]) -> Section:
        """Write every value of a mapping by its name."""
        for name, value in values.items():
            self.put(name, value)
        return self

    def put_texts(self, name: str, texts: Sequence[str]) -> Section:
        """Write a list of texts."""
        packed = pack(texts)
        return self.put(f"{name}/utf8", packed.utf8).put(f"{name}/offsets", packed.offsets)

    def add(self, name: str, part: Section) -> Section:
        """Write a section as a part of this one."""
        self.header[name] = part.header
        self.arrays = {**self.arrays, **{f"{name}/{key}": array for key, array in part.arrays.items()}}
        return self

    def add_all(self, name: str, parts: Sequence[Section]) -> Section:
        """Write a list of sections as parts of this one."""
        self.header[name] = [part.header for part in parts]
        inner = {f"{name}/{i}/{key}": array for i, part in enumerate(parts) for key, array in part.arrays.items()}
        self.arrays = {**self.arrays, **inner}
        return self

    def refuse(self, what: str) -> NoReturn:
        """Raise a ModelFileError that names this section and why its contents are invalid or cannot be written."""
        where, what = escape_and_shorten(self.name.rstrip("/")) or "its header", escape_and_shorten(what)
        if self.file is None:
            raise ModelFileError(f"the model cannot be written to a file: in {where}, {what}")
        raise ModelFileError(f"the model file {self.file!r} is not sound: in {where}, {what}")

    def has(self, name: str) -> bool:
        """Return whether there is such a value, part, array or list of texts."""
        return name in self.header or self.name + name in self.arrays or f"{self.name}{name}/utf8" in self.arrays

    def optional(self, read: Callable[..., T], name: str, *args: Any, **bounds: Any) -> T | None:
        """Return what `read`, a method of this section, returns for this name; None where there is no such value."""
        return read(name, *args, **bounds) if self.has(name) else None

    def value(self, name: str) -> Any:
        """Return the header's value of this name, of any type."""
        if name not in self.header:
            self.refuse(f"there is no {name!r}")
        return self.header[name]

    def part(self, name: str) -> Section:
        """Return a nested section by its name."""
        return self._inner(name, self.value(name))

    def parts(self, name: str) -> list[Section]:
        """Return a list of nested sections by its name."""
        listed = self.value(name)
        if not isinstance(listed, list):
            self.refuse(f"{name!r} should be a list")
        return [self._inner(f"{name}/{i}", header) for i, header in enumerate(listed)]

    def _inner(self, name: str, header: Any) -> Section:
        if not isinstance(header, dict):
            self.refuse(f"{name!r} should be an object")
        return Section(header, self.arrays, f"{self.name}{name}/", self.file, self.eager)

    def text(self, name: str, among: Collection[str] | None = None) -> str:
        """Return a text, which must be one of `among` if that is not None."""
        text = self.value(name)
        if not isinstance(text, str) or (among is not None and text not in among):
            expected = "a text" if among is None else f"one of {sorted(among)}"
            self.refuse(f"{name!r} should be {expected}, and is {_quote(text)}")
        return text

    def flag(self, name: str) -> bool:
        """Return a Boolean."""
        flag = self.value(name)
        if not isinstance(flag, bool):
            self.refuse(f"{name!r} should be true or false, and is {_quote(flag)}")
        return flag

    def integer(self, name: str, minimum: int = 0, maximum: int = MAX_EXACT_INTEGER) -> int:
        """Return a whole number within bounds."""
        number = self.value(name)
        if type(number) is not int or not minimum <= number <= maximum:
            self.refuse(f"{name!r} should be a whole number from {minimum} to {maximum}, and is {_quote(number)}")
        return number

    def number(
        self, name: str, minimum: float = -MAX_NUMBER, maximum: float = MAX_NUMBER, allow_nan: bool = False
    ) -> float:
        """Return a number within bounds, infinite only if the bounds are; or NaN with `allow_nan`."""
        number = self.value(name)
        if allow_nan and number == "nan":
            return math.nan
        number = {"inf": math.inf, "-inf": -math.inf}.get(number, number) if isinstance(number, str) else number
        if type(number) not in (int, float) or not minimum <= number <= maximum:
            self.refuse(f"{name!r} should be a number from {minimum:g} to {maximum:g}, and is {_quote(number)}")
        return float(number)

    def array(self, name: str, dtype: type, *shapes: Shape) -> NDArray[Any]:
        """Return an array, which must have this dtype and one of these shapes."""
        if self.name + name not in self.arrays:
            self.refuse(f"there is no array {name!r}")
        array = self.arrays[self.name + name]
        if array.dtype != dtype:
            self.refuse(f"the array {name!r} should be of dtype {np.dtype(dtype)}, and is {array.dtype}")
        if not any(
            array.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape)) for shape in shapes
        ):
            expected = " or ".join(str(shape) for shape in shapes)
            self.refuse(f"the array {name!r} should be of shape {expected}, and is {array.shape}")
        return array

    def floats(
        self, name: str, *shapes: Shape, minimum: float = -MAX_NUMBER, maximum: float = MAX_NUMBER
    ) -> NDArray[np.float64]:
        """Return an array of doubles within bounds: finite unless the bounds are infinite, and never NaN."""
        return self._check_bounds(name, self.array(name, np.float64, *shapes), minimum, maximum)

    def integers(
        self, name: str, *shapes: Shape, minimum: int = 0, maximum: int = MAX_EXACT_INTEGER, dtype: type = np.int64
    ) -> NDArray[Any]:
        """Return an array of whole numbers of this dtype, within bounds."""
        return self._check_bounds(name, self.array(name, dtype, *shapes), minimum, maximum)

    def _check_bounds(self, name: str, array: NDArray[Any], minimum: float, maximum: float) -> NDArray[Any]:
        """Return the array; refuse one with NaN or an element beyond the bounds."""
        if array.size and not (array.max() <= maximum and (minimum == -math.inf or array.min() >= minimum)):
            low, high = array.min(), array.max()
            self.refuse(f"the array {name!r} should lie between {minimum:g} and {maximum:g}: {low:g} to {high:g}")
        return array

    def offsets(self, name: str, n: int, end: int) -> NDArray[np.int64]:
        """Return the starts of n consecutive ranges, and the end of the last: in order, from 0 to `end`."""
        offsets: NDArray[np.int64] = self.array(name, np.int64, (n + 1,))
        if offsets[0] != 0 or offsets[-1] != end or (offsets[1:] < offsets[:-1]).any():
            self.refuse(f"{name!r} should rise from 0 to {end}")
        return offsets

    def texts(self, name: str, as_arrow: bool = False) -> Any:
        """Return a list of texts, or with `as_arrow` a pyarrow array over the file's own bytes."""
        key = f"{self.name}{name}/offsets"
        dtype = np.int64 if key in self.arrays and self.arrays[key].dtype == np.int64 else np.int32
        utf8, offsets = self.array(f"{name}/utf8", np.uint8, (None,)), self.array(f"{name}/offsets", dtype, (None,))
        try:
            return (to_arrow if as_arrow else unpack)(PackedTexts(utf8, offsets))
        except ModelFileError as error:
            self.refuse(f"{name!r}: {error}")


def _quote(value: Any) -> str:
    """Return the value as it may stand in a message, not longer than a line."""
    return escape_and_shorten(repr(value), 80)


def escape_and_shorten(text: str, max_characters: int = MAX_REASON_CHARACTERS) -> str:
    r"""Return a text as it may stand in a message: cut off where it is long, control characters escaped.

    >>> escape_and_shorten("a\nb"), escape_and_shorten("abc", 2)
    ('a\\nb', 'ab…')
    """
    escaped = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text[: max_characters + 1])
    return escaped if len(escaped) <= max_characters else f"{escaped[:max_characters]}…"


class PackedTexts(NamedTuple):
    """Many texts as two arrays, so that a million need no JSON: their UTF-8, and the byte at which each begins.

    `offsets` has one element more than there are texts, the end of the last, as in Arrow.
    """

    utf8: NDArray[np.uint8]
    offsets: NDArray[Any]


def pack(texts: Sequence[str]) -> PackedTexts:
    """Pack texts into two arrays.

    >>> packed = pack(["ab", "", "ß"])
    >>> packed.utf8.tolist(), packed.offsets.tolist()
    ([97, 98, 195, 159], [0, 2, 2, 4])
    """
    utf8, offsets = pack_words(texts)
    return PackedTexts(utf8, offsets.astype(np.int32) if offsets[-1] < 1 << 31 else offsets)


def unpack(packed: PackedTexts) -> list[str]:
    """Return the list of texts; refuse arrays that `pack` cannot have returned.

    >>> unpack(pack(["ab", "", "ß"]))
    ['ab', '', 'ß']
    """
    starts = _check_offsets(packed)
    utf8 = packed.utf8
    try:
        text = utf8.tobytes().decode("utf-8", SURROGATES)
    except UnicodeDecodeError as error:
        raise ModelFileError(f"a list of texts is not UTF-8: {error.reason} at byte {error.start}") from None
    if len(text) < len(utf8):
        starts = _bytes_to_characters(utf8, starts)
    return [text[a:b] for a, b in pairwise(starts.tolist())]


def to_arrow(packed: PackedTexts) -> Any:
    """Return the texts as a pyarrow array over the same bytes; refuse as `unpack` does, and lone surrogates too."""
    _check_offsets(packed)
    array_type = pa.StringArray if packed.offsets.dtype == np.int32 else pa.LargeStringArray
    n_texts = len(packed.offsets) - 1
    texts = array_type.from_buffers(n_texts, pa.py_buffer(packed.offsets), pa.py_buffer(packed.utf8))
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid as error:
        raise ModelFileError(f"a list of texts is not UTF-8: {error}") from None
    return texts


def _check_offsets(packed: PackedTexts) -> NDArray[Any]:
    """Return the offsets of the texts; raise a ModelFileError unless they rise from 0 to the number of bytes."""
    utf8, offsets = packed
    if utf8.ndim != 1 or offsets.ndim != 1 or not len(offsets) or offsets[0] != 0 or offsets[-1] != len(utf8):
        raise ModelFileError("a list of texts does not fit its bytes")
    if (offsets[1:] < offsets[:-1]).any():
        raise ModelFileError("a list of texts has one that ends before it begins")
    return offsets


def _bytes_to_characters(utf8: NDArray[np.uint8], offsets: NDArray[Any]) -> NDArray[np.int64]:
    """Convert offsets in bytes to offsets in characters; raise a ModelFileError for one within a character."""
    begins = (utf8 & 0xC0) != 0x80
    if not begins[offsets[:-1][offsets[:-1] < len(utf8)]].all():
        raise ModelFileError("a list of texts has one that begins within a character")
    n_before = np.zeros(len(utf8) + 1, dtype=np.int64)
    np.cumsum(begins, out=n_before[1:])
    return n_before[offsets]
