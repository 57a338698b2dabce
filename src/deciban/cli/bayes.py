"""`deciban bayes`: explain a test result by Bayes' theorem."""

from typing import Any

from deciban.cli.files import print_json
from deciban.cli.parser import DEBUG, JSON, Argument, command, number, option
from deciban.cli.plot.picture_options import PICTURE_OPTIONS, Picture, plots
from deciban.formatting import format_count


def _share(name: str, help: str) -> Argument:
    return number(name, "SHARE", help, kind=float, minimum=0, maximum=1, required=True)


@command(
    _share("--prior", "The share of people with the condition: 0.01 is 1 %."),
    _share("--sensitivity", "The share of people with the condition who test positive."),
    _share("--specificity", "The share of people without the condition who test negative."),
    number("--population", "NUMBER", "How many people to show the numbers for.", minimum=1, default=10_000),
    option("-o --output", "FILE", "Draw the people too: a .png, .svg or .pdf file."),
    *PICTURE_OPTIONS, JSON, DEBUG,
    examples=[
        "deciban bayes --prior 0.01 --sensitivity 0.9 --specificity 0.95",
        "deciban bayes --prior 0.01 --sensitivity 0.9 --specificity 0.95 -o ten-thousand.png",
    ],
)  # fmt: skip
def bayes(
    prior: float, sensitivity: float, specificity: float, population: int, output: str | None, json: bool,
    **picture_options: Any,
) -> None:  # fmt: skip
    """Show how many of the people with a positive and with a negative test have the condition."""
    from deciban.metrics.bayes_table import BayesTable

    table = BayesTable(prior, sensitivity, specificity, population)
    if output is not None:
        picture = Picture(output, **picture_options)
        picture.check()
        picture.save(plots.bayes(table), f"{format_count(population)} people, by condition and test result")
    if json:
        print_json(table.to_dict())
    else:
        print(table)
