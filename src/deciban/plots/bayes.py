"""A population that takes a test, a dot for each person: the meaning of a positive result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from deciban.formatting import format_short_percent, format_signed
from deciban.metrics.bayes_table import BayesTable, format_people
from deciban.plots.style import COLOURS, INK, hide_spines, need_matplotlib
from deciban.scores.explanation import DECIBAN

MAX_DOTS = 10_000
"""The number of dots; each is several people of a larger population."""

MAX_POSITIVE_DOTS = 2500
"""The number of dots of people who test positive, whose panel is smaller."""

COLUMN_DOTS = 100
"""The number of dots in a column of the population."""


class GroupStyle(NamedTuple):
    """The style of a group of people, distinct by filling and shape without colour."""

    label: str
    marker: str
    face: str
    edge: str


GROUPS = (
    GroupStyle("have it, test negative", "o", "none", COLOURS[0]),
    GroupStyle("have it, test positive", "o", COLOURS[0], COLOURS[0]),
    GroupStyle("have it not, test positive", "s", COLOURS[1], COLOURS[1]),
    GroupStyle("have it not, test negative", "o", "#c4c4c4", "none"),
)
"""The groups in the order in which they are drawn, so that all who test positive are together."""


def bayes(table: BayesTable, *, ax: Any = None) -> Any:
    """Draw a population, a dot for each person, by condition and test result; return the Axes.

    In a figure of its own there are two more panels: those who test positive alone, and the evidence in decibans from
    before the test to after it. Of more than 10 000 people a dot is several.

    >>> from deciban.metrics.bayes_table import BayesTable
    >>> ax = bayes(BayesTable(prior=0.01, sensitivity=0.9, specificity=0.95))
    >>> [len(group.get_offsets()) for group in ax.collections]
    [10, 90, 495, 9405]
    """
    need_matplotlib()
    if ax is not None:
        return _draw_population(ax, table)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 6.6), layout="constrained")
    order: Any = [["all", "positive"], ["all", "evidence"]]
    places = figure.subplot_mosaic(order, width_ratios=(1.45, 1), height_ratios=(2.3, 1))
    _draw_positives(places["positive"], table)
    _draw_evidence(places["evidence"], table)
    return _draw_population(places["all"], table)


def count_dots(table: BayesTable) -> list[int]:
    """Return the dots of the four groups, which add up to the population or to the number of dots."""
    return share_dots(_count_groups(table), min(table.population, MAX_DOTS))


def _count_groups(table: BayesTable) -> list[float]:
    return [table.false_negatives, table.true_positives, table.false_positives, table.true_negatives]


def share_dots(people: Sequence[float], dots: int) -> list[int]:
    """Share dots in proportion: each share is rounded down, the largest remainders up.

    >>> share_dots([1.0, 1.0, 1.0], 10)
    [4, 3, 3]
    """
    exact = [part * dots / sum(people) for part in people]
    rounded = [math.floor(part + 1e-9) for part in exact]
    order = sorted(range(len(exact)), key=lambda i: rounded[i] - exact[i])
    for i in order[: dots - sum(rounded)]:
        rounded[i] += 1
    return rounded


def _draw_population(ax: Any, table: BayesTable) -> Any:
    from matplotlib.lines import Line2D

    groups = count_dots(table)
    n = sum(groups)
    side = min(COLUMN_DOTS, math.ceil(math.sqrt(n)))
    _draw_dots(ax, groups, side, math.ceil(n / side))
    people = "1 person" if table.population == 1 else f"{format_people(table.population)} people"
    title = f"{people}: {format_short_percent(table.prior, 3)} have it{_format_dot_note(table.population, n)}"
    ax.set_title(title, loc="left", fontsize=11)
    entries = [Line2D([], [], ls="none", marker=g.marker, mfc=g.face, mec=g.edge, ms=6.5) for g in GROUPS]
    labels = [f"{group.label}: {format_people(n)}" for group, n in zip(GROUPS, _count_groups(table))]
    look: dict[str, Any] = {"ncols": 2, "frameon": False, "fontsize": 9, "handletextpad": 0.2, "borderaxespad": 0.2}
    ax.legend(entries, labels, loc="upper left", bbox_to_anchor=(0.0, 0.0), **look)
    return ax


def _format_dot_note(people: float, dots: int) -> str:
    return f"\n(a dot stands for {people / dots:.3g} of them)" if people > dots + 0.5 else ""


def _draw_dots(ax: Any, groups: list[int], side: int, columns: int) -> None:
    """Draw columns of dots from the left, the groups one after the other; neighbours do not touch."""
    box = ax.get_position().size * ax.figure.get_size_inches() * 72
    size = float(min(0.72 * min(box) / max(side, columns), 16.0) ** 2)  # in square points
    start = 0
    for look, n in zip(GROUPS, groups):
        place = np.arange(start, start + n)
        start += n
        style: dict[str, Any] = {"marker": look.marker, "facecolor": look.face, "edgecolor": look.edge}
        ax.scatter(place // side, -(place % side), s=size, linewidth=min(0.9, size**0.5 / 5), **style)
    ax.set(xlim=(-1, max(columns, side)), ylim=(-side, 1))
    ax.set_aspect("equal", adjustable="box", anchor="NW")
    _hide_axes(ax)


def _hide_axes(ax: Any) -> None:
    ax.set(xticks=[], yticks=[])
    ax.axis("off")


def _draw_positives(ax: Any, table: BayesTable) -> None:
    """Draw the people who test positive, and how many of them have the condition."""
    positive = table.true_positives + table.false_positives
    dots = min(round(positive), MAX_POSITIVE_DOTS)
    if dots:
        have, have_not = share_dots([table.true_positives, table.false_positives], dots)
        side = math.ceil(math.sqrt(dots))
        _draw_dots(ax, [0, have, have_not, 0], side, side)
        share = f"{format_short_percent(table.positive_predictive_value, 3)} of them have it"
        title = f"{format_people(positive)} test positive: {share}{_format_dot_note(positive, dots)}"
    else:
        _hide_axes(ax)
        title = "nobody tests positive" if positive == 0 else "fewer than one tests positive"
    ax.set_title(title, loc="left", fontsize=11)


def _draw_evidence(ax: Any, table: BayesTable) -> None:
    """Draw the change of the odds by a positive and a negative test as arrows."""
    before, prior = table.prior_decibans, format_short_percent(table.prior, 3)
    if not math.isfinite(before):
        _hide_axes(ax)
        ax.set_title(f"before the test {prior}: no test can change that", loc="left", fontsize=11)
        return
    decibans = {"positive": table.positive_decibans, "negative": table.negative_decibans}
    reach = 1.12 * max(10.0, abs(before), *(abs(before + x) for x in decibans.values() if math.isfinite(x)))
    ax.axvline(before, color="#777777", linewidth=1.0, linestyle=(0, (2, 2)), zorder=1)
    for y, (result, evidence), look in zip((1, 0), decibans.items(), (COLOURS[1], "#8c8c8c")):
        _draw_arrow(ax, y, result, before, evidence, reach, look)
    ax.set_title(f"before the test {prior}, {format_signed(before, 1)} dB", loc="left", fontsize=11)
    ax.axvline(0, color=INK, linewidth=0.8, zorder=1)
    ax.set(xlim=(-reach, reach), ylim=(-0.45, 1.6), yticks=[])
    ax.set_xlabel("decibans for having it (0: even odds, 10: ten to one)", fontsize=9)
    ax.tick_params(labelsize=9)
    hide_spines(ax, "left", "right", "top")


def _draw_arrow(ax: Any, y: float, result: str, before: float, evidence: float, reach: float, colour: str) -> None:
    words = f"{result}: never"
    if not math.isnan(evidence):
        end = before + evidence
        x = min(max(end, -reach), reach)
        look = {"arrowstyle": "-|>", "lw": 3, "color": colour, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 16}
        ax.annotate("", (x, y), (before, y), arrowprops=look, zorder=3)
        words = f"{result}: {format_signed(evidence, 1)} dB, now {format_short_percent(probability_of(end), 3)}"
    behind = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
    place: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "bbox": behind, "zorder": 2}
    ax.text(0.0, y + 0.26, words, fontsize=9.5, color=INK, **place)


def probability_of(decibans: float) -> float:
    """Return the probability of odds in decibans.

    >>> probability_of(0.0), probability_of(-math.inf)
    (0.5, 0.0)
    """
    return float(expit(decibans / DECIBAN))
