"""A nomogram: read off what each column gives, add up, and read off the probability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

from deciban import formatting as spelling
from deciban.errors import InputError
from deciban.model.model import Model
from deciban.model.table_explanations import explain_rows
from deciban.plots.bayes import chance
from deciban.plots.evidence import MARKS, percent_mark, signed
from deciban.plots.nomogram_scales import Branch, Mark, Scale, Scales, scales
from deciban.plots.style import COLOURS, INK, need_matplotlib, sheet, shortened
from deciban.scores.passages import to_printable

MOST_TOTAL, LARGEST_TOTAL = 45.0, 90.0
"""Decibans to either side of even odds on the scale of totals, and for a row that is surer."""

MOST_GIVEN, LARGEST_GIVEN = 40.0, 200.0
"""Decibans to either side on the scales of columns, and where most columns give more: what gives still more runs out
of the picture, with an arrow."""

SHARE = 0.8
"""Of the room that an Axes has at first, what is left for scales beside the names and numbers."""

BAND, SECOND = 0.48, 0.2
"""Inches that a scale takes, and a second branch more."""

WIDE = 8.6
SMALL = 7.5
"""Points of the letters at the marks."""

POINT = COLOURS[5]
DOT: dict[str, Any] = {"marker": "o", "color": POINT, "mec": "white", "ms": 8, "zorder": 5, "clip_on": False}
"""How the place of a row is marked."""


def nomogram(
    model: Model,
    rows: Any = None,
    *,
    row: int = 0,
    classes: tuple[Any, Any] | None = None,
    most: int = 12,
    ax: Any = None,
) -> Any:
    """Draw a scale for each of the `most` telling columns, from which its decibans are read; returns the Axes.

    The sum of all and of the prior leads to the probability of the first of two classes against the second: of two
    classes the second, of more the most frequent, unless `classes` names them. With `rows`, a table, the row numbered
    `row` (0 is the first) is marked on every scale, for its two most probable classes. A number that speaks for the
    same class on both sides has two scales, one below the other.

    >>> import deciban
    >>> table = {"fever": [38.5, 39.0, 36.5, 37.0], "cough": ["yes", "yes", "no", "yes"], "ill": ["y", "y", "n", "n"]}
    >>> model = deciban.train(table, target="ill", roles={"fever": "number"}, judge=False)
    >>> [name.get_text() for name in nomogram(model).texts if name.get_gid() == "name"]
    ['prior', 'fever', 'cough', 'total', 'probability']
    """
    need_matplotlib()
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError(f"most must be a whole number ≥ 1, not {most!r}")
    told = None if rows is None else _told(model, rows, row, classes)
    made = scales(model, classes, most, told)
    ax = sheet(WIDE, _height(made)) if ax is None else ax
    _draw(ax, made)
    return ax


def _told(model: Model, rows: Any, row: int, classes: tuple[Any, Any] | None) -> Any:
    from deciban.sources.source import open_source

    if not isinstance(model, Model):
        raise InputError(f"this picture is of a table model, from deciban.train or load; not {type(model).__name__}")
    source = rows if hasattr(rows, "batches") else open_source(rows)
    if row < 0:
        raise InputError(f"rows are counted from 0, so there is no row {row}")
    told = explain_rows(model, source, classes, row + 1, False)
    if row >= len(told):
        raise InputError(f"{source.name} has no row {row}, only {len(told)}. Hint: rows are counted from 0")
    return told[row]


def _every(made: Scales) -> list[Scale]:
    point = made.prior if made.total is not None else None
    prior = Scale(
        "prior",
        (Branch(made.prior, made.prior, (Mark(made.prior, "" if point is not None else signed(made.prior)),)),),
        point,
    )
    return [prior, *made.columns, *([made.rest] if made.rest is not None else [])]


def _height(made: Scales) -> float:
    return sum(BAND + SECOND * (len(scale.branches) - 1) for scale in _every(made)) + 2.9


def _draw(ax: Any, made: Scales) -> None:
    every = _every(made)
    edge = _edge(made)
    ax.set_xlim(*edge)
    inches = SHARE * ax.get_position().width * ax.figure.get_figwidth()
    per_point = (edge[1] - edge[0]) / (inches * 72)
    y = 0.35
    for scale in every:
        _row(ax, y, scale, edge, per_point)
        y += BAND + SECOND * (len(scale.branches) - 1)
    y = _totals(ax, y + 0.25, made, edge)
    _frame(ax, made, y)


def _edge(made: Scales) -> tuple[float, float]:
    """How far the scales of columns go: to the ends of all, within bounds."""
    ends = [end for scale in made.columns for end in (scale.low, scale.high)]
    most = min(max(MOST_GIVEN, median(abs(end) for end in [*ends, 0.0])), LARGEST_GIVEN)
    ends = [min(max(end, -most), most) for end in [*ends, made.prior] if not math.isnan(end)]
    low, high = min([*ends, -1.0]), max([*ends, 1.0])
    room = 0.02 * (high - low)
    return low - room, high + room


def _row(ax: Any, y: float, scale: Scale, edge: tuple[float, float], per_point: float) -> None:
    """A scale with its name on the left, its marks, and where the row stands."""
    _name(ax, y, scale.name)
    for i, branch in enumerate(scale.branches):
        at = y + SECOND * i
        _line(ax, at, branch, edge)
        sides = (-1, 1) if len(scale.branches) == 1 else (-1,) if i == 0 else (1,)
        _marks(ax, at, [mark for mark in branch.marks if edge[0] <= mark.decibans <= edge[1]], sides, per_point)
    if len(scale.branches) == 2:
        turn = _turn(scale.branches)
        ax.plot([turn, turn], [y, y + SECOND], color=INK, linewidth=1.1, zorder=2)
    if scale.point is not None:
        _point(ax, y, scale, scale.point, edge)


def _point(ax: Any, y: float, scale: Scale, decibans: float, edge: tuple[float, float]) -> None:
    """Where the row stands on a scale, and beside it its value and what that gives."""
    x = min(max(0.0 if math.isnan(decibans) else decibans, edge[0]), edge[1])
    ax.plot([x], [_nearest(y, scale)], **DOT, gid="point")
    value = f"{shortened(scale.value, 14)}  " if scale.value else ""
    place: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "va": "center", "gid": "given"}
    ax.text(1.015, y, f"{value}{signed(decibans)}", fontsize=8.5, color=POINT, parse_math=False, **place)


def _line(ax: Any, y: float, branch: Branch, edge: tuple[float, float]) -> None:
    """The line of a scale, with an arrow where it runs out of the picture."""
    low, high = max(branch.low, edge[0]), min(branch.high, edge[1])
    ax.plot([low, high], [y, y], color=INK, linewidth=1.1, solid_capstyle="butt", zorder=2)
    for beyond, x, arrow in ((branch.low < edge[0], low, "<"), (branch.high > edge[1], high, ">")):
        if beyond:
            ax.plot([x], [y], marker=arrow, color=INK, markersize=5, zorder=2, clip_on=False)


def _turn(branches: Sequence[Branch]) -> float:
    """Where two branches meet: the end that they share."""
    first, second = branches
    return first.high if math.isclose(first.high, second.high, rel_tol=1e-9, abs_tol=1e-9) else first.low


def _nearest(y: float, scale: Scale) -> float:
    """The height of the branch on which the row's number stands."""
    if len(scale.branches) == 1:
        return y
    try:
        return y if float(scale.value) <= scale.branches[0].until else y + SECOND
    except ValueError:  # missing
        return y


def _marks(ax: Any, y: float, marks: Sequence[Mark], sides: Sequence[int], per_point: float) -> None:
    """Ticks, and as many of their labels as have room above or below the line; those farthest out come first."""
    taken: dict[int, list[tuple[float, float]]] = {side: [] for side in sides}
    for mark in sorted(marks, key=lambda mark: -abs(mark.decibans)):
        x = mark.decibans
        ax.plot([x, x], [y - 0.035, y + 0.035], color=INK, linewidth=0.9, zorder=2)
        half = 0.5 * _width(mark.text) * per_point
        free = [s for s in sides if all(x + half < a or x - half > b for a, b in taken[s])]
        if not free or not mark.text:
            continue
        side = free[0]
        taken[side].append((x - half - 3 * per_point, x + half + 3 * per_point))
        place: dict[str, Any] = {"ha": "center", "va": "bottom" if side < 0 else "top", "fontsize": SMALL}
        ax.text(x, y + 0.05 * side, mark.text, color=INK, gid="mark", parse_math=False, zorder=3, **place)


def _width(text: str) -> float:
    """Points that a mark's label is wide."""
    from matplotlib.textpath import TextPath

    return float(TextPath((0, 0), text, size=SMALL).get_extents().width) if text.strip() else 0.0


def _name(ax: Any, y: float, name: str) -> None:
    place: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "ha": "right", "va": "center", "fontsize": 9}
    ax.text(-0.02, y, shortened(to_printable(name), 24), color=INK, gid="name", parse_math=False, **place)


def _totals(ax: Any, y: float, made: Scales, edge: tuple[float, float]) -> float:
    """The scale of totals and below it that of probabilities, on a scale of their own; returns where they end."""
    low, high = made.reach
    total = 0.0 if made.total is None or math.isnan(made.total) else made.total
    total = min(max(total, -LARGEST_TOTAL), LARGEST_TOTAL)
    first = min(max(low, -MOST_TOTAL), total, -10.0)
    last = max(min(high, MOST_TOTAL), total, 10.0)

    def at(decibans: float) -> float:
        share = (min(max(decibans, first), last) - first) / (last - first)
        return edge[0] + (0.02 + 0.96 * share) * (edge[1] - edge[0])

    _name(ax, y, "total")
    _name(ax, y + 0.5, "probability")
    for line in (y, y + 0.5):
        ax.plot([at(first), at(last)], [line, line], color=INK, linewidth=1.4)
    step = next(step for step in (5, 10, 20) if (last - first) / step <= 12)
    ticks = [i * step for i in range(math.ceil(first / step), math.floor(last / step) + 1)]
    _ruler(ax, y, [(at(x), spelling.format_signed(x, 0) if x else "0") for x in ticks])
    _ruler(ax, y + 0.5, _probability_marks(first, last, at))
    if made.total is not None:
        _outcome(ax, y, made.total, at)
    return y + 0.95


def _probability_marks(first: float, last: float, at: Any) -> list[tuple[float, str]]:
    kept: list[float] = []
    for p in sorted((*MARKS, 0.25, 0.75), key=lambda p: abs(p - 0.5)):
        x = 10 * math.log10(p / (1 - p))
        if first <= x <= last and all(abs(x - other) > 0.085 * (last - first) for other in kept):
            kept.append(x)
    return [(at(x), percent_mark(chance(x))) for x in kept]


def _ruler(ax: Any, y: float, marks: Sequence[tuple[float, str]]) -> None:
    for x, text in marks:
        ax.plot([x, x], [y, y + 0.05], color=INK, linewidth=0.9)
        ax.text(x, y + 0.075, text, ha="center", va="top", fontsize=8, color=INK, gid="total mark")


def _outcome(ax: Any, y: float, total: float, at: Any) -> None:
    """Where the row comes out."""
    if math.isnan(total):
        ax.text(1.015, y, "undefined", transform=ax.get_yaxis_transform(), fontsize=8.5, color=POINT, va="center")
        return
    x = at(total)
    ax.plot([x, x], [y, y + 0.5], color=POINT, linewidth=1.4, zorder=4)
    ax.plot([x, x], [y, y + 0.5], **DOT, ls="none", gid="outcome")
    p = chance(total)
    sure = "over 99.99 %" if p > 0.9999 else "under 0.01 %" if p < 1e-4 else spelling.format_short_percent(p)
    words = (signed(total), sure)
    for line, text in zip((y, y + 0.5), words):
        look: dict[str, Any] = {"fontsize": 9, "fontweight": "bold", "color": POINT, "va": "center", "gid": "given"}
        ax.text(1.015, line, text, transform=ax.get_yaxis_transform(), **look)


def _frame(ax: Any, made: Scales, foot: float) -> None:
    ax.set_ylim(foot, 0.0)
    ax.set_yticks([])
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set_xlabel("decibans that a value gives (10 is ten to one)", fontsize=9)
    ax.tick_params(axis="x", labelsize=8.5)
    ax.axvline(0, ymin=1.45 / foot, color="#b0b0b0", linewidth=0.8, zorder=0)
    names = [shortened(to_printable(str(label)), 26) for label in (made.favoured, made.against)]
    ax.set_title(f"{names[0]} rather than {names[1]}", loc="left", fontsize=11, parse_math=False)
    for side in ("left", "right", "bottom"):
        ax.spines[side].set_visible(False)
