"""`deciban plot sigmoid`: from log-odds to probability, with the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import status
from deciban.cli.plot.picture_options import Picture, To, pictured
from deciban.errors import InputError

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput
    from deciban.model.model import Model

EXAMPLE = a.example("deciban plot sigmoid patients.deciban patients.csv --class flu -o sigmoid.png")
Label = Annotated[
    str | None,
    typer.Option(
        "--class", metavar="LABEL", help="Whose probability is drawn; of two classes the second unless given."
    ),
]


@pictured
def command(
    model: a.ModelFile,
    to: To,
    data: a.Tables = None,
    label: Label = None,
    allow_missing_columns: a.AllowMissing = False,
    sql: a.Sql = None,
    format: a.Format = None,
    encoding: a.Encoding = "utf-8",
    missing: a.Missing = None,
    hive: a.Hive = False,
) -> None:
    """Draw the curve from log-odds to probability over the rows of DATA, which must have the column to predict."""
    from deciban.cli.inputs import direct_role_hints_to_training, given

    with direct_role_hints_to_training(), given(data, sql, None, format, encoding, "strict", missing, hive) as table:
        picture = to([model, *table.paths])
        run(model, table, picture, label, allow_missing_columns)


def run(path: Path, table: TableInput, picture: Picture, label: str | None, allow: bool) -> None:
    """Ask the model about every row, draw, write."""
    from deciban.cli.model_files import open_model
    from deciban.plots import sigmoid
    from deciban.plots.plot_rows import thinned

    model = open_model(path)
    k = chosen(model, label)
    with status("reading and drawing …"):
        odds, hits = odds_and_hits(model, table, k, allow)
        rows = thinned(len(odds))
        drawn = sigmoid(odds[rows], hits[rows], label=model.classes[k])
    shown = "" if len(rows) == len(odds) else f" ({len(rows)} of them shown)"
    picture.save(drawn, f"the probability of {model.classes[k]} for {len(odds)} rows{shown}")


def chosen(model: Model, label: str | None) -> int:
    """The place of the class that is meant."""
    from deciban.errors import no_such_class

    names = [str(name) for name in model.classes]
    if label is None and len(names) > 2:
        shown = ", ".join(names[:8]) + (" …" if len(names) > 8 else "")
        raise InputError(f"the model has {len(names)} classes. Hint: --class names one of {shown}")
    if label is not None and label not in names:
        raise no_such_class(label, names)
    return len(names) - 1 if label is None else names.index(label)


def odds_and_hits(model: Model, table: TableInput, k: int, allow: bool) -> tuple[Any, Any]:
    """ln[p / (1 − p)] of class k and whether each row is of it, where the class is known."""
    import numpy as np

    from deciban.cli.row_views import Carrying
    from deciban.scores.posterior import log_odds

    source = table.open()
    if model.target not in source.columns:
        raise InputError(f"{source.name} has no column {model.target!r}, which says what the rows are")
    view = Carrying(source, [model.target])
    found, truth = [np.empty(0)], []
    for batches, parts in model.blocks(view, allow):
        found.append(log_odds(model.scores(parts, "log_posterior"), k))
        truth += view.carried_by(batches)[0].to_pylist()
    known = np.array([label is not None for label in truth], dtype=bool)
    if not known.any():
        raise InputError(f"{source.name} has no row with a class in {model.target!r}, so there is nothing to draw")
    hits = np.array([_told(label) == str(model.scorer.outline.classes[k]) for label in truth], dtype=bool)
    return np.concatenate(found)[known], hits[known]


def _told(label: Any) -> str | None:
    from deciban.sources.arrow_cells import label_text

    return label if label is None or isinstance(label, str) else label_text(label)
