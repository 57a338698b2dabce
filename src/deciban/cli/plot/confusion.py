"""`deciban plot confusion`: which classes are taken for which."""

from __future__ import annotations

from typing import Any

from deciban.cli import options as a
from deciban.cli.plot.picture_options import To, pictured
from deciban.cli.plot.reports import draw, judging

EXAMPLE = a.example(
    "deciban plot confusion patients.csv --target diagnosis -o confusion.png",
    "deciban plot confusion next-year.csv --model patients.deciban -o confusion.svg",
)


@judging
@pictured
def command(
    to: To,
    **options: Any,
) -> None:
    """Draw which classes are taken for which: rows by true class and by what they are called, with their shares."""

    def drawn(report: Any) -> Any:
        from deciban.plots import confusion

        return confusion(report)

    draw(options, to, drawn, "the confusion")
