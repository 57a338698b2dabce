"""The page Calculator: Bayes' rule for a test with three sliders, and ten thousand people as dots."""

from __future__ import annotations

import math
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from deciban.formatting import format_short_percent, format_signed
from deciban.html_fragments import Markup, element, make_table
from deciban.metrics.bayes_table import BayesTable, format_people
from deciban.scores.explanation import format_odds
from deciban.studio.render import render

DEFAULTS = {"prior": 1.0, "sensitivity": 90.0, "specificity": 95.0}
"""The shares in percent that the page begins with."""

PRESETS = (
    ("Screening for a rare disease", 1.0, 90.0, 95.0),
    ("A test of people with symptoms", 30.0, 90.0, 95.0),
    ("A drug test at work", 2.0, 99.0, 98.0),
    ("A smoke alarm at night", 0.01, 99.9, 99.5),
    ("A coin for a test", 10.0, 50.0, 50.0),
)
"""Examples: a name, prior, sensitivity and specificity in percent."""

MEANINGS = {
    "prior": ("Prior", "How many have it, before any test"),
    "sensitivity": ("Sensitivity", "Of those who have it, how many test positive"),
    "specificity": ("Specificity", "Of those who do not have it, how many test negative"),
}
"""The name and the meaning of each share."""


async def show(request: Request) -> Response:
    """Show the calculator with the shares of the address."""
    shares = read_shares(request)
    table = make_bayes_table(shares)
    return render(
        request, "calculator.html", shares=shares, meanings=MEANINGS, presets=PRESETS, result=show_result(table),
        dots=count_dots(table),
    )  # fmt: skip


def read_shares(request: Request) -> dict[str, float]:
    """Return the three shares in percent that an address has; one that is no share from 0 to 100 is the default."""
    found = {}
    for name, default in DEFAULTS.items():
        try:
            value = float(request.query_params.get(name, default))
        except ValueError:
            value = default
        found[name] = value if 0 <= value <= 100 else default
    return found


def make_bayes_table(shares: dict[str, float]) -> BayesTable:
    """Return the table of ten thousand people for shares in percent."""
    prior, sensitivity, specificity = (shares[name] / 100 for name in DEFAULTS)
    return BayesTable(prior, sensitivity, specificity)


async def compute(request: Request) -> Response:
    """Return the result for other shares, for the script."""
    table = make_bayes_table(read_shares(request))
    return JSONResponse({"html": show_result(table), "dots": count_dots(table), "figures": table.to_dict()})


def count_dots(table: BayesTable) -> dict[str, int]:
    """Return whole numbers of people that add up to the population, by the largest remainders.

    >>> count_dots(BayesTable(0.01, 0.905, 0.95))
    {'true_positives': 91, 'false_negatives': 9, 'false_positives': 495, 'true_negatives': 9405}
    """
    names = ("true_positives", "false_negatives", "false_positives", "true_negatives")
    exact = {name: getattr(table, name) for name in names}
    whole = {name: math.floor(value + 1e-9) for name, value in exact.items()}
    missing = table.population - sum(whole.values())
    for name in sorted(names, key=lambda name: whole[name] - exact[name])[:missing]:
        whole[name] += 1
    return whole


def show_result(table: BayesTable) -> Markup:
    """Return what a positive and a negative test mean, the table of people, and the evidence in decibans."""
    heads = ["of 10 000 people", "positive", "negative"]
    rows = [
        ["with the condition", format_people(table.true_positives), format_people(table.false_negatives)],
        ["without the condition", format_people(table.false_positives), format_people(table.true_negatives)],
    ]
    results = element("div", _show_value("positive", table), _show_value("negative", table), class_="outcomes")
    return element("div", results, make_table(heads, rows), _show_evidence(table), class_="db")


def _show_value(result: str, table: BayesTable) -> Markup:
    """Return the share of those with a result who have the condition."""
    is_positive = result == "positive"
    share = table.positive_predictive_value if is_positive else 1 - table.negative_predictive_value
    n_with = table.true_positives if is_positive else table.false_negatives
    n = n_with + (table.false_positives if is_positive else table.true_negatives)
    if math.isnan(share):
        return element("p", element("b", "–"), f" nobody tests {result}", class_="outcome")
    after = table.prior_decibans + (table.positive_decibans if is_positive else table.negative_decibans)
    odds = f" ({format_odds(after)})" if math.isfinite(after) else ""
    text = f" of those who test {result} have it: {format_people(n_with)} of {format_people(n)}{odds}"
    return element("p", element("b", format_short_percent(share, 3)), text, class_=f"outcome {result}")


def _show_evidence(table: BayesTable) -> Markup:
    """Return the evidence of the test added to that of the prior, in decibans, for both results."""
    rows: list[list[Any]] = []
    for result, evidence in (("positive", table.positive_decibans), ("negative", table.negative_decibans)):
        after = table.prior_decibans + evidence
        rows.append([result, *(format_signed(value) for value in (table.prior_decibans, evidence, after))])
    return make_table(["decibans", "before", "test", "after"], rows)


ROUTES = [Route("/calculator", show), Route("/calculator/result", compute)]
