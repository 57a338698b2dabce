"""The words that tell each class from the others, as bars: a panel for each class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from deciban.errors import InputError
from deciban.plots.style import INK, need_matplotlib, pale, shortened
from deciban.scores.passages import format_word, to_printable

LONGEST = 18
"""Letters of a word that stand beside its bar."""

MOST_PANELS = 40
BETWEEN = 0.21
"""Inches from one bar to the next: room for a word in small print."""

WIDE = 3.1
"""Inches that a panel is wide."""

CAPTION = "decibans for the class against all others together (10 is ten to one); line: 90 % interval"


def telltales(model: Any, classes: Sequence[Any] | None = None, *, n: int = 12, column: str | None = None) -> Any:
    """Draw the n most telling words of each class, or of these; returns the Figure.

    A bar is as long as the word is strong, in decibans, and the line on it is the 90 % interval; the most
    telling word comes first. All panels have one scale. `column` names the column of texts where a table has several.

    >>> import deciban
    >>> model = deciban.TextClassifier().fit(["a free prize", "lunch at noon", "free money"], ["spam", "ham", "spam"])
    >>> figure = telltales(model, n=3)
    >>> [panel.get_title(loc="left") for panel in figure.axes], figure.axes[1].get_yticklabels()[0].get_text()
    (['ham', 'spam'], 'free')
    """
    need_matplotlib()
    from matplotlib.figure import Figure

    told = _told(model, classes, n, column)
    down, across = grid(len(told))
    height = down * (BETWEEN * max(n, 4) + 0.42) + 0.62
    figure = Figure(figsize=(max(WIDE * across, 4.6), height), layout="constrained")
    spaced: Any = figure.get_layout_engine()
    spaced.set(w_pad=0.08, h_pad=0.06)
    reach = _reach([word for _, _, words in told for word in words])
    panels = figure.subplots(down, across, squeeze=False).ravel().tolist()
    for i, ax in enumerate(panels):
        if i >= len(told):
            ax.remove()
            continue
        _panel(ax, *told[i], n, reach, numbered=i + across >= len(told))
    wrapped = CAPTION if across > 1 else CAPTION.replace("; ", "\n")
    figure.supxlabel(wrapped, fontsize=8.5, color=INK)
    return figure


def grid(n: int) -> tuple[int, int]:
    """Panels down and across: a sheet that is about as high as it is wide.

    >>> [grid(n) for n in (1, 2, 3, 4, 6, 9, 20)]
    [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3), (5, 4)]
    """
    across = n if n <= 3 else 2 if n == 4 else 3 if n <= 9 else 4
    return math.ceil(n / across), across


def _told(model: Any, classes: Sequence[Any] | None, n: int, column: str | None) -> list[tuple[int, Any, list[Any]]]:
    """Each class with its number and its words; those alone that speak for it."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise InputError(f"n must be a whole number ≥ 1, not {n!r}")
    known = list(model.classes_ if hasattr(model, "classes_") else model.classes)
    wanted = known if classes is None else list(classes)
    if not 1 <= len(wanted) <= MOST_PANELS:
        raise InputError(
            f"a picture has room for 1 to {MOST_PANELS} classes, not {len(wanted)}. "
            f"Hint: --class LABEL, more than once (classes=[…]) names those that matter"
        )
    which = {} if column is None else {"column": column}
    number = {str(label): k for k, label in enumerate(known)}
    told = [(number.get(str(label), 0), label, model.telltales(label, n, **which)) for label in wanted]
    return [(k, label, [word for word in words if word.decibans > 0]) for k, label, words in told]


def _reach(words: Sequence[Any]) -> float:
    """How far the axis goes: to the longest bar, and along intervals at most as far again."""
    longest = max([word.decibans for word in words if math.isfinite(word.decibans)] + [1.0])
    ends = [word.high for word in words if math.isfinite(word.high)]
    return min(max([*ends, longest]), 2 * longest) * 1.03


def _panel(ax: Any, k: int, label: Any, words: Sequence[Any], n: int, reach: float, numbered: bool) -> None:
    places = range(len(words))
    length = [min(word.decibans, reach) for word in words]
    low = [max(word.low, 0.0) for word in words]
    high = [min(word.high, reach) for word in words]
    ax.barh(places, length, height=0.72, color=pale(k), linewidth=0, zorder=2)
    ax.hlines(places, low, high, color=INK, linewidth=1.1, zorder=3)
    names = [shortened(format_word(word.word), LONGEST) for word in words]
    ax.set_yticks(places, names, fontsize=8.5, color=INK, parse_math=False)
    ax.set_ylim(max(n, 4) - 0.4, -0.6)
    ax.set_xlim(0, reach)
    ax.xaxis.set_major_locator(_every(reach))
    ax.set_title(
        shortened(to_printable(str(label)), 34), loc="left", fontsize=9.5, fontweight="bold", parse_math=False
    )
    if not words:
        ax.text(0.02, 0.9, "no word speaks for it", transform=ax.transAxes, fontsize=8.5, va="top", color=INK)
    _plain(ax, numbered)


def _every(reach: float) -> Any:
    """Marks at whole tens of decibans; closer where the words say little, farther where they say very much."""
    from matplotlib.ticker import MultipleLocator

    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 10**9) if reach / step <= 7)
    return MultipleLocator(step)


def _plain(ax: Any, numbered: bool) -> None:
    """No frame; thin lines to read lengths by."""
    ax.grid(axis="x", color="#d0d0d0", linewidth=0.7, zorder=0)
    ax.set_axisbelow(True)
    ax.tick_params(length=0, labelsize=8.5)
    ax.tick_params(axis="x", labelbottom=numbered)
    for side in ("top", "right", "bottom"):
        ax.spines[side].set_visible(False)
    ax.spines["left"].set_color("#8c8c8c")
