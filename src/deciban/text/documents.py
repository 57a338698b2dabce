"""Documents: a column of texts, from a list, an array or a column of any library."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._lazy import pa
from deciban.errors import InputError
from deciban.ledger.hashing import SURROGATES
from deciban.sources.arrow_texts import to_mask

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]

DOCUMENT_KINDS = "a list of texts, an array or a column of them (NumPy, pyarrow, pandas, polars)"

ERRORS = ("strict", "replace")
"""The treatments of bytes that an encoding does not have: an error, or U+FFFD for each."""

MAX_UNPACKED_DOCUMENTS = 1 << 12
"""More documents than this are packed into one array before their size is computed."""


class Documents:
    """Texts that can be read one by one, or all at once as UTF-8; None is a missing one."""

    def __init__(self, texts: Sequence[str | None] | None = None, array: Any = None) -> None:
        self._texts, self._array = texts, array

    @classmethod
    def of(cls, source: Any, encoding: str = "utf-8", errors: str = "strict") -> Documents:
        """Convert a list, array or column to documents; bytes are decoded."""
        if isinstance(source, Documents):
            return source
        check_decoding(encoding, errors)
        if isinstance(source, (str, bytes)):
            raise InputError(
                f"one text is not a collection of documents; they come as {DOCUMENT_KINDS}. Hint: [text]"
            )
        if isinstance(source, np.ndarray):
            return _from_numpy(source, encoding, errors)
        if hasattr(source, "columns"):
            raise InputError(
                f"a table is not a column of documents; they come as {DOCUMENT_KINDS}. Hint: table['text']"
            )
        if type(source).__module__.split(".")[0] == "pandas":
            return _from_pandas(source, encoding, errors)
        if hasattr(source, "__arrow_c_array__") or hasattr(source, "__arrow_c_stream__"):
            return _from_arrow(_to_arrow(source), encoding, errors)
        if not isinstance(source, Iterable) or isinstance(source, (Set, Mapping)):
            raise InputError(f"documents come as {DOCUMENT_KINDS}; not as {type(source).__name__}")
        return _from_list(source if isinstance(source, (list, tuple)) else list(source), encoding, errors)

    @classmethod
    def concatenate(cls, parts: Sequence[Documents]) -> Documents:
        """Concatenate the documents of the parts, in order."""
        if len(parts) == 1:
            return parts[0]
        return cls(array=pa.chunked_array([part.array for part in parts]).combine_chunks())

    def __len__(self) -> int:
        return len(self._array if self._texts is None else self._texts)

    def __getitem__(self, rows: Any) -> Documents:
        index = range(len(self))[rows] if isinstance(rows, slice) else np.arange(len(self))[rows]
        if self._texts is not None:
            return Documents([self._texts[i] for i in index])
        if isinstance(index, range) and index.step == 1:
            return Documents(array=self._array.slice(index.start, len(index)))
        return Documents(array=self._array.take(np.asarray(index)))

    def text(self, i: int) -> str | None:
        """Return one document; None where it is missing."""
        if self._texts is not None:
            return self._texts[i]
        if not self._array[i].is_valid:
            return None
        blob, offsets = self.utf8
        return bytes(blob[offsets[i] : offsets[i + 1]]).decode("utf-8", SURROGATES)

    def strings(self) -> list[str]:
        """Return all documents; '' for one that is missing."""
        if self._texts is not None:
            return [text or "" for text in self._texts]
        blob, offsets = self.utf8
        content = blob[offsets[0] : offsets[-1]].tobytes()
        ends = (offsets - offsets[0]).tolist()
        return [content[a:b].decode("utf-8", SURROGATES) for a, b in pairwise(ends)]

    @cached_property
    def array(self) -> Any:
        """The documents as a pyarrow array of large strings."""
        return self._array if self._texts is None else _pack(self._texts)

    @property
    def utf8(self) -> tuple[Bytes, Offsets]:
        """All texts one after another, where each begins, and where the last ends; a missing one has no bytes."""
        array = self.array
        _, starts, blob = array.buffers()
        wide = np.frombuffer(starts, dtype=np.int64, count=array.offset + len(array) + 1)
        offsets = wide[array.offset :]
        data = np.frombuffer(blob, dtype=np.uint8) if blob is not None and blob.size else np.zeros(0, dtype=np.uint8)
        return data, offsets

    @cached_property
    def nbytes(self) -> int:
        """The size of all texts in bytes; of a list approximately."""
        if self._texts is None or len(self._texts) > MAX_UNPACKED_DOCUMENTS:
            offsets = self.utf8[1]
            return int(offsets[-1] - offsets[0])
        return sum(map(len, filter(None, self._texts)))

    @cached_property
    def missing(self) -> NDArray[np.bool_] | None:
        """Which documents are missing; None where none is."""
        if self._texts is None:
            is_missing: Any = to_mask(self._array.is_null()) if self._array.null_count else ()
        else:
            is_missing = [text is None for text in self._texts] if None in self._texts else ()
        return np.asarray(is_missing, dtype=np.bool_) if len(is_missing) else None


def _from_list(items: Sequence[Any], encoding: str, errors: str) -> Documents:
    """Return documents of strings, bytes and missing values; InputError for another value."""
    if set(map(type, items)) <= {str, type(None)}:
        return Documents(items)
    return Documents([_to_text(item, i, encoding, errors) for i, item in enumerate(items)])


def _from_numpy(array: NDArray[Any], encoding: str, errors: str) -> Documents:
    if array.ndim != 1:
        raise InputError(
            f"documents come as {DOCUMENT_KINDS}; this array has {array.ndim} dimensions. Hint: one column of it"
        )
    if array.dtype.kind not in "OUST":
        raise InputError(f"documents are texts; this array holds {array.dtype}. Hint: the column of the texts")
    return _from_list(array.tolist(), encoding, errors)


def _to_text(item: Any, i: int, encoding: str, errors: str) -> str | None:
    if isinstance(item, str) or item is None:
        return str(item) if item is not None else None
    if isinstance(item, (bytes, bytearray, memoryview)):
        return decode(bytes(item), f"document {i}", encoding, errors)
    if type(item).__name__ in ("NAType", "NaTType") or (isinstance(item, (float, np.floating)) and item != item):
        return None  # NA, NaT and NaN stand for what is missing in a pandas column
    raise InputError(
        f"document {i} is {item!r}, of type {type(item).__name__}; documents are texts. Hint: str(document)"
    )


def check_decoding(encoding: str, errors: str) -> None:
    """Raise an InputError for an encoding that Python does not know, or that is no encoding of texts, such as base64.

    The treatment of errors must be one of `ERRORS`.
    """
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


def decode(data: bytes, name: str, encoding: str, errors: str) -> str:
    """Decode bytes; an error names the document, the byte and a remedy."""
    try:
        return data.decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name} is not {encoding}: byte {data[error.start]:#04x} at place {error.start}. "
            f"Hint: another encoding, such as latin-1, or errors='replace'"
        ) from None


def _from_pandas(column: Any, encoding: str, errors: str) -> Documents:
    """Convert a pandas column through Arrow; value by value where it holds other types or lone surrogates."""
    try:
        return _from_arrow(_to_arrow(pa.Array.from_pandas(column)), encoding, errors)
    except (UnicodeEncodeError, pa.ArrowException):
        return _from_list(column.tolist(), encoding, errors)


def _to_arrow(source: Any) -> Any:
    """Convert any column to a pyarrow array without dictionaries and views; a chunked one may stay chunked."""
    if not isinstance(source, (pa.Array, pa.ChunkedArray)):
        source = pa.chunked_array(source) if hasattr(source, "__arrow_c_stream__") else pa.array(source)
    chunks = source.chunks if isinstance(source, pa.ChunkedArray) else [source]
    plain = [_to_plain_texts(chunk) for chunk in chunks]
    return plain[0] if len(plain) == 1 else pa.chunked_array(plain, plain[0].type if plain else source.type)


def _to_plain_texts(array: Any) -> Any:
    """Return the values of a dictionary array, and a view of strings as strings; other arrays as they are."""
    words = array.dictionary if pa.types.is_dictionary(array.type) else array
    if pa.types.is_string_view(words.type):
        words = words.cast(pa.string())
    return words.take(array.indices) if pa.types.is_dictionary(array.type) else words


def _from_arrow(array: Any, encoding: str, errors: str) -> Documents:
    kind = array.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return _from_list(array.to_pylist(), encoding, errors)
    if pa.types.is_null(kind):
        return Documents([None] * len(array))
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise InputError(f"documents are texts; this column holds {array.type}. Hint: the column of the texts")
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:  # declared as UTF-8, but invalid
        return _from_list(array.cast(pa.large_binary()).to_pylist(), "utf-8", errors)
    array = array.cast(pa.large_string())
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return Documents(array=_without_hidden_bytes(array))


def _without_hidden_bytes(array: Any) -> Any:
    """Return an array of texts in which a missing one has no bytes: a mask alone leaves those that it hides."""
    if not array.null_count:
        return array
    is_known = np.asarray(array.is_valid())
    sizes = np.diff(np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array) + 1])
    if not sizes[~is_known].any():
        return array
    return array.drop_null().take(pa.array(np.cumsum(is_known) - 1, mask=~is_known))


def _pack(texts: Sequence[str | None]) -> Any:
    """Pack texts into a pyarrow array; lone surrogates, which UTF-8 cannot encode, take three bytes each."""
    try:
        return pa.array(texts, pa.large_string())
    except (UnicodeEncodeError, pa.ArrowException):
        data = [None if text is None else text.encode("utf-8", SURROGATES) for text in texts]
        packed = pa.array(data, pa.large_binary())
        return pa.Array.from_buffers(
            pa.large_string(), len(packed), packed.buffers(), packed.null_count, packed.offset
        )
