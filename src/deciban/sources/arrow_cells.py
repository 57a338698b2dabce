"""The cells of an Arrow column as numbers, as texts with codes, or as parts of a date."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deciban.engines import kernel_dispatch as fast
from deciban.errors import InputError
from deciban.sources.level_lookup import Known
from deciban.sources.short_texts import ShortTexts
from deciban.sources.source import as_role

if TYPE_CHECKING:
    import pyarrow as pa

NAME_STEPS = 16
"""Elementary steps in finding the code of one text."""

ZONE = r"(Z|[+-]\d\d:?\d\d)$"
"""How a time says where it was taken."""

NO_TEXT = "values of type {} have no text. Hint: leave that column out"
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def numbers(array: Any, name: str) -> NDArray[np.float64]:
    """The values as doubles, NaN where one is missing."""
    import pyarrow as pa

    array = _decoded(array)
    try:
        if pa.types.is_temporal(array.type):
            array = array.cast(pa.int32() if pa.types.is_date32(array.type) else pa.int64(), safe=False)
        if pa.types.is_boolean(array.type):
            array = array.cast(pa.uint8())
        if pa.types.is_decimal(array.type):
            array = array.cast(
                pa.string()
            )  # Arrow's own way to a double is off by a unit in the last place, 44.9 say
        doubles = array.cast(pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(
            f"column {name!r} holds {_first_strange(array)}, and a number is wanted. "
            f"Hint: {as_role(name, 'category')}"
        ) from None
    return _replace_nulls(doubles, np.nan)


def _first_strange(array: Any) -> str:
    """The first value that is no number, or the kind of them all."""
    import pyarrow as pa

    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        return f"values of type {array.type}"
    for value in array.drop_null().to_pylist():
        try:
            float(value)
        except ValueError:
            return repr(value)
    return "texts"


def texts(array: Any) -> pa.DictionaryArray:
    """The values as text, each different one told once; nulls and NaN are missing."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type) and len(array.dictionary) > len(array):
        array = _decoded(array)  # of a long dictionary only the words that rows have
    if not pa.types.is_dictionary(array.type):
        if pa.types.is_string_view(array.type) or pa.types.is_temporal(array.type) or pa.types.is_decimal(array.type):
            array = _in_words(array)  # what Arrow cannot tell apart as it is
        try:
            array = array.dictionary_encode()
        except pa.ArrowNotImplementedError:
            raise InputError(NO_TEXT.format(array.type)) from None
    if pa.types.is_string(array.type.value_type) and pa.types.is_signed_integer(array.type.index_type):
        return array
    return pa.DictionaryArray.from_arrays(array.indices.cast(pa.int64()), _in_words(array.dictionary))


def _replace_nulls(array: Any, filler: float) -> NDArray[Any]:
    """Return an array of numbers with `filler` in place of nulls.

    `pa.scalar`, `pa.array`, `to_numpy` and `np.asarray` would import pandas where it is installed: 0.16 s.
    """
    import pyarrow as pa

    if array.null_count:
        buffer = pa.py_buffer(np.array([filler], dtype=array.type.to_pandas_dtype()))
        array = array.fill_null(pa.Array.from_buffers(array.type, 1, [None, buffer])[0])
    return np.asarray(np.from_dlpack(array))


def label_text(label: Any) -> str:
    """A label as it is kept: True is true, 1.0 is 1."""
    import pyarrow as pa

    told = texts(pa.array([label.item() if hasattr(label, "item") else label]))
    return str(told.dictionary[0].as_py()) if len(told.dictionary) else str(label)


def _in_words(array: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    try:
        return array.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(NO_TEXT.format(array.type)) from None


def _decoded(array: Any) -> Any:
    import pyarrow as pa

    if not pa.types.is_dictionary(array.type):
        return array
    words = array.dictionary
    return (words.cast(pa.string()) if pa.types.is_string_view(words.type) else words).take(array.indices)


def timestamps(array: Any) -> Any:
    """Dates and times by the clock on the wall where they were taken; raises pyarrow's error where they are none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = _decoded(array)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        try:
            return array.cast(pa.timestamp("us"))
        except pa.ArrowInvalid:
            return pc.replace_substring_regex(array, ZONE, "").cast(pa.timestamp("us"))
    if pa.types.is_timestamp(array.type) and array.type.tz is not None:
        array = pc.local_timestamp(array)
    return array.cast(pa.timestamp("us"), safe=False)


DATE_PARTS: dict[str, Sequence[str]] = {
    "month": tuple(f"{m:02}" for m in range(1, 13)),
    "weekday": WEEKDAYS,
    "hour": tuple(f"{h:02}" for h in range(24)),
}
"""What a date is broken into, and the levels of each part."""


def dates(array: Any, name: str) -> Any:
    """The dates and times of a column, as `timestamps`; an error names the column."""
    import pyarrow as pa

    try:
        return timestamps(array)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        other = "skip" if pa.types.is_temporal(array.type) else "category"
        raise InputError(
            f"column {name!r} holds no dates: {str(error).splitlines()[0]}. Hint: {as_role(name, other)}"
        ) from None


def date_part(array: Any, part: str, name: str) -> NDArray[np.int64]:
    """The month, weekday or hour of each date as a place among its levels, −1 where it is missing."""
    import pyarrow.compute as pc

    when = dates(array, name)
    read, first = {"month": (pc.month, 1), "weekday": (pc.day_of_week, 0), "hour": (pc.hour, 0)}[part]
    return np.asarray(_replace_nulls(read(when), first - 1) - first, dtype=np.int64)


def _plain_strings(array: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(array.type))


def spellings(word: str, kind: Any) -> list[str]:
    """How else a value of this type is written."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_boolean(kind):
        return [word.capitalize()]
    return [f"{word}.0"] if pa.types.is_floating(kind) or pa.types.is_integer(kind) else []


class Names:
    """The texts of a column and their codes, in order of appearance; fixed, or growing as new ones come."""

    def __init__(self, known: Sequence[str] = (), grows: bool = False) -> None:
        self.list = list(known) if grows else known
        self.grows = grows
        self._codes: dict[str, int] | None = None
        self._last: tuple[Any, NDArray[np.int64]] | None = None
        self._short: ShortTexts | None = None
        self._long = False

    def __len__(self) -> int:
        return len(self.list)

    def encode(self, array: Any) -> NDArray[np.int64]:
        """A code for each value: −1 where it is missing, and one past the last where it is not known."""
        codes = self._encode_short(array)
        return self._encode_any(array) if codes is None else codes

    def _encode_short(self, array: Any) -> NDArray[np.int64] | None:
        """The codes by a kernel, where the array is large and its texts short; new texts go the other way."""
        kernels = (
            None
            if self._long or not _plain_strings(array)
            else fast.load_kernels("short_text_codes", len(array) * NAME_STEPS)
        )
        if kernels is None:
            return None
        self._short = self._short or ShortTexts(kernels)
        codes = self._short.find(array) if self._short.learn(self.list) else None
        if codes is None:
            self._long = True
            return None
        new = np.flatnonzero(codes == kernels.UNKNOWN)
        if len(new):
            codes[new] = self._encode_any(array.take(new))
        return codes

    def _encode_any(self, array: Any) -> NDArray[np.int64]:
        told = texts(array)
        used = _replace_nulls(told.indices, -1)
        if not len(told.dictionary):
            return used.astype(np.int64)
        return np.take(self._places(told.dictionary, used, array.type), used)

    def _places(self, words: Any, used: NDArray[Any], kind: Any) -> NDArray[np.int64]:
        """The code of each word of a dictionary, and −1 after them all; words that no row uses are not taken in."""
        if self._last is not None and self._last[0].equals(words):
            return self._last[1]
        told, codes = self._spelled(words.to_pylist(), kind)
        if self.grows and len(self.list) in codes:
            self._take_in([told[i] for i in np.unique(used) if i >= 0 and told[i] is not None])
            codes = [-1 if word is None else self._known.get(word, -1) for word in told]
        places = np.array([*codes, -1], dtype=np.int64)
        if not self.grows or min(codes) >= 0:
            self._last = (words, places)
        return places

    def _spelled(self, words: list[str | None], kind: Any) -> tuple[list[str | None], list[int]]:
        """True, 1 and 1.0 of a typed column as a text file that was learned from spelt them, and their codes."""
        codes = self._codes_of(words)
        unknown = [word for word, code in zip(words, codes) if word is not None and code == len(self.list)]
        other = {word: also for word in unknown for also in spellings(word, kind)}
        if not other:
            return words, codes
        found = self._codes_of(list(other.values()))
        known = {word: also for (word, also), code in zip(other.items(), found) if code < len(self.list)}
        told = [word if word is None else known.get(word, word) for word in words]
        return told, self._codes_of(told)

    def _codes_of(self, words: Sequence[str | None]) -> list[int]:
        if isinstance(self.list, Known):
            return self.list.places(words)
        return [-1 if word is None else self._known.get(word, len(self.list)) for word in words]

    def _take_in(self, words: Sequence[str]) -> None:
        for word in words:
            if word not in self._known:
                self._known[word] = len(self.list)
                self.list.append(word)  # type: ignore[attr-defined]

    @property
    def _known(self) -> dict[str, int]:
        if self._codes is None:
            self._codes = {word: i for i, word in enumerate(self.list)}
        return self._codes
