"""`deciban plot roc`: how well classes are told apart, whatever the threshold."""

from __future__ import annotations

from typing import Any

from deciban.cli import options as a
from deciban.cli.plot.picture_options import To, pictured
from deciban.cli.plot.reports import draw, judging

EXAMPLE = a.example(
    "deciban plot roc patients.csv --target diagnosis --folds 10 -o roc.png",
)


@judging
@pictured
def command(
    to: To,
    **options: Any,
) -> None:
    """Draw hits against false alarms for every threshold, with the area under the curve; of more than two classes, of
    each against all others.
    """

    def drawn(report: Any) -> Any:
        from deciban.plots import roc

        return roc(report)

    draw(options, to, drawn, "the ROC")
