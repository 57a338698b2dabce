"""How good posteriors are, as sums that add: hits, log-loss, Brier's score, calibration, confusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError
from deciban.ledger import Moments
from deciban.ledger.statistic import Array
from deciban.metrics.brier import binned
from deciban.metrics.intervals import effective_rows, error_of_mean
from deciban.metrics.ranking import Ranks
from deciban.metrics.report import Report
from deciban.metrics.scorecard_dispatch import judged

BINS = 15
"""Bins of equal width that confidences are sorted into, unless said otherwise."""


@dataclass(frozen=True, eq=False, slots=True)
class Scorecard:
    """What must be remembered of judged rows; `a + b` is the scorecard of both.

    A row's class may be unknown to the model: it has no name for it, or no row of it was learned. Such a row is
    an error and counts against calibration; it is in no row of the confusion and has no log-loss, since no
    probability was ever claimed for its class. Weight 2 is a row twice, weight 0 a row absent.

    >>> card = Scorecard.of(np.log([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]))
    >>> report = card.report(["ham", "spam"])
    >>> report.accuracy, round(report.log_loss, 4)
    (0.5, 0.5108)
    """

    confusion: Array
    """K×K: the weight of rows of class k (line) that were called l (column), for classes the model knows."""
    unknown: Array
    """(K+1)×K: the same of rows whose class the model does not know; the last line: classes it has no name for."""
    losses: Moments
    """1×2: −ln p(truth), where it is finite, and Brier's score of the rows whose class the model knows."""
    bins: Array
    """3×B: weight, confidence and hits of the rows in each bin of confidence."""
    squares: Array
    """3: Σw² of all rows, of those with a finite −ln p(truth), and of those with a Brier score."""
    rows: NDArray[np.int64]
    """How many rows there are, how many of a class the model does not know, how many with p(truth) = 0."""
    ranks: Ranks | None = None
    """The rows themselves, where they are kept."""

    @classmethod
    def empty(cls, n_classes: int, bins: int = BINS) -> Self:
        """Nothing judged yet."""
        return cls(
            np.zeros((n_classes, n_classes)),
            np.zeros((n_classes + 1, n_classes)),
            Moments.empty(1, 2),
            np.zeros((3, bins)),
            np.zeros(3),
            np.zeros(3, dtype=np.int64),
        )

    @classmethod
    def of(
        cls,
        log_posterior: Array,
        truth: NDArray[np.integer[Any]],
        weight: Array | None = None,
        known: NDArray[np.bool_] | None = None,
        bins: int = BINS,
        *,
        keep: bool = False,
        number: NDArray[np.integer[Any]] | None = None,
    ) -> Self:
        """Judge ln p(k|x), n×K, by the place of each row's true class: −1 if it is none of the K.

        `known` says which classes the model has learned a row of (K, or n×K where rows have models of their own):
        all, unless said otherwise. `keep` keeps the rows, by their `number` in the table, for what sums do not tell.
        """
        scores, places, w, learned = _present(log_posterior, truth, weight, known, bins)
        ranks = Ranks.of(log_posterior, truth, weight, known, number) if keep else None
        n, K = scores.shape
        if not n:
            return replace(cls.empty(K, bins), ranks=ranks)
        quick = judged(scores, places, w, learned, bins)
        if quick is not None:
            return cls(*quick, ranks)
        sure = places >= 0 if learned is None else (places >= 0) & learned[np.arange(n), places]
        called, confidence = _winners(scores)
        losses = _losses(scores, places, sure)
        infinite = np.isposinf(losses)
        losses[infinite] = np.nan  # no finite mean could hold them: they are counted
        return cls(
            _sums(places[sure] * K + called[sure], w[sure], K * K).reshape(K, K),
            _sums(places[~sure] % (K + 1) * K + called[~sure], w[~sure], K * (K + 1)).reshape(K + 1, K),
            Moments.of(losses, np.zeros(n, dtype=np.int32), w, 1),
            _binned(confidence, w, sure & (called == places), bins),
            _squares(w, np.isfinite(losses[:, 0]), sure),
            np.array([n, n - sure.sum(), infinite.sum()], dtype=np.int64),
            ranks,
        )

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, Scorecard):
            return NotImplemented
        shapes = [(card.confusion.shape[0], card.bins.shape[1]) for card in (self, other)]
        if shapes[0] != shapes[1]:
            raise InputError(
                f"scorecards add where they count the same: one has {shapes[0][0]} classes and {shapes[0][1]} bins, "
                f"the other {shapes[1][0]} and {shapes[1][1]}. Hint: judge both with the same classes and bins."
            )
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self)[:-1])
        return replace(type(self)(*(a + b for a, b in pairs)), ranks=self._ranks_with(other))

    def _ranks_with(self, other: Self) -> Ranks | None:
        """The rows of both; None if those of either were not kept."""
        if self.ranks is None:
            return None if self.rows[0] else other.ranks
        if other.ranks is None:
            return None if other.rows[0] else self.ranks
        return self.ranks + other.ranks

    @property
    def weight(self) -> float:
        """The weight of all rows."""
        return float(self.confusion.sum() + self.unknown.sum())

    def report(self, classes: Sequence[Any], measured: str = "") -> Report:
        """What the sums say; `measured` is a sentence on how they came about."""
        self._check(classes)
        n = self.weight
        rows, unknown, impossible = (int(count) for count in self.rows)
        loss, error = _mean_and_error(self.losses, 0, float(self.squares[1]))
        brier, brier_error = _mean_and_error(self.losses, 1, float(self.squares[2]))
        truths = self.confusion.sum(axis=1) + self.unknown[:-1].sum(axis=1)
        commonest = int(truths.argmax())
        return Report(
            rows=rows,
            weight=n,
            effective_rows=effective_rows(n, float(self.squares[0])),
            classes=tuple(classes),
            accuracy=float(np.trace(self.confusion)) / n,
            log_loss=np.inf if impossible else loss,
            log_loss_error=np.nan if impossible else error,
            brier=brier,
            brier_error=brier_error,
            calibration_error=float(np.abs(self.bins[1] - self.bins[2]).sum()) / n,
            confusion=self.confusion,
            commonest=classes[commonest],
            majority=float(truths[commonest]) / n,
            unknown=unknown,
            impossible=impossible,
            measured=measured,
            strangers=self.unknown,
            bins=self.bins,
            ranks=self.ranks,
        )

    def _check(self, classes: Sequence[Any]) -> None:
        if len(classes) != len(self.confusion):
            raise InputError(
                f"{len(self.confusion)} classes were judged, and {len(classes)} names are given for them"
            )
        if not self.weight:
            raise InputError("there is nothing to report: no row with a class was judged. Hint: check the target.")


def _present(
    log_posterior: Array,
    truth: NDArray[np.integer[Any]],
    weight: Array | None,
    known: NDArray[np.bool_] | None,
    bins: int,
) -> tuple[Array, NDArray[np.intp], Array, NDArray[np.bool_] | None]:
    """The rows that weigh something, their classes, weights and what their models know, if all fits together."""
    n, K = log_posterior.shape
    places = np.asarray(truth).astype(np.intp)
    w = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    if bins < 1:
        raise InputError(f"bins={bins!r}: confidences are sorted into one bin or more")
    if places.shape != (n,) or w.shape != (n,):
        raise InputError(f"{n} rows are judged by {len(places)} classes and {len(w)} weights; each row has one")
    if known is not None and known.shape not in ((K,), (n, K)):
        raise InputError(f"`known` is told for each of {K} classes, of all {n} rows or of each, not by {known.shape}")
    if n and not -1 <= places.min() <= places.max() < K:
        raise InputError(f"a class is a place below {K}, or −1 for none; not {places.min()} … {places.max()}")
    if not (np.isfinite(w).all() and (w >= 0).all()):
        raise InputError(f"weights are finite and at least 0, not {w[~(np.isfinite(w) & (w >= 0))][0]}")
    learned = None if known is None else np.broadcast_to(known, (n, K))
    some = w > 0
    if some.all():
        return log_posterior, places, w, learned
    return log_posterior[some], places[some], w[some], None if learned is None else learned[some]


def _winners(log_posterior: Array) -> tuple[NDArray[np.intp], Array]:
    """The class each row is called (the first of equals), and the probability claimed for it."""
    called = log_posterior.argmax(axis=1)
    confidence = np.exp(log_posterior[np.arange(len(called)), called])
    if np.isnan(confidence).any():
        row = int(np.flatnonzero(np.isnan(confidence))[0])
        raise InputError(f"row {row} has no posterior (NaN), so it cannot be judged")
    return called, confidence


def _losses(log_posterior: Array, truth: NDArray[np.intp], sure: NDArray[np.bool_]) -> Array:
    """n×2: −ln p(truth), clipped nowhere, and Σ_k (p(k|x) − [k is the truth])²; NaN where the class is unknown."""
    out = np.full((len(truth), 2), np.nan)
    rows = np.flatnonzero(sure)
    gap = np.exp(log_posterior[rows])
    gap[np.arange(len(rows)), truth[rows]] -= 1.0
    out[rows, 0] = np.maximum(-log_posterior[rows, truth[rows]], 0.0)
    out[rows, 1] = (gap * gap).sum(axis=1)
    return out


def _binned(confidence: Array, weight: Array, hit: NDArray[np.bool_], bins: int) -> Array:
    """Weight, confidence and hits by bin."""
    which = binned(confidence, bins)
    return np.stack([_sums(which, weight * value, bins) for value in (1.0, confidence, hit)])


def _sums(place: NDArray[np.intp], weight: Array, size: int) -> Array:
    return np.bincount(place, weights=weight, minlength=size).astype(np.float64)


def _squares(weight: Array, *some: NDArray[np.bool_]) -> Array:
    """Σw² of all rows, and of some of them."""
    with np.errstate(over="ignore"):  # ∞ is dealt with where the sum is used
        squares = weight * weight
    return np.array([squares.sum(), *(squares[these].sum() for these in some)])


def _weight(losses: Moments, j: int) -> float:
    return float(np.broadcast_to(losses.weight, losses.mean.shape)[0, j])


def _mean_and_error(losses: Moments, j: int, squares: float) -> tuple[float, float]:
    """A mean, and its standard error; NaN for too few rows."""
    weight = _weight(losses, j)
    if not weight:
        return np.nan, np.nan
    mean = float(losses.mean[0, j] + losses.rest[0, j])
    return mean, error_of_mean(float(losses.m2[0, j]) / weight, effective_rows(weight, squares))


def report_of(
    log_posterior: Array,
    truth: NDArray[np.integer[Any]],
    weight: Array | None,
    known: NDArray[np.bool_] | None,
    classes: Sequence[Any],
    measured: str = "",
) -> Report:
    """The report on rows that are all at hand, ranking and curves included: see `Scorecard.of`.

    >>> report_of(np.log([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3]]), np.array([0, 1, 0]), None, None, "ab").roc_auc
    1.0
    """
    return Scorecard.of(log_posterior, truth, weight, known, keep=True).report(classes, measured)
