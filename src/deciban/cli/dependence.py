"""`deciban dependence`: how far a table violates the assumption of naive Bayes, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deciban.cli import options as a
from deciban.cli.files import print_json
from deciban.cli.inputs import TableInput, open_table
from deciban.cli.parser import DEBUG, JSON, command, without
from deciban.cli.render import command as print_command
from deciban.cli.render import console, format_row_count, heading, line, print_title, quote_word, short, table
from deciban.cli.training_options import call_on_table

if TYPE_CHECKING:
    from deciban.metrics.dependence import Dependence, Pair

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


def measure_dependence(table: TableInput, options: Mapping[str, Any]) -> Dependence:
    """Compute the dependence of a table's columns."""
    found: Dependence = call_on_table("dependence", table, options, doing="measuring")
    return found


def show(found: Dependence, name: str, most: int, data: list[str]) -> None:
    """Print the pairs, the advice, and the command that follows it."""
    from deciban.metrics.dependence import HEAD

    out = console()
    among = "" if found.rows == found.rows_read else f" of {format_row_count(found.rows_read)}"
    pairs = len(found.pairs)
    pair_count = f"{pairs} pair{'s' if pairs > 1 else ''}"
    rows = f"{format_row_count(found.rows)}{among}"
    print_title(out, f"{found.target} of {name}: {pair_count} of {len(found.features)} features, in {rows}")
    heading(out, "Pairs", "mutual information of two columns, in decibans per row")
    table(out, HEAD, [_row(pair) for pair in found.pairs[:most]], right=[1, 2, 3, 4])
    if pairs > most:
        line(out, f"… and {pairs - most} more pairs (--most {pairs} shows them all)")
    line(
        out,
        "Naive Bayes assumes 0 given the class; p is the chance of as much if that were true. Twice: evidence for "
        "the true class that is counted twice; below 0, too little of it is counted.",
    )
    heading(out, "What to do")
    for advice in found.advice:
        line(out, str(advice))
    if not found.advice:
        line(out, "nothing: no column repeats another, and no two inform more together than naive Bayes assumes")
    else:
        _show_next(found, data)


def _row(pair: Pair) -> list[str]:
    return pair.cells(f"{short(pair.first, MAX_NAME_WIDTH)}, {short(pair.second, MAX_NAME_WIDTH)}")


def _show_next(found: Dependence, data: list[str]) -> None:
    """Print the evaluation that follows the advice."""
    out = console()
    heading(out, "Next")
    line(out, "measure whether the whole model improves, with these options and without them:")
    joins = [f"--join {quote_word(','.join(_quote_name(name) for name in block))}" for block in found.blocks]
    skips = [f"--as {quote_word(f'{name}=skip')}" for name in found.drop]
    where = " ".join(map(quote_word, data)) or "DATA"
    print_command(out, f"deciban evaluate {where} --target {quote_word(found.target)} {' '.join([*skips, *joins])}")


def _quote_name(name: str) -> str:
    """Quote a name that contains a comma or quotes, for a list between commas."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"' if "," in name or '"' in name else name
