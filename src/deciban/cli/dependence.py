"""`deciban dependence`: how far a table violates the naive assumption, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput
    from deciban.metrics.dependence import Dependence, Pair

EXAMPLE = a.example(
    "deciban dependence patients.csv --target diagnosis",
    "deciban dependence patients.csv --target diagnosis --json",
)
Most = Annotated[int, typer.Option("--most", metavar="NUMBER", min=1, help="How many of the pairs to show.")]

SHOWN_NAME = 12
"""Characters of a column's name."""


def command(
    data: a.Tables = None,
    target: a.Target = None,
    roles: a.Roles = None,
    weights: a.Weights = None,
    most: Most = 10,
    sql: a.Sql = None,
    format: a.Format = None,
    encoding: a.Encoding = "utf-8",
    errors: a.Errors = "strict",
    missing: a.Missing = None,
    hive: a.Hive = False,
    json: a.AsJson = False,
    debug: a.Debug = False,
) -> None:
    """Measure how much columns tell about each other given the class, which naive Bayes takes for nothing."""
    from deciban.cli.inputs import given
    from deciban.cli.train import find_target

    with handle_errors(debug), given(data, sql, None, format, encoding, errors, missing, hive) as table:
        from deciban.cli.output import print_json

        found = measured(table, find_target(table, target, None), roles, weights)
        if json:
            print_json(found.to_dict())
        else:
            show(found, table.name, most, data or [])


def measured(table: TableInput, target: str, roles: list[str] | None, weights: str | None) -> Dependence:
    """The dependence of a table's columns."""
    import deciban
    from deciban.cli.progress import progress

    with progress(table, "looking") as rows:
        return deciban.dependence(
            table.source,
            target=target,
            roles=a.parse_roles(roles),
            weights=weights,
            progress=rows,
            **table.reading,
        )


def show(found: Dependence, name: str, most: int, data: list[str]) -> None:
    """Pairs, what to do, and the command that does it."""
    from deciban.cli.render import console, format_row_count, heading, line, one_line, table
    from deciban.metrics.dependence import HEAD

    out = console()
    among = "" if found.rows == found.rows_read else f" of {format_row_count(found.rows_read)}"
    pairs = len(found.pairs)
    told = f"{pairs} pair{'s' if pairs > 1 else ''}"
    out.print(one_line(f"{found.target} of {name}: {told} of {len(found.features)} features, in "
                       f"{format_row_count(found.rows)}{among}"), style="bold", soft_wrap=True)  # fmt: skip
    heading(out, "Pairs", "what two columns tell about each other, in decibans a row")
    table(out, HEAD, [_row(pair) for pair in found.pairs[:most]], right=[1, 2, 3, 4])
    if pairs > most:
        line(out, f"… and {pairs - most} pairs more (--most {pairs} shows them all)")
    line(out, "Naive Bayes takes what they tell given the class for 0; p is the chance of as much if it were. Twice: "
              "evidence for the true class that is counted twice; below 0, too little of it is counted.")  # fmt: skip
    heading(out, "What to do")
    for advice in found.advice:
        line(out, str(advice))
    if not found.advice:
        line(out, "nothing: no column repeats another, and no two tell more together than naively")
    else:
        _next(found, data)


def _row(pair: Pair) -> list[str]:
    from deciban.cli.render import short

    return pair.cells(f"{short(pair.first, SHOWN_NAME)}, {short(pair.second, SHOWN_NAME)}")


def _next(found: Dependence, data: list[str]) -> None:
    """The training that follows the advice, to be tried beside the plain one."""
    from deciban.cli.render import command as shown
    from deciban.cli.render import console, heading, line, quoted

    out = console()
    heading(out, "Next")
    line(out, "measure whether the whole model gains by it, with these options and without them:")
    joins = [f"--join {quoted(','.join(_in_quotes(name) for name in block))}" for block in found.blocks]
    skips = [f"--as {quoted(f'{name}=skip')}" for name in found.drop]
    where = " ".join(map(quoted, data)) or "DATA"
    shown(out, f"deciban evaluate {where} --target {quoted(found.target)} {' '.join([*skips, *joins])}")


def _in_quotes(name: str) -> str:
    """A name among others between commas."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"' if "," in name or '"' in name else name
