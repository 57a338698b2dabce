"""Tables of figures: pairs, rows, a confusion matrix, and a share with its interval."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence
from typing import Any

from deciban.formatting import format_count, format_percent, format_percent_range
from deciban.html_fragments.markup import Markup, assemble_table, draw_line, element, join, make_svg
from deciban.html_fragments.style import FOR_COLOUR, choose_shade


def make_pairs(pairs: Iterable[tuple[Any, Any]]) -> Markup:
    """Return names with their values, one below the other."""
    return element("dl", *(join(element("dt", name), element("dd", value)) for name, value in pairs))


def make_notes(notes: Iterable[Any]) -> Markup:
    """Return notes, a paragraph each; empty markup where there are none."""
    return join(*(element("p", note, class_="db-note") for note in notes))


def make_details(summary: Any, *content: Any) -> Markup:
    """Return content that is shown when its summary is clicked."""
    return element("details", element("summary", summary), *content)


def make_table(
    heads: Sequence[Any], rows: Iterable[Sequence[Any]], caption: Any = None, left: Container[int] = (0,),
    strong: Container[int] = (),
) -> Markup:  # fmt: skip
    """Return a table; its first column names the rows, columns outside `left` are numbers, rows in `strong` bold."""
    first = [element("th", head, scope="col", class_=None if j in left else "db-n") for j, head in enumerate(heads)]
    body = []
    for i, (name, *cells) in enumerate(rows):
        numbered = enumerate(cells, start=1)
        line = [element("th", name, scope="row", class_="db-what")]
        line += [element("td", cell, class_=None if j in left else "db-n") for j, cell in numbered]
        body.append(element("tr", *line, class_="db-total" if i in strong else None))
    return _make_scrollable(assemble_table(caption, first, body))


def _make_scrollable(table: Markup) -> Markup:
    """Return a table that scrolls sideways where the screen is narrow, also by the keyboard."""
    return element("div", table, class_="db-scroll", tabindex="0", role="region", aria_label="table")


def make_confusion_table(classes: Sequence[Any], confusion: Any) -> Markup:
    """Return a confusion matrix: each class a row, each prediction a column, the share of its row as the shade.

    The last column, "right", is the share of each class that is predicted rightly.
    """
    numbers = (element("th", head, scope="col", class_="db-n") for head in (*classes, "right"))
    heads = [element("th", "truth \\ predicted", scope="col"), *numbers]
    rows = []
    for k, (label, line) in enumerate(zip(classes, confusion)):
        weights = [float(cell) for cell in line]
        total = sum(weights)
        cells = []
        for l, weight in enumerate(weights):
            tint = choose_shade(weight / total) if total else 0
            name = f" db-{'for' if k == l else 'against'}-{tint}" if tint else ""
            cells.append(element("td", format_count(round(weight, 3)), class_=f"db-n{name}"))
        right = element("td", format_percent(weights[k] / total if total else math.nan), class_="db-n")
        rows.append(element("tr", element("th", label, scope="row", class_="db-what"), *cells, right))
    return _make_scrollable(assemble_table("truth by prediction", heads, rows, "db-confusion"))


def draw_interval(share: float, ends: tuple[float, float]) -> Markup:
    """Return a share from 0 to 1 and its 95 % interval: a drawing of both on a line from 0 to 100 %, and the numbers.

    Where an end or the share is not finite, the share alone is returned.
    """
    low, high = ends
    shown = format_percent(share, 2)
    if not all(map(math.isfinite, (share, low, high))):
        return element("span", shown, class_="db-share")
    shapes = [
        draw_line("0", "100", "8", "8"),
        element("rect", x=f"{100 * low:.2f}", y="5", width=f"{max(100 * (high - low), 0.6):.2f}", height="6",
                fill=FOR_COLOUR, fill_opacity="0.5"),
        element("rect", x=f"{min(100 * share, 99.2):.2f}", y="1", width="0.8", height="14", fill=FOR_COLOUR),
    ]  # fmt: skip
    drawing = make_svg(*shapes, width="192", height=16, class_="db-interval")
    return element("span", drawing, f"{shown} (95 % interval: {format_percent_range(ends)})", class_="db-share")
