"""Bars of evidence and of probabilities: tables whose numbers can be read, each with a bar drawn as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from deciban.formatting import format_probability, format_signed
from deciban.html_fragments.markup import Markup, assemble_table, draw_line, element, make_svg
from deciban.html_fragments.style import AGAINST_COLOUR, FOR_COLOUR

BAR_HEIGHT = 16
"""The height of a bar's drawing; its width is 100, stretched to that of the cell."""

INFINITE_MARGIN = 10.0
"""Decibans by which infinite evidence is drawn beyond the sum of all finite evidence."""


class Bar(NamedTuple):
    """A line of a waterfall: a name and its evidence in decibans."""

    name: str
    decibans: float


def draw_waterfall(bars: Sequence[Bar], total: float, caption: Any = None, odds: str = "") -> Markup:
    """Return a table of evidence that adds up: each bar begins where the one above it ends, the last is the total.

    `odds` is a text that follows the word "total".
    """
    ends = list(accumulate(_to_finite_steps([bar.decibans for bar in bars]), initial=0.0))
    low, high = min(ends), max(ends)
    span = (high - low) or 1.0
    rows = []
    for bar, start, end in zip(bars, ends, ends[1:]):
        name = element("th", bar.name, scope="row", class_="db-what")
        rows.append(element("tr", name, _make_step_cell(start, end, low, span), _make_number_cell(bar.decibans)))
    last = element("th", "total", f" ({odds})" if odds else None, scope="row", class_="db-what")
    rows.append(
        element("tr", last, _make_step_cell(0.0, ends[-1], low, span), _make_number_cell(total), class_="db-total")
    )
    return _assemble_bars(caption, ("evidence", "decibans"), rows, "db-waterfall")


def draw_posterior(posterior: Sequence[tuple[Any, float]], caption: Any = None) -> Markup:
    """Return a table of the classes with their probabilities, each with a bar, the most probable in bold."""
    rows = []
    top = max((p for _, p in posterior), default=0.0)
    for label, p in posterior:
        bar = _draw_rectangle(0.0, 100 * p, FOR_COLOUR, "db-fill-for") if p > 0 else None
        name = element("th", label, scope="row", class_="db-what")
        number = element("td", format_probability(p), class_="db-n", data_p=repr(float(p)))
        rows.append(element("tr", name, _make_bar_cell(bar, 100.0), number, class_="db-total" if p == top else None))
    return _assemble_bars(caption, ("class", "probability"), rows, "db-posterior")


def _assemble_bars(caption: Any, titles: tuple[str, str], rows: Sequence[Markup], class_: str) -> Markup:
    """Return a table of names, bars and numbers; `titles` are those of the names and of the numbers."""
    name, number = titles
    heads = (element("th", name, scope="col"), element("td"), element("th", number, scope="col", class_="db-n"))
    return assemble_table(caption, heads, rows, f"db-wide {class_}")


def _to_finite_steps(decibans: Sequence[float]) -> list[float]:
    """Return evidence as lengths to draw: infinite evidence is longer than all other, undefined evidence is none."""
    finite = sum(abs(value) for value in decibans if math.isfinite(value))
    return [
        0.0 if math.isnan(value) else math.copysign(finite + INFINITE_MARGIN, value) if math.isinf(value) else value
        for value in decibans
    ]


def _make_number_cell(decibans: float) -> Markup:
    return element("td", format_signed(decibans), class_="db-n", data_decibans=repr(float(decibans)))


def _make_step_cell(start: float, end: float, low: float, span: float) -> Markup:
    """Return the cell with the bar from one sum of evidence to the next; a line marks no evidence."""
    left, right = (100 * (min(start, end) - low) / span, 100 * (max(start, end) - low) / span)
    colour, name = (FOR_COLOUR, "db-fill-for") if end >= start else (AGAINST_COLOUR, "db-fill-against")
    return _make_bar_cell(_draw_rectangle(left, max(right - left, 0.3), colour, name), 100 * -low / span)


def _make_bar_cell(bar: Markup | None, mark: float) -> Markup:
    """Return a cell with a bar, if any, and a thin line across it at `mark`, from 0 to 100."""
    x = f"{min(max(mark, 0.0), 100.0):.2f}"
    drawing = make_svg(bar, draw_line(x, x, "0", str(BAR_HEIGHT)), width="100%", height=BAR_HEIGHT)
    return element("td", drawing, class_="db-bar")


def _draw_rectangle(x: float, width: float, colour: str, name: str) -> Markup:
    return element("rect", x=f"{x:.2f}", y="3", width=f"{width:.2f}", height="10", fill=colour, class_=name)
