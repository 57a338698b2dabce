"""`deciban plot confusion`: which classes are taken for which."""

from __future__ import annotations

from functools import partial
from typing import Any

from deciban.cli import arguments as a
from deciban.cli.manners import manners
from deciban.cli.plot.judged import draw, judging
from deciban.cli.plot.saving import DOTS, Dots, Output, Picture, Size, Title

EXAMPLE = a.example(
    "deciban plot confusion patients.csv --target diagnosis -o confusion.png",
    "deciban plot confusion next-year.csv --model patients.deciban -o confusion.svg",
)


@judging
def command(
    output: Output,
    size: Size = None,
    dots: Dots = DOTS,
    title: Title = None,
    debug: a.Debug = False,
    **options: Any,
) -> None:
    """Draw which classes are taken for which: rows by true class and by what they are called, with their shares."""

    def drawn(report: Any) -> Any:
        from deciban.plots import confusion

        return confusion(report)

    with manners(debug):
        draw(options, partial(Picture.to, output, size=size, dots=dots, title=title), drawn, "the confusion")
