"""`deciban compare`, `deciban learning` and `deciban dependence`: how to find a better model of a table.

`compare` shows naive Bayes, Gaussian Bayes, logistic, evidence and boosted learners side by side; `learning` shows
models by the number of rows learned, and by the share of wrong labels; `dependence` shows how far the table violates
the assumption of naive Bayes, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from deciban.cli import options as a
from deciban.cli.files import print_json
from deciban.cli.inputs import TableInput, open_table
from deciban.cli.parser import DEBUG, JSON, command, flag, number, option, switch, without
from deciban.cli.render import Screen, shorten
from deciban.cli.training_options import call_on_table, find_target, format_training_command
from deciban.formatting import format_count
from deciban.option_values import NumberRange, join_list, split_list

if TYPE_CHECKING:
    from deciban.metrics.comparison import Comparison
    from deciban.metrics.dependence import Dependence
    from deciban.metrics.learning_curves import LearningCurve

MAX_PAIR_NAME_WIDTH = 12
"""The characters of a column's name that are shown in a pair of columns."""


@command(
    option("--learners", "NAME,NAME,…",
           "The learners to compare: bayes, tan, aode, gaussian (under each covariance, or by name full, tied, "
           "diagonal …), logistic, evidence, boosted; by default five of them: bayes, one covariance, and the last "
           "three.", type=split_list),
    flag("--full", "Compare all learners, with every covariance, and measure learning curves."),
    number("--seconds", "NUMBER", "Leave out learners, and draws of curves, that would take longer than this.",
           minimum=0, excluded=(0.0, inf), kind=float),
    number("--jobs", "NUMBER", "How many processes learn, at most (default: as many as there are cores).", minimum=1),
    number("--folds", "NUMBER", "How many folds the rows are split into.", minimum=2, default=10),
    option("--groups", "COL", "Keep rows with the same value in this column in one fold."),
    number("--draws", "NUMBER", "How often rows are drawn for the learning curves (default: 10).", minimum=2),
    a.numbers("--sizes", "N,N,…", "How many rows are learned for the curves (default: 10, 20, 40 …).",
              NumberRange(int, 2)),
    switch("--curve", "Whether learning curves are measured: by default with --full, --draws or --sizes.", None),
    switch("--times", "Whether training times are shown, which vary from run to run."),
    a.TARGET, a.CALIBRATE, *without(a.MODEL_OPTIONS, "learner", "covariance"), *a.TABLE_OPTIONS, JSON, DEBUG,
    examples=[
        "deciban compare patients.csv --target diagnosis",
        "deciban compare patients.csv --target diagnosis --full --seconds 60",
        "deciban compare patients.csv --target diagnosis --learners bayes,tied,logistic --draws 30",
    ],
)  # fmt: skip
def compare(times: bool, json: bool, **options: Any) -> None:
    """Compare learners on the same rows: accuracy, log-loss, calibration, time, parameters, and quality on few rows;
    and recommend one.
    """
    with open_table(options) as table:
        comparison = compare_learners(table, options)
        # C is named for a learner that has one, and join by its public name
        best = {"C": None, **comparison.best.arguments}
        joined = {"join": best.pop("blocks")} if "blocks" in best else {}
        recommended = format_training_command(table, comparison.target, options, {**best, **joined})
        _show_comparison(comparison, table, json, times, recommended)


def compare_learners(table: TableInput, options: Mapping[str, Any]) -> Comparison:
    """Compare the learners of --learners, or the usual ones, on a table with the given options."""
    names = ("learners", "full", "seconds", "folds", "groups", "draws", "sizes", "calibrate")
    own = {"curve": options["curve"], "n_jobs": options["jobs"]}
    comparison: Comparison = call_on_table("compare", table, options, names, **own)
    return comparison


def _show_comparison(comparison: Comparison, data: TableInput, as_json: bool, times: bool, recommended: str) -> None:
    """Print the figures as JSON or as tables, then the recommended command."""
    if as_json:
        figures = comparison.to_dict()
        for each in [] if times else figures["learners"]:
            del each["seconds"]
        print_json(figures)
        return
    from deciban.metrics import comparison_advice

    out = Screen()
    out.print_title(f"{comparison.target} of {data.name}, by {format_count(len(comparison.rows), 'learner')}")
    head, *body = comparison_advice.tabulate_learners(comparison, times)
    out.print_table(head, body, right=range(2, len(head)), wide=1)
    for note in (comparison_advice.describe_signs(comparison), comparison.measured, *comparison.notes):
        out.print_line(f"({note})")
    if comparison.growth is not None:
        rows = format_count(comparison.growth.held_out, "row")
        held_out = f"on {rows} held out, the mean of {comparison.growth.draws} draws"
        out.print_heading("Accuracy % by rows learned", held_out)
        head, *body = comparison_advice.tabulate_curves(comparison)
        out.print_table(head, body, right=range(1, len(head)))
        if comparison.curve_summary:
            out.print_line(comparison.curve_summary)
    out.print_heading("Advice")
    out.print_line(comparison.advice)
    out.print_command(recommended)


@command(
    a.numbers("--sizes", "N,N,…",
              "How many rows to learn, or shares of those that are not held out: 0.5 (default: all, half, a quarter "
              "…).", NumberRange(minimum=0, excluded=(0.0, inf))),
    a.numbers("--flipped", "SHARE,…",
              "Replace a share of the training labels by another class, to measure the effect of label noise.",
              NumberRange(minimum=0, maximum=1, excluded=(1.0,))),
    a.TARGET, *a.MODEL_OPTIONS, *a.TABLE_OPTIONS, JSON, DEBUG,
    examples=[
        "deciban learning patients.csv --target diagnosis",
        "deciban learning patients.csv --target diagnosis --sizes 20,50,100 --flipped 0,0.1,0.2",
    ],
)  # fmt: skip
def learning(json: bool, **options: Any) -> None:
    """Measure models of more and more rows on the same held-out rows: would more rows help, and does noise hurt?"""
    with open_table(options) as table:
        title = f"{find_target(table, options)} of {table.name}, by how many rows are learned"
        _show_curve(measure_curve(table, options), title, json)


measure_curve = partial(call_on_table, "learning_curve", names=("sizes", "flipped"), again="learning")
"""Compute the learning curve of a table: a function of the table and the options of the command."""


def _show_curve(curve: LearningCurve, title: str, as_json: bool) -> None:
    """Print the figures as JSON or as a table."""
    if as_json:
        print_json(curve.to_dict())
        return
    out = Screen()
    out.print_title(title)
    head, *body = curve.table()
    out.print_table(head, body, right=range(len(head)))
    for note in curve.notes():
        out.print_line(f"({note})")


@command(
    a.TARGET, a.ROLES, a.WEIGHTS, a.SURVEY_WEIGHTS, a.most("How many of the pairs to show.", 10),
    *without(a.TABLE_OPTIONS, "folders"), JSON, DEBUG,
    examples=[
        "deciban dependence patients.csv --target diagnosis",
        "deciban dependence patients.csv --target diagnosis --json",
    ],
)  # fmt: skip
def dependence(most: int, json: bool, **options: Any) -> None:
    """Measure the mutual information of columns given the class, which naive Bayes assumes to be zero."""
    with open_table(options) as table:
        found = measure_dependence(table, options)
        if json:
            print_json(found.to_dict())
        else:
            _show_dependence(found, table, most, options)


measure_dependence = partial(call_on_table, "dependence", doing="measuring")
"""Compute the dependence of the columns of a table: a function of the table and the options of the command."""


def _show_dependence(found: Dependence, table: TableInput, most: int, options: Mapping[str, Any]) -> None:
    """Print the pairs, the advice, and the command that follows it."""
    from deciban.metrics.dependence import HEAD

    out = Screen()
    rows = " of ".join(format_count(n, "row") for n in dict.fromkeys([found.rows, found.rows_read]))
    pairs, features = len(found.pairs), format_count(len(found.features), "feature")
    out.print_title(f"{found.target} of {table.name}: {format_count(pairs, 'pair')} of {features}, in {rows}")
    out.print_heading("Pairs", "mutual information of two columns, in decibans per row")
    body = [
        pair.cells(f"{shorten(pair.first, MAX_PAIR_NAME_WIDTH)}, {shorten(pair.second, MAX_PAIR_NAME_WIDTH)}")
        for pair in found.pairs[:most]
    ]
    out.print_table(HEAD, body, right=[1, 2, 3, 4])
    if pairs > most:
        out.print_line(f"… and {format_count(pairs - most, 'more pair')} (--most {pairs} shows them all)")
    out.print_line(
        "Naive Bayes assumes 0 given the class; p is the chance of as much if that were true. Twice: evidence for "
        "the true class that is counted twice; below 0, too little of it is counted.",
    )
    out.print_heading("What to do")
    for advice in found.advice:
        out.print_line(str(advice))
    if not found.advice:
        out.print_line("nothing: no column repeats another, and no two inform more together than naive Bayes assumes")
    if not (found.drop or found.blocks):
        return
    out.print_heading("Next")
    out.print_line(
        "this advice is for independent columns (--structure naive); by default, train finds dependences itself. "
        "Measure whether the whole model improves, with these options and without them:"
    )
    roles = a.parse_roles(options["roles"] or ()) | dict.fromkeys(found.drop, "skip")
    recommended = {
        "roles": [f"{name}={role}" for name, role in roles.items()],
        "join": [join_list(block) for block in found.blocks],
        "structure": "naive",
    }
    out.print_command(format_training_command(table, found.target, options, recommended, "evaluate"))
