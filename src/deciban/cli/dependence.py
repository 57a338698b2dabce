"""`deciban dependence`: how far a table violates the assumption of naive Bayes, and what to do about it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from deciban.cli import options as a
from deciban.cli.files import print_json
from deciban.cli.inputs import open_table
from deciban.cli.parser import DEBUG, JSON, command, without
from deciban.cli.render import Screen, format_row_count, quote_word, shorten
from deciban.cli.training_options import call_on_table

if TYPE_CHECKING:
    from deciban.metrics.dependence import Dependence

MAX_NAME_WIDTH = 12
"""The characters of a column's name that are shown."""


@command(
    a.TARGET, a.ROLES, a.WEIGHTS, a.most("How many of the pairs to show.", 10),
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
            show(found, table.name, most, options["data"])


measure_dependence = partial(call_on_table, "dependence", doing="measuring")
"""Compute the dependence of the columns of a table."""


def show(found: Dependence, name: str, most: int, data: list[str]) -> None:
    """Print the pairs, the advice, and the command that follows it."""
    from deciban.metrics.dependence import HEAD

    out = Screen()
    among = "" if found.rows == found.rows_read else f" of {format_row_count(found.rows_read)}"
    pairs = len(found.pairs)
    pair_count = f"{pairs} pair{'s' if pairs > 1 else ''}"
    rows = f"{format_row_count(found.rows)}{among}"
    out.print_title(f"{found.target} of {name}: {pair_count} of {len(found.features)} features, in {rows}")
    out.print_heading("Pairs", "mutual information of two columns, in decibans per row")
    body = [
        pair.cells(f"{shorten(pair.first, MAX_NAME_WIDTH)}, {shorten(pair.second, MAX_NAME_WIDTH)}")
        for pair in found.pairs[:most]
    ]
    out.print_table(HEAD, body, right=[1, 2, 3, 4])
    if pairs > most:
        out.print_line(f"… and {pairs - most} more pairs (--most {pairs} shows them all)")
    out.print_line(
        "Naive Bayes assumes 0 given the class; p is the chance of as much if that were true. Twice: evidence for "
        "the true class that is counted twice; below 0, too little of it is counted.",
    )
    out.print_heading("What to do")
    for advice in found.advice:
        out.print_line(str(advice))
    if not found.advice:
        out.print_line("nothing: no column repeats another, and no two inform more together than naive Bayes assumes")
        return
    out.print_heading("Next")
    out.print_line("measure whether the whole model improves, with these options and without them:")
    joins = [f"--join {quote_word(a.join_list(block))}" for block in found.blocks]
    skips = [f"--as {quote_word(f'{name}=skip')}" for name in found.drop]
    where = " ".join(map(quote_word, data)) or "DATA"
    out.print_command(f"deciban evaluate {where} --target {quote_word(found.target)} {' '.join([*skips, *joins])}")
