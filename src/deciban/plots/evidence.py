"""Why a row is predicted as it is: evidence in decibans, from the prior to the posterior, as a waterfall."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from deciban import formatting as spelling
from deciban.errors import InputError
from deciban.plots.boundary_equation import number
from deciban.plots.style import COLOURS, INK, need_matplotlib, sheet, shortened
from deciban.scores import Explanation
from deciban.scores.explanation import Reason, format_odds
from deciban.scores.passages import format_word, to_printable

LONGEST = 34
"""Letters of a reason's name beside its bar."""

BETWEEN = 0.27
"""Inches from one bar to the next."""

FOR, AGAINST, WHOLE = COLOURS[0], COLOURS[1], "#4d4d4d"
HATCH = "////"
"""Evidence against is hatched, so that it is told from evidence for without colour."""


BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
"""What keeps a number from a line that it would stand on."""

MOST_WRITTEN = 1e5
"""Decibans from which three digits are enough."""


class Step(NamedTuple):
    """A bar of the waterfall: what it adds, and from where to where the total moves. A whole sum begins at zero."""

    name: str
    decibans: float
    start: float
    end: float
    whole: bool = False


def evidence(explanation: Explanation, row: int = 0, *, most: int = 12, ax: Any = None) -> Any:
    """Draw what each reason adds to the odds of a row's two classes, from the prior to the total; returns the Axes.

    Each bar begins where the one above it ends. The `most` strongest reasons have a bar of their own, the others one
    together. The scale above says what the odds come to as a probability, of these two classes alone.

    >>> import deciban
    >>> model = deciban.GaussianNB().fit([[1.0, 5.0], [2.0, 6.0], [4.0, 5.5], [5.0, 4.5]], ["a", "a", "b", "b"])
    >>> ax = evidence(model.explain([[1.5, 5.0]]))
    >>> [bar.get_text() for bar in ax.get_yticklabels()]
    ['prior', 'x0', 'x1', 'total']
    """
    need_matplotlib()
    if not isinstance(explanation, Explanation):
        raise InputError(f"evidence draws what model.explain(…) gives, not {type(explanation).__name__}")
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError(f"most must be a whole number ≥ 1, not {most!r}")
    if not -len(explanation) <= row < len(explanation):
        raise InputError(f"row {row} is not there: the explanation has {len(explanation)} rows, 0 the first")
    told = steps(explanation, row, most)
    ax = sheet(7.6, BETWEEN * len(told) + 1.9) if ax is None else ax
    edge = _reach(told)
    for place, step in enumerate(told):
        _bar(ax, place, step, edge, told[place - 1] if place else None)
    _finish(ax, told, edge, explanation.winner[row], explanation.runner_up[row])
    return ax


def steps(explanation: Explanation, row: int, most: int) -> list[Step]:
    """The prior, the strongest reasons, what the others say together, and the total."""
    reasons = _reasons(explanation, row)
    prior = next(reason for reason in reasons if reason.name == "prior" and reason.behind is None)
    others = [reason for reason in reasons if reason is not prior]
    shown, rest = (others, []) if len(others) <= most + 1 else (others[:most], others[most:])
    entries = [(prior.name, prior.decibans), *((_named(reason), reason.decibans) for reason in shown)]
    if rest:
        entries.append((f"{len(rest)} more", math.fsum(reason.decibans for reason in rest)))
    told, at = [], 0.0
    for name, decibans in entries:
        told.append(Step(name, decibans, at, at + decibans))
        at += decibans
    total = float(explanation.total[row])
    return [*told, Step("total", total, 0.0, total, whole=True)]


def _reasons(explanation: Explanation, row: int) -> list[Reason]:
    """All reasons, strongest first; a text of a table is told by its words."""
    found = []
    for reason in explanation.reasons(row):
        words = getattr(reason.behind, "words", None)
        found += [reason] if words is None else [Reason(word.word, word.decibans, word) for word in words(row)]
    return sorted(found, key=lambda reason: -abs(reason.decibans))


def _named(reason: Reason) -> str:
    name = reason.name if reason.behind is None else f"“{format_word(reason.behind.word)}”"
    return shortened(to_printable(name), LONGEST)


def _reach(told: Sequence[Step]) -> tuple[float, float]:
    """The ends of the axis: all that is finite, even odds, and room for numbers beside the bars."""
    ends = [0.0, *(x for step in told for x in (step.start, step.end) if math.isfinite(x))]
    low, high = min(ends), max(ends)
    room = 0.16 * max(high - low, 10.0)
    return low - room, high + room


def _inside(x: float, edge: tuple[float, float]) -> float:
    return 0.0 if math.isnan(x) else min(max(x, edge[0]), edge[1])


def _bar(ax: Any, place: int, step: Step, edge: tuple[float, float], above: Step | None) -> None:
    start, end = _inside(step.start, edge), _inside(step.end, edge)
    against = end < start
    colour = WHOLE if step.whole else AGAINST if against else FOR
    look: dict[str, Any] = {"hatch": HATCH} if against and not step.whole else {}
    ax.barh(
        place, end - start, left=start, height=0.66, color=colour, edgecolor="white", linewidth=0.6, zorder=3, **look
    )
    if above is not None and not step.whole:
        ax.plot([start, start], [place - 1, place], color="#777777", linewidth=0.9, zorder=2)
    gap = 0.012 * (edge[1] - edge[0])
    written: dict[str, Any] = {"fontsize": 8.5, "fontweight": "bold" if step.whole else "normal", "bbox": BEHIND}
    side, x = ("right", end - gap) if against else ("left", end + gap)
    ax.text(x, place, signed(step.decibans), ha=side, va="center", color=INK, zorder=2.5, gid="given", **written)


def signed(decibans: float) -> str:
    """Evidence in writing, with a true minus.

    >>> signed(-3.04), signed(math.inf), signed(8.6e12)
    ('−3.0', '+∞', '+8.6×10¹²')
    """
    if abs(decibans) >= MOST_WRITTEN and math.isfinite(decibans):
        return f"{'+' if decibans > 0 else ''}{number(decibans)}"
    return spelling.format_signed(decibans, 1)


def _finish(ax: Any, told: Sequence[Step], edge: tuple[float, float], favoured: Any, against: Any) -> None:
    names = [step.name for step in told]
    ax.set_yticks(range(len(told)), names, fontsize=9, color=INK, parse_math=False)
    ax.get_yticklabels()[-1].set_fontweight("bold")
    ax.set_ylim(len(told) - 0.45, -0.55)
    ax.set_xlim(*edge)
    ax.axvline(0, color=INK, linewidth=0.9, zorder=1)
    ax.axhline(len(told) - 1.5, color="#b0b0b0", linewidth=0.8, zorder=1)
    ax.set_xlabel("decibans (10 is ten to one); hatched: against", fontsize=9)
    who = " rather than ".join(shortened(to_printable(str(label)), 22) for label in (favoured, against))
    gap = ": " if len(who) < 40 else "\n"
    ax.set_title(f"{who}{gap}{format_odds(told[-1].end)}", loc="left", fontsize=11, parse_math=False)
    ax.grid(axis="x", color="#e0e0e0", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)
    for side in ("left", "right"):
        ax.spines[side].set_visible(False)
    _probabilities(ax, edge)


MARKS = (1e-12, 1e-9, 1e-6, 1e-4, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 1 - 1e-6, 1 - 1e-9, 1 - 1e-12)
"""Probabilities that are marked on the scale above, where there is room."""


def _probabilities(ax: Any, edge: tuple[float, float]) -> None:
    """The same scale as probabilities."""
    above = ax.secondary_xaxis("top")
    places = {10 * math.log10(p / (1 - p)): p for p in MARKS}
    kept: list[float] = []
    for x in sorted(places, key=abs):
        if edge[0] <= x <= edge[1] and all(abs(x - other) > 0.09 * (edge[1] - edge[0]) for other in kept):
            kept.append(x)
    above.set_xticks(sorted(kept), [percent_mark(places[x]) for x in sorted(kept)], fontsize=8.5)
    above.set_xlabel("probability against the other class alone", fontsize=9)


def percent_mark(p: float) -> str:
    """As few digits as tell it: 0.01 %, 99.9 %; beyond, how far from certain.

    >>> percent_mark(0.999), percent_mark(1e-6), percent_mark(1 - 1e-9)
    ('99.9 %', '10⁻⁶', '1−10⁻⁹')
    """
    far = min(p, 1 - p)
    if far > 0.5e-4:
        return spelling.format_short_percent(p)
    power = f"10⁻{str(round(-math.log10(far))).translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
    return power if p < 0.5 else f"1−{power}"
