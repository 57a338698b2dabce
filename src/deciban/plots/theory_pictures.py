"""Pictures of theory: a population that takes a test, the sigmoid over the log-odds, and four losses of the margin.

The population has a dot for each person, which shows the meaning of a positive result.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from deciban._typing import Array
from deciban.errors import InputError
from deciban.formatting import format_short_percent, format_signed
from deciban.metrics.bayes_table import BayesTable, format_people
from deciban.metrics.intervals import wilson
from deciban.plots import style
from deciban.plots.style import COLOURS, INK, colour, shorten
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
    GroupStyle("do not have it, test positive", "s", COLOURS[1], COLOURS[1]),
    GroupStyle("do not have it, test negative", "o", "#c4c4c4", "none"),
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
    style.need_matplotlib()
    if ax is not None:
        return _draw_population(ax, table)
    figure = style.make_figure((11.0, 6.6))
    order: Any = [["all", "positive"], ["all", "evidence"]]
    places = figure.subplot_mosaic(order, width_ratios=(1.45, 1), height_ratios=(2.3, 1))
    _draw_positives(places["positive"], table)
    _draw_evidence(places["evidence"], table)
    return _draw_population(places["all"], table)


def count_groups(table: BayesTable) -> list[float]:
    """Return the number of people of each of `GROUPS`."""
    return [table.false_negatives, table.true_positives, table.false_positives, table.true_negatives]


def share_dots(people: Sequence[float], dots: int) -> list[int]:
    """Return the dots of each group of people, in proportion: each rounded down, the largest remainders up.

    >>> share_dots([1.0, 1.0, 1.0], 10)
    [4, 3, 3]
    """
    exact = [n * dots / sum(people) for n in people]
    rounded = [math.floor(n + 1e-9) for n in exact]
    order = sorted(range(len(exact)), key=lambda i: rounded[i] - exact[i])
    for i in order[: dots - sum(rounded)]:
        rounded[i] += 1
    return rounded


def _draw_population(ax: Any, table: BayesTable) -> Any:
    """Draw all people as dots, with the title and the legend of the groups; return the Axes."""
    from matplotlib.lines import Line2D

    groups = share_dots(count_groups(table), min(table.population, MAX_DOTS))
    n = sum(groups)
    side = min(COLUMN_DOTS, math.ceil(math.sqrt(n)))
    _draw_dots(ax, groups, side, math.ceil(n / side))
    people = "1 person" if table.population == 1 else f"{format_people(table.population)} people"
    title = f"{people}: {format_short_percent(table.prior, 3)} have it{_format_dot_note(table.population, n)}"
    ax.set_title(title, loc="left", fontsize=11)
    entries = [Line2D([], [], ls="none", marker=g.marker, mfc=g.face, mec=g.edge, ms=6.5) for g in GROUPS]
    labels = [f"{group.label}: {format_people(n)}" for group, n in zip(GROUPS, count_groups(table))]
    look: dict[str, Any] = {"ncols": 2, "frameon": False, "fontsize": 9, "handletextpad": 0.2, "borderaxespad": 0.2}
    ax.legend(entries, labels, loc="upper left", bbox_to_anchor=(0.0, 0.0), **look)
    return ax


def _format_dot_note(people: float, dots: int) -> str:
    """Return how many people a dot stands for, on a line of its own; empty if it is one."""
    return f"\n(a dot stands for {people / dots:.3g} of them)" if people > dots + 0.5 else ""


def _draw_dots(ax: Any, groups: list[int], side: int, columns: int) -> None:
    """Draw columns of dots from the left, the groups one after the other; neighbours do not touch."""
    box = ax.get_position().size * ax.figure.get_size_inches() * 72
    size = float(min(0.72 * min(box) / max(side, columns), 16.0) ** 2)  # in square points
    start = 0
    for look, n in zip(GROUPS, groups):
        place = np.arange(start, start + n)
        start += n
        fill: dict[str, Any] = {"marker": look.marker, "facecolor": look.face, "edgecolor": look.edge}
        ax.scatter(place // side, -(place % side), s=size, linewidth=min(0.9, size**0.5 / 5), **fill)
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
    arrow = {"arrowstyle": "-|>", "lw": 3, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 16}
    place: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "fontsize": 9.5, "color": INK, "zorder": 2}
    place["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
    for y, (result, evidence), shade in zip((1, 0), decibans.items(), (COLOURS[1], "#8c8c8c")):
        words = f"{result}: never"
        if not math.isnan(evidence):
            end = before + evidence
            x = min(max(end, -reach), reach)
            ax.annotate("", (x, y), (before, y), arrowprops={**arrow, "color": shade}, zorder=3)
            words = f"{result}: {format_signed(evidence, 1)} dB, now {format_short_percent(to_probability(end), 3)}"
        ax.text(0.0, y + 0.26, words, **place)
    ax.set_title(f"before the test {prior}, {format_signed(before, 1)} dB", loc="left", fontsize=11)
    ax.axvline(0, color=INK, linewidth=0.8, zorder=1)
    ax.set(xlim=(-reach, reach), ylim=(-0.45, 1.6), yticks=[])
    ax.set_xlabel("decibans for having it (0: even odds, 10: ten to one)", fontsize=9)
    ax.tick_params(labelsize=9)
    style.hide_spines(ax, "left", "right", "top")


def to_probability(decibans: float) -> float:
    """Convert log-odds in decibans to a probability.

    >>> to_probability(0.0), to_probability(-math.inf)
    (0.5, 0.0)
    """
    return float(expit(decibans / DECIBAN))


MAX_RANGE_DB, MIN_RANGE_DB = 50.0, 20.0
"""The largest and the smallest range to either side of even odds, in decibans; rows beyond are drawn at the edge."""

BAND_COUNT, MIN_BAND_ROWS = 11, 3
"""The number of bands of log-odds for comparing predicted with observed shares, and the fewest rows of a band."""

STRIP_HEIGHT = 0.13
"""The height of the strip in which the rows of a class are scattered, so that they do not hide each other."""


def sigmoid(log_odds: Any = None, hits: Any = None, *, label: Any = None, ax: Any = None) -> Any:
    """Draw the curve p = 1 / (1 + e^−f) from log-odds to probability, over rows if there are any; return the Axes.

    `log_odds` are ln[p / (1 − p)] of a class called `label`, a number for each row, and `hits` whether the row is of
    that class: such rows are scattered above the curve, the others below it. Diamonds are the share of hits among
    rows of similar log-odds, with 95 % intervals: on the curve if probabilities are calibrated.

    >>> ax = sigmoid([-2.0, -1.0, 1.0, 3.0], [False, False, True, True], label="ill")
    >>> [len(part.get_offsets()) for part in ax.collections if part.get_gid() in ("hits", "others")]
    [2, 2]
    """
    style.need_matplotlib()
    x, hit = _check_rows(log_odds, hits)
    ax = style.make_class_axes(2) if ax is None else ax
    reach = float(np.clip(np.max(np.abs(x[np.isfinite(x)]), initial=0.0) * 1.05, MIN_RANGE_DB, MAX_RANGE_DB))
    line = np.linspace(-reach, reach, 801)
    ax.plot(line, expit(line / DECIBAN), color=INK, linewidth=2.0, gid="sigmoid", zorder=3)
    if len(x):
        _scatter_rows(ax, np.clip(x, -reach, reach), hit)
        _draw_shares(ax, x, hit, reach)
    _label_sigmoid(ax, reach, label, x)
    return ax


def _check_rows(log_odds: Any, hits: Any) -> tuple[Array, NDArray[np.bool_]]:
    """Check the arguments; return log-odds in decibans, and hits."""
    x = np.asarray([] if log_odds is None else log_odds, dtype=np.float64)
    hit = np.asarray([] if hits is None else hits)
    if x.ndim != 1 or hit.shape != x.shape:
        raise InputError(f"log_odds and hits must hold a value for each row, not shapes {x.shape} and {hit.shape}")
    if np.isnan(x).any():
        row = int(np.flatnonzero(np.isnan(x))[0])
        raise InputError(f"log_odds is NaN in row {row}: impossible under every class. Hint: leave that row out")
    return x * DECIBAN, hit.astype(bool)


def _scatter_rows(ax: Any, x: Array, hit: NDArray[np.bool_]) -> None:
    """Draw rows as dots, those of the class above and the others below."""
    rng = np.random.default_rng(0)
    size = float(np.clip(4000 / len(x), 5, 26))
    for of, low, k, gid in ((hit, 1.035, 0, "hits"), (~hit, -0.035 - STRIP_HEIGHT, 1, "others")):
        look: dict[str, Any] = {"marker": "os"[k], "facecolor": colour(k), "edgecolor": "white", "linewidth": 0.3}
        y = low + STRIP_HEIGHT * rng.random(int(of.sum()))
        ax.scatter(x[of], y, s=size, alpha=0.75, zorder=2, gid=gid, clip_on=False, **look)


def _draw_shares(ax: Any, x: Array, hit: NDArray[np.bool_], reach: float) -> None:
    """Draw the share of hits in bands of similar log-odds, at the mean of the band's rows."""
    look: dict[str, Any] = {"marker": "D", "markersize": 6, "color": colour(5), "mec": "white", "gid": "share"}
    inside = np.clip(x, -reach, reach)
    band = np.clip(((inside + reach) / (2 * reach) * BAND_COUNT).astype(int), 0, BAND_COUNT - 1)
    for b in np.unique(band):
        rows = band == b
        n, share, place = int(rows.sum()), float(hit[rows].mean()), float(inside[rows].mean())
        if n < MIN_BAND_ROWS and len(x) > MIN_BAND_ROWS * BAND_COUNT:
            continue
        ax.vlines(place, *wilson(share, n), color=colour(5), linewidth=1.4, zorder=4)
        ax.plot([place], [share], zorder=5, clip_on=False, **look)


def _label_sigmoid(ax: Any, reach: float, label: Any, x: Array) -> None:
    """Set limits, ticks and labels, and add the legend."""
    from matplotlib.lines import Line2D

    name, rows = "the class" if label is None else shorten(label), len(x) > 0
    ax.axhline(0.5, color="#b0b0b0", linewidth=0.8, zorder=1)
    ax.axvline(0, color="#b0b0b0", linewidth=0.8, zorder=1)
    ax.set(xlim=(-reach * 1.02, reach * 1.02), ylim=(-0.2, 1.2) if rows else (-0.03, 1.03))
    ax.set_yticks(np.linspace(0, 1, 5))
    beyond = "; rows beyond stand at the edge" if (np.abs(x) > reach).any() else ""
    ax.set_xlabel(f"log-odds in decibans{beyond or ' (10 is ten to one)'}")
    ax.set_ylabel(f"probability of {name}", parse_math=False)
    look: dict[str, Any] = {"linestyle": "none", "markersize": 6}
    shown = [Line2D([], [], color=INK, linewidth=2.0, label=r"$p = 1\,/\,(1 + e^{-f})$")]
    if rows:
        ours = Line2D([], [], marker="o", color=colour(0), label=f"a row of {name}", **look)
        others = Line2D([], [], marker="s", color=colour(1), label="a row of another class", **look)
        share = Line2D([], [], marker="D", color=colour(5), label="share in a band, 95 % interval", **look)
        shown = [ours, others, *shown, share]
    foot: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.14), "borderaxespad": 0.0}
    for text in ax.legend(handles=shown, ncols=2, frameon=False, fontsize=8.5, **foot).get_texts()[:2]:
        text.set_parse_math(not rows)


MAX_MARGIN = 2.5
"""The largest margin that is drawn, to either side of 0."""

LOSSES: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "zero-one": (r"$[m \leq 0]$", lambda m: (m <= 0).astype(np.float64)),
    "logistic": (r"$\log_2(1 + e^{-m})$", lambda m: np.logaddexp(0.0, -m) / np.log(2)),
    "exponential": (r"$e^{-m}$", lambda m: np.exp(-m)),
    "hinge": (r"$\max(0, 1 - m)$", lambda m: np.maximum(0.0, 1 - m)),
}
"""The formula and the function of each loss of the margin m = y·f; all but the first are 1 at 0 and bound it."""


def losses(*, ax: Any = None) -> Any:
    """Draw zero-one, logistic, exponential and hinge loss over the margin y·f, y = ±1; return the Axes.

    f is the log-odds for a model of probabilities, whose loss is the logistic one: −log₂ p(y|x), in bits.

    >>> [line.get_label() for line in losses().lines][:2]
    ['zero-one  $[m \\\\leq 0]$', 'logistic  $\\\\log_2(1 + e^{-m})$']
    """
    style.need_matplotlib()
    ax = style.make_class_axes(4) if ax is None else ax
    m = np.linspace(-MAX_MARGIN, MAX_MARGIN, 1001)
    for i, (name, (formula, loss)) in enumerate(LOSSES.items()):
        look: dict[str, Any] = {"color": INK if i == 0 else colour(i - 1), "linestyle": style.dashes(i)}
        x, y = m, loss(m)
        if name == "zero-one":  # a step function, with a vertical step
            step = int(np.searchsorted(m, 0.0, side="right"))
            x, y = np.insert(x, step, [0.0, 0.0]), np.insert(y, step, [1.0, 0.0])
        ax.plot(x, y, label=f"{name}  {formula}", linewidth=2.0, gid=name, **look)
    ax.plot([0], [1], marker="o", color=INK, markersize=6, zorder=5, gid="one")
    arrow = {"arrowstyle": "-", "color": "#777777", "linewidth": 0.8, "shrinkB": 4}
    note = "1 at 0: all bound\nthe zero-one loss"
    ax.annotate(note, (0, 1), (0.42, 1.52), fontsize=9, color=INK, arrowprops=arrow)
    ax.set(xlim=(-MAX_MARGIN, MAX_MARGIN), ylim=(-0.08, 4))
    ax.set(xlabel="margin  m = y·f      ← wrong      right →", ylabel="loss")
    style.add_grid_lines(ax, color="#e0e0e0")
    ax.legend(loc="upper right", fontsize=9.5, frameon=True, framealpha=1.0, edgecolor="none", handlelength=3.2)
    return ax
