"""Documents: a column of texts, from whatever holds them."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError
from deciban.ledger.hashing import SURROGATES

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]

WAYS = "a list of texts, an array or a column of them (NumPy, pyarrow, pandas, polars)"

ERRORS = ("strict", "replace")
"""What may be done about bytes that an encoding does not have: refuse them, or read each as U+FFFD."""

MANY = 1 << 12
"""So many documents are packed before they are looked at one by one."""


class Documents:
    """Texts that can be looked at one by one, or all at once as UTF-8; None is a missing one."""

    def __init__(self, texts: Sequence[str | None] | None = None, array: Any = None) -> None:
        self._texts, self._array = texts, array

    @classmethod
    def of(cls, source: Any, encoding: str = "utf-8", errors: str = "strict") -> Documents:
        """The documents that a list, array or column holds; bytes are decoded."""
        if isinstance(source, Documents):
            return source
        check_decoding(encoding, errors)
        if isinstance(source, (str, bytes)):
            raise InputError(f"one text is no collection of documents; they come as {WAYS}. Hint: [text]")
        if isinstance(source, np.ndarray):
            return _of_numpy(source, encoding, errors)
        if hasattr(source, "columns"):
            raise InputError(f"a table is no column of documents; they come as {WAYS}. Hint: table['text']")
        if _is_pandas(source):
            return _of_pandas(source, encoding, errors)
        if hasattr(source, "__arrow_c_array__") or hasattr(source, "__arrow_c_stream__"):
            return _of_arrow(_arrow(source), encoding, errors)
        if not isinstance(source, Iterable) or isinstance(source, (Set, Mapping)):
            raise InputError(f"documents come as {WAYS}; not as {type(source).__name__}")
        return _of_list(source if isinstance(source, (list, tuple)) else list(source), encoding, errors)

    @classmethod
    def joined(cls, parts: Sequence[Documents]) -> Documents:
        """All documents of the parts, in order."""
        if len(parts) == 1:
            return parts[0]
        import pyarrow as pa

        return cls(array=pa.chunked_array([part.array for part in parts]).combine_chunks())

    def __len__(self) -> int:
        return len(self._array if self._texts is None else self._texts)

    def __getitem__(self, rows: Any) -> Documents:
        if isinstance(rows, slice) and self._texts is not None:
            return Documents(self._texts[rows])
        if isinstance(rows, slice):
            a, b, step = rows.indices(len(self))
            if step == 1:
                return Documents(array=self._array.slice(a, max(0, b - a)))
        index = np.arange(len(self))[rows]
        if self._texts is not None:
            return Documents([self._texts[i] for i in index])
        return Documents(array=self._array.take(index))

    def text(self, i: int) -> str | None:
        """One document."""
        if self._texts is not None:
            return self._texts[i]
        if not self._array[i].is_valid:
            return None
        blob, offsets = self.utf8
        return bytes(blob[offsets[i] : offsets[i + 1]]).decode("utf-8", SURROGATES)

    @cached_property
    def array(self) -> Any:
        """The documents as a pyarrow array of large strings."""
        return self._array if self._texts is None else _packed(self._texts)

    @property
    def utf8(self) -> tuple[Bytes, Offsets]:
        """All texts one after another, and where each begins; a missing one has no bytes."""
        array = self.array
        _, starts, blob = array.buffers()
        wide = np.frombuffer(starts, dtype=np.int64, count=array.offset + len(array) + 1)
        offsets = wide[array.offset :]
        data = np.frombuffer(blob, dtype=np.uint8) if blob is not None and blob.size else np.zeros(0, dtype=np.uint8)
        return data, offsets

    @cached_property
    def nbytes(self) -> int:
        """The size of all texts; of a list about that."""
        if self._texts is None or len(self._texts) > MANY:
            offsets = self.utf8[1]
            return int(offsets[-1] - offsets[0])
        return sum(map(len, filter(None, self._texts)))

    @cached_property
    def missing(self) -> NDArray[np.bool_] | None:
        """Which documents are missing; None where none is."""
        if self._texts is not None:
            if None not in self._texts:
                return None
            return np.fromiter((text is None for text in self._texts), dtype=np.bool_, count=len(self))
        if not self._array.null_count:
            return None
        return np.asarray(self._array.is_null().to_numpy(zero_copy_only=False))


def _is_pandas(source: Any) -> bool:
    return type(source).__module__.split(".")[0] == "pandas"


def _of_list(items: Sequence[Any], encoding: str, errors: str) -> Documents:
    kinds = set(map(type, items))
    if kinds <= {str, type(None)}:
        return Documents(items)
    return Documents([_text(item, i, encoding, errors) for i, item in enumerate(items)])


def _of_numpy(array: NDArray[Any], encoding: str, errors: str) -> Documents:
    if array.ndim != 1:
        raise InputError(f"documents come as {WAYS}; this array has {array.ndim} dimensions. Hint: one column of it")
    if array.dtype.kind not in "OUST":
        raise InputError(f"documents are texts; this array holds {array.dtype}. Hint: the column of the texts")
    return _of_list(array.tolist(), encoding, errors)


def _text(item: Any, i: int, encoding: str, errors: str) -> str | None:
    if isinstance(item, str) or item is None:
        return str(item) if item is not None else None
    if isinstance(item, (bytes, bytearray, memoryview)):
        return decoded(bytes(item), f"document {i}", encoding, errors)
    if _is_pandas(item) or (isinstance(item, (float, np.floating)) and item != item):
        return None  # NA, NaT and NaN stand for what is missing in a pandas column
    raise InputError(f"document {i} is {item!r}, a {type(item).__name__}; documents are texts. Hint: str(document)")


def check_decoding(encoding: str, errors: str) -> None:
    """Refuse what is no encoding of texts, such as base64, and ways with broken bytes other than our two."""
    if errors not in ERRORS:
        raise InputError(f"errors must be 'strict' or 'replace', not {errors!r}")
    try:
        "".encode(encoding)
        codecs.getincrementaldecoder(encoding)
    except (LookupError, ValueError):
        raise InputError(
            f"encoding {encoding!r} is not known. "
            f"Hint: a name that Python knows, such as utf-8, utf-16, latin-1, cp1252 or shift_jis"
        ) from None


def decoded(data: bytes, name: str, encoding: str, errors: str) -> str:
    """Bytes as text; where they are none, the name, the byte and the way out are told."""
    try:
        return data.decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name} is not {encoding}: byte {data[error.start]:#04x} at place {error.start}. "
            f"Hint: another encoding, such as latin-1, or errors='replace'"
        ) from None


def _of_pandas(column: Any, encoding: str, errors: str) -> Documents:
    """Through Arrow; a column of what is not all texts, or holds half characters, value by value."""
    import pyarrow as pa

    try:
        return _of_arrow(_arrow(pa.Array.from_pandas(column)), encoding, errors)
    except (UnicodeEncodeError, pa.ArrowException):
        return _of_list(column.tolist(), encoding, errors)


def _arrow(source: Any) -> Any:
    """Any column as a pyarrow array, of texts as they are: no dictionaries, no views."""
    import pyarrow as pa

    if not isinstance(source, (pa.Array, pa.ChunkedArray)):
        source = pa.chunked_array(source) if hasattr(source, "__arrow_c_stream__") else pa.array(source)
    chunks = source.chunks if isinstance(source, pa.ChunkedArray) else [source]
    told = [_without_dictionary(chunk) for chunk in chunks]
    return told[0] if len(told) == 1 else pa.chunked_array(told, told[0].type if told else source.type)


def _without_dictionary(array: Any) -> Any:
    import pyarrow as pa

    words = array.dictionary if pa.types.is_dictionary(array.type) else array
    if pa.types.is_string_view(words.type):
        words = words.cast(pa.string())
    return words.take(array.indices) if pa.types.is_dictionary(array.type) else words


def _of_arrow(array: Any, encoding: str, errors: str) -> Documents:
    import pyarrow as pa

    kind = array.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return _of_list(array.to_pylist(), encoding, errors)
    if pa.types.is_null(kind):
        return Documents([None] * len(array))
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise InputError(f"documents are texts; this column holds {array.type}. Hint: the column of the texts")
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:  # bytes that are said to be UTF-8, and are not
        return _of_list(array.cast(pa.large_binary()).to_pylist(), "utf-8", errors)
    array = array.cast(pa.large_string())
    return Documents(array=array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array)


def _packed(texts: Sequence[str | None]) -> Any:
    """Texts as a pyarrow array; lone surrogates, which UTF-8 has no place for, as three bytes each."""
    import pyarrow as pa

    try:
        return pa.array(texts, pa.large_string())
    except (UnicodeEncodeError, pa.ArrowException):
        data = [None if text is None else text.encode("utf-8", SURROGATES) for text in texts]
        held = pa.array(data, pa.large_binary())
        return pa.Array.from_buffers(pa.large_string(), len(held), held.buffers(), held.null_count, held.offset)
