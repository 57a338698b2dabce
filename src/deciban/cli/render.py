"""Parts of the screen: headings, lists of pairs, and tables that fit 80 columns whatever the names."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from deciban.formatting import to_one_line as to_one_line

MAX_NAME_WIDTH = 30
"""The columns of the screen that a name takes at most."""

MAX_LINE_WIDTH = 100
"""The columns of the screen that are used on a wide terminal; longer lines are hard to read."""


class Screen(Console):
    """A terminal for text and tables; without colours in a pipe, or if NO_COLOR is set."""

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, emoji=False, markup=False)
        if self.width > MAX_LINE_WIDTH:
            self.width = MAX_LINE_WIDTH

    def print_title(self, title: str) -> None:
        """Print the title of a report in bold on one line."""
        self.print(to_one_line(title), style="bold", soft_wrap=True)

    def print_heading(self, title: str, what: str = "") -> None:
        """Print an empty line, then a heading in bold and, on the same line, an explanation."""
        self.print()
        explanation = to_one_line(f"  {what}") if what else ""
        self.print(Text.assemble((to_one_line(title), "bold"), explanation), soft_wrap=True)

    def print_stripped(self, thing: Any) -> None:
        """Print a table or text without the blanks at the ends of its lines."""
        with self.capture() as captured:
            self.print(thing)
        for words in captured.get().splitlines():
            self.print(Text(words.rstrip()), soft_wrap=True)

    def print_pairs(self, entries: Iterable[tuple[str, str]]) -> None:
        """Print names and values in two columns."""
        shown = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        shown.add_column(no_wrap=True)
        shown.add_column(overflow="fold")
        for name, value in entries:
            shown.add_row(Text(f"  {shorten(name, MAX_NAME_WIDTH)}"), Text(to_one_line(value)))
        self.print_stripped(shown)

    def print_table(
        self, head: Sequence[str], rows: Iterable[Sequence[Any]], right: Sequence[int] = (),
        wide: int | None = None,
    ) -> None:  # fmt: skip
        """Print a table without rules: columns in `right` end at the right, and only the column `wide` is wrapped.

        Long names in the first column lose their middle.
        """
        body = [[shorten(str(row[0]), MAX_NAME_WIDTH), *(to_one_line(str(cell)) for cell in row[1:])] for row in rows]
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
        self.print_stripped(shown)

    def print_line(self, words: str, indent: int = 2) -> None:
        """Print an indented line, wrapped with the same indent."""
        self.print_stripped(Padding(Text(to_one_line(words)), (0, 0, 0, indent)))

    def print_packed(self, parts: Iterable[str]) -> None:
        """Print short parts, as many to an indented line as fit; none is broken."""
        rows: list[str] = []
        for part in map(to_one_line, parts):
            if rows and cell_len(rows[-1]) + 3 + cell_len(part) <= self.width - 2:
                rows[-1] += f" · {part}"
            else:
                rows.append(part)
        for row in rows:
            self.print_line(row)

    def print_command(self, words: str) -> None:
        """Print a command to copy, which is never wrapped."""
        self.print(Text(f"  {to_one_line(words)}"), soft_wrap=True)


def shorten(text: str, width: int) -> str:
    """Shorten a text to a width: keep both ends of a long name, since names often differ in the last letters.

    >>> shorten("concentration in mmol per litre, day 12", 20)
    'concentratio… day 12'
    """
    text = to_one_line(text)
    if cell_len(text) <= width:
        return text
    tail = width // 3 + 1
    while cell_len(text[-tail:]) > width // 3 + 1:
        tail -= 1
    return set_cell_size(text, width - 1 - cell_len(text[-tail:])) + "…" + text[-tail:]
