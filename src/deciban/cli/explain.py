"""`deciban explain`: the evidence for predictions, in decibans."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors
from deciban.errors import InputError

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput

EXAMPLE = a.example(
    "deciban explain patients.deciban new-patients.csv --rows 2",
    "deciban explain patients.deciban new-patients.csv --row 4 --classes flu,cold",
    "deciban explain newsgroups.deciban post.txt --format text",
)
Rows = Annotated[
    int, typer.Option("--rows", metavar="NUMBER", min=1, help="How many rows to explain, from the first.")
]
Row = Annotated[
    int | None,
    typer.Option("--row", metavar="NUMBER", min=1, help="Explain this row alone; the first after the header is 1."),
]
Pair = Annotated[
    str | None,
    typer.Option(
        "--classes",
        metavar="FOR,AGAINST",
        help="Compare these two classes; by default the two most probable of each row.",
    ),
]
Most = Annotated[
    int,
    typer.Option(
        "--most", metavar="NUMBER", min=1, help="How many columns or words to show of each row, the strongest first."
    ),
]


@a.with_options_of(a.table_options)
def command(
    model: a.ModelFile,
    rows: Rows = 5,
    row: Row = None,
    classes: Pair = None,
    most: Most = 10,
    allow_missing_columns: a.AllowMissing = False,
    json: a.AsJson = False,
    debug: a.Debug = False,
    **options: Any,
) -> None:
    """Explain the prediction of each row: how much every column adds to the log-odds."""
    from deciban.cli.inputs import direct_role_hints_to_training, open_table

    with handle_errors(debug), direct_role_hints_to_training(), open_table(options) as table:
        start, count = (0, rows) if row is None else (row - 1, 1)
        run(model, table, start, count, parse_pair(classes), most, allow_missing_columns, json)


def parse_pair(classes: str | None) -> tuple[str, str] | None:
    """Parse FOR,AGAINST."""
    if classes is None:
        return None
    pair = a.split_list(classes)
    if len(pair) != 2:
        raise typer.BadParameter(f"--classes takes two classes, FOR,AGAINST; not {classes!r}")
    return pair[0], pair[1]


def run(
    path: Path,
    table: TableInput,
    start: int,
    count: int,
    pair: tuple[str, str] | None,
    most: int,
    allow: bool,
    as_json: bool,
) -> None:
    """Read the rows, compute their evidence, print it."""
    from deciban.cli.explanations_screen import explain_table_rows, show
    from deciban.cli.model_files import open_model
    from deciban.cli.output import print_json

    name_column = next(iter(table.identified_by), None)
    explained = explain_table_rows(open_model(path), table.open(), start, count, pair, allow, name_column)
    if not explained:
        raise InputError(f"{table.name} has no row {start + 1}. Hint: --row counts from 1, without the header")
    if as_json:
        print_json([row.to_dict() for row in explained])
        return
    show(explained, most)
