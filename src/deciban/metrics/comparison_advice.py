"""A comparison of learners in words: its tables, which one to take, and what the learning curves say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from deciban._typing import Array
from deciban.formatting import aligned, give_or_take, number, spaced

if TYPE_CHECKING:
    from deciban.metrics.comparison import Compared, Comparison, Gap

HEAD = ("", "learner", "accuracy %", "log-loss", "calibr.", "params")
TIME = "time"

MOST_SIZES = 7
"""Sizes that are printed of a learning curve; more do not fit a screen."""

USUAL = "naive Bayes"
"""What is recommended unless another learner is shown to be better: one pass, and it adds and forgets."""

MOST_NAMES = 4
"""Learners, or sizes, that a sentence names."""

PARTNER = "logistic"
"""The discriminative partner of naive Bayes: the pair of Ng and Jordan."""

CHANCE, TAKEN, LEVEL = "than chance would explain", "→", "≈"


def table(found: Comparison, times: bool = True) -> list[list[str]]:
    """A line for each learner under a heading."""
    level, best = found.level, found.best
    lines = [
        [
            TAKEN if each is best else LEVEL if each in level else "",
            each.name,
            f"{100 * each.report.accuracy:.1f} ± {100 * _accuracy_error(each):.1f}",
            _loss(each),
            number(each.report.calibration_error, 3),
            spaced(each.n_parameters),
            *([duration(each.seconds)] if times else []),
        ]
        for each in found.rows
    ]
    return [[*HEAD, *([TIME] if times else [])], *lines]


def _loss(each: Compared) -> str:
    loss, error = each.report.log_loss, each.report.log_loss_error
    if 1000 <= loss < np.inf:
        return f"{spaced(loss)} ± {spaced(error)}"
    return give_or_take(loss, error, 3 if loss < 10 else 1)


def _accuracy_error(each: Compared) -> float:
    p, n = each.report.accuracy, each.report.effective_rows
    return float(np.sqrt(p * (1 - p) / n))


def duration(seconds: float) -> str:
    """How long something took, of two digits.

    >>> duration(0.00034), duration(0.0123), duration(1.26), duration(83.0), duration(4000.0)
    ('0.3 ms', '12 ms', '1.3 s', '83 s', '67 min')
    """
    if seconds < 1:
        return f"{1000 * seconds:.1f} ms" if seconds < 0.001 else f"{1000 * seconds:.0f} ms"
    return f"{seconds / 60:.0f} min" if seconds > 999 else f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def signs(found: Comparison) -> str:
    """What the signs before the learners mean."""
    n = len(found.weight)
    words = f"{TAKEN} taken"
    if any(each is not found.best for each in found.level):
        words += f", {LEVEL} these {spaced(n)} rows show no difference in log-loss to the lowest"
    return f"{words}; paired row by row, 95 % sure of all differences at once"


def curve_table(found: Comparison) -> list[list[str]]:
    """The mean accuracy of each learner by how many rows it learned, in percent."""
    growth = found.growth
    assert growth is not None
    shown = shown_sizes(len(growth.sizes))
    accuracy = growth.mean("accuracy")
    lines = [[name, *(f"{100 * accuracy[i, j]:.1f}" for j in shown)] for i, name in enumerate(growth.names)]
    return [["learner", *(spaced(growth.sizes[j]) for j in shown)], *lines]


def shown_sizes(n: int) -> list[int]:
    """The last of so many sizes and those before it, leaving out as many in between as must be.

    >>> shown_sizes(3), shown_sizes(8)
    ([0, 1, 2], [1, 3, 5, 7])
    """
    step = -(-n // MOST_SIZES)
    return list(range((n - 1) % step, n, step))


def text(found: Comparison) -> str:
    """All of it."""
    lines = [*aligned(table(found), left=(0, 1)), "", f"({signs(found)})", f"({found.measured})"]
    lines += [f"({note})" for note in found.notes]
    if found.growth is not None:
        title = f"accuracy in percent by rows learned, the mean of {found.growth.draws} draws"
        lines += ["", title, *aligned(curve_table(found)), "", found.growing]
    return "\n".join([*lines, "", found.advice])


def advice(found: Comparison) -> str:
    """Which learner to take, and how sure that is."""
    best = found.best
    if len(found.rows) < 2:
        return f"There is {best.name} alone, and nothing to compare it with."
    if best.name == USUAL and len(found.unbeaten) == len(found.rows):
        n = spaced(len(found.weight))
        return f"{_capital(USUAL)} will do: these {n} rows show no difference between it and any other learner."
    why = _usual if best.name == USUAL else _better if USUAL in found.names else _lowest
    return f"Take {best.name}: {why(found)}{_though(found)}."


def _usual(found: Comparison) -> str:
    """Why to stay with naive Bayes."""
    if len(found.level) == 1:
        return f"its log-loss is lower than that of every other learner, and by more {CHANCE}"
    if not found.unbeaten:
        return "it has the lowest log-loss"
    words = f"these {spaced(len(found.weight))} rows show none to be better"
    others = [each.name for each in found.unbeaten if each is not found.best]
    if others:
        return f"{words}, and no difference between it and {listed(others)}"
    return f"{words}, and each other to be worse than the best, in log-loss or in the rows that it calls rightly"


def _better(found: Comparison) -> str:
    """In what the learner that is taken is better than naive Bayes, and who is as good as it."""
    best = found.best.name
    lower, more = found.is_lower(best, USUAL), found.is_more_accurate(best, USUAL)
    if not lower and not more:
        return _lowest(found)
    words = f"its log-loss is {_told(found.loss_gap(USUAL, best))} below that of {USUAL}"
    if not lower:
        other = f"that of {USUAL}" if found.lowest.name in (best, USUAL) else "the lowest"
        words = f"its log-loss shows no difference to {other}"
    if more:
        words += f", and it calls {_share(found.accuracy_gap(best, USUAL))} more of the rows rightly"
    elif found.best in found.as_accurate:
        words += f", though the rows that it calls rightly are not more {CHANCE}"
    return words + _equals(found, ";")


def _lowest(found: Comparison) -> str:
    """Why to take a learner without a word on naive Bayes."""
    words = "it has the lowest log-loss"
    if found.best is not found.lowest:
        words = "it has the lowest log-loss of those that no other is shown to beat"
    return words + _equals(found, ", and")


def _though(found: Comparison) -> str:
    """Who calls more of the rows rightly than the learner that is taken."""
    if found.best in found.as_accurate:
        return ""
    return f", though {found.most_accurate.name} calls {_share(found.best.misses)} more of the rows rightly"


def _share(gap: Gap) -> str:
    return f"{100 * abs(gap.mean):.1f} ± {100 * gap.error:.1f} %"


def _told(gap: Gap) -> str:
    digits = 3 if abs(gap.mean) >= 0.01 else 4
    return f"{number(abs(gap.mean), digits)} ± {number(gap.error, digits)}"


def _equals(found: Comparison, join: str) -> str:
    """Which learners are as good as the one that is taken, as far as can be told."""
    others = [each.name for each in found.unbeaten if each is not found.best]
    if not others:
        return ""
    verb = "shows" if len(others) == 1 else "show"
    return f"{join} {listed(others)} {verb} no difference that these {spaced(len(found.weight))} rows could tell"


def growing(found: Comparison) -> str:
    """What the learning curves say of naive Bayes and the learner that is taken, or else its partner."""
    growth, other = found.growth, rival(found)
    if growth is None or other is None or len(growth.sizes) < 2:
        return ""
    turns, told = growth.crossings(USUAL, other), growth.sides(USUAL, other)
    if len(turns) == 1:
        few, more = (USUAL, other) if turns[0].first_ahead else (other, USUAL)
        where = f"{spaced(turns[0].ahead_until)} and {spaced(turns[0].behind_from)} rows"
        about = rounded(turns[0].at)
        return f"With few rows {few} is ahead, with more {more}: the curves cross between {where}, at about {about}."
    if turns:
        times = "twice" if len(turns) == 2 else f"{len(turns)} times"
        return f"{_capital(USUAL)} and {other} overtake each other {times} as rows are added."
    return _ahead(USUAL, other, growth.sizes, told)


def rival(found: Comparison) -> str | None:
    """Whose curve naive Bayes is compared with: the learner that is taken, or its partner; None if not there."""
    names = () if found.growth is None else found.growth.names
    other = found.best.name if found.best.name != USUAL else PARTNER
    return other if USUAL in names and other in names else None


def overtaken_at(found: Comparison) -> float | None:
    """How many rows it takes until its rival overtakes naive Bayes; None unless it does so once and for all."""
    other = rival(found)
    if found.growth is None or other is None:
        return None
    turns = found.growth.crossings(USUAL, other)
    return turns[0].at if len(turns) == 1 and turns[0].first_ahead else None


def _ahead(one: str, other: str, sizes: Sequence[int], told: Array) -> str:
    """One of two learners is ahead wherever a difference shows."""
    places = np.flatnonzero(told).tolist()
    span = f"from {spaced(sizes[0])} to {spaced(sizes[-1])} rows"
    if not len(places):
        return f"At no size {span} do the draws show a difference between the accuracy of {one} and of {other}."
    ahead, behind = (one, other) if told[places[0]] < 0 else (other, one)
    if len(places) == len(told):
        return f"{_capital(ahead)} is ahead of {behind} at every size {span}."
    where = "at " + listed([spaced(sizes[i]) for i in places]) + " rows"
    if len(places) > MOST_NAMES:
        where = f"at {len(places)} of {len(told)} sizes {span}"
    return f"{_capital(ahead)} is ahead of {behind} {where}; at other sizes the draws show no difference."


def rounded(n: float) -> str:
    """A number of rows as precise as a crossing is.

    >>> rounded(28.28), rounded(1234.0)
    ('28', '1 200')
    """
    return spaced(float(f"{n:.2g}"))


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them; of many it says how many they are.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed("abcdef")
    ('a', 'a, b and c', '6 others')
    """
    if len(names) > MOST_NAMES:
        return f"{len(names)} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]
