"""A text with highlighted words: blue for a class, orange and underlined against it, stronger with more evidence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from deciban.formatting import format_count, format_signed
from deciban.html_fragments.markup import Markup, element
from deciban.html_fragments.style import choose_shade

MAX_HIGHLIGHTED_CHARACTERS = 20_000
"""Characters of a text that are shown."""


def highlight_passages(text: str, passages: Iterable[tuple[int, int, float]]) -> Markup:
    """Return a text with marks at (start, end, decibans), which may overlap: evidence of the same letters is added.

    The letters of the most evidence have the strongest shade; the end of a long text is cut off.
    """
    pieces = _split_at_marks(text[:MAX_HIGHLIGHTED_CHARACTERS], list(passages))
    top = max((abs(decibans) for _, decibans in pieces), default=0.0)
    shown: list[Any] = [_mark_piece(piece, decibans, top) for piece, decibans in pieces]
    if len(text) > MAX_HIGHLIGHTED_CHARACTERS:
        shown.append(f" … {format_count(len(text) - MAX_HIGHLIGHTED_CHARACTERS, 'more character')}")
    return element("p", *shown, class_="db-text")


def _split_at_marks(text: str, passages: Sequence[tuple[int, int, float]]) -> list[tuple[str, float]]:
    """Return the text as pieces with the evidence of each, the sum of the passages that cover it."""
    begins: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    for i, (start, end, _) in enumerate(passages):
        begins.setdefault(min(start, len(text)), []).append(i)
        ends.setdefault(min(end, len(text)), []).append(i)
    places = sorted({0, len(text), *begins, *ends})
    covering: set[int] = set()
    pieces = []
    for a, b in pairwise(places):
        covering = (covering | set(begins.get(a, ()))) - set(ends.get(a, ()))
        pieces.append((text[a:b], sum(passages[i][2] for i in covering)))
    return pieces


def _mark_piece(piece: str, decibans: float, top: float) -> Any:
    """Return a piece of text; with evidence, and unless it is blank, marked in a shade relative to `top`."""
    if not decibans or not piece.strip():
        return piece
    side = "for" if decibans > 0 else "against"
    # infinite evidence has the strongest shade, and all other then the faintest
    shade = choose_shade(1.0 if math.isinf(decibans) else min(abs(decibans) / top, 1.0)) or 1
    name = f"db-{side} db-{side}-{shade}"
    return element(
        "mark", piece, class_=name, title=f"{format_signed(decibans)} dB", data_decibans=repr(float(decibans))
    )
