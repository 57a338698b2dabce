"""Learning curves with intervals, of one learner and of several side by side: accuracy or log-loss on held-out rows.

Of several learners the differences from the best are drawn too.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError
from deciban.formatting import format_short_percent, format_thousands
from deciban.metrics.comparison_advice import round_rows
from deciban.metrics.intervals import NORMAL_95
from deciban.plots import style
from deciban.plots.style import EDGE_COLOUR, FAINT_COLOUR, INK, colour, marker, shorten

Metric = Literal["accuracy", "log_loss"]
METRIC_NAMES = {"accuracy": "accuracy", "log_loss": "log-loss"}
INFINITE_NOTE = "a point is lacking where the true class had the probability 0: it is ∞"
ONE_CLASS_NOTE = "a point is lacking where the model had met one class only"

WHISKER_SPACING_POINTS = 2.2
"""The distance between the whiskers of two curves."""

MAX_AXIS_CHARACTERS = 62
"""The number of characters of the numbers below the axis."""

DOTTED: dict[str, Any] = {"color": FAINT_COLOUR, "linewidth": 1.1, "linestyle": (0, (1, 1.5)), "zorder": 1}
"""The style of a line of reference."""


def learning(curve: Any, *, figure: Metric = "accuracy", ax: Any = None) -> Any:
    """Draw the quality of a model by the number of rows it learned, as `learning_curve` measured it; return the Axes.

    A point is a model that learned so many rows, its whisker the 95 % interval of the `figure`, "accuracy" or
    "log_loss", on the same held-out rows; a curve for each share of training labels that were flipped. The dotted
    line is the figure of the class shares without any evidence.

    >>> import deciban
    >>> rows = {"x": [i % 7 + 3 * (i % 2) for i in range(200)], "odd": [i % 2 for i in range(200)]}
    >>> ax = learning(deciban.learning_curve(rows, target="odd", sizes=[20, 100], flipped=[0, 0.2]))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['labels as they are', '20 % of the labels wrong', 'always 0']
    """
    _check_metric(figure)
    style.need_matplotlib()
    ax = style.make_axes(6.4, 4.4 + 0.2 * len(curve.flipped)) if ax is None else ax
    sizes = np.asarray(curve.sizes, dtype=np.float64)
    values = np.reshape(getattr(curve, figure), (len(curve.flipped), len(sizes)))
    ends = np.reshape(getattr(curve, f"{figure}_interval"), (len(curve.flipped), len(sizes), 2))
    whiskers = {"linewidth": 1.3, "alpha": 0.75}
    entries = [_draw_curve(ax, sizes, *pair, i, len(values), whiskers) for i, pair in enumerate(zip(values, ends))]
    reference, reference_label = _measure_without_evidence(curve.reports[0][-1], figure)
    entries.append(ax.axhline(reference, gid="bare", **DOTTED))
    _set_size_limits(ax, sizes)
    _set_height_limits(ax, np.concatenate([values.ravel(), ends.ravel(), [reference]]))
    rows = "row" if curve.held_out == 1 else "rows"
    _label_axes(ax, curve.sizes, f"{METRIC_NAMES[figure]} on {format_thin_spaces(curve.held_out)} held-out {rows}")
    if figure == "accuracy":
        style.label_in_percent(ax.yaxis)
    notes = {INFINITE_NOTE: np.isinf(values).any(), ONE_CLASS_NOTE: np.isnan(values).any()}
    note = "\n".join(text for text, is_needed in notes.items() if is_needed) or None
    wrong = [f"{format_short_percent(share, 3)} of the labels wrong" for share in curve.flipped]
    labels = [label if share else "labels as they are" for label, share in zip(wrong, curve.flipped)]
    labels = labels if len(labels) > 1 or curve.flipped[0] else ["with its 95 % interval"]
    style.add_legend_below(ax, entries, [*labels, reference_label], note)
    return ax


def _check_metric(figure: str) -> None:
    if figure not in METRIC_NAMES:
        raise InputError(f"figure must be {' or '.join(map(repr, METRIC_NAMES))}, not {figure!r}")


def _draw_curve(
    ax: Any, sizes: Array, y: Array, ends: Array, i: int, n: int, whiskers: dict[str, Any], label: str | None = None
) -> Any:
    """Draw the finite points of the i-th of n curves, their intervals (ends, S×2) side by side; return the line."""
    look = {"transform": style.shift_points(ax, ax.transData, (i - (n - 1) / 2) * WHISKER_SPACING_POINTS)}
    shown = np.isfinite(y)
    finite = shown & np.isfinite(ends).all(axis=1)
    ax.vlines(sizes[finite], *ends[finite].T, color=colour(i), zorder=2, gid="interval", **whiskers, **look)
    look |= {"linestyle": style.dashes(i), "linewidth": 1.5, "zorder": 3, "gid": "learning", "label": label}
    return ax.plot(sizes[shown], y[shown], **look, **style.marker_look(i))[0]


def _measure_without_evidence(report: Any, figure: Metric) -> tuple[float, str]:
    """Return the figure of predicting by the shares of the classes alone, and its label."""
    if figure == "accuracy":
        return float(report.majority), f"always {shorten(report.commonest)}"
    shares = np.asarray(report.rows_by_class) / np.sum(report.rows_by_class)
    some = shares[shares > 0]
    return float(-(some * np.log(some)).sum()), "the shares of the classes alone"


def _label_axes(ax: Any, sizes: Sequence[int], label: str, characters: int = MAX_AXIS_CHARACTERS) -> None:
    """Label the axis of sizes with as many as fit in `characters`, the vertical axis with `label`; add grid lines."""
    places = select_legible_sizes(sizes, characters)
    ax.set_xticks(places, [format_thin_spaces(n) for n in places])
    ax.set_xticks([], minor=True)
    ax.set(xlabel="rows learned", ylabel=label)
    style.add_grid_lines(ax)
    style.hide_spines(ax, "top", "right")


def _set_size_limits(ax: Any, sizes: Array) -> None:
    """Make the axis of sizes logarithmic, with a margin."""
    margin = max(sizes.max() / sizes.min(), 4.0) ** 0.05
    ax.set_xscale("log")
    ax.set_xlim(sizes.min() / margin, sizes.max() * margin)


def _set_height_limits(ax: Any, heights: Array) -> None:
    """Set the limits to the points and whiskers, with a margin."""
    heights = heights[np.isfinite(heights)]
    margin = 0.05 * max(float(np.ptp(heights)), 0.02)
    ax.set_ylim(heights.min() - margin, heights.max() + margin)


def select_legible_sizes(sizes: Sequence[int], characters: int = MAX_AXIS_CHARACTERS) -> list[int]:
    """Return the sizes that fit below a logarithmic axis without touching, with the largest.

    >>> select_legible_sizes([10, 11, 100, 1000]), select_legible_sizes([5])
    ([11, 100, 1000], [5])
    """
    spacing = np.log(max(sizes) / min(sizes)) * (len(format_thin_spaces(max(sizes))) + 2) / characters
    kept: list[int] = []
    for size in sorted(sizes, reverse=True):
        if not kept or np.log(kept[-1] / size) >= spacing:
            kept.append(size)
    return kept[::-1]


def format_thin_spaces(n: float) -> str:
    """Format a whole number with thin spaces between thousands."""
    return format_thousands(n, gap="\u2009")


DIFFERENCE_LABELS = {"accuracy": "accuracy below the highest", "log_loss": "log-loss above the lowest"}
GAUSSIAN_PREFIX = "Gaussian"
"""The prefix of the names of Gaussian learners, of which only the best has a curve."""

MAX_RANGE_RATIO = 2.5
"""The range of differences that is drawn, in multiples of the largest difference of a learner with a curve."""

COMPARISON_AXIS_CHARACTERS = 42
"""The number of characters of the numbers below the curves of several learners."""


def comparison(found: Any, *, figure: Metric = "accuracy", ax: Any = None) -> Any:
    """Draw learners as `deciban.compare` evaluated them; return the Figure, or the Axes if there is one panel.

    On the left how much worse each learner is than the best by the `figure`, "accuracy" or "log_loss", with the 95 %
    interval of the differences row by row; hollow where no difference is significant, at 95 % for all of them
    together. On the right the mean over the draws by how many rows were learned, with 95 % intervals, and
    where naive Bayes is overtaken. Of the Gaussian learners the best alone has a curve. With `ax` the curves alone,
    or, if there are none, the differences.

    >>> import deciban
    >>> rows = {"x": [i % 7 + 3 * (i % 2) for i in range(200)], "odd": [i % 2 for i in range(200)]}
    >>> found = deciban.compare(rows, target="odd", learners=["bayes", "tied_diagonal"], draws=3)
    >>> [panel.get_xlabel().splitlines()[0] for panel in comparison(found).axes]
    ['accuracy below the highest', 'rows learned']
    """
    _check_metric(figure)
    style.need_matplotlib()
    drawn = _select_curves(found)
    if ax is not None:
        if not found.growth:
            return _draw_differences(ax, found, figure, drawn)
        _draw_learners(ax, found, figure, drawn)
        ax.legend(frameon=False, fontsize=9, handlelength=3.0)
        return ax
    height = 0.9 + 0.32 * len(found.rows)
    if found.growth is None:
        return _draw_differences(style.make_axes(6.4, max(1.6, height)), found, figure, drawn)
    left, right = style.make_panels(2, 2, (9.6, max(3.6, height)), width_ratios=[1.0, 1.25])
    _draw_differences(left, found, figure, drawn)
    _draw_learners(right, found, figure, drawn)
    return left.figure


def _select_curves(found: Any) -> dict[str, int]:
    """Return the learners with a curve, and the index of the colour of each; of Gaussians that of least log-loss."""
    gaussians = [each for each in found.rows if each.name.startswith(GAUSSIAN_PREFIX)]
    best = min(gaussians, key=lambda each: each.loss.mean, default=None)
    shown = [each.name for each in found.rows if each is best or each not in gaussians]
    return {name: i for i, name in enumerate(shown)}


def _draw_differences(ax: Any, found: Any, figure: Metric, drawn: dict[str, int]) -> Any:
    """Draw how much worse each learner is than the best, with intervals, or at the edge if far; return the Axes."""
    from matplotlib.ticker import MaxNLocator

    differences = [each.loss if figure == "log_loss" else each.misses for each in found.rows]
    mean = np.array([difference.mean for difference in differences])
    whisker = NORMAL_95 * np.nan_to_num([difference.error for difference in differences])
    as_good = found.level if figure == "log_loss" else found.as_accurate
    shown = np.array([each.name in drawn for each in found.rows])
    reach = max(MAX_RANGE_RATIO * float((mean + whisker)[shown].max()), 1e-3)
    ax.axvline(0, color=FAINT_COLOUR, linewidth=1.1, zorder=1)
    for y, each in enumerate(found.rows):
        if mean[y] > reach:
            text = f"{100 * mean[y]:.0f} %" if figure == "accuracy" else f"{mean[y]:.3g}"
            _draw_beyond(ax, y, reach, text, drawn.get(each.name))
        else:
            ends = float(mean[y] - whisker[y]), min(float(mean[y] + whisker[y]), reach * 1.12)
            _draw_difference(ax, y, float(mean[y]), ends, drawn.get(each.name), hollow=each in as_good)
    right = max(min(reach, float((mean + whisker).max())), 1e-3)
    ax.set_xlim(min(-0.06 * right, float((mean - whisker).min()) - 0.04 * right), right * 1.12)
    ax.set_yticks(range(len(found.rows)), [shorten(each.name) for each in found.rows])
    for label, each in zip(ax.get_yticklabels(), found.rows):
        label.set_weight("bold" if each is found.best else "normal")
    ax.set_ylim(len(found.rows) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    if figure == "accuracy":
        style.label_in_percent(ax.xaxis)
    ax.set_xlabel(f"{DIFFERENCE_LABELS[figure]}\n(hollow: no difference is shown)")
    ax.grid(axis="x", color="#e3e3e3", linewidth=0.7)
    style.hide_spines(ax, "top", "right", "left")
    return ax


def _draw_difference(ax: Any, y: int, x: float, ends: tuple[float, float], k: int | None, hollow: bool) -> None:
    """Draw a difference and its interval; as a small grey dot for a learner without a curve."""
    own_colour, shape, size = (FAINT_COLOUR, "o", 4.5) if k is None else (colour(k), marker(k), 6.5)
    ax.hlines(y, *ends, color=own_colour, linewidth=1.4, alpha=0.75, zorder=2)
    look: dict[str, Any] = {"markerfacecolor": EDGE_COLOUR if hollow else own_colour, "markeredgecolor": own_colour}
    look |= {"markeredgewidth": 1.4, "markersize": size, "linestyle": "none", "zorder": 3}
    ax.plot([x], [y], marker=shape, gid="difference", **look)


def _draw_beyond(ax: Any, y: int, reach: float, text: str, k: int | None) -> None:
    """Draw an arrow at the edge, and next to it the difference, which lies beyond."""
    own_colour = FAINT_COLOUR if k is None else colour(k)
    ax.plot([reach * 1.05], [y], marker=">", color=own_colour, markersize=6, gid="beyond")
    ax.annotate(text, (reach * 1.01, y), ha="right", va="center", fontsize=8.5, color=INK)


def _draw_learners(ax: Any, found: Any, figure: Metric, drawn: dict[str, int]) -> None:
    """Draw a curve for each learner over the rows that it learned, and where naive Bayes is overtaken, if it is.

    Log-losses of few rows are huge, so they are on a log scale.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    growth = found.growth
    sizes = np.asarray(growth.sizes, dtype=np.float64)
    names = [name for name in drawn if name in growth.names]
    rows = [growth.index(name) for name in names]
    mean, whisker = growth.mean(figure)[rows], (np.nan_to_num(growth.error(figure)) * growth.critical_errors)[rows]
    low, high = mean - whisker, mean + whisker
    for name, y, ends in zip(names, mean, np.stack([low, high], axis=2)):
        _draw_curve(ax, sizes, y, ends, drawn[name], len(drawn), {"linewidth": 1.2, "alpha": 0.6}, name)
    _set_size_limits(ax, sizes)
    if figure == "log_loss":
        ax.set_yscale("log")
        ax.set_ylim(float(np.maximum(low, mean / 2).min()) / 1.05, float(high.max()) * 1.05)
    else:
        _set_height_limits(ax, np.concatenate([low, high]))
    if found.overtaken_at is not None:
        _mark_overtaking(ax, found.overtaken_at)
    held_out = format_thin_spaces(growth.held_out)
    label = f"{METRIC_NAMES[figure]} on {held_out} held-out rows, {growth.draws} draws"
    _label_axes(ax, growth.sizes, label, COMPARISON_AXIS_CHARACTERS)
    if figure == "accuracy":
        style.label_in_percent(ax.yaxis)
    else:  # plain numbers: 1, 2 and 5 of each power of ten
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())


def _mark_overtaking(ax: Any, rows: float) -> None:
    """Draw a line at the number of rows from which another learner is better than naive Bayes, and label it."""
    ax.axvline(rows, gid="crossing", **DOTTED)
    left, right = np.log(ax.get_xlim())
    side = "right" if (np.log(rows) - left) / (right - left) > 0.5 else "left"
    text = f" overtaken at about {round_rows(rows)} rows "
    ax.text(rows, 0.02, text, transform=ax.get_xaxis_transform(), ha=side, va="bottom", fontsize=8.5, color=INK)
