"""A comparison of learners as text and HTML: its tables, the recommendation, a summary of the learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from deciban._typing import Array
from deciban.formatting import align_columns, format_number, format_thousands, format_with_error

if TYPE_CHECKING:
    from deciban.metrics.comparison import CandidateResult, Comparison, Gap

LEARNER_HEADINGS = ("", "learner", "accuracy %", "log-loss", "calibr.", "params")

MAX_PRINTED_SIZES = 7
"""The number of sizes of a learning curve that are printed; more do not fit a screen."""

DEFAULT_LEARNER = "naive Bayes"
"""The learner that is recommended unless another is significantly better: it needs one pass, adds and forgets."""

MAX_SENTENCE_NAMES = 4
"""The number of learners, or sizes, that a sentence lists by name."""

DISCRIMINATIVE_PARTNER = "logistic"
"""The discriminative partner of naive Bayes: the pair of Ng and Jordan."""

THAN_CHANCE = "than chance would explain"
BEST_SIGN, LEVEL_SIGN = "→", "≈"


def tabulate_learners(comparison: Comparison, times: bool = True) -> list[list[str]]:
    """Return the printed table of a comparison: headings and a line for each learner, with its time if `times`.

    The first cell of a line is `BEST_SIGN` for the recommended learner, `LEVEL_SIGN` for those as good as the lowest.
    """
    level, best = comparison.level, comparison.best
    lines = [[*LEARNER_HEADINGS, *(["time"] if times else [])]]
    for each in comparison.rows:
        accuracy, n = each.report.accuracy, each.report.effective_rows
        error = float(np.sqrt(accuracy * (1 - accuracy) / n))
        figures = [
            BEST_SIGN if each is best else LEVEL_SIGN if each in level else "",
            each.name,
            f"{100 * accuracy:.1f} ± {100 * error:.1f}",
            _format_loss(each),
            format_number(each.report.calibration_error, 3),
            format_thousands(each.n_parameters),
        ]
        lines.append([*figures, format_duration(each.seconds)] if times else figures)
    return lines


def _format_loss(each: CandidateResult) -> str:
    """Format the log-loss of a learner with its standard error; the larger it is the fewer decimals."""
    loss, error = each.report.log_loss, each.report.log_loss_error
    if 1000 <= loss < np.inf:
        return f"{format_thousands(loss)} ± {format_thousands(error)}"
    return format_with_error(loss, error, 3 if loss < 10 else 1)


def format_duration(seconds: float) -> str:
    """Format a duration in milliseconds, seconds or minutes.

    >>> [format_duration(seconds) for seconds in (0.00034, 0.0123, 1.26, 83.0, 4000.0)]
    ['0.3 ms', '12 ms', '1.3 s', '83 s', '67 min']
    """
    if seconds < 1:
        return f"{1000 * seconds:.1f} ms" if seconds < 0.001 else f"{1000 * seconds:.0f} ms"
    return f"{seconds / 60:.0f} min" if seconds > 999 else f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def describe_signs(comparison: Comparison) -> str:
    """Return the legend of the signs before the learners."""
    n = len(comparison.weight)
    words = f"{BEST_SIGN} taken"
    if any(each is not comparison.best for each in comparison.level):
        words += f", {LEVEL_SIGN} these {format_thousands(n)} rows show no difference in log-loss to the lowest"
    return f"{words}; paired row by row, at a family-wise error rate of 5 %"


def tabulate_curves(comparison: Comparison) -> list[list[str]]:
    """Return the printed table of mean accuracies in per cent: a line for each learner, a column for some sizes."""
    curves = comparison.growth
    assert curves is not None
    printed = select_sizes(len(curves.sizes))
    accuracy = curves.mean("accuracy")
    lines = [[name, *(f"{100 * accuracy[i, j]:.1f}" for j in printed)] for i, name in enumerate(curves.names)]
    return [["learner", *(format_thousands(curves.sizes[j]) for j in printed)], *lines]


def select_sizes(n: int) -> list[int]:
    """Select evenly spaced indices of at most `MAX_PRINTED_SIZES` of n sizes, including the last.

    >>> select_sizes(3), select_sizes(8)
    ([0, 1, 2], [1, 3, 5, 7])
    """
    step = -(-n // MAX_PRINTED_SIZES)
    return list(range((n - 1) % step, n, step))


def format_comparison(comparison: Comparison) -> str:
    """Return a comparison as text: table, legend, notes, learning curves where there are any, and advice."""
    lines = [
        *align_columns(tabulate_learners(comparison), left=(0, 1)),
        "",
        f"({describe_signs(comparison)})",
        f"({comparison.measured})",
    ]
    lines += [f"({note})" for note in comparison.notes]
    if comparison.growth is not None:
        title = f"accuracy in percent by rows learned, the mean of {comparison.growth.draws} draws"
        lines += ["", title, *align_columns(tabulate_curves(comparison)), "", comparison.curve_summary]
    return "\n".join([*lines, "", comparison.advice])


def show_in_notebook(comparison: Comparison) -> str:
    """Return the learners side by side, the recommended one in bold, with advice and notes: HTML with its style."""
    from deciban.html_fragments import element, make_notes, make_table, wrap_for_notebook

    heads, *lines = tabulate_learners(comparison)
    named = [[f"{sign} {name}".strip(), *figures] for sign, name, *figures in lines]
    strong = [i for i, each in enumerate(comparison.rows) if each is comparison.best]
    learners = make_table(heads[1:], named, f"learners of {comparison.target}", strong=strong)
    curves, notes = None, [describe_signs(comparison), comparison.measured, *comparison.notes]
    if comparison.growth is not None:
        sizes, *rows = tabulate_curves(comparison)
        curves = make_table(sizes, rows, f"accuracy in percent by rows learned, {comparison.growth.draws} draws")
        notes.insert(0, comparison.curve_summary)
    return wrap_for_notebook(learners, element("p", element("b", comparison.advice)), curves, make_notes(notes))


def recommend_learner(comparison: Comparison) -> str:
    """Return a sentence on which learner to use, and why."""
    best = comparison.best
    if len(comparison.rows) < 2:
        return f"There is {best.name} alone, and nothing to compare it with."
    if best.name == DEFAULT_LEARNER and len(comparison.unbeaten) == len(comparison.rows):
        n = format_thousands(len(comparison.weight))
        return (
            f"{_capitalise(best.name)} will do: these {n} rows show no difference between it and any other learner."
        )
    reason = _give_reason_over_default if DEFAULT_LEARNER in comparison.names else _give_reason_without_default
    if best.name == DEFAULT_LEARNER:
        reason = _give_reason_for_default
    caveat = ""
    if best not in comparison.as_accurate:
        share = _format_share(best.misses)
        caveat = f", though {comparison.most_accurate.name} predicts {share} more of the rows correctly"
    return f"Take {best.name}: {reason(comparison)}{caveat}."


def _give_reason_for_default(comparison: Comparison) -> str:
    """Return why to stay with naive Bayes."""
    if len(comparison.level) == 1:
        return f"its log-loss is lower than that of every other learner, and by more {THAN_CHANCE}"
    if not comparison.unbeaten:
        return "it has the lowest log-loss"
    words = f"these {format_thousands(len(comparison.weight))} rows show none to be better"
    others = [each.name for each in comparison.unbeaten if each is not comparison.best]
    if others:
        return f"{words}, and no difference between it and {list_or_count(others)}"
    return f"{words}, and each other to be worse than the best, in log-loss or in accuracy"


def _give_reason_over_default(comparison: Comparison) -> str:
    """Return how the recommended learner is better than naive Bayes, and which learners are as good as it."""
    best, default = comparison.best.name, DEFAULT_LEARNER
    lower, more = (comparison.is_better(best, default, figure) for figure in ("log_loss", "accuracy"))
    if not lower and not more:
        return _give_reason_without_default(comparison)
    gap = comparison.loss_gap(default, best)
    mean, error = (format_number(abs(value), 3 if abs(gap.mean) >= 0.01 else 4) for value in gap)
    words = f"its log-loss is {mean} ± {error} below that of {default}"
    if not lower:
        other = f"that of {default}" if comparison.lowest.name in (best, default) else "the lowest"
        words = f"its log-loss shows no difference to {other}"
    if more:
        words += (
            f", and it predicts {_format_share(comparison.accuracy_gap(best, default))} more of the rows correctly"
        )
    elif comparison.best in comparison.as_accurate:
        words += f", though its accuracy is not higher by more {THAN_CHANCE}"
    return words + _describe_equals(comparison, ";")


def _give_reason_without_default(comparison: Comparison) -> str:
    """Return why to use a learner without reference to naive Bayes."""
    words = "it has the lowest log-loss"
    if comparison.best is not comparison.lowest:
        words = "it has the lowest log-loss of those that no other is shown to beat"
    return words + _describe_equals(comparison, ", and")


def _format_share(gap: Gap) -> str:
    """Format the size of a difference in accuracy and its standard error in per cent."""
    return f"{100 * abs(gap.mean):.1f} ± {100 * gap.error:.1f} %"


def _describe_equals(comparison: Comparison, join: str) -> str:
    """Return a clause on the learners that show no difference to the recommended one, after `join`; empty if none."""
    others = [each.name for each in comparison.unbeaten if each is not comparison.best]
    if not others:
        return ""
    verb = "shows" if len(others) == 1 else "show"
    n = format_thousands(len(comparison.weight))
    return f"{join} {list_or_count(others)} {verb} no difference that these {n} rows could tell"


def describe_curves(comparison: Comparison) -> str:
    """Return a sentence on the curves of naive Bayes and of its rival (`choose_rival`); empty where it has none."""
    curves, default, other = comparison.growth, DEFAULT_LEARNER, choose_rival(comparison)
    if curves is None or other is None or len(curves.sizes) < 2:
        return ""
    turns = curves.crossings(default, other)
    if len(turns) == 1:
        few, more = (default, other) if turns[0].first_ahead else (other, default)
        where = f"{format_thousands(turns[0].ahead_until)} and {format_thousands(turns[0].behind_from)} rows"
        about = round_rows(turns[0].at)
        return f"With few rows {few} is ahead, with more {more}: the curves cross between {where}, at about {about}."
    if turns:
        times = "twice" if len(turns) == 2 else f"{len(turns)} times"
        return f"{_capitalise(default)} and {other} overtake each other {times} as rows are added."
    return _describe_lead(default, other, curves.sizes, curves.sides(default, other))


def choose_rival(comparison: Comparison) -> str | None:
    """Return the learner whose curve is compared with that of naive Bayes: the recommended one, or else logistic.

    None if either has no curve.
    """
    names = () if comparison.growth is None else comparison.growth.names
    other = comparison.best.name if comparison.best.name != DEFAULT_LEARNER else DISCRIMINATIVE_PARTNER
    return other if DEFAULT_LEARNER in names and other in names else None


def _describe_lead(one: str, other: str, sizes: Sequence[int], sides: Array) -> str:
    """Describe which of two learners is ahead where a difference shows; it is the same one at all these sizes."""
    places = np.flatnonzero(sides).tolist()
    span = f"from {format_thousands(sizes[0])} to {format_thousands(sizes[-1])} rows"
    if not len(places):
        return f"At no size {span} do the draws show a difference between the accuracy of {one} and of {other}."
    ahead, behind = (one, other) if sides[places[0]] < 0 else (other, one)
    if len(places) == len(sides):
        return f"{_capitalise(ahead)} is ahead of {behind} at every size {span}."
    where = "at " + list_or_count([format_thousands(sizes[i]) for i in places]) + " rows"
    if len(places) > MAX_SENTENCE_NAMES:
        where = f"at {len(places)} of {len(sides)} sizes {span}"
    return f"{_capitalise(ahead)} is ahead of {behind} {where}; at other sizes the draws show no difference."


def round_rows(n: float) -> str:
    """Format a number of rows to two digits, the precision of a crossing.

    >>> round_rows(28.28), round_rows(1234.0)
    ('28', '1 200')
    """
    return format_thousands(float(f"{n:.2g}"))


def list_or_count(names: Sequence[str]) -> str:
    """Format names as a list in a sentence; many names as their number.

    >>> list_or_count(["a"]), list_or_count(["a", "b", "c"]), list_or_count("abcdef")
    ('a', 'a, b and c', '6 others')
    """
    if len(names) > MAX_SENTENCE_NAMES:
        return f"{len(names)} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _capitalise(words: str) -> str:
    return words[0].upper() + words[1:]
