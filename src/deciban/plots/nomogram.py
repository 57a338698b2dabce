"""Nomograms: a scale of decibans for each column, whose sum is read as a probability."""

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

from deciban.errors import InputError
from deciban.formatting import format_short_percent, format_signed
from deciban.model.model import Model
from deciban.model.table_explanations import explain_rows
from deciban.plots import style
from deciban.plots.conditionals import check_table_model
from deciban.plots.evidence import PROBABILITY_MARKS, choose_probability_marks, clip_evidence, format_evidence
from deciban.plots.nomogram_scales import Branch, Mark, Scale, Scales, compute_scales
from deciban.plots.style import COLOURS, INK, shorten
from deciban.plots.theory_pictures import to_probability

TOTAL_RANGE_DB, MAX_TOTAL_RANGE_DB = 45.0, 90.0
"""The range of the scale of totals to either side of even odds, and its maximum for a row with more evidence."""

COLUMN_RANGE_DB, MAX_COLUMN_RANGE_DB = 40.0, 200.0
"""The range of the scales of columns to either side, and its maximum if most columns have stronger evidence; scales
of still stronger evidence leave the picture with an arrow."""

SCALE_SHARE = 0.8
"""The share of the width of the Axes that scales take, next to names and numbers."""

SCALE_HEIGHT_INCHES, BRANCH_HEIGHT_INCHES = 0.48, 0.2
"""The height of a scale, and the additional height of a second branch."""

WIDTH_INCHES = 8.6
LABEL_POINTS = 7.5
"""The font size of the labels of marks."""

ROW_COLOUR = COLOURS[5]
ROW_MARKER: dict[str, Any] = {"marker": "o", "color": ROW_COLOUR, "mec": "white", "ms": 8}
ROW_MARKER |= {"zorder": 5, "clip_on": False}
"""The style of the marker of a row."""

ROW_TEXT: dict[str, Any] = {"va": "center", "fontsize": 8.5, "color": ROW_COLOUR, "parse_math": False}
"""The style of the numbers of a row, on the right of the scales."""


def nomogram(
    model: Model, rows: Any = None, *, row: int = 0, classes: tuple[Any, Any] | None = None, most: int = 12,
    ax: Any = None,
) -> Any:  # fmt: skip
    """Draw a scale for each of the `most` columns of strongest evidence, with its decibans; return the Axes.

    The sum of all and of the prior leads to the probability of the first of two classes against the second: of two
    classes the second, of more the most frequent, unless `classes` names them. With `rows`, a table, the row numbered
    `row` (0 is the first) is marked on every scale, for its two most probable classes. A number that is evidence
    for the same class on both sides has two scales, one below the other.

    >>> import deciban
    >>> table = {"fever": [38.5, 39.0, 36.5, 37.0], "cough": ["yes", "yes", "no", "yes"], "ill": ["y", "y", "n", "n"]}
    >>> model = deciban.train(table, target="ill", roles={"fever": "number"}, judge=False)
    >>> [name.get_text() for name in nomogram(model).texts if name.get_gid() == "name"]
    ['prior', 'fever', 'cough', 'total', 'probability']
    """
    style.need_matplotlib()
    style.check_positive("most", most)
    explanation = None if rows is None else _explain_row(model, rows, row, classes)
    drawn = compute_scales(model, classes, most, explanation)
    # the prior is a scale of one value, which is marked unless it is that of a row
    mark = Mark(drawn.prior, format_evidence(drawn.prior) if drawn.total is None else "")
    prior = Scale("prior", (Branch(drawn.prior, drawn.prior, (mark,)),), None if drawn.total is None else drawn.prior)
    every = [prior, *drawn.columns, *([] if drawn.together is None else [drawn.together])]
    heights = [SCALE_HEIGHT_INCHES + BRANCH_HEIGHT_INCHES * (len(scale.branches) - 1) for scale in every]
    ax = style.make_axes(WIDTH_INCHES, sum(heights) + 2.9) if ax is None else ax
    edge = _compute_scale_limits(drawn)
    ax.set_xlim(*edge)
    inches = SCALE_SHARE * ax.get_position().width * ax.figure.get_figwidth()
    y = 0.35
    for scale, height in zip(every, heights):
        _draw_scale(ax, y, scale, edge, per_point=(edge[1] - edge[0]) / (inches * 72))
        y += height
    _label_axes(ax, drawn, _draw_totals(ax, y + 0.25, drawn, edge))
    return ax


def _explain_row(model: Model, rows: Any, row: int, classes: tuple[Any, Any] | None) -> Any:
    """Return the explanation of one row of a table; refuse a row that it does not have."""
    from deciban.sources.source import open_source

    check_table_model(model)
    source = open_source(rows)
    if row < 0:
        raise InputError(f"rows are counted from 0, so there is no row {row}")
    explanation = explain_rows(model, source, classes, row + 1, False)
    if row >= len(explanation):
        raise InputError(f"{source.name} has no row {row}, only {len(explanation)}. Hint: rows are counted from 0")
    return explanation[row]


def _compute_scale_limits(drawn: Scales) -> tuple[float, float]:
    """Return the limits of the scales of columns and of the prior, with a margin; far ends are cut off."""
    ends = [end for scale in drawn.columns for end in (scale.low, scale.high)]
    limit = min(max(COLUMN_RANGE_DB, median(abs(end) for end in [*ends, 0.0])), MAX_COLUMN_RANGE_DB)
    ends = [min(max(end, -limit), limit) for end in [*ends, drawn.prior] if not math.isnan(end)]
    low, high = min([*ends, -1.0]), max([*ends, 1.0])
    margin = 0.02 * (high - low)
    return low - margin, high + margin


def _draw_scale(ax: Any, y: float, scale: Scale, edge: tuple[float, float], per_point: float) -> None:
    """Draw a scale with its name on the left, its marks, arrows where it leaves the picture, and the row's marker."""
    _write_name(ax, y, scale.name)
    for i, branch in enumerate(scale.branches):
        at = y + BRANCH_HEIGHT_INCHES * i
        low, high = max(branch.low, edge[0]), min(branch.high, edge[1])
        ax.plot([low, high], [at, at], color=INK, linewidth=1.1, solid_capstyle="butt", zorder=2)
        for is_beyond, x, arrow in ((branch.low < edge[0], low, "<"), (branch.high > edge[1], high, ">")):
            if is_beyond:
                ax.plot([x], [at], marker=arrow, color=INK, markersize=5, zorder=2, clip_on=False)
        sides = (-1, 1) if len(scale.branches) == 1 else (-1,) if i == 0 else (1,)
        _draw_marks(ax, at, [mark for mark in branch.marks if edge[0] <= mark.decibans <= edge[1]], sides, per_point)
    if len(scale.branches) == 2:
        first, second = scale.branches
        is_high = math.isclose(first.high, second.high, rel_tol=1e-9, abs_tol=1e-9)
        turn = first.high if is_high else first.low  # the common end of the two branches
        ax.plot([turn, turn], [y, y + BRANCH_HEIGHT_INCHES], color=INK, linewidth=1.1, zorder=2)
    if scale.point is not None:
        ax.plot([clip_evidence(scale.point, edge)], [_find_row_height(y, scale)], **ROW_MARKER, gid="point")
        value = f"{shorten(scale.value, 14)}  " if scale.value else ""
        text = f"{value}{format_evidence(scale.point)}"
        ax.text(1.015, y, text, transform=ax.get_yaxis_transform(), gid="given", **ROW_TEXT)


def _find_row_height(y: float, scale: Scale) -> float:
    """Return the height at which the row is marked: y, or that of the second branch if its number is there."""
    if len(scale.branches) == 1:
        return y
    try:
        return y if float(scale.value) <= scale.branches[0].until else y + BRANCH_HEIGHT_INCHES
    except ValueError:  # missing
        return y


def _draw_marks(ax: Any, y: float, marks: Sequence[Mark], sides: Sequence[int], per_point: float) -> None:
    """Draw ticks, and as many labels as fit above or below the line, the outermost first."""
    from matplotlib.textpath import TextPath

    taken: dict[int, list[tuple[float, float]]] = {side: [] for side in sides}
    for mark in sorted(marks, key=lambda mark: -abs(mark.decibans)):
        x = mark.decibans
        ax.plot([x, x], [y - 0.035, y + 0.035], color=INK, linewidth=0.9, zorder=2)
        extent = TextPath((0, 0), mark.text, size=LABEL_POINTS).get_extents() if mark.text.strip() else None
        half = 0.5 * (extent.width if extent else 0.0) * per_point
        free = [s for s in sides if all(x + half < a or x - half > b for a, b in taken[s])]
        if not free or not mark.text:
            continue
        side = free[0]
        taken[side].append((x - half - 3 * per_point, x + half + 3 * per_point))
        place: dict[str, Any] = {"ha": "center", "va": "bottom" if side < 0 else "top", "fontsize": LABEL_POINTS}
        ax.text(x, y + 0.05 * side, mark.text, color=INK, gid="mark", parse_math=False, zorder=3, **place)


def _write_name(ax: Any, y: float, name: str) -> None:
    place: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "ha": "right", "va": "center", "fontsize": 9}
    ax.text(-0.02, y, shorten(name, 24), color=INK, gid="name", parse_math=False, **place)


def _draw_totals(ax: Any, y: float, drawn: Scales, edge: tuple[float, float]) -> float:
    """Draw the scale of totals and below it that of probabilities; return the height at which they end."""
    low, high = drawn.reach
    total = clip_evidence(drawn.total or 0.0, (-MAX_TOTAL_RANGE_DB, MAX_TOTAL_RANGE_DB))
    first = min(max(low, -TOTAL_RANGE_DB), total, -10.0)
    last = max(min(high, TOTAL_RANGE_DB), total, 10.0)

    def at(decibans: float) -> float:
        share = (clip_evidence(decibans, (first, last)) - first) / (last - first)
        return edge[0] + (0.02 + 0.96 * share) * (edge[1] - edge[0])

    _write_name(ax, y, "total")
    _write_name(ax, y + 0.5, "probability")
    for line in (y, y + 0.5):
        ax.plot([at(first), at(last)], [line, line], color=INK, linewidth=1.4)
    step = next(step for step in (5, 10, 20) if (last - first) / step <= 12)
    ticks = [i * step for i in range(math.ceil(first / step), math.floor(last / step) + 1)]
    probabilities = choose_probability_marks((first, last), (*PROBABILITY_MARKS, 0.25, 0.75), 0.085)
    for line, marks in ((y, {x: format_signed(x, 0) if x else "0" for x in ticks}), (y + 0.5, probabilities)):
        for x, text in marks.items():
            ax.plot([at(x), at(x)], [line, line + 0.05], color=INK, linewidth=0.9)
            ax.text(at(x), line + 0.075, text, ha="center", va="top", fontsize=8, color=INK, gid="total mark")
    if drawn.total is not None:
        _draw_outcome(ax, y, drawn.total, at(drawn.total))
    return y + 0.95


def _draw_outcome(ax: Any, y: float, total: float, x: float) -> None:
    """Draw the total of the row at x, on the scale of totals and on that of probabilities."""
    right: dict[str, Any] = {"transform": ax.get_yaxis_transform(), **ROW_TEXT}
    if math.isnan(total):
        ax.text(1.015, y, "undefined", **right)
        return
    ax.plot([x, x], [y, y + 0.5], color=ROW_COLOUR, linewidth=1.4, zorder=4)
    ax.plot([x, x], [y, y + 0.5], **ROW_MARKER, ls="none", gid="outcome")
    p = to_probability(total)
    probability = "over 99.99 %" if p > 0.9999 else "under 0.01 %" if p < 1e-4 else format_short_percent(p)
    for line, text in ((y, format_evidence(total)), (y + 0.5, probability)):
        ax.text(1.015, line, text, gid="given", **{**right, "fontsize": 9, "fontweight": "bold"})


def _label_axes(ax: Any, drawn: Scales, foot: float) -> None:
    """Set the title and the axis of decibans at the top; `foot` is the height at which the picture ends."""
    ax.set(ylim=(foot, 0.0), yticks=[])
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set_xlabel("decibans that a value gives (10 is ten to one)", fontsize=9)
    ax.tick_params(axis="x", labelsize=8.5)
    ax.axvline(0, ymin=1.45 / foot, color="#b0b0b0", linewidth=0.8, zorder=0)
    title = f"{shorten(drawn.favoured)} rather than {shorten(drawn.against)}"
    ax.set_title(title, loc="left", fontsize=11, parse_math=False)
    style.hide_spines(ax, "left", "right", "bottom")
