"""Opening of files by their names: format, compression, and all files that a pattern matches."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence

from deciban.errors import InputError
from deciban.sources.source import FileOptions, Source

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "lines",
    ".data": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "arrow",
}
"""The format of each file-name ending."""

COMPRESSED_ENDINGS = (".gz", ".zst")
DOCUMENT_FORMATS = ("lines", "text", "folders")
KNOWN_FORMATS = ("csv", "tsv", "jsonl", "parquet", "arrow", *DOCUMENT_FORMATS)


def open_path(path: str, options: FileOptions) -> Source:
    """Open a file or folder, or all files that a pattern matches, in the order of their names."""
    if os.path.exists(path):
        return open_paths([path], options)
    matched = sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else []
    if options.format == "text":  # a folder is no document
        matched = [found for found in matched if not os.path.isdir(found)]
    if not matched:
        thing = "folder" if options.format == "folders" else "file"
        what = f"no {thing} matches" if glob.has_magic(path) else f"there is no {thing}"
        raise InputError(f"{what} {path!r}{_similar_name_hint(path)}")
    return open_paths(matched, options)


def open_paths(paths: Sequence[str], options: FileOptions) -> Source:
    """Open files of one format, read one after the other; or a folder of documents."""
    form = "folders" if options.format == "folders" else _check_formats(paths, options)
    if not options.hive:
        return _open_files(paths, form, options)
    if form in DOCUMENT_FORMATS:
        raise InputError(f"--hive (hive=True) is for tables, and {paths[0]!r} is read as {form}. Hint: leave it out")
    from deciban.sources.hive import Partitioned

    return Partitioned.open(_open_files(paths, form, options))


def _open_files(paths: Sequence[str], form: str, options: FileOptions) -> Source:
    if form == "folders":
        from deciban.sources.document_files import Folders

        return Folders.open(paths, options)
    if form in ("csv", "tsv"):
        from deciban.sources.csv_files import Delimited

        return Delimited.open(paths, "\t" if form == "tsv" else None, options)
    if form == "jsonl":
        from deciban.sources.json_lines import Lines

        return Lines.open(paths, options)
    if form == "parquet":
        from deciban.sources.arrow_files import Parquet

        return Parquet.open(paths)
    if form == "arrow":
        from deciban.sources.arrow_files import Ipc

        return Ipc.open(paths)
    from deciban.sources.document_files import TextLines, WholeFiles

    return TextLines.open(paths, options) if form == "lines" else WholeFiles.open(paths, options)


def _check_formats(paths: Sequence[str], options: FileOptions) -> str:
    """Return the format that all the files have, after checking it."""
    for path in paths:
        if os.path.isdir(path):
            raise InputError(
                f"{path!r} is a folder. Hint: name the files in it, {os.path.join(path, '*.csv')!r}; --folders "
                f"(format='folders') reads one that has a sub-folder of documents for each class"
            )
    formats = {options.format or detect_format(path) for path in paths}
    if len(formats) > 1:
        raise InputError(
            f"the files have different formats: {', '.join(sorted(formats))}. Hint: read one kind at a time"
        )
    form = formats.pop()
    if form not in KNOWN_FORMATS:
        raise InputError(f"format {form!r} is not known. Hint: one of {', '.join(KNOWN_FORMATS)}")
    if options.errors != "strict" and form not in DOCUMENT_FORMATS:
        raise InputError(
            f"errors={options.errors!r} is for documents, and {paths[0]!r} is read as {form}. "
            f"Hint: --encoding latin-1 (encoding='latin-1') takes every byte for a letter"
        )
    return form


def detect_format(path: str) -> str:
    """Detect the format by the file's name or its first bytes."""
    stem = path.lower()
    for ending in COMPRESSED_ENDINGS:
        stem = stem.removesuffix(ending)
    form = FORMATS.get(os.path.splitext(stem)[1])
    if form is not None:
        return form
    with open(path, "rb") as file:
        start = file.read(8)
    if start[:4] == b"PAR1":
        return "parquet"
    if start[:6] == b"ARROW1":
        return "arrow"
    return "jsonl" if start.lstrip()[:1] == b"{" else "csv"


def _similar_name_hint(path: str) -> str:
    """Return a hint at a file of nearly that name, if there is one."""
    from difflib import get_close_matches

    folder, name = os.path.split(path)
    try:
        close = get_close_matches(name, os.listdir(folder or "."), n=1, cutoff=0.8)
    except OSError:
        return f". Hint: there is no folder {folder!r} either" if folder else ""
    return f". Hint: did you mean {os.path.join(folder, close[0])!r}?" if close else ""
