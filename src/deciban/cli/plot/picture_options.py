"""The options of every picture: its file, its size and its title."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Final

from deciban._lazy import LazyModule
from deciban.cli import options as a
from deciban.cli.error_handling import print_stderr
from deciban.cli.files import atomic_file, check_output
from deciban.cli.parser import DEBUG, Argument, Command, in_section, number, option, without
from deciban.errors import UsageError

PICTURE_ENDINGS = (".png", ".svg", ".pdf")
DEFAULT_DOTS_PER_INCH = 110
"""The resolution of a PNG."""

MAX_SIDE_INCHES = 100.0
"""The longest side of a picture: a larger PNG takes more memory than machines have."""


def parse_size(text: str) -> tuple[float, float]:
    """Parse WIDTH,HEIGHT (or WIDTHxHEIGHT) in inches.

    >>> parse_size("6.4,4.8")
    (6.4, 4.8)
    """
    try:
        width, height = (float(part) for part in text.lower().replace("x", ",").split(","))
    except ValueError:
        raise ArgumentTypeError(f"{text}: two numbers are needed, WIDTH,HEIGHT in inches, as in 6.4,4.8") from None
    if not all(1 <= side <= MAX_SIDE_INCHES for side in (width, height)):
        raise ArgumentTypeError(f"{text}: each side must have 1 to {MAX_SIDE_INCHES:g} inches")
    return width, height


PICTURE_OPTIONS: Final = in_section(
    "Options of the picture",
    option("--size", "WIDTH,HEIGHT",
           "Width and height in inches, as in 6.4,4.8; by default as large as needed.", type=parse_size),
    number("--dots", "NUMBER", "Dots per inch of a .png.", minimum=20, maximum=1200, default=DEFAULT_DOTS_PER_INCH),
    option("--title", "TEXT", "A line above the picture."),
)  # fmt: skip
"""The options of every picture except -o."""

plots = LazyModule("deciban.plots")
"""The functions that draw; matplotlib is loaded when one of them is first used."""

NUMBER_TABLE_OPTIONS: Final = without(a.TABLE_OPTIONS, "folders", "errors")
"""The table options except those that only documents need."""


@dataclass(frozen=True)
class Picture:
    """A picture file to write, with its size and title."""

    path: str
    size: tuple[float, float] | None
    dots: int
    title: str | None

    def check(self, inputs: Sequence[str | Path] = ()) -> None:
        """Refuse, before any work is done, a file that cannot be written or is an input; prepare matplotlib."""
        from deciban.plots.style import need_matplotlib

        if Path(self.path).suffix.lower() not in PICTURE_ENDINGS:
            raise UsageError(f"-o {self.path}: unknown kind of picture; use one of {', '.join(PICTURE_ENDINGS)}")
        check_output(self.path, inputs)
        need_matplotlib()
        import matplotlib

        matplotlib.use("Agg")  # writes files and opens no window

    def save(self, drawn: Any, content: str) -> None:
        """Write an Axes or a Figure with this size and title, close it, and print a line with its content.

        The same model gives the same bytes: there is no date, and identifiers are not random.
        """
        from matplotlib import pyplot, rc_context

        figure = drawn if hasattr(drawn, "savefig") else drawn.figure
        if self.size is not None:
            figure.set_size_inches(*self.size)
        if self.title is not None:
            figure.suptitle(self.title, fontsize=12, parse_math=False)
        form = Path(self.path).suffix.lower().removeprefix(".")
        undated = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
        with atomic_file(self.path) as unfinished, rc_context({"svg.hashsalt": "deciban"}):
            figure.savefig(unfinished, format=form, dpi=self.dots, metadata=undated[form])
        pyplot.close(figure)
        print_stderr(f"{self.path}: {content}")


def picture_command(*arguments: Argument, examples: Sequence[str]) -> Callable[[Callable[..., None]], Command]:
    """Declare the function below as a command that draws: it has these arguments and the options of every picture.

    The function receives -o, --size, --dots and --title as one argument, `picture`.
    """

    def declare(draw: Callable[..., None]) -> Command:
        @wraps(draw)
        def run(output: str, size: tuple[float, float] | None, dots: int, title: str | None, **options: Any) -> None:
            draw(picture=Picture(output, size, dots, title), **options)

        output = option("-o --output", "FILE", "The .png, .svg or .pdf file to write.", required=True)
        return Command(run, (output, *arguments, *PICTURE_OPTIONS, DEBUG), tuple(examples))

    return declare
