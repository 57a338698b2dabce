"""HTML fragments of results, for notebooks and pages: tables, intervals, evidence waterfalls, highlighted words.

A fragment is a `Markup`, which `element` and `join` make; every other value is escaped there.
Fragments are without scripts and styles of their own: classes are styled by `STYLE`, which `wrap_for_notebook` adds.
"""

from deciban.html_fragments.evidence_bars import Bar, draw_posterior, draw_waterfall
from deciban.html_fragments.figure_tables import (
    draw_interval,
    make_confusion_table,
    make_details,
    make_notes,
    make_pairs,
    make_table,
)
from deciban.html_fragments.highlighted_text import highlight_passages
from deciban.html_fragments.markup import Markup, element, join
from deciban.html_fragments.style import STYLE, wrap_for_notebook

__all__ = [
    "STYLE",
    "Bar",
    "Markup",
    "draw_interval",
    "draw_posterior",
    "draw_waterfall",
    "element",
    "highlight_passages",
    "join",
    "make_confusion_table",
    "make_details",
    "make_notes",
    "make_pairs",
    "make_table",
    "wrap_for_notebook",
]
