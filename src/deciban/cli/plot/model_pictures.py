"""`deciban plot densities`, `evidence`, `nomogram`, `sigmoid`, `losses` and `telltales`: pictures of a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from deciban.cli import options as a
from deciban.cli.error_handling import show_spinner
from deciban.cli.inputs import TableInput, open_optional_table, open_table
from deciban.cli.parser import number as number_option
from deciban.cli.parser import option
from deciban.cli.plot.picture_options import NUMBER_TABLE_OPTIONS, Picture, picture_command, plots
from deciban.cli.telltales import COLUMN, LABELS, load_text_model, select_classes
from deciban.command_hints import direct_role_hints_to_training
from deciban.errors import InputError, list_names
from deciban.formatting import format_count
from deciban.load_model import open_model
from deciban.option_values import split_list
from deciban.sources.row_views import CopyingView, RowRange

if TYPE_CHECKING:
    from deciban.model.model import Model

ROW = number_option("--row", "NUMBER", "The row to explain; the first after the header is 1.", minimum=1, default=1)


@picture_command(
    a.MODEL_FILE,
    option("--columns", "COL,COL,…", "The columns to draw; by default those with the strongest evidence.",
           type=split_list),
    a.most("How many columns to draw, the strongest first.", 9, maximum=40), *NUMBER_TABLE_OPTIONS,
    examples=[
        "deciban plot densities patients.deciban patients.csv -o columns.png",
        "deciban plot densities patients.deciban --columns age,temperature -o two.svg",
    ],
)  # fmt: skip
def densities(picture: Picture, model: Path, columns: list[str] | None, most: int, **options: Any) -> None:
    """Draw p(x|k), a panel for each column: curves of numbers, shares of values; with DATA its numbers below."""
    picture.check([model, *options["data"]])
    with open_optional_table(options) as table:
        rows, opened = None if table is None else table.open(), open_model(model)
        with show_spinner("drawing …"):
            drawn = plots.densities(opened, rows, columns=columns, most=most)
    panels = len(drawn.axes) if hasattr(drawn, "savefig") else 1
    shown, classes = format_count(panels, "column"), format_count(len(opened.classes), "class")
    picture.save(drawn, f"the distributions of {shown} in {classes}")


@picture_command(
    a.MODEL_FILE, ROW, a.PAIR, a.most("How many columns or words have a bar, the strongest first.", 12, maximum=100),
    a.ALLOW_MISSING, *a.TABLE_OPTIONS,
    examples=[
        "deciban plot evidence patients.deciban new-patients.csv --row 4 -o why.png",
        "deciban plot evidence patients.deciban new-patients.csv --classes flu,cold -o why.svg",
    ],
)  # fmt: skip
def evidence(
    picture: Picture, model: Path, row: int, classes: tuple[str, str] | None, most: int, allow_missing_columns: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Draw how much each column, or word, adds to the log-odds of a row's two most probable classes, in decibans."""
    from deciban.model.table_explanations import explain_rows

    with direct_role_hints_to_training(), open_table(options) as table:
        picture.check([model, *table.paths])
        loaded = open_model(model)
        rows = _read_row(table.for_model(loaded), row)
        explanation = explain_rows(loaded, rows, classes, 1, allow_missing_columns)
        content = f"the evidence of row {row} for {explanation.winner[0]} against {explanation.runner_up[0]}"
        picture.save(plots.evidence(explanation, most=most), content)


@picture_command(
    a.MODEL_FILE, ROW, a.PAIR, a.most("How many columns to draw, the strongest first.", 12, maximum=60),
    *NUMBER_TABLE_OPTIONS,
    examples=[
        "deciban plot nomogram patients.deciban --classes flu,cold -o sheet.pdf",
        "deciban plot nomogram patients.deciban new-patients.csv --row 4 -o row-4.png",
    ],
)  # fmt: skip
def nomogram(
    picture: Picture, model: Path, row: int, classes: tuple[str, str] | None, most: int, **options: Any
) -> None:
    """Draw a scale of decibans for each column; their sum leads to the probability. With DATA a row is marked."""
    picture.check([model, *options["data"]])
    with direct_role_hints_to_training(), open_optional_table(options) as table, show_spinner("drawing …"):
        loaded = open_model(model)
        rows = None if table is None else _read_row(table.for_model(loaded), row)
        drawn = plots.nomogram(loaded, rows, classes=classes, most=most)
        content = "a scale for each column" if table is None else f"row {row} of {table.name}"
    picture.save(drawn, f"{drawn.get_title(loc='left')}, {content}")


def _read_row(table: TableInput, row: int) -> RowRange:
    """Return a view of one row of a table, the first is 1; raise an InputError where there is no such row."""
    part = RowRange(table.open(), row - 1, 1)
    if not sum(batch.num_rows for batch in part.batches({part.columns[0]: "text"})):
        raise table.absent_row_error(row)
    return part


@picture_command(
    a.MODEL_FILE,
    option("--class", "LABEL", "The class whose probability is drawn; by default the second of two.", dest="label"),
    a.ALLOW_MISSING, *NUMBER_TABLE_OPTIONS,
    examples=["deciban plot sigmoid patients.deciban patients.csv --class flu -o sigmoid.png"],
)  # fmt: skip
def sigmoid(picture: Picture, model: Path, label: str | None, allow_missing_columns: bool, **options: Any) -> None:
    """Draw the curve from log-odds to probability over the rows of DATA, which must have the column to predict."""
    from deciban.plots.plot_rows import choose_drawn_rows

    with direct_role_hints_to_training(), open_table(options) as table:
        picture.check([model, *table.paths])
        opened = open_model(model)
        k = find_class(opened, label)
        name = opened.classes[k]
        with show_spinner("reading and drawing …"):
            odds, hits = compute_log_odds_and_hits(opened, table, k, allow_missing_columns)
            rows = choose_drawn_rows(len(odds))
            drawn = plots.sigmoid(odds[rows], hits[rows], label=name)
        shown = "" if len(rows) == len(odds) else f" ({format_count(len(rows))} of them shown)"
        picture.save(drawn, f"the probability of {name} for {format_count(len(odds), 'row')}{shown}")


def find_class(model: Model, label: str | None) -> int:
    """Return the index of the class of --class, or of the last of at most two; InputError if unknown or ambiguous."""
    if label is not None:
        return model.classes.index(select_classes(model, [label])[0])
    if len(model.classes) > 2:
        shown = list_names([str(name) for name in model.classes], 8)
        raise InputError(f"the model has {len(model.classes)} classes. Hint: --class names one of {shown}")
    return len(model.classes) - 1


def compute_log_odds_and_hits(model: Model, table: TableInput, k: int, allow_missing: bool) -> tuple[Any, Any]:
    """Return ln[p / (1 − p)] of class k, and whether class k is the true one, for each row whose class is known."""
    import numpy as np

    from deciban.scores.posterior import log_odds
    from deciban.sources.arrow_cells import to_texts

    source = table.open()
    if model.target not in source.columns:
        raise InputError(f"{source.name} has no column {model.target!r}, which has the true classes")
    view = CopyingView(source, [model.target])
    odds, truth = [np.empty(0)], []
    for batches, parts in model._read_blocks(view, allow_missing):
        odds.append(log_odds(model._score(parts, "log_posterior"), k))
        truth += to_texts(view.trim(view.copied_columns(batches)[0])).to_pylist()
    known = np.array([label is not None for label in truth], dtype=bool)
    if not known.any():
        raise InputError(f"{source.name} has no row with a class in {model.target!r}, so there is nothing to draw")
    name = str(model._scorer.outline.classes[k])
    return np.concatenate(odds)[known], np.array([label == name for label in truth])[known]


@picture_command(examples=["deciban plot losses -o losses.svg"])
def losses(picture: Picture) -> None:
    """Draw the zero-one, logistic (base 2), exponential and hinge loss over the margin."""
    picture.check()
    picture.save(plots.losses(), "four losses over the margin")


@picture_command(
    a.MODEL_FILE, LABELS,
    a.most("How many words to draw of each class, the strongest first.", 12, maximum=60, names="-n --number"), COLUMN,
    examples=[
        "deciban plot telltales messages.deciban -o words.png",
        "deciban plot telltales newsgroups.deciban --class sci.space --class sci.med -o two.svg",
    ],
)  # fmt: skip
def telltales(picture: Picture, model: Path, labels: list[str] | None, number: int, column: str | None) -> None:
    """Draw the telltales of each class, the strongest first: evidence as bars, with 90 % intervals."""
    picture.check([model])
    opened = load_text_model(model, column)
    with show_spinner("drawing …"):
        classes = select_classes(opened, labels)
        drawn = plots.telltales(opened, classes, n=number, column=column)
    picture.save(drawn, f"the telltales of {format_count(len(classes), 'class')}")
