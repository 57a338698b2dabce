"""`deciban telltales`: the words that tell each class from the others."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors, print_stderr

if TYPE_CHECKING:
    from rich.console import Console

    from deciban.cli.read_telltales import Telling

EXAMPLE = a.example(
    "deciban telltales messages.deciban",
    "deciban telltales newsgroups.deciban --class sci.space --class sci.med -n 20",
    "deciban telltales messages.deciban -n 50 -o words.csv",
)
Labels = Annotated[
    list[str] | None,
    typer.Option("--class", metavar="LABEL", help="This class; all of them unless given. May be repeated."),
]
Number = Annotated[
    int,
    typer.Option(
        "-n", "--number", metavar="NUMBER", min=1, help="How many words of each class, the most telling first."
    ),
]
Column = Annotated[
    str | None,
    typer.Option("--column", metavar="COL", help="The column of texts, where the model has several."),
]
Out = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="OUT",
        help="Write a table instead: a .csv, .tsv, .jsonl, .parquet or .arrow file, or - for CSV on stdout.",
    ),
]
FEW_CLASSES = 6
"""Up to this many, each word has a line of its own."""

LONGEST_WORD = 24


def command(
    model: a.ModelFile,
    labels: Labels = None,
    number: Number = 10,
    column: Column = None,
    output: Out = None,
    json: a.AsJson = False,
    safe_cells: a.SafeCells = False,
    debug: a.Debug = False,
) -> None:
    """Show the words that tell each class from all others: evidence, how sure it is, and how often they were seen."""
    with handle_errors(debug):
        run(model, labels, number, column, output, json, safe_cells)


def run(
    path: Path,
    labels: list[str] | None,
    n: int,
    column: str | None,
    out: str | None,
    as_json: bool,
    safe_cells: bool = False,
) -> None:
    """Open the file, ask, tell."""
    from deciban.cli.output import check_output, print_json
    from deciban.cli.read_telltales import open_telltale_model
    from deciban.cli.table_writers import check_safe_cells

    if out is not None:
        check_safe_cells(out, as_json, safe_cells)
        check_output(out, [path])
    told = open_telltale_model(path, column).tell(labels, n)
    if out is not None:
        _write(told, out, as_json, safe_cells)
    elif as_json:
        print_json([telling.to_dict() for telling in told])
    else:
        show(path, told)


def _write(told: list[Telling], out: str, as_json: bool, safe_cells: bool) -> None:
    """A line for each word."""
    import pyarrow as pa

    from deciban.cli.read_telltales import FIGURES
    from deciban.cli.table_writers import table_out

    rows = [{"class": str(telling.label), **word} for telling in told for word in telling.rows()]
    texts = [("class", pa.string()), ("word", pa.string())]
    schema = pa.schema([*texts, *((name, pa.float64()) for name in FIGURES)])
    with table_out(out, as_json, schema, safe_cells) as write:
        write(pa.RecordBatch.from_pylist(rows, schema=schema))
    if out != "-":
        print_stderr(f"{len(rows)} words of {len(told)} classes to {out}")


def show(path: Path, told: list[Telling]) -> None:
    """A table for each class; where there are many, a few lines."""
    from deciban.cli.render import console, line, one_line

    out = console()
    out.print(one_line(f"{path}: the telltales of each class, the most telling first"), style="bold", soft_wrap=True)
    few = len(told) <= FEW_CLASSES
    for telling in told:
        (_in_full if few else _in_short)(out, telling)
    out.print()
    if few:
        line(out, "dB is decibans for the class against all others: 10 is ten to one.")
        line(out, "times, documents: in the class : in all others together.")
    else:
        line(out, "Numbers are decibans for the class against all others: 10 is ten to one.")
        line(out, "--class LABEL shows intervals and counts.")


def _in_full(out: Console, telling: Telling) -> None:
    from deciban.cli.render import heading, one_line, table

    heading(out, one_line(str(telling.label)))
    if _silent(out, telling):
        return
    sure = all(hasattr(word, "low") and not math.isnan(word.low) for word in telling.words)
    head = ["word", "evidence", *(["90 % sure"] if sure else []), "times", "documents"]
    body = [_figures(word, sure) for word in telling.words]
    table(out, head, body, right=[1, len(head) - 2, len(head) - 1])


def _figures(word: Any, sure: bool) -> list[str]:
    """A line of the table; weights that were fitted have no interval, and are not `sure`."""
    from deciban.cli.render import count, short
    from deciban.scores.passages import word_shown

    return [
        short(word_shown(word.word), LONGEST_WORD),
        f"{word.decibans:.1f} dB",
        *([f"({word.low:.1f} … {word.high:.1f})"] if sure else []),
        f"{count(word.count)} : {count(word.elsewhere)}",
        f"{count(word.documents)} : {count(word.documents_elsewhere)}",
    ]


def _in_short(out: Console, telling: Telling) -> None:
    """Words and decibans, as many to a line as fit; a word stays with its number."""
    from deciban.cli.render import heading, one_line, packed, short
    from deciban.scores.passages import word_shown

    heading(out, one_line(str(telling.label)))
    if _silent(out, telling):
        return
    words = [f"{short(word_shown(word.word), LONGEST_WORD)} {word.decibans:.0f}" for word in telling.words]
    packed(out, words)


def _silent(out: Console, telling: Telling) -> bool:
    from deciban.cli.render import line

    if not telling.words:
        line(out, "no word speaks for it")
    return not telling.words
