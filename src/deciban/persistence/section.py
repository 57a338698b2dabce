"""Section: the part of a file that one thing is written to and read from, with every value checked as it is read."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from deciban.errors import ModelFileError
from deciban.persistence.text_arrays import Packed, arrow, pack, unpack

Shape = tuple[int | None, ...]

LARGEST = 1 << 53
"""Whole numbers beyond this are no counts: floats cannot tell them apart."""

MAX_REASON_CHARACTERS = 400
"""Characters of a reason in an error message: names in a forged file may be as long as the file."""

MAX_NUMBER = 1e300
"""Largest number that is read unless other bounds are given: sums of such numbers do not overflow."""


class Section:
    """A header, and the arrays whose names begin with the section's own; parts lie within one another.

    Writers fill an empty one and `add` it to a larger; readers ask for what they need by name, kind and bounds,
    and anything else is refused. `eager`: whether the file is to be read in full at once.

    >>> inner = Section().put("alpha", 1.0)
    >>> outer = Section().add("family", inner)
    >>> outer.part("family").number("alpha", least=0)
    1.0
    """

    def __init__(
        self,
        header: dict[str, Any] | None = None,
        arrays: Mapping[str, NDArray[Any]] | None = None,
        name: str = "",
        file: str | None = None,
        eager: bool = True,
    ) -> None:
        self.header = {} if header is None else header
        self.arrays: Mapping[str, NDArray[Any]] = {} if arrays is None else arrays
        self.name, self.file, self.eager = name, file, eager

    def put(self, name: str, value: Any) -> Section:
        """Write an array, or a value that JSON has; a number without end by its name."""
        if isinstance(value, np.ndarray):
            self.arrays = {**self.arrays, name: value}
        else:
            endless = isinstance(value, float) and not math.isfinite(value)
            self.header[name] = repr(value) if endless else value
        return self

    def put_texts(self, name: str, texts: Sequence[str]) -> Section:
        """Write a list of texts."""
        packed = pack(texts)
        return self.put(f"{name}/utf8", packed.utf8).put(f"{name}/offsets", packed.offsets)

    def add(self, name: str, part: Section) -> Section:
        """Write a part."""
        self.header[name] = part.header
        self.arrays = {**self.arrays, **{f"{name}/{key}": array for key, array in part.arrays.items()}}
        return self

    def add_all(self, name: str, parts: Sequence[Section]) -> Section:
        """Write a list of parts."""
        self.header[name] = [part.header for part in parts]
        inner = {f"{name}/{i}/{key}": array for i, part in enumerate(parts) for key, array in part.arrays.items()}
        self.arrays = {**self.arrays, **inner}
        return self

    def refuse(self, what: str) -> NoReturn:
        """What is found here cannot be."""
        where, what = escape_and_shorten(self.name.rstrip("/")) or "its header", escape_and_shorten(what)
        if self.file is None:
            raise ModelFileError(f"the model cannot be written to a file: in {where}, {what}")
        raise ModelFileError(f"the model file {self.file!r} is not sound: in {where}, {what}")

    def has(self, name: str) -> bool:
        """Whether there is such a value, part, array or list of texts."""
        return name in self.header or self.name + name in self.arrays or f"{self.name}{name}/utf8" in self.arrays

    def value(self, name: str) -> Any:
        """Anything the header has by this name."""
        if name not in self.header:
            self.refuse(f"there is no {name!r}")
        return self.header[name]

    def part(self, name: str) -> Section:
        """A part by its name."""
        return self._inner(name, self.value(name))

    def parts(self, name: str) -> list[Section]:
        """A list of parts by its name."""
        listed = self.value(name)
        if not isinstance(listed, list):
            self.refuse(f"{name!r} should be a list")
        return [self._inner(f"{name}/{i}", header) for i, header in enumerate(listed)]

    def _inner(self, name: str, header: Any) -> Section:
        if not isinstance(header, dict):
            self.refuse(f"{name!r} should be an object")
        return Section(header, self.arrays, f"{self.name}{name}/", self.file, self.eager)

    def text(self, name: str, among: Collection[str] | None = None) -> str:
        """A text, perhaps one of a few."""
        text = self.value(name)
        if not isinstance(text, str) or (among is not None and text not in among):
            expected = "a text" if among is None else f"one of {sorted(among)}"
            self.refuse(f"{name!r} should be {expected}, and is {_shown(text)}")
        return text

    def flag(self, name: str) -> bool:
        """True or false."""
        flag = self.value(name)
        if not isinstance(flag, bool):
            self.refuse(f"{name!r} should be true or false, and is {_shown(flag)}")
        return flag

    def whole(self, name: str, least: int = 0, most: int = LARGEST) -> int:
        """A whole number."""
        number = self.value(name)
        if type(number) is not int or not least <= number <= most:
            self.refuse(f"{name!r} should be a whole number from {least} to {most}, and is {_shown(number)}")
        return number

    def number(self, name: str, least: float = -MAX_NUMBER, most: float = MAX_NUMBER) -> float:
        """A number; by bounds of ±∞ one without end."""
        number = self.value(name)
        number = {"inf": math.inf, "-inf": -math.inf}.get(number, number) if isinstance(number, str) else number
        if type(number) not in (int, float) or not least <= number <= most:
            self.refuse(f"{name!r} should be a number from {least:g} to {most:g}, and is {_shown(number)}")
        return float(number)

    def array(self, name: str, dtype: type, *shapes: Shape) -> NDArray[Any]:
        """An array of this kind and one of these shapes; None: any length."""
        if self.name + name not in self.arrays:
            self.refuse(f"there is no array {name!r}")
        array = self.arrays[self.name + name]
        if array.dtype != dtype:
            self.refuse(f"the array {name!r} should be of kind {np.dtype(dtype)}, and is {array.dtype}")
        if not any(_fits(array.shape, shape) for shape in shapes):
            expected = " or ".join(str(shape) for shape in shapes)
            self.refuse(f"the array {name!r} should be of shape {expected}, and is {array.shape}")
        return array

    def floats(
        self, name: str, *shapes: Shape, least: float = -MAX_NUMBER, most: float = MAX_NUMBER
    ) -> NDArray[np.float64]:
        """An array of doubles within bounds: finite unless these are infinite, and never NaN."""
        return self._within(name, self.array(name, np.float64, *shapes), least, most)

    def wholes(self, name: str, *shapes: Shape, least: int = 0, most: int = LARGEST) -> NDArray[np.int64]:
        """An array of whole numbers within bounds."""
        return self._within(name, self.array(name, np.int64, *shapes), least, most)

    def shorts(self, name: str, *shapes: Shape, least: int, most: int) -> NDArray[np.int32]:
        """An array of whole numbers of four bytes within bounds."""
        return self._within(name, self.array(name, np.int32, *shapes), least, most)

    def _within(self, name: str, array: NDArray[Any], least: float, most: float) -> NDArray[Any]:
        """The array, if it lies within the bounds; large ones are not looked at more often than needed."""
        if array.size and not (array.max() <= most and (least == -math.inf or array.min() >= least)):
            low, high = array.min(), array.max()
            self.refuse(f"the array {name!r} should lie between {least:g} and {most:g}: {low:g} to {high:g}")
        return array

    def flags(self, name: str, *shapes: Shape) -> NDArray[np.bool_]:
        """An array of truths."""
        return self.array(name, np.bool_, *shapes)

    def starts(self, name: str, n: int, end: int) -> NDArray[np.int64]:
        """Where each of n stretches begins, and the last ends: from 0 to `end`, in order."""
        starts: NDArray[np.int64] = self.array(name, np.int64, (n + 1,))
        if starts[0] != 0 or starts[-1] != end or (starts[1:] < starts[:-1]).any():
            self.refuse(f"{name!r} should rise from 0 to {end}")
        return starts

    def packed(self, name: str) -> Packed:
        """A list of texts as it is stored."""
        key = f"{self.name}{name}/offsets"
        kind = np.int64 if key in self.arrays and self.arrays[key].dtype == np.int64 else np.int32
        return Packed(self.array(f"{name}/utf8", np.uint8, (None,)), self.array(f"{name}/offsets", kind, (None,)))

    def texts(self, name: str) -> list[str]:
        """A list of texts."""
        try:
            return unpack(self.packed(name))
        except ModelFileError as error:
            self.refuse(f"{name!r}: {error}")

    def arrow(self, name: str) -> Any:
        """A list of texts as a pyarrow array over the file's own bytes."""
        try:
            return arrow(self.packed(name))
        except ModelFileError as error:
            self.refuse(f"{name!r}: {error}")


def _fits(shape: tuple[int, ...], wanted: Shape) -> bool:
    return len(shape) == len(wanted) and all(w is None or s == w for s, w in zip(shape, wanted))


def _shown(value: Any) -> str:
    """A value in a message, not longer than a line."""
    return escape_and_shorten(repr(value), 80)


def escape_and_shorten(text: str, max_characters: int = MAX_REASON_CHARACTERS) -> str:
    r"""A text as it may stand in a message: cut off where it is long, control characters escaped.

    >>> escape_and_shorten("a\nb"), escape_and_shorten("abc", 2)
    ('a\\nb', 'ab…')
    """
    escaped = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text[: max_characters + 1])
    return escaped if len(escaped) <= max_characters else f"{escaped[:max_characters]}…"
