"""Scorecards: how good posteriors are, as sums that add (hits, log-loss, Brier score, calibration, confusion)."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array
from deciban.errors import InputError
from deciban.kernels.execution import load_kernels, map_in_threads
from deciban.ledger import Moments, Needs
from deciban.metrics.intervals import effective_rows, standard_error
from deciban.metrics.ranking import ScoreSample
from deciban.metrics.report import Report
from deciban.metrics.report_figures import find_bins

N_CONFIDENCE_BINS = 15
"""The default number of bins of equal width that confidences are sorted into."""

KERNEL_BLOCK_ROWS = 1 << 15
"""The number of rows that a kernel call evaluates."""


@dataclass(frozen=True, eq=False, slots=True)
class Scorecard:
    """The sums that a report on evaluated rows needs, losses in nats; `a + b` is the scorecard of the rows of both.

    A row's class may be unknown to the model: it has no name for it, or no row of it was learned. Such a row is
    an error and counts against calibration; it is in no row of the confusion matrix and has no log-loss, since no
    probability was ever claimed for its class. Weight 2 is a row twice, weight 0 a row absent.

    >>> card = Scorecard.of(np.log([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]))
    >>> report = card.report(["ham", "spam"])
    >>> report.accuracy, round(report.log_loss, 4)
    (0.5, 0.5108)
    """

    confusion: Array
    """K×K: the weight of rows of class k (line) that were predicted as l (column), for classes the model knows."""
    unknown: Array
    """(K+1)×K: the weight of rows of unknown class (line) by predicted class; last line: classes without a name."""
    losses: Moments
    """1×2: −ln p(truth), where it is finite, and the Brier score of the rows whose class the model knows."""
    bins: Array
    """3×B: weight, confidence and hits of the rows in each bin of confidence."""
    squares: Array
    """3: Σw² of all rows, of those with a finite −ln p(truth), and of those with a Brier score."""
    rows: NDArray[np.int64]
    """The number of rows, of rows of a class the model does not know, and of rows with p(truth) = 0."""
    score_sample: ScoreSample | None = None
    """The rows themselves, where they are kept."""

    @classmethod
    def empty(cls, n_classes: int, bins: int = N_CONFIDENCE_BINS) -> Self:
        """Return the scorecard of no rows."""
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
        bins: int = N_CONFIDENCE_BINS,
        *,
        keep: bool = False,
        number: NDArray[np.integer[Any]] | None = None,
    ) -> Self:
        """Evaluate ln p(k|x), n×K, against the index of each row's true class: −1 if it is none of the K.

        `known` marks the classes that the model has learned a row of (K, or n×K where rows have models of their own):
        all by default. `keep` keeps the rows, by their `number` in the table, for figures that sums cannot give.
        """
        scores, places, w, learned = _check_rows(log_posterior, truth, weight, known, bins)
        sample = ScoreSample.from_rows(log_posterior, truth, weight, known, number) if keep else None
        n, K = scores.shape
        if not n:
            return replace(cls.empty(K, bins), score_sample=sample)
        sums = _sum_by_kernel(scores, places, w, learned, bins)
        if sums is not None:
            return replace(cls(*sums), score_sample=sample)
        is_known = places >= 0 if learned is None else (places >= 0) & learned[np.arange(n), places]
        predicted = scores.argmax(axis=1)  # the first of equals
        confidence = np.exp(scores[np.arange(n), predicted])
        if np.isnan(confidence).any():
            evaluated = np.arange(n) if weight is None else np.flatnonzero(np.asarray(weight) > 0)
            row = int(evaluated[np.isnan(confidence)][0])
            raise InputError(f"row {row} has no posterior (NaN), so it cannot be evaluated")
        losses = _compute_losses(scores, places, is_known)
        infinite = np.isposinf(losses)
        losses[infinite] = np.nan  # no finite mean could hold them: they are counted
        cell, bin_of_row = places % (K + 1) * K + predicted, find_bins(confidence, bins)
        with np.errstate(over="ignore"):  # ∞ is handled where the sums of squares are used
            squares = [(w[rows] * w[rows]).sum() for rows in (slice(None), np.isfinite(losses[:, 0]), is_known)]
        return cls(
            _sum_at(cell[is_known], w[is_known], K * K).reshape(K, K),
            _sum_at(cell[~is_known], w[~is_known], K * (K + 1)).reshape(K + 1, K),
            Moments.of(losses, np.zeros(n, dtype=np.int32), w, 1),
            np.stack([_sum_at(bin_of_row, w * v, bins) for v in (1.0, confidence, is_known & (predicted == places))]),
            np.array(squares),
            np.array([n, n - is_known.sum(), infinite.sum()], dtype=np.int64),
            sample,
        )

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, Scorecard):
            return NotImplemented
        shapes = [(card.confusion.shape[0], card.bins.shape[1]) for card in (self, other)]
        if shapes[0] != shapes[1]:
            raise InputError(
                f"scorecards add only if they have the same classes and bins: one has {shapes[0][0]} classes and "
                f"{shapes[0][1]} bins, the other {shapes[1][0]} and {shapes[1][1]}. "
                f"Hint: evaluate both with the same classes and bins."
            )
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self)[:-1])
        return replace(type(self)(*(a + b for a, b in pairs)), score_sample=self._add_samples(other))

    def _add_samples(self, other: Self) -> ScoreSample | None:
        """Return the rows of both; None if those of either were not kept."""
        if self.score_sample is None:
            return None if self.rows[0] else other.score_sample
        if other.score_sample is None:
            return None if other.rows[0] else self.score_sample
        return self.score_sample + other.score_sample

    @property
    def weight(self) -> float:
        """The weight of all rows."""
        return float(self.confusion.sum() + self.unknown.sum())

    def in_effective_rows(self) -> Self:
        """Return the scorecard with survey weights that sum to the effective number of rows (Kish 1965)."""
        f, sample = self.weight / (float(self.squares[0]) or 1.0), self.score_sample
        if sample is not None:
            sample = replace(sample, parts=tuple(replace(part, weight=part.weight * f) for part in sample.parts))
        sums = self.confusion * f, self.unknown * f, self.losses * f, self.bins * f, self.squares * f**2
        return type(self)(*sums, self.rows, sample)

    def report(self, classes: Sequence[Any], measured: str = "") -> Report:
        """Return the report on the rows; `measured` says how they were evaluated. InputError for no row of weight."""
        n = self.weight
        if len(classes) != len(self.confusion):
            raise InputError(
                f"{len(self.confusion)} classes were evaluated, and {len(classes)} names are given for them"
            )
        if not n:
            raise InputError("there is nothing to report: no row with a class was evaluated. Hint: check the target.")
        rows, unknown, impossible = (int(count) for count in self.rows)
        loss, error = _compute_mean_and_error(self.losses, 0, float(self.squares[1]))
        brier, brier_error = _compute_mean_and_error(self.losses, 1, float(self.squares[2]))
        truths = self.confusion.sum(axis=1) + self.unknown[:-1].sum(axis=1)
        commonest = int(truths.argmax())
        return Report(
            rows=rows,
            weight=n,
            effective_rows=effective_rows(n, float(self.squares[0])),
            classes=tuple(classes),
            accuracy=min(float(np.trace(self.confusion)) / n, 1.0),  # sums in another order differ by rounding
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
            unknown_confusion=self.unknown,
            bins=self.bins,
            score_sample=self.score_sample,
        )


def _check_rows(
    log_posterior: Array,
    truth: NDArray[np.integer[Any]],
    weight: Array | None,
    known: NDArray[np.bool_] | None,
    bins: int,
) -> tuple[Array, NDArray[np.intp], Array, NDArray[np.bool_] | None]:
    """Check that the arguments agree; return the rows of weight > 0: scores, classes, weights, known classes."""
    n, K = log_posterior.shape
    places = np.asarray(truth).astype(np.intp)
    w = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    if bins < 1:
        raise InputError(f"bins={bins!r}: confidences are sorted into one bin or more")
    if places.shape != (n,) or w.shape != (n,):
        raise InputError(f"{n} rows are evaluated with {len(places)} classes and {len(w)} weights; each row has one")
    if known is not None and known.shape not in ((K,), (n, K)):
        raise InputError(f"`known` has the shape ({K},) or ({n}, {K}), not {known.shape}")
    if n and not -1 <= places.min() <= places.max() < K:
        raise InputError(f"class codes are below {K}, −1 for none; not {places.min()} … {places.max()}")
    if not (np.isfinite(w).all() and (w >= 0).all()):
        raise InputError(f"weights are finite and at least 0, not {w[~(np.isfinite(w) & (w >= 0))][0]}")
    learned = None if known is None else np.broadcast_to(known, (n, K))
    some = w > 0
    if some.all():
        return log_posterior, places, w, learned
    return log_posterior[some], places[some], w[some], None if learned is None else learned[some]


def _compute_losses(log_posterior: Array, truth: NDArray[np.intp], is_known: NDArray[np.bool_]) -> Array:
    """Return −ln p(truth) and Σ_k (p(k|x) − [k is the truth])² of each row, n×2; NaN where the class is unknown."""
    out = np.full((len(truth), 2), np.nan)
    rows = np.flatnonzero(is_known)
    gap = np.exp(log_posterior[rows])
    gap[np.arange(len(rows)), truth[rows]] -= 1.0
    out[rows, 0] = np.maximum(-log_posterior[rows, truth[rows]], 0.0)
    out[rows, 1] = (gap * gap).sum(axis=1)
    return out


def _sum_at(place: NDArray[np.intp], weight: Array, size: int) -> Array:
    """Return the sum of the weights of each place below `size`."""
    return np.bincount(place, weights=weight, minlength=size).astype(np.float64)


def _compute_mean_and_error(losses: Moments, j: int, squares: float) -> tuple[float, float]:
    """Return the mean of column j of losses and its standard error, by Σw² of its rows; NaN for too few rows."""
    weight = float(np.broadcast_to(losses.weight, losses.mean.shape)[0, j])
    if not weight:
        return np.nan, np.nan
    mean = float(losses.mean[0, j] + losses.rest[0, j])
    return mean, standard_error(float(losses.m2[0, j]) / weight, effective_rows(weight, squares))


def _sum_by_kernel(
    scores: Array, truth: NDArray[Any], weight: Array, known: NDArray[np.bool_] | None, bins: int
) -> tuple[Any, ...] | None:
    """Compute the sums of a `Scorecard` of one row or more, all fields but the last, by a kernel.

    None where it does not apply: few rows, scores that are not contiguous, or a score that is NaN.
    """
    n, K = scores.shape
    loops = load_kernels("score", n * K)
    if loops is None or not scores.flags.c_contiguous:
        return None
    places, edges = truth.astype(np.int32), np.arange(1, bins) / bins
    lines = np.ones((1, K), dtype=np.bool_) if known is None else np.ascontiguousarray(known)
    losses = np.empty((n, 2))

    def sum_block(start: int) -> tuple[Any, ...] | None:
        rows = slice(start, start + KERNEL_BLOCK_ROWS)
        sums = np.zeros((K, K)), np.zeros((K + 1, K)), np.zeros((3, bins)), np.zeros(3), np.zeros(3, dtype=np.int64)
        block_known = lines if len(lines) == 1 else lines[rows]
        fine = loops.score_posteriors(
            scores[rows], places[rows], weight[rows], block_known, edges, *sums, losses[rows]
        )
        return sums if fine else None

    threads = engines.thread_count(None)
    parts = list(map_in_threads(sum_block, range(0, n, KERNEL_BLOCK_ROWS), threads))
    valid = [part for part in parts if part is not None]
    if len(valid) < len(parts):
        return None
    confusion, unknown, binned, squares, rows = (sum(each) for each in zip(*valid))
    codes = np.zeros(n, dtype=np.int32)
    moments: Any = engines.summarise(Needs("moments"), losses, codes, weight, 1, threads)
    return confusion, unknown, moments, binned, squares, rows


def report_of(
    log_posterior: Array,
    truth: NDArray[np.integer[Any]],
    weight: Array | None,
    known: NDArray[np.bool_] | None,
    classes: Sequence[Any],
    measured: str = "",
) -> Report:
    """Return the report on rows that are all in memory, ranking and curves included: see `Scorecard.of`.

    >>> report_of(np.log([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3]]), np.array([0, 1, 0]), None, None, "ab").roc_auc
    1.0
    """
    return Scorecard.of(log_posterior, truth, weight, known, keep=True).report(classes, measured)
