"""Where a picture goes and how large it is: what every picture's command has."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors, print_stderr

ENDINGS = (".png", ".svg", ".pdf")
KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY
DOTS = 110
"""Dots to an inch of a PNG."""

LARGEST = 100.0
"""Inches of a side: beyond, a PNG takes more memory than machines have."""

Output = Annotated[
    str,
    typer.Option("-o", "--output", metavar="FILE", help="The .png, .svg or .pdf file to write.", show_default=False),
]
Size = Annotated[
    str | None,
    typer.Option(
        "--size", metavar="WIDTH,HEIGHT", help="Inches, as in 6.4,4.8; as large as the picture needs unless given."
    ),
]
Dots = Annotated[int, typer.Option("--dots", metavar="NUMBER", min=20, max=1200, help="Dots to an inch of a .png.")]
Title = Annotated[
    str | None, typer.Option("--title", metavar="TEXT", help="A line above the picture.", show_default=False)
]


@dataclass(frozen=True)
class Picture:
    """A file that is to be drawn."""

    path: str
    size: tuple[float, float] | None = None
    dots: int = DOTS
    title: str | None = None

    @classmethod
    def to(
        cls,
        output: str,
        inputs: Sequence[str | Path] = (),
        size: str | None = None,
        dots: int = DOTS,
        title: str | None = None,
    ) -> Picture:
        """Refuse, before any work is done, what cannot be drawn or written; `inputs` are not overwritten."""
        from deciban.cli.output import check_output
        from deciban.plots.style import need_matplotlib

        if Path(output).suffix.lower() not in ENDINGS:
            raise typer.BadParameter(f"-o {output}: the ending names no kind of picture; one of {', '.join(ENDINGS)}")
        picture = cls(output, None if size is None else inches(size), dots, title)
        check_output(output, inputs)
        need_matplotlib()
        import matplotlib

        matplotlib.use("Agg")  # a file is written: no window, whatever the screen could show
        return picture

    def save(self, drawn: Any, what: str) -> None:
        """Write an Axes, or a Figure, and say what it shows.

        The same model gives the same bytes: there is no date, and names are no random numbers.
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
        print_stderr(f"{self.path}: {what}")


To = Callable[[Sequence[str | Path]], Picture]
"""Refuses at once what cannot be written, given the files that are read, and says where the picture goes."""


def pictured(draw: Callable[..., None]) -> Callable[..., None]:
    """Give a command what every picture has: -o in the place of its argument `to`, --size, --dots, --title, --debug.

    >>> @pictured
    ... def command(to: To, rows: int = 5) -> None: ...
    >>> list(inspect.signature(command).parameters)
    ['output', 'rows', 'size', 'dots', 'title', 'debug']
    """

    @wraps(draw)
    def command(output: str, size: str | None, dots: int, title: str | None, debug: bool, **given: Any) -> None:
        with handle_errors(debug):
            draw(to=partial(Picture.to, output, size=size, dots=dots, title=title), **given)

    own = list(inspect.signature(draw, eval_str=True).parameters.values())
    options = [_option("output", Output) if p.name == "to" else p.replace(kind=KEYWORD_ONLY) for p in own]
    if own[-1].kind is inspect.Parameter.VAR_KEYWORD:  # what is borrowed comes after
        options[-1:] = [*TAIL, own[-1]]
    else:
        options += TAIL
    command.__signature__ = inspect.Signature(options, return_annotation=None)  # type: ignore[attr-defined]
    return command


def _option(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, KEYWORD_ONLY, annotation=annotation, default=default)


TAIL = (
    _option("size", Size, None),
    _option("dots", Dots, DOTS),
    _option("title", Title, None),
    _option("debug", a.Debug, False),
)
"""The options at the end of every picture's command."""


def inches(text: str) -> tuple[float, float]:
    """WIDTH,HEIGHT taken apart.

    >>> inches("6.4,4.8")
    (6.4, 4.8)
    """
    try:
        width, height = (float(part) for part in text.lower().replace("x", ",").split(","))
    except ValueError:
        raise typer.BadParameter(
            f"--size {text}: two numbers are wanted, WIDTH,HEIGHT in inches, as in 6.4,4.8"
        ) from None
    if not all(1 <= side <= LARGEST for side in (width, height)):
        raise typer.BadParameter(f"--size {text}: a side has 1 to {LARGEST:g} inches")
    return width, height
