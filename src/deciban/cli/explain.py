"""`deciban explain`: the evidence for predictions, in decibans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deciban.cli import options as a
from deciban.cli.files import open_model, print_json
from deciban.cli.inputs import direct_role_hints_to_training, open_table
from deciban.cli.parser import DEBUG, JSON, command, number
from deciban.errors import InputError


@command(
    a.MODEL_FILE,
    a.most("How many rows to explain, from the first.", 5, names="--rows"),
    number("--row", "NUMBER", "Explain this row alone; the first after the header is 1.", minimum=1),
    a.PAIR, a.most("How many columns or words to show of each row, the strongest first.", 10),
    a.ALLOW_MISSING, *a.TABLE_OPTIONS, JSON, DEBUG,
    examples=[
        "deciban explain patients.deciban new-patients.csv --rows 2",
        "deciban explain patients.deciban new-patients.csv --row 4 --classes flu,cold",
        "deciban explain newsgroups.deciban post.txt --format text",
    ],
)  # fmt: skip
def explain(
    model: Path, rows: int, row: int | None, classes: tuple[str, str] | None, most: int, allow_missing_columns: bool,
    json: bool, **options: Any,
) -> None:  # fmt: skip
    """Explain the prediction of each row: how much every column adds to the log-odds."""
    from deciban.cli.explanations_screen import explain_table_rows, show

    with direct_role_hints_to_training(), open_table(options) as table:
        start, count = (0, rows) if row is None else (row - 1, 1)
        name_column = next(iter(table.identified_by), None)
        explained = explain_table_rows(
            open_model(model), table.open(), start, count, classes, allow_missing_columns, name_column
        )
        if not explained:
            raise InputError(f"{table.name} has no row {start + 1}. Hint: --row counts from 1, without the header")
        if json:
            print_json([each.to_dict() for each in explained])
        else:
            show(explained, most)
