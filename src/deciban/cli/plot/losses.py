"""`deciban plot losses`: what a wrong answer costs, by how wrong it is."""

from __future__ import annotations

from deciban.cli import options as a
from deciban.cli.plot.picture_options import To, pictured

EXAMPLE = a.example("deciban plot losses -o losses.svg")


@pictured
def command(to: To) -> None:
    """Draw the zero-one, logistic (base 2), exponential and hinge loss over the margin."""
    picture = to(())
    from deciban.plots import losses

    picture.save(losses(), "four losses over the margin")
