"""Conversion of an Arrow column to numbers, to texts with codes, or to parts of a date.

The levels of a column are encoded by their numbers, in order of appearance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._lazy import pa, pc
from deciban.errors import InputError
from deciban.kernels.execution import load_kernels
from deciban.ledger.hashing import SURROGATES
from deciban.sources.arrow_texts import format_floats, replace_nulls
from deciban.sources.arrow_types import decode_dictionary, is_text
from deciban.sources.cell_conversion import bad_cell_error, parse_texts
from deciban.sources.date_formats import ISO, DateFormat
from deciban.sources.source import role_hint
from deciban.spellings import TRUTHS, is_flag, list_spellings

NO_TEXT = "values of type {} have no text"

STEPS_PER_TEXT = 16
"""Elementary steps in finding the code of one text, by which the use of kernels is decided."""

MAX_KERNEL_NAMES = 1 << 16
"""With more names than this Arrow's own table is as fast as the kernel for short texts."""

MAX_LINEAR_SEARCHES = 4
"""Searches that scan all names before a table of them is made.

250 000 names are scanned in 2 ms, and put into a table in 110: one row should not pay for ten million.
"""


def to_numbers(array: Any, name: str) -> NDArray[np.float64]:
    """Convert values to doubles, NaN where one is missing; dates become counts of their unit since 1970, true 1.

    Raises InputError with the name of the column where a value is not a number.
    """
    array = decode_dictionary(array)
    try:
        if pa.types.is_temporal(array.type):
            array = array.cast(pa.int32() if array.type.bit_width == 32 else pa.int64(), safe=False)
        if pa.types.is_boolean(array.type):
            array = array.cast(pa.uint8())
        if pa.types.is_decimal(array.type):
            # Arrow's own conversion to a double is off by a unit in the last place, for instance for 44.9
            array = array.cast(pa.string())
        doubles = array.cast(pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(
            f"column {name!r} holds {_first_non_number(array)}, and a number is needed. "
            f"Hint: {role_hint(name, 'category')}"
        ) from None
    return replace_nulls(doubles, np.nan)


def _first_non_number(array: Any) -> str:
    """Describe the first text that is not a number, or the type of the values, for an error message."""
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        return f"values of type {array.type}"
    for value in array.drop_null().to_pylist():
        try:
            float(value)
        except ValueError:
            return repr(value)
    return "texts"


def to_texts(array: Any) -> pa.DictionaryArray:
    """Convert values of any type to texts, as a dictionary of distinct ones; nulls and NaN are missing."""
    if pa.types.is_dictionary(array.type) and len(array.dictionary) > len(array):
        array = decode_dictionary(array)  # keeps only the words of a long dictionary that rows have
    if not pa.types.is_dictionary(array.type):
        if pa.types.is_temporal(array.type) or pa.types.is_decimal(array.type):
            array = _cast_to_text(array)  # Arrow cannot encode these types directly
        try:
            array = array.dictionary_encode()
        except pa.ArrowNotImplementedError:
            raise InputError(NO_TEXT.format(array.type)) from None
    if pa.types.is_string(array.type.value_type) and pa.types.is_signed_integer(array.type.index_type):
        return array
    return pa.DictionaryArray.from_arrays(array.indices.cast(pa.int64()), _cast_to_text(array.dictionary))


def format_label(label: Any) -> str:
    """Format a label of Python or NumPy as models keep it: True is true, 1.0 is 1."""
    encoded = to_texts(pa.array([label.item() if hasattr(label, "item") else label]))
    return str(encoded.dictionary[0].as_py()) if len(encoded.dictionary) else str(label)


def _cast_to_text(array: Any) -> Any:
    """Return an Arrow array as texts, NaN as null; InputError for a type that has no text."""
    if pa.types.is_floating(array.type):
        return format_floats(pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array))
    try:
        return array.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(NO_TEXT.format(array.type)) from None


def to_timestamps(array: Any) -> Any:
    """Convert dates or times of day to local timestamps in µs; raises pyarrow's error for other types."""
    array = decode_dictionary(array)
    if not (pa.types.is_temporal(array.type) or pa.types.is_null(array.type)):
        raise pa.ArrowInvalid(f"values of type {array.type} are no dates")
    if pa.types.is_time(array.type):  # a time of day is one of the first day of 1970
        ticks = array.cast(pa.int64() if pa.types.is_time64(array.type) else pa.int32()).cast(pa.int64())
        array = ticks.cast(pa.timestamp(array.type.unit))
    if pa.types.is_timestamp(array.type) and array.type.tz is not None:
        array = pc.local_timestamp(array)
    return array.cast(pa.timestamp("us"), safe=False)


DATE_PARTS: dict[str, Sequence[str]] = {
    "month": tuple(f"{m:02}" for m in range(1, 13)),
    "weekday": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
    "hour": tuple(f"{h:02}" for h in range(24)),
}
"""The parts of a date, and the levels of each."""


def parse_dates(array: Any, name: str, written: DateFormat = ISO) -> Any:
    """Convert a column to local timestamps in µs, texts by their format; an InputError names the column."""
    if is_text(array.type):
        values, is_invalid = parse_texts(array, written)
        if is_invalid is not None and is_invalid.any():
            raise bad_cell_error(name, decode_dictionary(array)[int(is_invalid.argmax())].as_py(), written)
        return values
    try:
        return to_timestamps(array)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        other = "skip" if pa.types.is_temporal(array.type) else "category"
        raise InputError(
            f"column {name!r} holds no dates: {str(error).splitlines()[0]}. Hint: {role_hint(name, other)}"
        ) from None


def extract_date_part(array: Any, part: str, name: str) -> NDArray[np.int64]:
    """Return the month, weekday or hour of each date as an index among its levels, −1 where it is missing."""
    when = parse_dates(array, name)
    read, first = {"month": (pc.month, 1), "weekday": (pc.day_of_week, 0), "hour": (pc.hour, 0)}[part]
    return np.asarray(replace_nulls(read(when), first - 1) - first, dtype=np.int64)


class LevelEncoder:
    """The texts of a column and their codes, in order of appearance; fixed, or growing with new texts."""

    def __init__(self, known: Sequence[str] = (), grows: bool = False, column: str = "") -> None:
        self.list = list(known) if grows else known
        self.n_initial = len(known)
        self.grows, self.column = grows, column
        self._last_dictionary: tuple[Any, NDArray[np.int64]] | None = None
        self._short: ShortTextTable | None = None
        self._has_long_texts = False

    def __len__(self) -> int:
        return len(self.list)

    def encode(self, array: Any) -> NDArray[np.int64]:
        """Return a code for each value, −1 where it is missing; one past the last for a text that is not known.

        A growing encoder adds such a text, with the next code.
        """
        codes = self._encode_short(array)
        return self._encode_any(array) if codes is None else codes

    def _encode_short(self, array: Any) -> NDArray[np.int64] | None:
        """Encode by a kernel, and new texts by `_encode_any`; None where the array is small, or a text long."""
        if self._has_long_texts or not pa.types.is_string(array.type):
            return None
        kernels = load_kernels("short_text_codes", len(array) * STEPS_PER_TEXT)
        if kernels is None:
            return None
        self._short = self._short or ShortTextTable(kernels)
        codes = self._short.find(array) if self._short.add(self.list) else None
        if codes is None:
            self._has_long_texts = True
            return None
        new = np.flatnonzero(codes == kernels.UNKNOWN)
        if len(new):
            codes[new] = self._encode_any(array.take(new))
        return codes

    def _encode_any(self, array: Any) -> NDArray[np.int64]:
        """Do the work of `encode` for an array of any type, whose values are converted to texts."""
        try:
            encoded = to_texts(array)
        except InputError as error:
            hint = f". Hint: {role_hint(self.column, 'skip')}"
            raise InputError(f"column {self.column!r} cannot be read: {error}{hint}") from None
        used = replace_nulls(encoded.indices, -1)
        if not len(encoded.dictionary):
            return used.astype(np.int64)
        return np.take(self._codes_of_dictionary(encoded.dictionary, used, array.type), used)

    def _codes_of_dictionary(self, words: Any, used: NDArray[Any], kind: Any) -> NDArray[np.int64]:
        """Return the code of each word of a dictionary, then −1, for missing values.

        A growing encoder adds the words that are `used`, the indices of the rows; the others have the code −1.
        """
        if self._last_dictionary is not None and self._last_dictionary[0].equals(words):
            return self._last_dictionary[1]
        texts, codes = self._match_spellings(words.to_pylist())
        if self.grows and len(self.list) in codes:
            self._add([texts[i] for i in np.unique(used) if i >= 0 and texts[i] is not None])
            codes = [-1 if word is None else self._code_table.get(word, -1) for word in texts]
        places = np.array([*codes, -1], dtype=np.int64)
        if not self.grows or min(codes) >= 0:
            self._last_dictionary = (words, places)
        return places

    def _match_spellings(self, words: list[str | None]) -> tuple[list[str | None], list[int]]:
        """Return the words, truth values and whole numbers in the spelling of the training file, and their codes.

        A value that two known levels spell is neither of them. A growing encoder looks for spellings among its
        initial words only: those that it has added depend on how the rows are split into batches.
        """
        codes = self._look_up(words)
        unknown = [word for word, code in zip(words, codes) if word is not None and code == len(self.list)]
        flag = self.n_initial <= len(TRUTHS) and is_flag(self.list[: self.n_initial])
        pairs = [(word, also) for word in unknown for also in list_spellings(word, flag) if also != word]
        if not pairs:
            return words, codes
        found = self._look_up([also for _, also in pairs])
        meant = [pair for pair, code in zip(pairs, found) if code < self.n_initial]
        n_meant = Counter(word for word, _ in meant)
        known = {word: also for word, also in meant if n_meant[word] == 1}
        replaced = [word if word is None else known.get(word, word) for word in words]
        return replaced, self._look_up(replaced)

    def _look_up(self, words: Sequence[str | None]) -> list[int]:
        """Return the code of each word: −1 for None, one past the last where it is not known."""
        if isinstance(self.list, LevelNames):
            return self.list.find(words)
        return [-1 if word is None else self._code_table.get(word, len(self.list)) for word in words]

    def _add(self, words: Sequence[str]) -> None:
        """Append the words that are new to the list, with codes in their order."""
        for word in words:
            if word not in self._code_table:
                self._code_table[word] = len(self.list)
                self.list.append(word)  # type: ignore[attr-defined]

    @cached_property
    def _code_table(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.list)}


class ShortTextTable:
    """A hash table from texts of up to 15 bytes to their codes, read straight from Arrow's buffers.

    Encoding texts is most of our own work on a CSV file; Arrow's `dictionary_encode` handles texts of any length, and
    takes twice as long for short ones.
    """

    def __init__(self, kernels: ModuleType) -> None:
        self.kernels = kernels
        self._allocate(256)

    def _allocate(self, size: int) -> None:
        self.lows, self.highs = np.zeros((2, size), dtype=np.uint64)
        self.codes = np.full(size, -1, dtype=np.int64)
        self.n_known = 0

    def add(self, names: Sequence[str]) -> bool:
        """Add the short ones of the names that are new since the last call; return False if there are too many."""
        if len(names) > MAX_KERNEL_NAMES:
            return False
        if 2 * len(names) > len(self.codes):
            self._allocate(1 << (4 * len(names)).bit_length())
        new = [(i, name.encode("utf-8", SURROGATES)) for i, name in enumerate(names[self.n_known :], self.n_known)]
        short = [(i, *self.kernels.pack_text(text)) for i, text in new if len(text) <= self.kernels.MAX_PACKED_BYTES]
        if short:
            code, low, high = zip(*short)
            words = [np.array(each, dtype=np.uint64) for each in (low, high)]
            self.kernels.insert_texts(*words, np.array(code, dtype=np.int64), self.lows, self.highs, self.codes)
        self.n_known = len(names)
        return True

    def find(self, array: Any) -> NDArray[np.int64] | None:
        """Return the codes of an Arrow array of strings; `UNKNOWN` for new ones, None where one is too long."""
        _, offsets, utf8 = array.buffers()
        missing = np.asarray(array.is_null()) if array.null_count else np.zeros(0, dtype=np.bool_)
        ends = np.frombuffer(offsets, dtype=np.int32)[array.offset : array.offset + len(array) + 1]
        content = np.zeros(0, dtype=np.uint8) if utf8 is None else np.frombuffer(utf8, dtype=np.uint8)
        out = np.empty(len(array), dtype=np.int64)
        new = self.kernels.find_codes(content, ends, missing, self.lows, self.highs, self.codes, out)
        return None if new < 0 else out


class LevelNames(Sequence[str]):
    """The names of levels as a pyarrow array read from a file, as a sequence that finds the index of each.

    >>> import pyarrow as pa
    >>> LevelNames(pa.array(["no", "perhaps", "yes"])).find(["yes", "never", None])
    [2, 3, -1]
    """

    def __init__(self, names: Any) -> None:
        self._names = names
        self._searches = 0

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, i: Any) -> Any:
        return self._names[i].to_pylist() if isinstance(i, slice) else self._names[i].as_py()

    def __iter__(self) -> Any:
        return iter(self._names.to_pylist())

    def find(self, words: Sequence[str | None]) -> list[int]:
        """Return the index of each word: −1 for None, and one past the last where it is not known."""
        self._searches += 1
        place = self._scan(words) if self._searches <= MAX_LINEAR_SEARCHES else self._table
        return [-1 if word is None else place.get(word, len(self)) for word in words]

    def _scan(self, words: Sequence[str | None]) -> dict[str, int]:
        """Return the index of each word that is known, by one scan of all names."""
        wanted = pa.array([word for word in words if word is not None], self._names.type)
        at = np.flatnonzero(np.asarray(pc.is_in(self._names, value_set=wanted)))
        return {self[i]: i for i in at.tolist()}

    @cached_property
    def _table(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self)}
