"""`deciban plot losses`: what a wrong answer costs, by how wrong it is."""

from __future__ import annotations

from deciban.cli import arguments as a
from deciban.cli.manners import manners
from deciban.cli.plot.saving import DOTS, Dots, Output, Picture, Size, Title

EXAMPLE = a.example("deciban plot losses -o losses.svg")


def command(
    output: Output, size: Size = None, dots: Dots = DOTS, title: Title = None, debug: a.Debug = False
) -> None:
    """Draw the zero-one, logistic (base 2), exponential and hinge loss over the margin."""
    with manners(debug):
        picture = Picture.to(output, (), size, dots, title)
        from deciban.plots import losses

        picture.save(losses(), "four losses over the margin")
