"""The words that distinguish each class from the others, as bars in a panel for each class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from deciban.errors import InputError
from deciban.plots import style
from deciban.plots.style import INK, pale, shorten
from deciban.scores.explanation import format_word

MAX_WORD_CHARACTERS = 18
"""The characters of a word next to its bar."""

MAX_PANELS = 40
BAR_PITCH_INCHES = 0.21
"""The distance between bars."""

PANEL_WIDTH_INCHES = 3.1
"""The width of a panel."""

CAPTION = "decibans for the class against all others together (10 is ten to one); line: 90 % interval"


def telltales(model: Any, classes: Sequence[Any] | None = None, *, n: int = 12, column: str | None = None) -> Any:
    """Draw the n strongest telltales of each class, or of `classes`; return the Figure.

    A bar is the evidence of a word in decibans, and the line on it is the 90 % interval; the strongest word comes
    first. All panels have one scale. `column` names the column of texts where a table has several.

    >>> import deciban
    >>> model = deciban.TextClassifier().fit(["a free prize", "lunch at noon", "free money"], ["spam", "ham", "spam"])
    >>> figure = telltales(model, n=3)
    >>> [panel.get_title(loc="left") for panel in figure.axes], figure.axes[1].get_yticklabels()[0].get_text()
    (['ham', 'spam'], 'free')
    """
    style.need_matplotlib()
    from matplotlib.figure import Figure

    selected = _select_telltales(model, classes, n, column)
    down, across = arrange_panels(len(selected))
    height = down * (BAR_PITCH_INCHES * max(n, 4) + 0.42) + 0.62
    figure = Figure(figsize=(max(PANEL_WIDTH_INCHES * across, 4.6), height), layout="constrained")
    engine: Any = figure.get_layout_engine()
    engine.set(w_pad=0.08, h_pad=0.06)
    reach = _compute_axis_limit([word for _, _, words in selected for word in words])
    panels = figure.subplots(down, across, squeeze=False).ravel().tolist()
    for i, (ax, each) in enumerate(zip(panels, selected)):
        _draw_panel(ax, *each, n, reach, numbered=i + across >= len(selected))
    for ax in panels[len(selected) :]:
        ax.remove()
    figure.supxlabel(CAPTION if across > 1 else CAPTION.replace("; ", "\n"), fontsize=8.5, color=INK)
    return figure


def arrange_panels(n: int) -> tuple[int, int]:
    """Return the rows and columns of n panels, so that the figure is about as high as it is wide.

    >>> [arrange_panels(n) for n in (1, 2, 3, 4, 6, 9, 20)]
    [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3), (5, 4)]
    """
    across = n if n <= 3 else 2 if n == 4 else 3 if n <= 9 else 4
    return math.ceil(n / across), across


def _select_telltales(
    model: Any, classes: Sequence[Any] | None, n: int, column: str | None
) -> list[tuple[int, Any, list[Any]]]:
    """Return each class with its index and the words that are evidence for it."""
    style.check_positive("n", n)
    known = list(model.classes_ if hasattr(model, "classes_") else model.classes)
    wanted = known if classes is None else list(classes)
    if not 1 <= len(wanted) <= MAX_PANELS:
        raise InputError(
            f"a picture has space for 1 to {MAX_PANELS} classes, not {len(wanted)}. "
            f"Hint: --class LABEL, more than once (classes=[…]) names those that matter"
        )
    which = {} if column is None else {"column": column}
    number = {str(label): k for k, label in enumerate(known)}
    selected = [(number.get(str(label), 0), label, model.telltales(label, n, **which)) for label in wanted]
    return [(k, label, [word for word in words if word.decibans > 0]) for k, label, words in selected]


def _compute_axis_limit(words: Sequence[Any]) -> float:
    """Return the limit of the axis: the longest bar, or an interval up to twice as long."""
    longest = max([word.decibans for word in words if math.isfinite(word.decibans)] + [1.0])
    ends = [word.high for word in words if math.isfinite(word.high)]
    return min(max([*ends, longest]), 2 * longest) * 1.03


def _draw_panel(ax: Any, k: int, label: Any, words: Sequence[Any], n: int, reach: float, numbered: bool) -> None:
    """Draw the bars of a class."""
    from matplotlib.ticker import MultipleLocator

    places = range(len(words))
    length = [min(word.decibans, reach) for word in words]
    low = [max(word.low, 0.0) for word in words]
    high = [min(word.high, reach) for word in words]
    ax.barh(places, length, height=0.72, color=pale(k), linewidth=0, zorder=2)
    ax.hlines(places, low, high, color=INK, linewidth=1.1, zorder=3)
    names = [shorten(format_word(word.word), MAX_WORD_CHARACTERS) for word in words]
    ax.set_yticks(places, names, fontsize=8.5, color=INK, parse_math=False)
    ax.set_ylim(max(n, 4) - 0.4, -0.6)
    ax.set_xlim(0, reach)
    # ticks at multiples of ten decibans; closer for weak evidence, farther apart for strong
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 10**9) if reach / step <= 7)
    ax.xaxis.set_major_locator(MultipleLocator(step))
    ax.set_title(shorten(label, 34), loc="left", fontsize=9.5, fontweight="bold", parse_math=False)
    if not words:
        ax.text(0.02, 0.9, "no word is evidence for it", transform=ax.transAxes, fontsize=8.5, va="top", color=INK)
    ax.grid(axis="x", color="#d0d0d0", linewidth=0.7, zorder=0)
    ax.set_axisbelow(True)
    ax.tick_params(length=0, labelsize=8.5)
    ax.tick_params(axis="x", labelbottom=numbered)
    style.hide_spines(ax, "top", "right", "bottom")
    ax.spines["left"].set_color("#8c8c8c")
