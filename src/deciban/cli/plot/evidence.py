"""`deciban plot evidence` and `nomogram`: the evidence for a prediction, as a waterfall or on scales."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import status
from deciban.cli.explain import Pair, parse_pair
from deciban.cli.plot.picture_options import To, draws_picture
from deciban.errors import InputError

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput
    from deciban.cli.row_views import RowRange

EVIDENCE = a.example(
    "deciban plot evidence patients.deciban new-patients.csv --row 4 -o why.png",
    "deciban plot evidence patients.deciban new-patients.csv --classes flu,cold -o why.svg",
)
NOMOGRAM = a.example(
    "deciban plot nomogram patients.deciban --classes flu,cold -o sheet.pdf",
    "deciban plot nomogram patients.deciban new-patients.csv --row 4 -o row-4.png",
)
Row = Annotated[
    int, typer.Option("--row", metavar="NUMBER", min=1, help="The row to explain; the first after the header is 1.")
]
MaxBars = Annotated[
    int,
    typer.Option(
        "--most", metavar="NUMBER", min=1, max=100, help="How many columns or words have a bar, the strongest first."
    ),
]
MaxColumns = Annotated[
    int,
    typer.Option("--most", metavar="NUMBER", min=1, max=60, help="How many columns to draw, the strongest first."),
]


@a.with_options_of(a.table_options)
@draws_picture
def evidence(
    model: a.ModelFile,
    to: To,
    row: Row = 1,
    classes: Pair = None,
    most: MaxBars = 12,
    allow_missing_columns: a.AllowMissing = False,
    **options: Any,
) -> None:
    """Draw how much each column, or word, adds to the log-odds of a row's two most probable classes, in decibans."""
    from deciban import plots
    from deciban.cli.inputs import direct_role_hints_to_training, open_table
    from deciban.cli.model_files import open_model
    from deciban.model.table_explanations import explain_rows

    with direct_role_hints_to_training(), open_table(options) as table:
        picture = to([model, *table.paths])
        explanation = explain_rows(
            open_model(model), _read_row(table, row), parse_pair(classes), 1, allow_missing_columns
        )
        content = f"the evidence of row {row} for {explanation.winner[0]} against {explanation.runner_up[0]}"
        picture.save(plots.evidence(explanation, most=most), content)


@a.with_options_of(a.table_options, without=a.DOCUMENT_OPTIONS)
@draws_picture
def nomogram(
    model: a.ModelFile,
    to: To,
    row: Row = 1,
    classes: Pair = None,
    most: MaxColumns = 12,
    **options: Any,
) -> None:
    """Draw a scale of decibans for each column; their sum leads to the probability. With DATA a row is marked."""
    from deciban import plots
    from deciban.cli.inputs import direct_role_hints_to_training, open_table
    from deciban.cli.model_files import open_model

    picture, pair = to([model, *(options["data"] or ())]), parse_pair(classes)
    if not options["data"] and options["sql"] is None:
        with status("drawing …"):
            drawn, content = plots.nomogram(open_model(model), classes=pair, most=most), "a scale for each column"
    else:
        with direct_role_hints_to_training(), open_table(options) as table, status("drawing …"):
            drawn = plots.nomogram(open_model(model), _read_row(table, row), classes=pair, most=most)
            content = f"row {row} of {table.name}"
    picture.save(drawn, f"{drawn.get_title(loc='left')}, {content}")


def _read_row(table: TableInput, row: int) -> RowRange:
    """Return one row of a table; the first is 1."""
    from deciban.cli.row_views import RowRange

    part = RowRange(table.open(), row - 1, 1)
    if not sum(batch.num_rows for batch in part.batches({part.columns[0]: "text"})):
        raise InputError(f"{table.name} has no row {row}. Hint: --row counts from 1, without the header")
    return part
