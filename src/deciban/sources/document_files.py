"""Documents in text files: one a line, or each file one; any encoding that Python knows."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from deciban.errors import InputError
from deciban.sources.source import FileOptions, Reading, printable, reword_errors
from deciban.text.documents import check_decoding

if TYPE_CHECKING:
    import pyarrow as pa

TEXT, FILE = "text", "file"
PACKED = {".gz": "gzip", ".zst": "zstd"}

AT_ONCE = 16 << 20
"""About so many bytes of text are in a batch; a single document may be longer."""

MOST_FILES = 1 << 16
"""Most files of a batch, however short they are."""

HEAD_BYTES = 1 << 16
MARK = "\ufeff"
"""What some programs write at the beginning of a file in Unicode: no part of its text."""


@dataclass(frozen=True)
class Decoding:
    """How bytes become texts: the encoding, what becomes of bytes that it does not have, and what means nothing."""

    encoding: str = "utf-8"
    errors: str = "strict"
    missing: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: FileOptions) -> Self:
        """As the options say, checked."""
        check_decoding(options.encoding, options.errors)
        return cls(codecs.lookup(options.encoding).name, options.errors, options.missing)

    def whole(self, path: str) -> bytes:
        """All of a file's text, in UTF-8."""
        with reword_errors(path), unpacked(path) as file:
            raw = bytes(file.read())
        try:
            text = raw.decode(self.encoding, self.errors).removeprefix(MARK)
            return text.encode("utf-8", self.errors)
        except UnicodeError as error:
            raise self._broken(path, error, getattr(error, "start", 0)) from None

    def pieces(self, path: str, size: int) -> Iterator[str]:
        """The text of a file, piece by piece, read in steps of so many bytes."""
        decoder = codecs.getincrementaldecoder(self.encoding)(self.errors)
        place = lines = 0
        with reword_errors(path), unpacked(path) as file:
            raw = b"more"
            while raw:
                first, raw = not place, bytes(file.read(size))
                place += len(raw)
                try:
                    text = decoder.decode(raw, final=not raw)
                except UnicodeDecodeError as error:
                    line = lines + error.object[: error.start].count(b"\n") + 1
                    raise self._broken(path, error, place - len(error.object) + error.start, line) from None
                lines += text.count("\n")
                yield text.removeprefix(MARK) if first else text

    def lines(self, text: str, path: str) -> Any:
        """The lines of a text, in an array; none of them ends in \\n, and of \\r at its end each has lost one."""
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            raw = text.replace("\r\n", "\n").removesuffix("\r").encode("utf-8", self.errors)
        except UnicodeEncodeError as error:
            raise self._broken(path, error, error.start) from None
        return self.known(pc.split_pattern(pa.array([raw], pa.large_string()), "\n").flatten())

    def known(self, texts: Any) -> Any:
        """The texts without those that stand for a missing one."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self.missing:
            return texts
        gone = pc.is_in(texts, value_set=pa.array(self.missing, texts.type))
        return pc.if_else(gone, pa.scalar(None, texts.type), texts)

    def _broken(self, path: str, error: UnicodeError, place: int, line: int | None = None) -> InputError:
        """What is wrong with the bytes of a file, and where: its first byte is number 0."""
        where = f"byte {place}" + ("" if line is None else f", in line {line}")
        other = "latin-1" if self.encoding in ("utf-8", "ascii") else "utf-8"
        return InputError(
            f"{printable(path)!r} is not in {self.encoding}: {getattr(error, 'reason', error)} at {where}. Hint: "
            f"--encoding {other}, or whatever it was written in; --errors replace reads such bytes as U+FFFD "
            f"(encoding={other!r}, errors='replace')"
        )


@dataclass(frozen=True)
class TextLines:
    """Files with one document a line."""

    paths: Sequence[str]
    decoding: Decoding
    n_rows: int | None = None
    columns: Sequence[str] = (TEXT,)
    typed: bool = True
    fills_cores: bool = False

    @property
    def name(self) -> str:
        """See `Source.name`."""
        return repr(self.paths[0])

    @classmethod
    def open(cls, paths: Sequence[str], options: FileOptions) -> Self:
        """Guess the number of lines from the first ones."""
        return cls(paths, Decoding.of(options), _guessed_lines(paths))

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        kept: list[Any] = []
        rows = 0
        for batch in self._batches(HEAD_BYTES):
            kept.append(batch)
            rows += batch.num_rows
            if rows >= n:
                break
        return _table(kept, self.columns).slice(0, n)

    def batches(self, wanted: Mapping[str, Reading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        for batch in self._batches(AT_ONCE):
            yield batch.select(list(wanted))

    def _batches(self, size: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for path in self.paths:
            for text in _whole_lines(self.decoding.pieces(path, size)):
                yield pa.RecordBatch.from_arrays([self.decoding.lines(text, path)], names=[TEXT])


@dataclass(frozen=True)
class WholeFiles:
    """Files that are one document each; `files` are named from the `folder` that they are in."""

    files: Sequence[str]
    decoding: Decoding
    folder: str = ""
    columns: Sequence[str] = (TEXT, FILE)
    typed: bool = True
    fills_cores: bool = False

    @classmethod
    def open(cls, paths: Sequence[str], options: FileOptions) -> Self:
        """Nothing is read yet."""
        return cls(paths, Decoding.of(options))

    @property
    def name(self) -> str:
        """See `Source.name`."""
        return repr(printable(self.folder or self.files[0]))

    @property
    def n_rows(self) -> int:
        """See `Source.n_rows`."""
        return len(self.files)

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        return _table(self._batches(self.files[:n], self.columns), self.columns)

    def batches(self, wanted: Mapping[str, Reading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`; files are opened only if their texts are wanted."""
        yield from self._batches(self.files, list(wanted))

    def _batches(self, files: Sequence[str], wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        texts: list[bytes] = []
        done = size = 0
        for number, file in enumerate(files, 1):
            texts.append(self.decoding.whole(os.path.join(self.folder, file)) if TEXT in wanted else b"")
            size += len(texts[-1])
            if size >= AT_ONCE or len(texts) >= MOST_FILES or number == len(files):
                yield self._batch(files[done:number], texts).select(list(wanted))
                texts, done, size = [], number, 0

    def _batch(self, files: Sequence[str], texts: Sequence[bytes]) -> Any:
        import pyarrow as pa

        columns = {TEXT: self.decoding.known(pa.array(texts, pa.large_string())), **self.told_by_names(files)}
        return pa.RecordBatch.from_arrays([columns[name] for name in self.columns], names=list(self.columns))

    def told_by_names(self, files: Sequence[str]) -> dict[str, Any]:
        """The columns that a document has by the name of its file."""
        import pyarrow as pa

        return {FILE: pa.array([printable(file) for file in files], pa.string())}


@contextmanager
def unpacked(path: str) -> Iterator[Any]:
    """A file to be read from its beginning, unpacked if its name says that it is packed."""
    kind = packing(path)
    with open(path, "rb") as file:
        if kind is None:
            yield file
            return
        import pyarrow as pa

        with pa.CompressedInputStream(file, kind) as stream:
            yield stream


def packing(path: str) -> str | None:
    """How a file is compressed, by its name."""
    return next((kind for ending, kind in PACKED.items() if path.lower().endswith(ending)), None)


def _whole_lines(pieces: Iterable[str]) -> Iterator[str]:
    """The same text cut where lines end, without the \\n of each last line; only \\n ends a line."""
    begun: list[str] = []  # a long line comes in many pieces, joined but once
    for piece in pieces:
        done, newline, rest = piece.rpartition("\n")
        if newline:
            yield "".join([*begun, done])
            begun = []
        begun.append(rest)
    last = "".join(begun)
    if last:
        yield last


def _guessed_lines(paths: Sequence[str]) -> int | None:
    """About how many lines, from the length of the first ones; unknown for compressed files."""
    if any(packing(path) for path in paths):
        return None
    with reword_errors(paths[0]), open(paths[0], "rb") as file:
        start = file.read(HEAD_BYTES)
    size = 0
    for path in paths:
        with reword_errors(path):
            size += os.path.getsize(path)
    return round(size * max(1, start.count(b"\n")) / max(1, len(start)))


def _table(batches: Iterable[Any], columns: Sequence[str]) -> Any:
    """The batches as a table, which has its columns even if there are no rows."""
    import pyarrow as pa

    schema = pa.schema([(name, pa.large_string() if name == TEXT else pa.string()) for name in columns])
    return pa.Table.from_batches(batches, schema)
