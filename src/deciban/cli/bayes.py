"""`deciban bayes`: explain a test result by Bayes' theorem."""

from __future__ import annotations

from typing import Annotated

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors
from deciban.cli.plot.picture_options import DEFAULT_DOTS_PER_INCH, Dots, Picture, Size, Title

EXAMPLE = a.example(
    "deciban bayes --prior 0.01 --sensitivity 0.9 --specificity 0.95",
    "deciban bayes --prior 0.01 --sensitivity 0.9 --specificity 0.95 -o ten-thousand.png",
)
Prevalence = Annotated[
    float,
    typer.Option(
        "--prior", metavar="SHARE", help="The share of people with the condition: 0.01 is 1 %.", show_default=False
    ),
]
Sensitivity = Annotated[
    float,
    typer.Option(
        "--sensitivity",
        metavar="SHARE",
        help="The share of people with the condition who test positive.",
        show_default=False,
    ),
]
Specificity = Annotated[
    float,
    typer.Option(
        "--specificity",
        metavar="SHARE",
        help="The share of people without the condition who test negative.",
        show_default=False,
    ),
]
Population = Annotated[
    int, typer.Option("--population", metavar="NUMBER", min=1, help="How many people to show the numbers for.")
]
Out = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FILE", help="Draw the people too: a .png, .svg or .pdf file."),
]


def command(
    prior: Prevalence,
    sensitivity: Sensitivity,
    specificity: Specificity,
    population: Population = 10_000,
    output: Out = None,
    size: Size = None,
    dots: Dots = DEFAULT_DOTS_PER_INCH,
    title: Title = None,
    json: a.AsJson = False,
    debug: a.Debug = False,
) -> None:
    """Show how many of the people with a positive and with a negative test have the condition."""
    with handle_errors(debug):
        from deciban.metrics.bayes_table import BayesTable

        table = BayesTable(prior, sensitivity, specificity, population)
        if output is not None:
            picture = Picture.to(output, (), size, dots, title)
            from deciban.plots import bayes

            picture.save(bayes(table), f"{population} people, by condition and test result")
        if json:
            from deciban.cli.output import print_json

            print_json(table.to_dict())
        else:
            typer.echo(str(table))
