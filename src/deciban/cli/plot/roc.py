"""`deciban plot roc`: how well classes are told apart, whatever the threshold."""

from __future__ import annotations

from functools import partial
from typing import Any

from deciban.cli import arguments as a
from deciban.cli.manners import manners
from deciban.cli.plot.judged import draw, judging
from deciban.cli.plot.saving import DOTS, Dots, Output, Picture, Size, Title

EXAMPLE = a.example(
    "deciban plot roc patients.csv --target diagnosis --folds 10 -o roc.png",
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
    """Draw hits against false alarms for every threshold, with the area under the curve; of more than two classes, of
    each against all others.
    """

    def drawn(report: Any) -> Any:
        from deciban.plots import roc

        return roc(report)

    with manners(debug):
        draw(options, partial(Picture.to, output, size=size, dots=dots, title=title), drawn, "the ROC")
