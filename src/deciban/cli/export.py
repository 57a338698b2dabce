"""`deciban export`: a model as SQL, ONNX, JavaScript or JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from deciban.cli import options as a
from deciban.cli.command_groups import UsageError
from deciban.cli.files import atomic_file, check_output, open_model
from deciban.cli.parser import DEBUG, choice, command, flag, in_section, list_option, option


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
                    "The table of the tokens of a text, with the columns row, token and count; by default COL_tokens."),
    ),
    DEBUG,
    examples=[
        "deciban export patients.deciban --to sql --dialect postgres --table patients --key patient -o score.sql",
        "deciban export patients.deciban --to onnx -o patients.onnx",
        "deciban export patients.deciban --to js -o patients.mjs",
        "deciban export patients.deciban --to json -o patients.json",
    ],
)  # fmt: skip
def export(
    model: Path, to: str, output: str | None, dialect: str, table: str, schema: str | None, keys: Sequence[str] | None,
    evidence: bool, classes: tuple[str, str] | None, tokens: Sequence[str] | None,
) -> None:  # fmt: skip
    """Write a model in a form that other systems run: databases, ONNX runtimes, browsers and Node."""
    given = {"dialect": dialect, "table": table, "schema": schema, "keys": keys or (), "evidence": evidence, "classes": classes}
    defaults = {"dialect": "duckdb", "table": "data", "schema": None, "keys": (), "evidence": False, "classes": None}
    if to != "sql" and (given != defaults or tokens):
        raise UsageError(f"--dialect, --table, --schema, --key, --evidence, --classes and --tokens are for SQL, not for {to}")
    if classes is not None and not evidence:
        raise UsageError("--classes names the classes that --evidence compares. Hint: add --evidence")
    check_output(output or "-", [model])
    loaded = open_model(model)
    contents = loaded.export(to, **given, tokens=parse_tokens(tokens or (), [f.column for f in loaded._layout.texts]))  # type: ignore[arg-type]
    raw = contents.encode() if isinstance(contents, str) else contents
    if output in (None, "-"):
        sys.stdout.buffer.write(raw)
        return
    with atomic_file(output) as unfinished:  # type: ignore[arg-type]
        unfinished.write_bytes(raw)


def parse_tokens(given: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
    """Return the table of tokens of each text, from [COL=]TABLE; the column may be left out where there is one text.

    >>> parse_tokens(["words"], ["note"]), parse_tokens(["a=b"], ["a", "c"])
    ({'note': 'words'}, {'a': 'b'})
    """
    tables = {}
    for text in given:
        column, equals, table = text.rpartition("=")
        if not equals and len(texts) == 1:
            column = texts[0]
        if column not in texts:
            shown = ", ".join(texts) or "none"
            raise UsageError(f"--tokens {text!r} names no text of the model. Hint: COL=TABLE; its texts are: {shown}")
        tables[column] = table
    return tables
