"""Comparisons of learners as HTML: a table of the learners, the advice, and how the figures were measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deciban.html_fragments import Markup, element, join, make_notes, make_table, wrap_for_notebook
from deciban.metrics.comparison_advice import curve_table, signs, table

if TYPE_CHECKING:
    from deciban.metrics.comparison import Comparison


def show_comparison(comparison: Comparison) -> Markup:
    """Return the learners side by side, the recommended one in bold, with advice and notes."""
    heads, *lines = table(comparison)
    named = [[f"{sign} {name}".strip(), *figures] for sign, name, *figures in lines]
    strong = [i for i, each in enumerate(comparison.rows) if each is comparison.best]
    learners = make_table(heads[1:], named, f"learners of {comparison.target}", strong=strong)
    curves = None
    if comparison.growth is not None:
        sizes, *rows = curve_table(comparison)
        curves = make_table(sizes, rows, f"accuracy in percent by rows learned, {comparison.growth.draws} draws")
    notes = [signs(comparison), comparison.measured, *comparison.notes]
    if comparison.growth is not None:
        notes.insert(0, comparison.curve_summary)
    return join(learners, element("p", element("b", comparison.advice)), curves, make_notes(notes))


def show_in_notebook(comparison: Comparison) -> str:
    """Return the comparison with its style."""
    return wrap_for_notebook(show_comparison(comparison))
