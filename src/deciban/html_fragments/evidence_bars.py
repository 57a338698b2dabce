"""Bars of evidence and of probabilities: tables whose numbers can be read, each with a bar drawn as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from deciban.formatting import format_probability, format_signed
from deciban.html_fragments.markup import Markup, element, join
from deciban.html_fragments.style import AGAINST_COLOUR, FOR_COLOUR

BAR_HEIGHT = 16
"""The height of a bar's drawing; its width is 100, stretched to that of the cell."""

INFINITE_MARGIN = 10.0
"""Decibans by which infinite evidence is drawn beyond the sum of all finite evidence."""


class Bar(NamedTuple):
    """A line of a waterfall: a name, its evidence in decibans, and markup that follows the name, if any."""

    name: str
    decibans: float
    details: Markup | None = None


def draw_waterfall(
    bars: Sequence[Bar], total: float, caption: Any = None, odds: str = "", units: str = "decibans"
) -> Markup:
    """Return a table of evidence that adds up: each bar begins where the one above it ends, the last is the total."""
    steps = _to_finite_steps([bar.decibans for bar in bars])
    ends = [0.0]
    for step in steps:
        ends.append(ends[-1] + step)
    low, high = min(ends), max(ends)
    span = (high - low) or 1.0
    rows = []
    for bar, start, end in zip(bars, ends, ends[1:]):
        name = element("th", bar.name, bar.details, scope="row", class_="db-what")
        rows.append(element("tr", name, _make_bar_cell(start, end, low, span), _make_number_cell(bar.decibans)))
    last = element("th", "total", f" ({odds})" if odds else None, scope="row", class_="db-what")
    rows.append(
        element("tr", last, _make_bar_cell(0.0, ends[-1], low, span), _make_number_cell(total), class_="db-total")
    )
    heads = (element("th", "evidence", scope="col"), element("td"), element("th", units, scope="col", class_="db-n"))
    title = None if caption is None else element("caption", caption)
    body = element("thead", element("tr", *heads)), element("tbody", *rows)
    return element("table", title, *body, class_="db-wide db-waterfall")


def draw_posterior(posterior: Sequence[tuple[Any, float]], caption: Any = None) -> Markup:
    """Return a table of the classes with their probabilities, each with a bar."""
    rows = []
    top = max((p for _, p in posterior), default=0.0)
    for label, p in posterior:
        drawing = _draw_svg(
            _draw_rectangle(0.0, 100 * p, FOR_COLOUR, "db-fill-for") if p > 0 else None, _draw_line(100.0)
        )
        cells = element("th", label, scope="row", class_="db-what"), element("td", drawing, class_="db-bar")
        number = element("td", format_probability(p), class_="db-n", data_p=repr(float(p)))
        rows.append(element("tr", *cells, number, class_="db-total" if p == top else None))
    heads = (
        element("th", "class", scope="col"),
        element("td"),
        element("th", "probability", scope="col", class_="db-n"),
    )
    title = None if caption is None else element("caption", caption)
    return element(
        "table",
        title,
        element("thead", element("tr", *heads)),
        element("tbody", *rows),
        class_="db-wide db-posterior",
    )


def _to_finite_steps(decibans: Sequence[float]) -> list[float]:
    """Return evidence as lengths to draw: infinite evidence is longer than all other, undefined evidence is none."""
    finite = sum(abs(value) for value in decibans if math.isfinite(value))
    return [
        0.0 if math.isnan(value) else math.copysign(finite + INFINITE_MARGIN, value) if math.isinf(value) else value
        for value in decibans
    ]


def _make_number_cell(decibans: float) -> Markup:
    return element("td", format_signed(decibans), class_="db-n", data_decibans=repr(float(decibans)))


def _make_bar_cell(start: float, end: float, low: float, span: float) -> Markup:
    """Return the cell with the bar from one sum of evidence to the next; a line marks no evidence."""
    left, right = (100 * (min(start, end) - low) / span, 100 * (max(start, end) - low) / span)
    colour, name = (FOR_COLOUR, "db-fill-for") if end >= start else (AGAINST_COLOUR, "db-fill-against")
    drawing = _draw_svg(_draw_rectangle(left, max(right - left, 0.3), colour, name), _draw_line(100 * -low / span))
    return element("td", drawing, class_="db-bar")


def _draw_svg(*shapes: Markup | None) -> Markup:
    """Return a drawing that a screen reader skips, as the number stands next to it."""
    box = {
        "viewBox": f"0 0 100 {BAR_HEIGHT}",
        "preserveAspectRatio": "none",
        "aria_hidden": "true",
        "focusable": "false",
    }
    return element("svg", join(*shapes), width="100%", height=str(BAR_HEIGHT), **box)


def _draw_rectangle(x: float, width: float, colour: str, name: str) -> Markup:
    return element("rect", x=f"{x:.2f}", y="3", width=f"{width:.2f}", height="10", fill=colour, class_=name)


def _draw_line(x: float) -> Markup:
    """Return a thin line across the bar."""
    x = min(max(x, 0.0), 100.0)
    style = {"stroke": "currentColor", "stroke-opacity": "0.45", "vector-effect": "non-scaling-stroke"}
    return element("line", x1=f"{x:.2f}", x2=f"{x:.2f}", y1="0", y2=str(BAR_HEIGHT), **style)
