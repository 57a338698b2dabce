"""`deciban export`: a model as SQL, ONNX, JavaScript or JSON."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from deciban.cli import options as a
from deciban.cli.error_handling import print_stderr
from deciban.cli.files import atomic_file, check_output
from deciban.cli.parser import DEBUG, choice, command, flag, in_section, list_option, option
from deciban.errors import UsageError
from deciban.formatting import format_size
from deciban.load_model import open_model

SQL_DEFAULTS: Mapping[str, Any] = {
    "dialect": "duckdb", "table": "data", "schema": None, "keys": (), "evidence": False, "classes": None,
}  # fmt: skip
"""The options that are for SQL alone, and their defaults."""

FORM_NAMES: Final = {"sql": "SQL", "onnx": "an ONNX model", "js": "an ES module", "json": "the score form as JSON"}
"""The forms of an export, as messages name them."""


@command(
    a.MODEL_FILE,
    choice("--to", "sql|onnx|js|json",
           "A SELECT that scores a table; an ONNX file; an ES module; or the score form as JSON.", required=True),
    option("-o --output", "OUT", "The file to write; by default stdout."),
    *in_section(
        "Options of SQL",
        choice("--dialect", "duckdb|postgres|sqlite|spark|bigquery|snowflake", "The dialect.", metavar="DIALECT",
               default="duckdb"),
        option("--table", "NAME", "The table that is scored.", default="data"),
        option("--schema", "NAME", "The schema of the table."),
        list_option("--key", "COL", "A column of the table that the result keeps.", dest="keys"),
        flag("--evidence", "Add the evidence of each column, in decibans."),
        a.PAIR,
        list_option("--tokens", "[COL=]TABLE",
                    "The table of the tokens of a text, with columns row, token and count; by default COL_tokens."),
    ),
    DEBUG,
    examples=[
        "deciban export patients.deciban --to sql --dialect postgres --table patients --key patient -o score.sql",
        "deciban export patients.deciban --to onnx -o patients.onnx",
        "deciban export patients.deciban --to js -o patients.mjs",
        "deciban export patients.deciban --to json -o patients.json",
    ],
)  # fmt: skip
def export(model: Path, to: str, output: str | None, tokens: Sequence[str] | None, **options: Any) -> None:
    """Write a model in a form that other systems run: databases, ONNX runtimes, browsers and Node."""
    options["keys"] = options["keys"] or ()
    changed = [name for name, default in SQL_DEFAULTS.items() if options[name] != default]
    if to != "sql" and (changed or tokens):
        option = {"keys": "key"}.get(changed[0], changed[0]) if changed else "tokens"
        raise UsageError(f"--{option} is for SQL, and --to is {to}")
    if options["classes"] is not None and not options["evidence"]:
        raise UsageError("--classes names the classes that --evidence compares. Hint: add --evidence")
    check_output(output or "-", [model])
    loaded = open_model(model)
    texts = [feature.column for feature in loaded._layout.texts]
    contents = loaded.export(to, **options, tokens=parse_tokens(tokens or (), texts))
    raw = contents.encode() if isinstance(contents, str) else contents
    if output is None or output == "-":
        sys.stdout.buffer.write(raw)
        return
    with atomic_file(output) as unfinished:
        unfinished.write_bytes(raw)
    print_stderr(f"{output}: {FORM_NAMES[to]}, {format_size(len(raw))}")


def parse_tokens(given: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
    """Return the table of tokens of each text, from [COL=]TABLE; the column may be left out where there is one text.

    Raises UsageError for a column that is no text of the model, and for two tables of one column.

    >>> parse_tokens(["words"], ["note"]), parse_tokens(["a=b"], ["a", "c"])
    ({'note': 'words'}, {'a': 'b'})
    """
    tables: dict[str, str] = {}
    for text in given:
        column, equals, table = text.rpartition("=")
        if not equals and len(texts) == 1:
            column = texts[0]
        if column not in texts:
            shown = ", ".join(texts) or "none"
            raise UsageError(f"--tokens {text!r} names no text of the model. Hint: COL=TABLE; its texts are: {shown}")
        if tables.setdefault(column, table) != table:
            raise UsageError(f"--tokens gives {column} both {tables[column]} and {table}")
    return tables
