"""What a screen is made of: headings, lists of pairs and tables that fit 80 columns whatever the names."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from deciban.formatting import one_line as one_line
from deciban.formatting import spaced

LONGEST = 30
"""Characters of a name that are shown."""

WIDEST = 100
"""Wider lines are hard to read, however wide the terminal."""


def console(stderr: bool = False) -> Console:
    """A console for words and tables; plain in a pipe, and where NO_COLOR asks for it."""
    made = Console(stderr=stderr, highlight=False, emoji=False, markup=False)
    if made.width > WIDEST:
        made = Console(stderr=stderr, highlight=False, emoji=False, markup=False, width=WIDEST)
    return made


def heading(out: Console, title: str, what: str = "") -> None:
    """A heading and, on its line, what it is about."""
    out.print()
    out.print(Text.assemble((one_line(title), "bold"), one_line(f"  {what}") if what else ""), soft_wrap=True)


def put(out: Console, thing: Any) -> None:
    """Print without the blanks at the ends of lines that fill a table's last column."""
    with out.capture() as captured:
        out.print(thing)
    for words in captured.get().splitlines():
        out.print(Text(words.rstrip()), soft_wrap=True)


def pairs(out: Console, entries: Iterable[tuple[str, str]]) -> None:
    """Names and values in two columns."""
    shown = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    shown.add_column(no_wrap=True)
    shown.add_column(overflow="fold")
    for name, value in entries:
        shown.add_row(Text(f"  {short(name, LONGEST)}"), Text(one_line(value)))
    put(out, shown)


def table(
    out: Console,
    head: Sequence[str],
    rows: Iterable[Sequence[Any]],
    right: Sequence[int] = (),
    wide: int | None = None,
) -> None:
    """A table without lines; long names lose their middle, and only the column `wide` is ever wrapped."""
    body = [[short(str(row[0]), LONGEST), *(one_line(str(cell)) for cell in row[1:])] for row in rows]
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for i, name in enumerate(head):
        shown.add_column(
            Text(f"  {name}" if i == 0 else name),
            justify="right" if i in right else "left",
            no_wrap=i != wide,
            min_width=None if i == wide else max([cell_len(row[i]) for row in body] + [cell_len(name)]),
            overflow="fold",
        )
    for row in body:
        shown.add_row(*(Text(f"  {cell}" if i == 0 else cell) for i, cell in enumerate(row)))
    put(out, shown)


def short(text: str, width: int) -> str:
    """At most so many characters: both ends of a long name, since names often differ in the last letters.

    >>> short("concentration in mmol per litre, day 12", 20)
    'concentratio… day 12'
    """
    text = one_line(text)
    if cell_len(text) <= width:
        return text
    tail = width // 3 + 1
    while cell_len(text[-tail:]) > width // 3 + 1:
        tail -= 1
    return set_cell_size(text, width - 1 - cell_len(text[-tail:])) + "…" + text[-tail:]


def line(out: Console, words: str, indent: int = 2) -> None:
    """A line of words, indented, wrapped with the same indent."""
    from rich.padding import Padding

    put(out, Padding(Text(one_line(words)), (0, 0, 0, indent)))


def packed(out: Console, parts: Iterable[str], indent: int = 2) -> None:
    """Short parts, as many to a line as there is room for; none is broken."""
    rows: list[str] = []
    for part in map(one_line, parts):
        if rows and cell_len(rows[-1]) + 3 + cell_len(part) <= out.width - indent:
            rows[-1] += f" · {part}"
        else:
            rows.append(part)
    for row in rows:
        line(out, row, indent)


def command(out: Console, words: str) -> None:
    """A command to copy: never wrapped."""
    out.print(Text(f"  {one_line(words)}"), soft_wrap=True)


def count(n: float) -> str:
    """A number of rows, or a weight."""
    return spaced(n) if float(n).is_integer() else spaced(n, ".4g")


def format_row_count(n: float) -> str:
    """1 row, 2 rows."""
    return f"{count(n)} row{'' if n == 1 else 's'}"


def quoted(word: str) -> str:
    """A word of a command line, in quotes where a shell needs them."""
    import shlex

    return shlex.quote(word) if sys.platform != "win32" else f'"{word}"' if " " in word else word
