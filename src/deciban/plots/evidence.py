"""Evidence as bars: for the prediction of a row, and of the words that distinguish each class from the others.

The evidence of a row is a waterfall, in decibans from the prior to the total; words have a panel for each class.
"""

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from deciban.errors import InputError
from deciban.formatting import (
    format_count,
    format_short_percent,
    format_signed,
    format_word,
    shorten_evidence_name,
    to_printable,
)
from deciban.plots import style
from deciban.plots.style import COLOURS, INK, pale, shorten
from deciban.scores import Explanation
from deciban.scores.explanation import Reason, format_odds

MAX_REASON_NAME_CHARACTERS = 46
"""The characters of a reason's name next to its bar."""

WATERFALL_WIDTH_INCHES = 7.6
"""The width of the picture where the longest name has at most `USUAL_NAME_CHARACTERS`."""

USUAL_NAME_CHARACTERS = 34
"""The greatest number of characters of a name for which the picture has its usual width."""

EXTRA_CHARACTER_INCHES = 0.08
"""The additional width of the picture for each character of the longest name beyond the usual number."""

BAR_PITCH_INCHES = 0.27
"""The distance between bars."""

FOR, AGAINST, SUM_COLOUR = COLOURS[0], COLOURS[1], "#4d4d4d"
AGAINST_HATCH = "////"
"""The hatching of evidence against, which distinguishes it from evidence for without colour."""

NUMBER_BACKGROUND = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
"""The background of numbers, which hides lines behind them."""

MAX_PLAIN_DB = 1e5
"""The largest evidence that is written without a power of ten."""


class Step(NamedTuple):
    """A bar of the waterfall: its evidence, and the total before and after it; the last is the sum, from zero."""

    name: str
    decibans: float
    start: float
    end: float
    is_sum: bool = False


def evidence(explanation: Explanation, row: int = 0, *, most: int = 12, ax: Any = None) -> Any:
    """Draw how much each reason adds to the log-odds of a row's two classes, prior to total; return the Axes.

    Each bar begins where the one above it ends. The `most` strongest reasons have a bar each, the others one
    together. The scale above has the probabilities of the odds, of these two classes alone.

    >>> import deciban
    >>> model = deciban.GaussianNB().fit([[1.0, 5.0], [2.0, 6.0], [4.0, 5.5], [5.0, 4.5]], ["a", "a", "b", "b"])
    >>> ax = evidence(model.explain([[1.5, 5.0]]))
    >>> [bar.get_text() for bar in ax.get_yticklabels()]
    ['prior', 'x0', 'x1', 'total']
    """
    style.need_matplotlib()
    if not isinstance(explanation, Explanation):
        raise InputError(f"evidence draws what model.explain(…) gives, not {type(explanation).__name__}")
    style.check_positive("most", most)
    if not -len(explanation) <= row < len(explanation):
        raise InputError(f"row {row} is not there: 0 is the first of the {format_count(len(explanation), 'row')}")
    bars = make_steps(explanation, row, most)
    if ax is None:
        further = max(0, max(len(step.name) for step in bars) - USUAL_NAME_CHARACTERS)
        width = WATERFALL_WIDTH_INCHES + EXTRA_CHARACTER_INCHES * further
        ax = style.make_axes(width, BAR_PITCH_INCHES * len(bars) + 1.9)
    edge = _compute_axis_limits(bars)
    for place, step in enumerate(bars):
        _draw_bar(ax, place, step, edge)
    _label_axes(ax, bars, edge, explanation.winner[row], explanation.runner_up[row])
    return ax


def make_steps(explanation: Explanation, row: int, most: int) -> list[Step]:
    """Return the bars of a row: prior, strongest reasons (`most`, or all `most` + 1), the others together, total."""
    reasons = _sort_reasons(explanation, row)
    prior = next(reason for reason in reasons if reason.name == "prior" and reason.behind is None)
    others = [reason for reason in reasons if reason is not prior]
    shown, hidden = (others, []) if len(others) <= most + 1 else (others[:most], others[most:])
    entries = [(prior.name, prior.decibans)]
    for reason in shown:
        if reason.behind is None:
            name = shorten_evidence_name(to_printable(reason.name), MAX_REASON_NAME_CHARACTERS, shorten)
        else:
            name = shorten(f"“{format_word(reason.behind.word)}”", MAX_REASON_NAME_CHARACTERS)
        entries.append((name, reason.decibans))
    if hidden:
        entries.append((f"{len(hidden)} more", math.fsum(reason.decibans for reason in hidden)))
    totals = pairwise(accumulate((decibans for _, decibans in entries), initial=0.0))
    bars = [Step(name, decibans, *ends) for (name, decibans), ends in zip(entries, totals)]
    total = float(explanation.total[row])
    return [*bars, Step("total", total, 0.0, total, is_sum=True)]


def _sort_reasons(explanation: Explanation, row: int) -> list[Reason]:
    """Return all reasons of a row, strongest first; a text of a table as its words."""
    found = []
    for reason in explanation.reasons(row):
        words = getattr(reason.behind, "words", None)
        found += [reason] if words is None else [Reason(word.word, word.decibans, word) for word in words(row)]
    return sorted(found, key=lambda reason: -abs(reason.decibans))


def _compute_axis_limits(bars: Sequence[Step]) -> tuple[float, float]:
    """Return the limits of the axis: all finite totals, even odds, and a margin for numbers next to the bars."""
    ends = [0.0, *(x for step in bars for x in (step.start, step.end) if math.isfinite(x))]
    low, high = min(ends), max(ends)
    margin = 0.16 * max(high - low, 10.0)
    return low - margin, high + margin


def clip_evidence(decibans: float, edge: tuple[float, float]) -> float:
    """Return evidence within the limits of an axis; undefined evidence is drawn at zero."""
    return 0.0 if math.isnan(decibans) else min(max(decibans, edge[0]), edge[1])


def _draw_bar(ax: Any, place: int, step: Step, edge: tuple[float, float]) -> None:
    """Draw a bar with its number, and a line from the bar above it."""
    start, end = clip_evidence(step.start, edge), clip_evidence(step.end, edge)
    against = end < start
    look: dict[str, Any] = {"color": SUM_COLOUR if step.is_sum else AGAINST if against else FOR}
    look |= {"hatch": AGAINST_HATCH} if against and not step.is_sum else {}
    ax.barh(place, end - start, left=start, height=0.66, edgecolor="white", linewidth=0.6, zorder=3, **look)
    if place and not step.is_sum:
        ax.plot([start, start], [place - 1, place], color="#777777", linewidth=0.9, zorder=2)
    gap = 0.012 * (edge[1] - edge[0])
    side, x = ("right", end - gap) if against else ("left", end + gap)
    look = {"fontsize": 8.5, "fontweight": "bold" if step.is_sum else "normal", "bbox": NUMBER_BACKGROUND}
    look |= {"ha": side, "va": "center", "color": INK, "zorder": 2.5, "gid": "given"}
    ax.text(x, place, format_evidence(step.decibans), **look)


def format_evidence(decibans: float) -> str:
    """Format evidence with its sign and a true minus.

    >>> format_evidence(-3.04), format_evidence(math.inf), format_evidence(8.6e12)
    ('−3.0', '+∞', '+8.6×10¹²')
    """
    if abs(decibans) >= MAX_PLAIN_DB and math.isfinite(decibans):
        return f"{'+' if decibans > 0 else ''}{style.format_scientific(decibans)}"
    return format_signed(decibans, 1)


def _label_axes(ax: Any, bars: Sequence[Step], edge: tuple[float, float], favoured: Any, against: Any) -> None:
    """Set limits, names and title, and add the scale of probabilities above."""
    names = [step.name for step in bars]
    ax.set_yticks(range(len(bars)), names, fontsize=9, color=INK, parse_math=False)
    ax.get_yticklabels()[-1].set_fontweight("bold")
    ax.set(xlim=edge, ylim=(len(bars) - 0.45, -0.55))
    ax.axvline(0, color=INK, linewidth=0.9, zorder=1)
    ax.axhline(len(bars) - 1.5, color="#b0b0b0", linewidth=0.8, zorder=1)
    ax.set_xlabel("decibans (10 is ten to one); hatched: against", fontsize=9)
    pair = " rather than ".join(shorten(label, 22) for label in (favoured, against))
    gap = ": " if len(pair) < 40 else "\n"
    ax.set_title(f"{pair}{gap}{format_odds(bars[-1].end)}", loc="left", fontsize=11, parse_math=False)
    style.add_grid_lines(ax, axis="x", color="#e0e0e0")
    ax.tick_params(axis="y", length=0)
    style.hide_spines(ax, "left", "right")
    above = ax.secondary_xaxis("top")
    marks = choose_probability_marks(edge, PROBABILITY_MARKS, 0.11)
    above.set_xticks(sorted(marks), [marks[x] for x in sorted(marks)], fontsize=8.5)
    above.set_xlabel("probability against the other class alone", fontsize=9)


PROBABILITY_MARKS = (
    1e-12, 1e-9, 1e-6, 1e-4, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 1 - 1e-6, 1 - 1e-9, 1 - 1e-12,
)  # fmt: skip
"""The probabilities that are marked on a scale of decibans, where they fit."""


def choose_probability_marks(
    edge: tuple[float, float], probabilities: Sequence[float], spacing: float
) -> dict[float, str]:
    """Return the labels by decibans of the probabilities that fit on a scale, those near even odds first.

    `spacing` is their least distance as a share of the scale.
    """
    places = {10 * math.log10(p / (1 - p)): p for p in probabilities}
    kept: dict[float, str] = {}
    for x in sorted(places, key=abs):
        if edge[0] <= x <= edge[1] and all(abs(x - other) > spacing * (edge[1] - edge[0]) for other in kept):
            kept[x] = format_probability_mark(places[x])
    return kept


def format_probability_mark(p: float) -> str:
    """Format a probability with the fewest digits: 0.01 %, 99.9 %; near 0 and 1 as a power of ten.

    >>> format_probability_mark(0.999), format_probability_mark(1e-6), format_probability_mark(1 - 1e-9)
    ('99.9 %', '10⁻⁶', '1−10⁻⁹')
    """
    far = min(p, 1 - p)
    if far > 0.5e-4:
        return format_short_percent(p)
    power = f"10⁻{str(round(-math.log10(far))).translate(style.SUPERSCRIPT)}"
    return power if p < 0.5 else f"1−{power}"


MAX_WORD_CHARACTERS = 18
"""The characters of a word next to its bar."""

MAX_PANELS = 40
WORD_PITCH_INCHES = 0.21
"""The distance between the bars of words."""

WORD_PANEL_WIDTH_INCHES = 3.1
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
    selected = _select_telltales(model, classes, n, column)
    down, across = arrange_panels(len(selected))
    height = down * (WORD_PITCH_INCHES * max(n, 4) + 0.42) + 0.62
    size = (max(WORD_PANEL_WIDTH_INCHES * across, 4.6), height)
    drawn = [word for _, _, words in selected for word in words]
    longest = max([word.decibans for word in drawn if math.isfinite(word.decibans)] + [1.0])
    ends = [high for word in drawn if math.isfinite(high := getattr(word, "high", math.nan))]
    reach = min(max([*ends, longest]), 2 * longest) * 1.03  # the longest bar, or an interval up to twice as long
    panels = style.make_panels(len(selected), across, size, w_pad=0.08, h_pad=0.06)
    for i, (ax, each) in enumerate(zip(panels, selected)):
        _draw_words(ax, *each, n, reach, numbered=i + across >= len(selected))
    figure = panels[0].figure
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
    """Return (index, class, at most n words that are evidence for it) of each class."""
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


def _draw_words(ax: Any, k: int, label: Any, words: Sequence[Any], n: int, reach: float, numbered: bool) -> None:
    """Draw the bars of class k; the axis goes to `reach` decibans, and has numbers if `numbered`."""
    from matplotlib.ticker import MultipleLocator

    places = range(len(words))
    length = [min(word.decibans, reach) for word in words]
    # fitted weights have no interval: it is NaN, or the word has none
    low = [max(getattr(word, "low", math.nan), 0.0) for word in words]
    high = [min(getattr(word, "high", math.nan), reach) for word in words]
    ax.barh(places, length, height=0.72, color=pale(k), linewidth=0, zorder=2)
    ax.hlines(places, low, high, color=INK, linewidth=1.1, zorder=3)
    names = [shorten(format_word(word.word), MAX_WORD_CHARACTERS) for word in words]
    ax.set_yticks(places, names, fontsize=8.5, color=INK, parse_math=False)
    ax.set(xlim=(0, reach), ylim=(max(n, 4) - 0.4, -0.6))
    # ticks at multiples of ten decibans; of fewer for weak evidence, of more for strong
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 10**9) if reach / step <= 7)
    ax.xaxis.set_major_locator(MultipleLocator(step))
    ax.set_title(shorten(label, 34), loc="left", fontsize=9.5, fontweight="bold", parse_math=False)
    if not words:
        ax.text(0.02, 0.9, "no word is evidence for it", transform=ax.transAxes, fontsize=8.5, va="top", color=INK)
    style.add_grid_lines(ax, axis="x", color="#d0d0d0")
    ax.tick_params(length=0, labelsize=8.5)
    ax.tick_params(axis="x", labelbottom=numbered)
    style.hide_spines(ax, "top", "right", "bottom")
    ax.spines["left"].set_color("#8c8c8c")
