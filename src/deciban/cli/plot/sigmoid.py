"""`deciban plot sigmoid` and `losses`: curves over the log-odds and over the margin."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import status
from deciban.cli.plot.picture_options import Picture, To, draws_picture
from deciban.errors import InputError

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput
    from deciban.model.model import Model

SIGMOID = a.example("deciban plot sigmoid patients.deciban patients.csv --class flu -o sigmoid.png")
LOSSES = a.example("deciban plot losses -o losses.svg")
Label = Annotated[
    str | None,
    typer.Option(
        "--class", metavar="LABEL", help="The class whose probability is drawn; by default the second of two."
    ),
]


@a.with_options_of(a.table_options, without=a.DOCUMENT_OPTIONS)
@draws_picture
def sigmoid(
    model: a.ModelFile,
    to: To,
    label: Label = None,
    allow_missing_columns: a.AllowMissing = False,
    **options: Any,
) -> None:
    """Draw the curve from log-odds to probability over the rows of DATA, which must have the column to predict."""
    from deciban.cli.inputs import direct_role_hints_to_training, open_table

    with direct_role_hints_to_training(), open_table(options) as table:
        picture = to([model, *table.paths])
        run(model, table, picture, label, allow_missing_columns)


def run(path: Path, table: TableInput, picture: Picture, label: str | None, allow: bool) -> None:
    """Predict every row, draw and write."""
    from deciban import plots
    from deciban.cli.model_files import open_model
    from deciban.plots.plot_rows import draw_sample

    model = open_model(path)
    k = find_class(model, label)
    with status("reading and drawing …"):
        odds, hits = odds_and_hits(model, table, k, allow)
        rows = draw_sample(len(odds))
        drawn = plots.sigmoid(odds[rows], hits[rows], label=model.classes[k])
    shown = "" if len(rows) == len(odds) else f" ({len(rows)} of them shown)"
    picture.save(drawn, f"the probability of {model.classes[k]} for {len(odds)} rows{shown}")


def find_class(model: Model, label: str | None) -> int:
    """Return the index of the class of --class, or of the second of two classes."""
    from deciban.errors import unknown_class_error

    names = [str(name) for name in model.classes]
    if label is None and len(names) > 2:
        shown = ", ".join(names[:8]) + (" …" if len(names) > 8 else "")
        raise InputError(f"the model has {len(names)} classes. Hint: --class names one of {shown}")
    if label is not None and label not in names:
        raise unknown_class_error(label, names)
    return len(names) - 1 if label is None else names.index(label)


def odds_and_hits(model: Model, table: TableInput, k: int, allow: bool) -> tuple[Any, Any]:
    """Return ln[p / (1 − p)] of class k, and whether each row is of it, of the rows whose class is known."""
    import numpy as np

    from deciban.cli.row_views import CopyingView
    from deciban.scores.posterior import log_odds

    source = table.open()
    if model.target not in source.columns:
        raise InputError(f"{source.name} has no column {model.target!r}, which has the true classes")
    view = CopyingView(source, [model.target])
    found, truth = [np.empty(0)], []
    for batches, parts in model.blocks(view, allow):
        found.append(log_odds(model.scores(parts, "log_posterior"), k))
        truth += view.copied_columns(batches)[0].to_pylist()
    known = np.array([label is not None for label in truth], dtype=bool)
    if not known.any():
        raise InputError(f"{source.name} has no row with a class in {model.target!r}, so there is nothing to draw")
    hits = np.array([_label_text(label) == str(model.scorer.outline.classes[k]) for label in truth], dtype=bool)
    return np.concatenate(found)[known], hits[known]


def _label_text(label: Any) -> str | None:
    from deciban.sources.arrow_cells import format_label

    return label if label is None or isinstance(label, str) else format_label(label)


@draws_picture
def losses(to: To) -> None:
    """Draw the zero-one, logistic (base 2), exponential and hinge loss over the margin."""
    picture = to(())
    from deciban import plots

    picture.save(plots.losses(), "four losses over the margin")
