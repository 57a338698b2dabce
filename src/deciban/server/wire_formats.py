"""Formats of tables in requests and answers: media types, tables from bodies, and answers written into files."""

from __future__ import annotations

import codecs
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import orjson

from deciban.errors import did_you_mean
from deciban.plain_json import encode_plain
from deciban.server.problems import Problem
from deciban.sources.cell_rows import CellRows
from deciban.sources.source import COPY_NAMES, FileOptions, Source, open_source
from deciban.sources.spool import name_in_errors

BYTE_ORDER_MARK = codecs.BOM_UTF8
BODY_NAME = "the request body"
"""The name of a table in messages."""

MEDIA_TYPES = {
    "json": "application/json",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "jsonl": "application/x-ndjson",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}
"""The formats of tables, and the media type that answers in each have."""

OTHER_NAMES = {
    "application/jsonl": "jsonl", "application/ndjson": "jsonl", "application/vnd.apache.arrow.file": "arrow",
}  # fmt: skip
"""Other media types that are read."""

SPOOL_BYTES = 1 << 20
"""Bytes of an answer that are kept in memory; a longer one is in a temporary file."""


def parse_content_type(text: str | None) -> tuple[str, str | None]:
    """Return the format of a body by its Content-Type, and its encoding or None; refuse unknown types.

    >>> parse_content_type('text/csv; header=present; charset="latin-1"'), parse_content_type("application/json")
    (('csv', 'latin-1'), ('json', None))
    """
    kind, parameters = _parse_media_type(text or "")
    found = next((form for form, name in MEDIA_TYPES.items() if name == kind), OTHER_NAMES.get(kind))
    if found is None:
        what = f"Content-Type {kind!r} is not read" if kind else "the request has no Content-Type"
        raise Problem(
            415, f"{what}{did_you_mean(kind, MEDIA_TYPES.values()) or '.'} Hint: {', '.join(MEDIA_TYPES.values())}"
        )
    return found, parameters.get("charset") or None


def choose_format(accept: str | None, default: str, among: Sequence[str]) -> str:
    """Return the format of an answer that an Accept header prefers, the default among equals; refuse one without any.

    >>> choose_format("application/json;charset=utf-8;q=0.5, text/csv", "jsonl", list(MEDIA_TYPES))
    'csv'
    """
    ranges = [_parse_range(part) for part in (accept or "*/*").split(",") if part.strip()]
    best, best_quality = None, 0.0
    for form in [default, *(form for form in among if form != default)]:
        kind = MEDIA_TYPES[form]
        fits = [(len(name), q) for name, q in ranges if name in ("*/*", kind, kind.partition("/")[0] + "/*")]
        quality = max(fits)[1] if fits else 0.0
        if quality > best_quality:
            best, best_quality = form, quality
    if best is None:
        names = ", ".join(MEDIA_TYPES[form] for form in among)
        raise Problem(406, f"Accept {accept!r} allows no format that this can be answered in. Hint: {names}")
    return best


def _parse_range(text: str) -> tuple[str, float]:
    """Return a media range of an Accept header and its quality q: 1 by default, 0 if malformed."""
    kind, parameters = _parse_media_type(text)
    try:
        return kind, float(parameters.get("q", "1"))
    except ValueError:
        return kind, 0.0


def _parse_media_type(text: str) -> tuple[str, dict[str, str]]:
    """Return a media type or range in lower case, and the values of its parameters by their names."""
    kind, *parameters = text.split(";")
    pairs = (part.partition("=") for part in parameters)
    return kind.strip().lower(), {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}


def parse_json(data: bytes) -> Any:
    """Parse a JSON document in UTF-8; refuse what is not JSON, such as NaN, naming the place.

    Whole numbers of more than 64 bits become doubles.
    """
    try:
        return orjson.loads(data.removeprefix(BYTE_ORDER_MARK))
    except orjson.JSONDecodeError as error:
        is_constant = error.doc[error.pos : error.pos + 3] in ("NaN", "Inf", "-In", "nan")
        hint = ". Hint: null is a missing value" if is_constant else ""
        why = f"line {error.lineno}, column {error.colno}: {error.msg}{hint}"
        raise Problem(400, f"the JSON cannot be read: {why}") from None


def parse_rows(data: bytes) -> list[dict[str, Any]]:
    """Parse {"rows": [{"column": cell, …}, …]}; refuse anything else."""
    document = parse_json(data)
    if not isinstance(document, dict) or "rows" not in document:
        raise Problem(400, 'the JSON is not an object with the key "rows". Hint: {"rows": [{"age": 41}]}')
    if len(document) > 1:
        other = next(key for key in document if key != "rows")
        raise Problem(400, f'the JSON has another key than "rows", {other[:80]!r}. Hint: options are in the query')
    rows = document["rows"]
    if not isinstance(rows, list) or not rows:
        raise Problem(400, '"rows" is not a list of at least one object. Hint: {"rows": [{"age": 41}]}')
    for i, row in enumerate(rows):
        if type(row) is not dict or not row:
            raise Problem(
                400, f'row {i + 1} of "rows" is not an object of columns. Hint: {{"rows": [{{"age": 41}}]}}'
            )
    return rows


@dataclass(frozen=True)
class BodyTable:
    """The table of a body: its format, how it is read, and its bytes in memory or in a file."""

    form: str
    reading: Mapping[str, Any]
    data: bytes
    path: str | None = None

    @contextmanager
    def open(self) -> Iterator[Source]:
        """Open the table; errors in the block name it as the request body."""
        if self.form == "json":
            options = FileOptions.from_arguments(self.reading)
            yield open_source(CellRows.of(parse_rows(self.data), BODY_NAME), None, options)
            return
        with tempfile.TemporaryDirectory(prefix="deciban-") as folder:
            path = self.path
            if path is None:
                path = os.path.join(folder, "body")
                with open(path, "wb") as file:
                    file.write(self.data)
            COPY_NAMES[path] = BODY_NAME
            try:
                with name_in_errors({path: BODY_NAME}):
                    yield open_source(path, None, FileOptions.from_arguments({**self.reading, "format": self.form}))
            finally:
                del COPY_NAMES[path]


def encode(value: Any) -> bytes:
    """Return a plain value as JSON; texts that UTF-8 cannot hold, and numbers beyond 64 bits, by Python's encoder."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return encode_plain(value).encode("utf-8", "replace")


def open_answer() -> BinaryIO:
    """Return a temporary file for an answer, in memory while it is short."""
    return tempfile.SpooledTemporaryFile(SPOOL_BYTES, prefix="deciban-")  # type: ignore[return-value]
