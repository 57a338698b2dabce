"""`deciban plot reliability`: whether probabilities mean what they say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import status
from deciban.cli.plot.picture_options import Picture, To, pictured
from deciban.cli.plot.reports import judging, report_on
from deciban.cli.plot.shared_options import table_of, wishes
from deciban.cli.train import Calibrate

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput
    from deciban.metrics.report import Report

EXAMPLE = a.example(
    "deciban plot reliability patients.csv --target diagnosis -o reliability.png",
    "deciban plot reliability patients.csv --target diagnosis --calibrate auto -o before-and-after.png",
    "deciban plot reliability next-year.csv --model plain.deciban --beside calibrated.deciban -o two.svg",
)
Beside = Annotated[
    Path | None,
    typer.Option("--beside", metavar="MODEL", help="Draw this model on the same rows too, beside that of --model."),
]


@judging
@pictured
def command(
    to: To,
    beside: Beside = None,
    calibrate: Calibrate = None,
    **options: Any,
) -> None:
    """Draw how often a model is right when it claims to be so sure, and how often it claims that; with --calibrate
    before and after calibration.
    """
    with table_of(options) as table:
        if beside is not None and options["model"] is None:
            raise typer.BadParameter("--beside is for --model: it names another model to judge by the same rows")
        models = [path for path in (options["model"], beside) if path is not None]
        picture = to([*table.paths, *models])
        reports = twice(table, options, calibrate) if calibrate else judged(table, options, beside)
        run(picture, reports)


def run(picture: Picture, reports: Mapping[str, Report]) -> None:
    """Draw, write."""
    from deciban.plots import reliability

    with status("drawing …"):
        ax = reliability(*reports.values(), names=list(reports) if len(reports) > 1 else None)
    first = next(iter(reports.values()))
    picture.save(ax, f"the reliability of {' and '.join(filter(None, reports)) or 'a model'}, by {first.rows} rows")


def judged(table: TableInput, options: Mapping[str, Any], beside: Path | None) -> dict[str, Report]:
    """The reports by name: of two models, or of one alone."""
    if beside is None:
        return {"": report_on(table, options)}
    pair = {str(path): {**options, "model": path} for path in (options["model"], beside)}
    return {name: report_on(table, one) for name, one in pair.items()}


def twice(table: TableInput, options: Mapping[str, Any], method: str) -> dict[str, Report]:
    """The reports of training, before and after calibration: rows judged by model and map without their folds."""
    from deciban.cli.train import find_target

    for name in ("model", "folds", "groups", "order"):
        if options[name] is not None:
            raise typer.BadParameter(f"--calibrate judges in the ten folds of training, so --{name} is not free")
    target = find_target(table, options["target"], options["classes"])
    wished = wishes(options, "target", "model", "allow_missing_columns")
    names = {"as learned": None, f"calibrated ({method})": method}
    return {name: _trained(table, target, {**wished, "calibrate": which}) for name, which in names.items()}


def _trained(table: TableInput, target: str, wished: dict[str, Any]) -> Report:
    import deciban
    from deciban.cli.model_files import settings
    from deciban.cli.progress import progress
    from deciban.errors import InputError

    made = settings(wished)
    with progress(table, "learning") as rows:
        model = deciban.train(table.source, target=target, progress=rows, **table.reading, **made)
    if model.held_out is None:
        raise InputError(
            f"{table.name} cannot be judged as it is learned, so there is nothing to draw before and after"
        )
    return model.held_out
