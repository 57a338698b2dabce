"""The group of commands `deciban plot`, and the options of every picture: its file, its size and its title."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors, print_stderr

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput

ENDINGS = (".png", ".svg", ".pdf")
KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY
DEFAULT_DOTS_PER_INCH = 110
"""The resolution of a PNG."""

MAX_SIDE_INCHES = 100.0
"""The longest side of a picture: a larger PNG takes more memory than machines have."""

Output = Annotated[
    str,
    typer.Option("-o", "--output", metavar="FILE", help="The .png, .svg or .pdf file to write.", show_default=False),
]
Size = Annotated[
    str | None,
    typer.Option(
        "--size",
        metavar="WIDTH,HEIGHT",
        help="Width and height in inches, as in 6.4,4.8; by default as large as needed.",
    ),
]
Dots = Annotated[int, typer.Option("--dots", metavar="NUMBER", min=20, max=1200, help="Dots per inch of a .png.")]
Title = Annotated[
    str | None, typer.Option("--title", metavar="TEXT", help="A line above the picture.", show_default=False)
]


@dataclass(frozen=True)
class Picture:
    """A picture file to write, with its size and title."""

    path: str
    size: tuple[float, float] | None = None
    dots: int = DEFAULT_DOTS_PER_INCH
    title: str | None = None

    @classmethod
    def to(
        cls,
        output: str,
        inputs: Sequence[str | Path] = (),
        size: str | None = None,
        dots: int = DEFAULT_DOTS_PER_INCH,
        title: str | None = None,
    ) -> Picture:
        """Check the options before any work is done, and that the file can be written and is not an input."""
        from deciban.cli.output import check_output
        from deciban.plots.style import need_matplotlib

        if Path(output).suffix.lower() not in ENDINGS:
            raise typer.BadParameter(f"-o {output}: unknown kind of picture; use one of {', '.join(ENDINGS)}")
        picture = cls(output, None if size is None else parse_size(size), dots, title)
        check_output(output, inputs)
        need_matplotlib()
        import matplotlib

        matplotlib.use("Agg")  # writes files and opens no window
        return picture

    def save(self, drawn: Any, content: str) -> None:
        """Write an Axes or a Figure, and print a line with its content.

        The same model gives the same bytes: there is no date, and identifiers are not random.
        """
        from matplotlib import pyplot, rc_context

        from deciban.cli.output import atomic_file

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


To = Callable[[Sequence[str | Path]], Picture]
"""A function that checks the picture file against the files that are read, and returns the picture."""


app = typer.Typer(
    name="plot",
    help='Draw data, models and their quality, as PNG, SVG or PDF (pip install "deciban[plot]").',
    short_help="Draw data, models, and their quality.",
    epilog="\b\nExample:\n  deciban plot densities patients.deciban patients.csv -o columns.png",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def draws_picture(
    summary: str, *examples: str, options_of: a.Command | None = None, without: tuple[str, ...] = ()
) -> Callable[[a.Command], a.Command]:
    """Make a function a command of `deciban plot` with the options of every picture: -o for its argument `to`,
    --size, --dots, --title, --debug. Options of another command, `options_of`, follow, except those `without`.

    >>> @draws_picture("Five rows.", "deciban plot rows -o rows.png")
    ... def rows(to: To, rows: int = 5) -> None: ...
    >>> list(inspect.signature(rows).parameters)
    ['output', 'rows', 'size', 'dots', 'title', 'debug']
    >>> app.registered_commands.pop().name
    'rows'
    """

    def decorate(draw: a.Command) -> a.Command:
        @wraps(draw)
        def command(output: str, size: str | None, dots: int, title: str | None, debug: bool, **options: Any) -> None:
            with handle_errors(debug):
                draw(to=partial(Picture.to, output, size=size, dots=dots, title=title), **options)

        own = list(inspect.signature(draw, eval_str=True).parameters.values())
        parameters = [_option("output", Output) if p.name == "to" else p.replace(kind=KEYWORD_ONLY) for p in own]
        if own[-1].kind is inspect.Parameter.VAR_KEYWORD:  # shared options come last
            parameters[-1:] = [*PICTURE_OPTIONS, own[-1]]
        else:
            parameters += PICTURE_OPTIONS
        command.__signature__ = inspect.Signature(parameters, return_annotation=None)  # type: ignore[attr-defined]
        if options_of is not None:
            command = a.with_options_of(options_of, without=without)(command)
        app.command(draw.__name__, short_help=summary, epilog=a.example(*examples))(command)
        return command

    return decorate


@contextmanager
def open_optional_table(options: Mapping[str, Any]) -> Iterator[TableInput | None]:
    """Open the table that the options name; None if they name none."""
    from deciban.cli.inputs import open_table

    if not options["data"] and options["sql"] is None:
        yield None
        return
    with open_table(options) as table:
        yield table


def _option(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, KEYWORD_ONLY, annotation=annotation, default=default)


PICTURE_OPTIONS = (
    _option("size", Size, None),
    _option("dots", Dots, DEFAULT_DOTS_PER_INCH),
    _option("title", Title, None),
    _option("debug", a.Debug, False),
)
"""The options of every picture except -o."""


def parse_size(text: str) -> tuple[float, float]:
    """Parse WIDTH,HEIGHT.

    >>> parse_size("6.4,4.8")
    (6.4, 4.8)
    """
    try:
        width, height = (float(part) for part in text.lower().replace("x", ",").split(","))
    except ValueError:
        raise typer.BadParameter(
            f"--size {text}: two numbers are needed, WIDTH,HEIGHT in inches, as in 6.4,4.8"
        ) from None
    if not all(1 <= side <= MAX_SIDE_INCHES for side in (width, height)):
        raise typer.BadParameter(f"--size {text}: each side must have 1 to {MAX_SIDE_INCHES:g} inches")
    return width, height
