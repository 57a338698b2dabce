"""Choice of the penalty: C by cross-validation."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.ledger.hashing import hash_row_numbers
from deciban.linear.solvers.logistic_objective import compute_losses

State = TypeVar("State")

CHOICE_FOLDS = 5
"""The number of folds by which C is chosen."""

MAX_PENALTY_ROWS = 20_000
"""The greatest number of rows by which C is chosen: C is searched in steps of √10, no finer."""

MIN_C, MAX_C = 1e-3, 1e3
"""The range of C where weights are numbers about 1: below it a thousand rows have no effect, above it there is hardly
any penalty."""

DEFAULT_C = 1.0
"""C where no row can be left out."""

CHOICE_TOL = 1e-2
"""The tolerance of fits that only serve to compare one C with another."""

STANDARD_ERRORS = 2.0
"""How many standard errors a loss has to be lower by to be clearly lower. With one, evidence regression of 57 rows
(labor) had 0.29 nats with the chosen C, and 0.22 with C = 1."""

MAX_LOSS_RISES = 2
"""The number of consecutive rises of the loss after which the search ends: beyond its minimum the loss goes on
rising."""


@dataclass(frozen=True)
class PenaltyChoice:
    """The chosen C, and the total loss of the held-out rows at every C that was tried, by rising C.

    `losses` are the weighted losses, in nats, of the held-out rows at the chosen C, one fold after the other; None
    where they were neither needed nor asked for.
    """

    C: float
    path: tuple[tuple[float, float], ...]
    losses: Array | None = field(default=None, compare=False)


class FoldedRows(NamedTuple):
    """Rows to fit a predictor to: class codes, weights, and the fold in which each is held out; −1: none."""

    codes: Codes
    weight: Array | None
    fold: NDArray[np.int32]

    @property
    def weights(self) -> Array:
        """The weights as an array."""
        return np.ones(len(self.codes)) if self.weight is None else self.weight

    def take(self, index: NDArray[np.intp]) -> "FoldedRows":
        """Return these rows only."""
        return FoldedRows(self.codes[index], None if self.weight is None else self.weight[index], self.fold[index])


Refit = Callable[[int, float, State | None], State]
"""A function that fits a model without fold f at this C, starting from an earlier result."""

ScoreFold = Callable[[int, State], Array]
"""A function that returns a model's scores of the rows of fold f, in their order."""


def choose_C_by_folds(
    rows: FoldedRows,
    prepare: Callable[[NDArray[np.intp], FoldedRows], tuple[Refit[State], ScoreFold[State]]],
    lowest: float = MIN_C,
    highest: float = MAX_C,
    max_folds: int | None = None,
    prefers_default: bool = False,
    keeps_losses: bool = False,
) -> PenaltyChoice:
    """Choose C by cross-validation: the one whose models without each fold have the least loss on it.

    C is searched from `lowest` to `highest`. Of many rows a sample is used, of the folds the first `max_folds`;
    `prepare(index, rows)` returns functions that refit and score the rows at these indices. Where no row can
    be held out, C is `DEFAULT_C`; with `prefers_default` also where the loss at the best C is not clearly lower than
    there. `keeps_losses`: the result has the `losses`, for which every fold is fitted once more.
    """
    index, rows, folds = select_choice_folds(rows, max_folds)
    if not folds:
        return PenaltyChoice(DEFAULT_C, ())
    refit, score = prepare(index, rows)

    def loss(f: int, state: State) -> float:
        total = float(compute_fold_losses(rows, f, score(f, state)).sum())
        return total if math.isfinite(total) else math.inf

    found = search_C(refit, loss, folds, lowest, highest)

    def losses_at(C: float) -> Array:
        return np.concatenate([compute_fold_losses(rows, f, score(f, refit(f, C, None))) for f in folds])

    if keeps_losses or (prefers_default and found.C != DEFAULT_C):
        found = replace(found, losses=losses_at(found.C))
    if prefers_default and found.C != DEFAULT_C and found.losses is not None:
        losses = losses_at(DEFAULT_C)
        return found if is_clearly_lower(found.losses, losses) else replace(found, C=DEFAULT_C, losses=losses)
    return found


def select_choice_folds(rows: FoldedRows, max_folds: int | None) -> tuple[NDArray[np.intp], FoldedRows, list[int]]:
    """Return the rows by which a setting is chosen: their indices, themselves, and the folds that are scored.

    The folds are the first `max_folds` (None: all), without those of no row. Of many rows a sample is used; rows of
    classes that one fold alone has are in no fold.
    """
    index = sample_choice_rows(rows.codes, MAX_PENALTY_ROWS)
    rows = rows if len(index) == len(rows.codes) else rows.take(index)
    rows = rows._replace(fold=exclude_single_fold_classes(rows.codes, rows.fold))
    return index, rows, np.unique(rows.fold[rows.fold >= 0]).tolist()[:max_folds]


def compute_fold_losses(rows: FoldedRows, f: int, scores: Array) -> Array:
    """Compute the loss in nats, times the weight, of each row of fold f; `scores` are those of these rows, n×M."""
    mine = rows.fold == f
    return rows.weights[mine] * compute_losses(scores, rows.codes[mine])


def is_clearly_lower(losses: Array, others: Array) -> bool:
    """Return whether losses are lower than others of the same rows, by more than two standard errors of their sum.

    Of fewer than two rows there is no standard error, and the answer is False.

    >>> is_clearly_lower(np.array([1.0, 2.0, 3.0]), np.array([1.1, 2.1, 3.1]))
    True
    >>> is_clearly_lower(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 6.0]))
    False
    """
    gain = others - losses
    return len(gain) > 1 and bool(gain.sum() > STANDARD_ERRORS * np.sqrt(len(gain)) * gain.std())


def sample_choice_rows(codes: Codes, max_rows: int) -> NDArray[np.intp]:
    """Return the indices, ascending, of `max_rows` rows, always the same, and of some more of rare classes.

    A class with fewer than `CHOICE_FOLDS` rows among them has that many of its rows, or all it has.

    >>> sample_choice_rows(np.array([1, 0, 0, 0, 0, 0, 0, 0]), 6).tolist()
    [0, 1, 2, 4, 5, 6, 7]
    """
    n = len(codes)
    if n <= max_rows:
        return np.arange(n)
    order, counts = np.argsort(hash_row_numbers(np.arange(n)), kind="stable"), np.bincount(codes)
    by_class = order[np.argsort(codes[order], kind="stable")]
    place = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.unique(np.concatenate([order[:max_rows], by_class[place < CHOICE_FOLDS]]))


def exclude_single_fold_classes(codes: Codes, fold: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the folds, with −1 for rows of a class that only one fold has: so every model has seen every class.

    >>> exclude_single_fold_classes(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 1])).tolist()
    [0, 1, 0, 1, -1]
    """
    if not len(codes):
        return fold
    n_folds = int(fold.max()) + 1
    occurs = np.zeros((int(codes.max()) + 1, n_folds + 1), dtype=np.bool_)
    occurs[codes, fold] = True  # the last column stands for rows in no fold, which every model has seen
    return np.where((occurs.sum(axis=1) > 1)[codes], fold, -1).astype(np.int32)


def search_C(
    refit: Refit[State], loss: Callable[[int, State], float], folds: Sequence[int], lowest: float, highest: float
) -> PenaltyChoice:
    """Search the C, about from `lowest` to `highest`, whose models without each fold have the least loss on it.

    `refit(f, C, before)` fits without fold f, starting from the result `before`; `loss(f, state)` is its loss on fold
    f. C rises by tens, from a strong penalty to a weak one, so that each start is near; then the two values halfway
    on either side of the best are tried.

    >>> search_C(lambda f, C, before: C, lambda f, C: abs(math.log10(C) - 0.6), [0, 1], 0.001, 1000.0).C
    3.1622776601683795
    """
    tried: dict[float, float] = {}

    def attempt(exponent: float, before: Mapping[int, State]) -> dict[int, State]:
        states = {f: refit(f, 10.0**exponent, before.get(f)) for f in folds}
        tried[exponent] = sum(loss(f, state) for f, state in states.items())
        return states

    best, rises = math.nan, 0
    states: dict[int, State] = {}
    for exponent in range(math.floor(math.log10(lowest)), math.ceil(math.log10(highest)) + 1):
        states = attempt(exponent, states)
        if math.isnan(best) or tried[exponent] < tried[best]:
            best, best_states, rises = exponent, states, 0
        else:
            rises += 1
        if rises == MAX_LOSS_RISES:
            break
    for half in (best - 0.5, best + 0.5):
        attempt(half, best_states)
    best = min(sorted(tried), key=lambda e: tried[e])
    return PenaltyChoice(10.0**best, tuple((10.0**e, tried[e]) for e in sorted(tried)))
