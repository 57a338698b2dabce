"""How much weights are held back: C chosen by what rows that were left out say of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.ledger.hashing import sample_row_numbers
from deciban.linear.solvers.logistic_objective import losses

State = TypeVar("State")

FOLDS = 5
"""Folds that C is chosen by."""

ENOUGH_ROWS = 20_000
"""Rows that C is chosen by at most: it is sought in steps of √10, no finer."""

LEAST_C, MOST_C = 1e-3, 1e3
"""Where C is sought if weights are numbers about 1: beyond, a thousand rows are not heard, or a column is free."""

FEW_C = 1.0
"""C where no row can be left out."""

ROUGH = 1e-2
"""How near to their least value fits come that only tell one C from another."""

PATIENCE = 2
"""Steps of ever larger losses after which the path ends: beyond its least value the loss goes on rising."""


@dataclass(frozen=True)
class Chosen:
    """The C that was chosen, and the mean loss of the rows left out at every C that was tried, by rising C."""

    C: float
    path: tuple[tuple[float, float], ...]


class Judges(NamedTuple):
    """Rows to fit a predictor to: classes' codes, weights, and the fold in which each is left out; −1: none."""

    codes: Codes
    weight: Array | None
    fold: NDArray[np.int32]

    @property
    def weights(self) -> Array:
        """The weights, written out."""
        return np.ones(len(self.codes)) if self.weight is None else self.weight

    def take(self, index: NDArray[np.intp]) -> Judges:
        """These rows alone."""
        return Judges(self.codes[index], None if self.weight is None else self.weight[index], self.fold[index])


class Trials(Protocol[State]):
    """Models that are learned without a fold, and what they say of it."""

    def refit(self, f: int, C: float, before: State | None) -> State:
        """FittedModel without fold f at this C, starting from what was learned before."""

    def scores(self, f: int, learned: State) -> Array:
        """What it says of the rows of fold f, in their order."""


def by_folds(
    rows: Judges,
    trials: Callable[[NDArray[np.intp], Judges], Trials[State]],
    least: float = LEAST_C,
    most: float = MOST_C,
    n_judged: int | None = None,
) -> Chosen:
    """C by cross-validation: the one by which the rows of each fold are told best by models without them.

    Of many rows a fair sample is asked, of many folds the first `n_judged`; `trials(index, rows)` makes ready the
    rows at these places. Where no row can be judged by others, C is `FEW_C`.
    """
    index = sample_of(rows.codes)
    rows = rows if len(index) == len(rows.codes) else rows.take(index)
    rows = rows._replace(fold=known_elsewhere(rows.codes, rows.fold))
    folds = np.unique(rows.fold[rows.fold >= 0]).tolist()[:n_judged]
    if not folds:
        return Chosen(FEW_C, ())
    made, weight = trials(index, rows), rows.weights

    def loss(i: int, learned: State) -> float:
        mine = rows.fold == folds[i]
        lost = float(weight[mine] @ losses(made.scores(folds[i], learned), rows.codes[mine]))
        return lost if math.isfinite(lost) else math.inf

    return chosen_C(lambda i, C, before: made.refit(folds[i], C, before), loss, len(folds), least, most)


def sample_of(codes: Codes) -> NDArray[np.intp]:
    """The places of `ENOUGH_ROWS` rows, always the same, and a few more of classes that are hardly among them."""
    n = len(codes)
    index = sample_row_numbers(n, ENOUGH_ROWS)
    if len(index) == n:
        return index
    order, counts = np.argsort(codes, kind="stable"), np.bincount(codes)
    end, few = np.cumsum(counts), np.bincount(codes[index], minlength=len(counts)) < FOLDS
    more = [
        order[end[k] - counts[k] + sample_row_numbers(int(counts[k]), FOLDS)]
        for k in np.flatnonzero(few & (counts > 0))
    ]
    return np.unique(np.concatenate([index, *more]))


def known_elsewhere(codes: Codes, fold: NDArray[np.int32]) -> NDArray[np.int32]:
    """The same folds, but rows of a class that only one of them has are in none (−1): every model knows every class.

    >>> known_elsewhere(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 1])).tolist()
    [0, 1, 0, 1, -1]
    """
    if not len(codes):
        return fold
    n_folds = int(fold.max()) + 1
    met = np.zeros((int(codes.max()) + 1, n_folds + 1), dtype=np.bool_)
    met[codes, fold] = True  # the last place is that of rows in no fold, which every model knows
    elsewhere = (met.sum(axis=1) > 1)[codes]
    return np.where(elsewhere, fold, -1).astype(np.int32)


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
