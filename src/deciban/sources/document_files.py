"""Documents in text files: one per line, one per file, or folders of files; any encoding that Python knows."""

from __future__ import annotations

import codecs
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any, Self

from deciban._lazy import pa, pc
from deciban.errors import InputError
from deciban.formatting import format_count
from deciban.sources.source import (
    ColumnReading,
    FileOptions,
    FileSource,
    convert_read_errors,
    format_path,
    quote_path,
    take_batches,
)
from deciban.text.documents import check_decoding

TEXT, FILE = "text", "file"
CLASS = "class"
EVALUATION_FOLDS = 10
"""The number of folds in which models are evaluated; `interleave_classes` makes folds by row number fair too."""

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}

BATCH_BYTES = 16 << 20
"""A batch has about this many bytes of text; a single document may be longer."""

MAX_BATCH_FILES = 1 << 16
"""The greatest number of files of a batch, however short they are."""

HEAD_BYTES = 1 << 16
BYTE_ORDER_MARK = "\ufeff"
"""The byte order mark that some programs write at the beginning of a file; it is not part of its text."""


@dataclass(frozen=True)
class Decoding:
    """Conversion of bytes to texts: the encoding, the treatment of invalid bytes, and the texts that mean missing."""

    encoding: str = "utf-8"
    errors: str = "strict"
    missing: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: FileOptions) -> Self:
        """Return the decoding of these options; refuse an unknown encoding or treatment of errors."""
        check_decoding(options.encoding, options.errors)
        return cls(codecs.lookup(options.encoding).name, options.errors, options.missing)

    def read_text(self, path: str) -> bytes:
        """Read all of a file's text, decompressed, and return it in UTF-8."""
        with convert_read_errors(quote_path(path)), open_decompressed(path) as file:
            raw = bytes(file.read())
        try:
            text = raw.decode(self.encoding, self.errors).removeprefix(BYTE_ORDER_MARK)
            return text.encode("utf-8", self.errors)
        except UnicodeError as error:
            raise self._decode_error(path, error, getattr(error, "start", 0)) from None

    def read_pieces(self, path: str, size: int) -> Iterator[str]:
        """Yield the text of a file in pieces, read `size` bytes at a time."""
        decoder = codecs.getincrementaldecoder(self.encoding)(self.errors)
        place = lines = 0
        with convert_read_errors(quote_path(path)), open_decompressed(path) as file:
            raw = b"more"
            while raw:
                first, raw = not place, bytes(file.read(size))
                place += len(raw)
                try:
                    text = decoder.decode(raw, final=not raw)
                except UnicodeDecodeError as error:
                    line = lines + error.object[: error.start].count(b"\n") + 1
                    raise self._decode_error(path, error, place - len(error.object) + error.start, line) from None
                lines += text.count("\n")
                yield text.removeprefix(BYTE_ORDER_MARK) if first else text

    def split_lines(self, text: str, path: str) -> Any:
        """Split a text into an array of lines, without \\n and one \\r at the end of each; null for a missing one."""
        try:
            raw = text.replace("\r\n", "\n").removesuffix("\r").encode("utf-8", self.errors)
        except UnicodeEncodeError as error:
            raise self._decode_error(path, error, error.start) from None
        return self.replace_missing(pc.split_pattern(pa.array([raw], pa.large_string()), "\n").flatten())

    def replace_missing(self, texts: Any) -> Any:
        """Replace texts that stand for a missing one by null."""
        if not self.missing:
            return texts
        gone = pc.is_in(texts, value_set=pa.array(self.missing, texts.type))
        return pc.if_else(gone, pa.scalar(None, texts.type), texts)

    def _decode_error(self, path: str, error: UnicodeError, place: int, line: int | None = None) -> InputError:
        """Return an error that names the invalid bytes of a file and their place; its first byte is number 0."""
        where = f"byte {place}" + ("" if line is None else f", in line {line}")
        other = "latin-1" if self.encoding in ("utf-8", "ascii") else "utf-8"
        return InputError(
            f"{quote_path(path)} is not in {self.encoding}: {getattr(error, 'reason', error)} at {where}. Hint: "
            f"--encoding {other}, or whatever it was written in; --errors replace reads such bytes as U+FFFD "
            f"(encoding={other!r}, errors='replace')"
        )


@dataclass(frozen=True)
class TextLines(FileSource):
    """Files with one document per line."""

    decoding: Decoding
    n_rows: int | None = None
    columns: Sequence[str] = (TEXT,)

    @classmethod
    def open(cls, paths: Sequence[str], options: FileOptions, form: str) -> Self:
        """Open the files, and estimate the number of lines from the first ones."""
        decoding = Decoding.of(options)
        with convert_read_errors(quote_path(paths[0])), open(paths[0], "rb") as file:
            return cls(paths, decoding, estimate_lines(paths, file.read(HEAD_BYTES)))

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        return _to_table(take_batches(self._read_batches(HEAD_BYTES), n), self.columns).slice(0, n)

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        for batch in self._read_batches(BATCH_BYTES):
            yield batch.select(list(wanted))

    def _read_batches(self, size: int) -> Iterator[pa.RecordBatch]:
        """Yield the lines of all files, about `size` bytes at a time."""
        for path in self.paths:
            for text in _split_after_lines(self.decoding.read_pieces(path, size)):
                yield pa.RecordBatch.from_arrays([self.decoding.split_lines(text, path)], names=[TEXT])


@dataclass(frozen=True)
class DocumentFiles:
    """Files that are one document each; `files` are named from the `folder` that they are in."""

    files: Sequence[str]
    decoding: Decoding
    folder: str = ""
    columns: Sequence[str] = (TEXT, FILE)
    typed, fills_cores = True, False

    @classmethod
    def open(cls, paths: Sequence[str], options: FileOptions, form: str) -> Self:
        """Open the files without reading them yet."""
        return cls(paths, Decoding.of(options))

    @property
    def name(self) -> str:
        """See `Source.name`."""
        return quote_path(self.folder or self.files[0])

    @property
    def n_rows(self) -> int:
        """See `Source.n_rows`."""
        return len(self.files)

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        return _to_table(self._read_batches(self.files[:n], self.columns), self.columns)

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`; files are opened only if their texts are wanted."""
        yield from self._read_batches(self.files, list(wanted))

    def _read_batches(self, files: Sequence[str], wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield a row for each of these files, with the wanted columns."""
        texts: list[bytes] = []
        done = size = 0
        for number, file in enumerate(files, 1):
            texts.append(self.decoding.read_text(os.path.join(self.folder, file)) if TEXT in wanted else b"")
            size += len(texts[-1])
            if size >= BATCH_BYTES or len(texts) >= MAX_BATCH_FILES or number == len(files):
                text = self.decoding.replace_missing(pa.array(texts, pa.large_string()))
                columns = {TEXT: text, **self.columns_from_names(files[done:number])}
                yield pa.RecordBatch.from_arrays([columns[name] for name in wanted], names=list(wanted))
                texts, done, size = [], number, 0

    def columns_from_names(self, files: Sequence[str]) -> dict[str, Any]:
        """Return the columns that follow from the names of files, by name."""
        return {FILE: pa.array([format_path(file) for file in files], pa.string())}


@dataclass(frozen=True)
class Folders(DocumentFiles):
    """Documents whose class is the name of the sub-folder that contains them, at any depth."""

    columns: Sequence[str] = (CLASS, TEXT, FILE)

    @classmethod
    def open(cls, paths: Sequence[str], options: FileOptions, form: str) -> Self:
        """List the files without reading them yet."""
        if len(paths) > 1:
            raise InputError(f"one folder is read at a time, not {len(paths)}. Hint: the folder that holds them all")
        decoding = Decoding.of(options)
        return cls(interleave_classes(_list_classes(paths[0])), decoding, paths[0])

    def columns_from_names(self, files: Sequence[str]) -> dict[str, Any]:
        """See `DocumentFiles.columns_from_names`."""
        columns = super().columns_from_names(files)
        labels = [name.partition("/")[0] for name in columns[FILE].to_pylist()]
        return {CLASS: pa.array(labels, pa.string()), **columns}

    def refuse_one_class(self) -> None:
        """Raise an InputError where there is only one class: learning needs two, other uses do not."""
        classes = {format_path(file).partition("/")[0] for file in self.files}
        if len(classes) == 1:
            raise InputError(
                f"{self.name} has one sub-folder with files only, {classes.pop()!r}; each is a class, and a "
                f"classifier needs two. Hint: the folder above, or name the classes that are to come, "
                f"--classes a,b (classes=['a', 'b'])"
            )


def interleave_classes(classes: Sequence[Sequence[str]]) -> list[str]:
    """Return all files in a fixed order that mixes the classes.

    Taking a file of each class in turn would put all of a class into one fold, where there are ten classes and ten
    folds. So the files are distributed to the folds first, class by class: each fold has a tenth of each class, plus
    or minus one. Then row 10·q + f is the q-th of fold f, in which the classes alternate in a new order each time:
    the first 10·K rows have a document of every class.
    """
    random = Random(0)
    of_class = [(k, file) for k, files in enumerate(classes) for file in files]
    folds = []
    for files_of_fold in (of_class[f::EVALUATION_FOLDS] for f in range(EVALUATION_FOLDS)):
        turns: Counter[int] = Counter()
        keyed = []
        for k, file in files_of_fold:
            keyed.append((turns[k], random.random(), file))
            turns[k] += 1
        folds.append([file for _, _, file in sorted(keyed)])
    return [folds[i % EVALUATION_FOLDS][i // EVALUATION_FOLDS] for i in range(len(of_class))]


def _list_classes(folder: str) -> list[list[str]]:
    """Return the files of each sub-folder that has some, both sorted by name; raise an InputError if none has."""
    if not os.path.isdir(folder):
        what = "is a file" if os.path.exists(folder) else "is not there"
        raise InputError(
            f"{quote_path(folder)} {what}, and a folder with a sub-folder for each class is needed. Hint: "
            f"unpack an archive first; documents without classes are read by --format text (format='text')"
        )
    entries = _list_visible(folder, "")
    found = [_list_files(folder, entry.name) for entry in entries if entry.is_dir()]
    if not any(found):
        loose = sum(entry.is_file() for entry in entries)
        what = f"{format_count(loose, 'file')} but no sub-folder with files" if loose else "no sub-folder with files"
        raise InputError(
            f"{quote_path(folder)} has {what}, and each sub-folder is a class. Hint: the folder above it; "
            f"documents without classes are read by --format text {format_path(folder)}/* (format='text')"
        )
    return [files for files in found if files]


def _list_files(folder: str, inside: str) -> list[str]:
    """List all files in a sub-folder and in its sub-folders, by name; refuse a link that leads back up."""
    files: list[str] = []
    pending: list[tuple[str, frozenset[tuple[int, int]]]] = [(inside, frozenset())]
    while pending:
        inside, above = pending.pop()
        with convert_read_errors(quote_path(os.path.join(folder, inside))):
            found = os.stat(os.path.join(folder, inside))
        here = (found.st_dev, found.st_ino)
        if here in above:
            raise InputError(f"{quote_path(inside)} in {quote_path(folder)} is a link to a folder that it is in")
        for entry in _list_visible(folder, inside):
            name = os.path.join(inside, entry.name)
            if entry.is_dir():
                pending.append((name, above | {here}))
            else:
                files.append(name)
    return sorted(files)


def _list_visible(folder: str, inside: str) -> list[os.DirEntry[str]]:
    """List files and folders in a folder, by name; hidden ones are left out, other entries raise an error."""
    path = os.path.join(folder, inside)
    with convert_read_errors(quote_path(path)), os.scandir(path) as entries:
        found = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    for entry in found:
        with convert_read_errors(quote_path(entry.path)):
            fine = entry.is_file() or entry.is_dir()
        if not fine:
            what = "a link that leads nowhere" if entry.is_symlink() else "neither a file nor a folder"
            raise InputError(f"{quote_path(entry.path)} is {what}. Hint: remove it, or hide it: name it with a dot")
    return found


@contextmanager
def open_decompressed(path: str) -> Iterator[Any]:
    """Open a file for reading; it is decompressed if its name has the ending of a compressed file."""
    kind = compression_by_name(path)
    with open(path, "rb") as file:
        if kind is None:
            yield file
            return
        with pa.CompressedInputStream(file, kind) as stream:
            yield stream


def compression_by_name(path: str) -> str | None:
    """Return how a file is compressed, by its name; None where it is not."""
    return next((kind for ending, kind in COMPRESSIONS.items() if path.lower().endswith(ending)), None)


def _split_after_lines(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the text of all pieces in parts of whole lines, without the \\n of the last; only \\n ends a line."""
    parts: list[str] = []  # a long line comes in many pieces, joined only once
    for piece in pieces:
        done, newline, unfinished = piece.rpartition("\n")
        if newline:
            yield "".join([*parts, done])
            parts = []
        parts.append(unfinished)
    if last := "".join(parts):
        yield last


def estimate_lines(paths: Sequence[str], start: bytes) -> int | None:
    """Estimate the number of lines of all files from those at the start of one; None where a file is compressed."""
    if any(compression_by_name(path) for path in paths):
        return None
    return round(total_bytes(paths) * max(1, start.count(b"\n")) / max(1, len(start)))


def total_bytes(paths: Sequence[str]) -> int:
    """Return the size of all files together, as they are stored; an InputError names one that is not there."""
    size = 0
    for path in paths:
        with convert_read_errors(quote_path(path)):
            size += os.path.getsize(path)
    return size


def _to_table(batches: Iterable[Any], columns: Sequence[str]) -> Any:
    """Return batches of documents as a table, which has its columns even if there are no batches."""
    schema = pa.schema([(name, pa.large_string() if name == TEXT else pa.string()) for name in columns])
    return pa.Table.from_batches(batches, schema)
