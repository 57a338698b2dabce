"""Explanations as HTML: the evidence waterfall of each row, and the words of its texts highlighted."""

from __future__ import annotations

from typing import Any

from deciban.formatting import format_count
from deciban.html_fragments import (
    Bar,
    Markup,
    draw_waterfall,
    element,
    highlight_passages,
    join,
    make_notes,
    wrap_for_notebook,
)
from deciban.scores.explanation import REMAINDER, Explanation, Reason, TextExplanation, format_odds

MAX_SHOWN_ROWS = 5
"""Rows of an explanation that a notebook shows."""

MAX_SHOWN_REASONS = 12
"""Reasons of a row that are shown; the others are summed in one line."""


def show_in_notebook(explanation: Explanation) -> str:
    """Return the waterfalls of the first rows with their style."""
    rows = [_show_row(explanation, row) for row in range(min(len(explanation), MAX_SHOWN_ROWS))]
    n = len(explanation) - MAX_SHOWN_ROWS
    more = [f"… and {format_count(n, 'more row')}"] if n > 0 else []
    return wrap_for_notebook(*rows, make_notes(more))


def _show_row(explanation: Explanation, row: int) -> Markup:
    """Return one row's waterfall, the strongest evidence first, its texts with their words, and unseen values."""
    caption = f"{explanation.winner[row]} rather than {explanation.runner_up[row]}"
    waterfall = draw_reasons(explanation.reasons(row), float(explanation.total[row]), caption, MAX_SHOWN_REASONS)
    unseen = make_notes(str(value) for value in explanation.unseen_values(row))
    return element("section", waterfall, *show_texts(explanation, row), unseen)


def draw_reasons(reasons: list[Reason], total: float, caption: Any, most: int) -> Markup:
    """Return the waterfall of reasons in their order; those beyond the first `most` are one line."""
    shown, omitted = reasons[:most], reasons[most:]
    bars = [Bar(reason.name, reason.decibans) for reason in shown]
    if omitted:
        bars.append(Bar(f"{REMAINDER} ({len(omitted)} more)", sum(reason.decibans for reason in omitted)))
    return draw_waterfall(bars, total, caption, format_odds(total))


def show_texts(explanation: Explanation, row: int) -> list[Markup]:
    """Return the texts of a row, each under the name of its column, with its words highlighted by their evidence."""
    documents = getattr(explanation, "documents", {})
    texts = [explanation] if isinstance(explanation, TextExplanation) else list(documents.values())
    shown = []
    for text in texts:
        name = element("p", element("b", text.column)) if text.column else None
        passages = [(place.start, place.end, place.decibans) for place in text.places(row)]
        shown.append(join(name, highlight_passages(text.texts[row], passages)))
    return shown
