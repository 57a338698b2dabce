"""`deciban plot densities`, `evidence`, `nomogram`, `sigmoid`, `losses` and `telltales`: pictures of a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import status
from deciban.cli.explain import Pair, parse_pair
from deciban.cli.plot.picture_options import To, draws_picture, open_optional_table
from deciban.cli.telltales import Column, Labels, open_telltale_model
from deciban.errors import InputError

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput
    from deciban.cli.row_views import RowRange
    from deciban.model.model import Model

Columns = Annotated[
    str | None,
    typer.Option(
        "--columns", metavar="A,B,…", help="The columns to draw; by default those with the strongest evidence."
    ),
]
MaxPanels = Annotated[
    int,
    typer.Option("--most", metavar="NUMBER", min=1, max=40, help="How many columns to draw, the strongest first."),
]
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
Label = Annotated[
    str | None,
    typer.Option(
        "--class", metavar="LABEL", help="The class whose probability is drawn; by default the second of two."
    ),
]
Number = Annotated[
    int, typer.Option("-n", "--number", metavar="NUMBER", min=1, max=60, help="How many words of each class.")
]


@draws_picture(
    "The distributions of columns that a model has learned.",
    "deciban plot densities patients.deciban patients.csv -o columns.png",
    "deciban plot densities patients.deciban --columns age,temperature -o two.svg",
    options_of=a.table_options,
    without=a.DOCUMENT_OPTIONS,
)
def densities(model: a.ModelFile, to: To, columns: Columns = None, most: MaxPanels = 9, **options: Any) -> None:
    """Draw p(x|k), a panel for each column: curves of numbers, shares of values; with DATA its numbers below."""
    from deciban import plots
    from deciban.cli.model_files import open_model

    picture = to([model, *(options["data"] or ())])
    names = None if columns is None else a.split_list(columns)
    with open_optional_table(options) as table:
        rows, opened = None if table is None else table.open(), open_model(model)
        with status("drawing …"):
            drawn = plots.densities(opened, rows, columns=names, most=most)
    panels = len(drawn.axes) if hasattr(drawn, "savefig") else 1
    picture.save(
        drawn, f"the distributions of {panels} column{'' if panels == 1 else 's'} in {len(opened.classes)} classes"
    )


@draws_picture(
    "The evidence for the prediction of a row, step by step.",
    "deciban plot evidence patients.deciban new-patients.csv --row 4 -o why.png",
    "deciban plot evidence patients.deciban new-patients.csv --classes flu,cold -o why.svg",
    options_of=a.table_options,
)
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


@draws_picture(
    "A chart for computing predictions by hand.",
    "deciban plot nomogram patients.deciban --classes flu,cold -o sheet.pdf",
    "deciban plot nomogram patients.deciban new-patients.csv --row 4 -o row-4.png",
    options_of=a.table_options,
    without=a.DOCUMENT_OPTIONS,
)
def nomogram(
    model: a.ModelFile, to: To, row: Row = 1, classes: Pair = None, most: MaxColumns = 12, **options: Any
) -> None:
    """Draw a scale of decibans for each column; their sum leads to the probability. With DATA a row is marked."""
    from deciban import plots
    from deciban.cli.inputs import direct_role_hints_to_training
    from deciban.cli.model_files import open_model

    picture, pair = to([model, *(options["data"] or ())]), parse_pair(classes)
    with direct_role_hints_to_training(), open_optional_table(options) as table, status("drawing …"):
        rows = None if table is None else _read_row(table, row)
        drawn = plots.nomogram(open_model(model), rows, classes=pair, most=most)
        content = "a scale for each column" if table is None else f"row {row} of {table.name}"
    picture.save(drawn, f"{drawn.get_title(loc='left')}, {content}")


def _read_row(table: TableInput, row: int) -> RowRange:
    """Return one row of a table; the first is 1."""
    from deciban.cli.row_views import RowRange

    part = RowRange(table.open(), row - 1, 1)
    if not sum(batch.num_rows for batch in part.batches({part.columns[0]: "text"})):
        raise InputError(f"{table.name} has no row {row}. Hint: --row counts from 1, without the header")
    return part


@draws_picture(
    "From log-odds to probability, with the data.",
    "deciban plot sigmoid patients.deciban patients.csv --class flu -o sigmoid.png",
    options_of=a.table_options,
    without=a.DOCUMENT_OPTIONS,
)
def sigmoid(
    model: a.ModelFile,
    to: To,
    label: Label = None,
    allow_missing_columns: a.AllowMissing = False,
    **options: Any,
) -> None:
    """Draw the curve from log-odds to probability over the rows of DATA, which must have the column to predict."""
    from deciban import plots
    from deciban.cli.inputs import direct_role_hints_to_training, open_table
    from deciban.cli.model_files import open_model
    from deciban.plots.plot_rows import draw_sample

    with direct_role_hints_to_training(), open_table(options) as table:
        picture, opened = to([model, *table.paths]), open_model(model)
        k = find_class(opened, label)
        name = opened.classes[k]
        with status("reading and drawing …"):
            odds, hits = odds_and_hits(opened, table, k, allow_missing_columns)
            rows = draw_sample(len(odds))
            drawn = plots.sigmoid(odds[rows], hits[rows], label=name)
        shown = "" if len(rows) == len(odds) else f" ({len(rows)} of them shown)"
        picture.save(drawn, f"the probability of {name} for {len(odds)} rows{shown}")


def find_class(model: Model, label: str | None) -> int:
    """Return the index of the class of --class, or of the second of two classes."""
    from deciban.errors import list_names, unknown_class_error

    names = [str(name) for name in model.classes]
    if label is None and len(names) > 2:
        raise InputError(f"the model has {len(names)} classes. Hint: --class names one of {list_names(names, 8)}")
    if label is not None and label not in names:
        raise unknown_class_error(label, names)
    return len(names) - 1 if label is None else names.index(label)


def odds_and_hits(model: Model, table: TableInput, k: int, allow_missing: bool) -> tuple[Any, Any]:
    """Return ln[p / (1 − p)] of class k, and whether each row is of it, of the rows whose class is known."""
    import numpy as np

    from deciban.cli.row_views import CopyingView
    from deciban.scores.posterior import log_odds
    from deciban.sources.arrow_cells import format_label

    source = table.open()
    if model.target not in source.columns:
        raise InputError(f"{source.name} has no column {model.target!r}, which has the true classes")
    view = CopyingView(source, [model.target])
    odds, truth = [np.empty(0)], []
    for batches, parts in model.blocks(view, allow_missing):
        odds.append(log_odds(model.scores(parts, "log_posterior"), k))
        truth += view.copied_columns(batches)[0].to_pylist()
    known = np.array([label is not None for label in truth], dtype=bool)
    if not known.any():
        raise InputError(f"{source.name} has no row with a class in {model.target!r}, so there is nothing to draw")
    labels = [label if isinstance(label, str) else format_label(label) for label in truth if label is not None]
    return np.concatenate(odds)[known], np.array(labels) == str(model.scorer.outline.classes[k])


@draws_picture("Four loss functions over the margin.", "deciban plot losses -o losses.svg")
def losses(to: To) -> None:
    """Draw the zero-one, logistic (base 2), exponential and hinge loss over the margin."""
    picture = to(())
    from deciban import plots

    picture.save(plots.losses(), "four losses over the margin")


@draws_picture(
    "The words that distinguish each class from the others.",
    "deciban plot telltales messages.deciban -o words.png",
    "deciban plot telltales newsgroups.deciban --class sci.space --class sci.med -o two.svg",
)
def telltales(model: a.ModelFile, to: To, labels: Labels = None, number: Number = 12, column: Column = None) -> None:
    """Draw the telltales of each class, the strongest first: evidence as bars, with 90 % intervals."""
    from deciban import plots

    picture, source = to([model]), open_telltale_model(model, column)
    with status("drawing …"):
        classes = source.select_classes(labels)
        drawn = plots.telltales(source.model, classes, n=number, column=column)
    picture.save(drawn, f"the telltales of {len(classes)} classes")
