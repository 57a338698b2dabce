"""`deciban compare`: naive Bayes, Gaussian Bayes, logistic, evidence and boosted learners side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors

if TYPE_CHECKING:
    from rich.console import Console

    from deciban.cli.inputs import TableInput
    from deciban.metrics.comparison import Comparison

EXAMPLE = a.example(
    "deciban compare patients.csv --target diagnosis",
    "deciban compare patients.csv --target diagnosis --learners bayes,tied,logistic --draws 30",
)
Learners = Annotated[
    str | None,
    typer.Option(
        "--learners",
        metavar="NAME,NAME,…",
        help="The learners to compare: bayes, gaussian (under each covariance, or by name full, tied, diagonal …), "
        "logistic, evidence, boosted; all by default.",
    ),
]
Folds = Annotated[
    int, typer.Option("--folds", metavar="NUMBER", min=2, help="How many folds the rows are split into.")
]
Groups = Annotated[
    str | None,
    typer.Option("--groups", metavar="COL", help="Keep rows with the same value in this column in one fold."),
]
Draws = Annotated[
    int, typer.Option("--draws", metavar="NUMBER", min=2, help="How often rows are drawn for the learning curves.")
]
Sizes = Annotated[
    str | None,
    typer.Option(
        "--sizes", metavar="N,N,…", help="How many rows are learned for the curves (default: 10, 20, 40 …)."
    ),
]
Curve = Annotated[bool, typer.Option("--curve/--no-curve", help="Whether learning curves are measured.")]
Times = Annotated[
    bool,
    typer.Option("--times/--no-times", help="Whether training times are shown, which vary from run to run."),
]


@a.with_options_of(a.model_options, a.table_options, without=("learner", "covariance"))
def command(
    learners: Learners = None,
    folds: Folds = 10,
    groups: Groups = None,
    draws: Draws = 10,
    sizes: Sizes = None,
    curve: Curve = True,
    times: Times = True,
    json: a.AsJson = False,
    debug: a.Debug = False,
    **options: Any,
) -> None:
    """Compare learners on the same rows: accuracy, log-loss, calibration, time, parameters, and quality on few rows;
    and recommend one.
    """
    from deciban.cli.inputs import open_table
    from deciban.cli.training_options import format_training_command

    options |= {
        "learners": learners, "folds": folds, "groups": groups, "draws": draws, "sizes": sizes, "curve": curve,
    }  # fmt: skip
    with handle_errors(debug), open_table(options) as table:
        comparison = compare_learners(table, options)
        # C is named for a learner that has one, and join by its public name
        best = {"C": None, **comparison.best.arguments}
        joined = {"join": best.pop("blocks")} if "blocks" in best else {}
        recommended = format_training_command(table, comparison.target, options, {**best, **joined})
        show(comparison, table, json, times, recommended)


def compare_learners(table: TableInput, options: Mapping[str, Any]) -> Comparison:
    """Compare the learners on a table."""
    import deciban
    from deciban.cli.progress import progress
    from deciban.cli.training_options import find_target, training_arguments

    target = find_target(table, options)
    names = ("learners", "folds", "groups", "draws", "sizes")
    arguments = training_arguments(a.select_options(options, *names)) | {"curve": options["curve"]}
    if "sizes" in arguments:
        arguments["sizes"] = a.parse_numbers(arguments["sizes"], "--sizes")
    if "learners" in arguments:
        arguments["learners"] = a.split_list(arguments["learners"])
    with progress(table, "learning", again="comparing") as rows:
        return deciban.compare(table.source, target=target, progress=rows, **table.reading, **arguments)


def show(comparison: Comparison, data: TableInput, as_json: bool, times: bool, recommended: str) -> None:
    """Print the figures as JSON or as tables, then the recommended command."""
    from deciban.cli.output import print_json

    if as_json:
        print_json(to_dict(comparison, times))
        return
    from deciban.cli.render import command as print_command
    from deciban.cli.render import console, heading, line, print_title, table
    from deciban.metrics import comparison_advice

    out = console()
    print_title(out, f"{comparison.target} of {data.name}, by {len(comparison.rows)} learners")
    head, *body = comparison_advice.table(comparison, times)
    table(out, head, body, right=range(2, len(head)), wide=1)
    for note in (comparison_advice.signs(comparison), comparison.measured, *comparison.notes):
        line(out, f"({note})")
    if comparison.growth is not None:
        _show_curves(out, comparison)
    heading(out, "Advice")
    line(out, comparison.advice)
    print_command(out, recommended)


def to_dict(comparison: Comparison, times: bool) -> dict[str, Any]:
    """Return the comparison for JSON, with training times or without."""
    figures = comparison.to_dict()
    if not times:
        figures["learners"] = [{k: v for k, v in each.items() if k != "seconds"} for each in figures["learners"]]
    return figures


def _show_curves(out: Console, comparison: Comparison) -> None:
    from deciban.cli.render import heading, line, table
    from deciban.metrics import comparison_advice

    assert comparison.growth is not None
    held_out = f"on {comparison.growth.held_out} rows held out, the mean of {comparison.growth.draws} draws"
    heading(out, "Accuracy % by rows learned", held_out)
    head, *body = comparison_advice.curve_table(comparison)
    table(out, head, body, right=range(1, len(head)))
    if comparison.growing:
        line(out, comparison.growing)
