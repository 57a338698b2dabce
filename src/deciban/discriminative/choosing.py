"""How much weights are held back: C chosen by what rows that were left out say of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

State = TypeVar("State")

PATIENCE = 2
"""Steps of ever larger losses after which the path ends: beyond its least value the loss goes on rising."""


@dataclass(frozen=True)
class Chosen:
    """The C that was chosen, and the mean loss of the rows left out at every C that was tried, by rising C."""

    C: float
    path: tuple[tuple[float, float], ...]


def chosen_C(
    refit: Callable[[int, float, State | None], State],
    loss: Callable[[int, State], float],
    n_folds: int,
    least: float,
    most: float,
) -> Chosen:
    """The C whose models without each fold lose least on it.

    `refit(f, C, before)` learns without fold f, starting from what was learned before; `loss(f, learned)` judges fold
    f. C rises by tens, from held back to free, so that each start is near; then halfway on either side of the best.

    >>> chosen_C(lambda f, C, before: C, lambda f, C: abs(math.log10(C) - 0.6), 2, 0.001, 1000.0).C
    3.1622776601683795
    """
    tried: dict[float, float] = {}
    states: list[State | None] = [None] * n_folds

    def attempt(exponent: float) -> float:
        C = 10.0**exponent
        states[:] = [refit(f, C, states[f]) for f in range(n_folds)]
        return sum(loss(f, state) for f, state in enumerate(states) if state is not None)

    best, best_states = math.nan, list(states)
    rises = 0
    for exponent in range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1):
        tried[exponent] = attempt(exponent)
        if math.isnan(best) or tried[exponent] < tried[best]:
            best, best_states, rises = exponent, list(states), 0
        else:
            rises += 1
        if rises == PATIENCE:
            break
    for half in (best - 0.5, best + 0.5):
        states[:] = best_states
        tried[half] = attempt(half)
    best = min(sorted(tried), key=lambda e: tried[e])
    return Chosen(10.0**best, tuple((10.0**e, tried[e]) for e in sorted(tried)))
