"""Calibration maps from predicted to calibrated probabilities: temperature, Platt's, isotonic.

A map takes ln p(k|x), n×K, and the ln π_k in them, and returns ln p(k|x): it is monotone in the probability of each
class, and its probabilities add up to one. Temperature and Platt scaling multiply ln p(x|k), not the prior: without
evidence the temperature gives the prior, and at t = 0 it gives the prior whatever the evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError, UndefinedError
from deciban.formatting import format_count
from deciban.scores.explanation import DECIBAN, Explanation
from deciban.scores.posterior import log_odds, normalise

MAX_LOG_ODDS = 1e100
"""Log-odds beyond this, including ±∞, are clipped to it."""


def scale_evidence(slope: float, log_posterior: Array, log_prior: Array, bias: Array | float = 0.0) -> Array:
    """Return slope · ln p(x|k) + ln π_k + bias_k, normalised, from ln p(k|x) under π; slope 0 takes no evidence."""
    evidence = log_posterior - np.where(np.isneginf(log_prior), 0.0, log_prior)
    return normalise((slope * evidence if slope else np.zeros_like(evidence)) + (log_prior + bias))


@dataclass(frozen=True)
class Temperature:
    """Temperature scaling: π_k · p(x|k)^t, normalised, so that all evidence is multiplied by t, but not the prior.

    The temperature of Guo et al. (2017) is 1/t. At t = 0 the probabilities are the prior: the shares of the classes.

    >>> half = Temperature(0.5).apply(np.log([[0.9, 0.1], [0.5, 0.5]]), np.log([0.5, 0.5]))
    >>> np.exp(half).round(6).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """

    t: float
    method: ClassVar[str] = "temperature"

    @property
    def slope(self) -> float:
        """The factor of all evidence, t."""
        return self.t

    def apply(self, log_posterior: Array, log_prior: Array) -> Array:
        """Return t · ln p(x|k) + ln π_k, normalised."""
        return scale_evidence(self.t, log_posterior, log_prior)

    def __str__(self) -> str:
        if not self.t:
            return "no better than guessing: the probabilities are the shares of the classes, whatever the evidence"
        return f"temperature: all evidence counts {self.t:.3g} times as much"


@dataclass(frozen=True, eq=False)
class Platt:
    """Platt scaling: slope · ln p(x|k) + ln π_k + bias_k, normalised; for two classes a line (Platt 1999)."""

    slope: float
    bias: Array
    method: ClassVar[str] = "platt"

    def apply(self, log_posterior: Array, log_prior: Array) -> Array:
        """Return slope · ln p(x|k) + ln π_k + bias_k, normalised."""
        return scale_evidence(self.slope, log_posterior, log_prior, self.bias)

    def __str__(self) -> str:
        return f"platt: all evidence counts {self.slope:.3g} times as much, and each class has a bias"


@dataclass(frozen=True, eq=False)
class Isotonic:
    """A monotone piecewise linear map of the log-odds of each class against the others, then normalised.

    With two classes only the second has a curve. Curve c goes through the points (claimed, true) from start[c] to
    start[c + 1], both log-odds; beyond the first and the last point it is constant.
    """

    start: NDArray[np.int64]
    claimed: Array
    true: Array
    method: ClassVar[str] = "isotonic"

    def apply(self, log_posterior: Array, log_prior: Array | None = None) -> Array:
        """Return ln p̂(k|x) of each class's curve, normalised; the prior is in ln p(k|x) alone."""
        K = log_posterior.shape[1]
        if K == 2:
            second = self._interpolate(0, clip_log_odds(log_posterior, 1))
            return np.column_stack([log_sigmoid(-second), log_sigmoid(second)])
        own = [log_sigmoid(self._interpolate(k, clip_log_odds(log_posterior, k))) for k in range(K)]
        return normalise(np.column_stack(own))

    def choose(self, place: NDArray[np.intp]) -> Isotonic:
        """Return the map of other classes, each with the curve of this place; −1: a straight line."""
        ends = [slice(*pair) for pair in pairwise(self.start)]
        curves = [(self.claimed[part], self.true[part]) for part in ends]
        if len(curves) == 1:  # of two classes the second
            curves.insert(0, (-self.claimed[::-1], -self.true[::-1]))
        line = np.array([-MAX_LOG_ODDS, MAX_LOG_ODDS])
        chosen = [curves[i] if i >= 0 else (line, line) for i in (place if len(place) > 2 else place[1:])]
        start = np.cumsum([0, *(len(claimed) for claimed, _ in chosen)]).astype(np.int64)
        return Isotonic(start, *(np.concatenate(values) for values in zip(*chosen)))

    def _interpolate(self, curve: int, x: Array) -> Array:
        """Return true log-odds for the claimed log-odds x by one curve."""
        points = slice(self.start[curve], self.start[curve + 1])
        return np.interp(x, self.claimed[points], self.true[points])

    def __str__(self) -> str:
        curves = len(self.start) - 1
        lines = "a rising line" if curves == 1 else f"{curves} rising lines"
        return f"isotonic: {lines} through {len(self.claimed)} points"


CalibrationMap = Temperature | Platt | Isotonic
"""A map from predicted to calibrated ln p(k|x)."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """A calibration map, the class prior under which it was fitted, and its effect on held-out rows.

    `rows` is their number; `before` and `after` are their log-loss without the map, and with maps that were
    fitted without them.
    """

    map: CalibrationMap
    log_prior: Array
    rows: int = 0
    before: float = np.nan
    after: float = np.nan
    is_former: bool = False
    """Whether the model has learned or forgotten rows, or was added to another, since the map was fitted."""

    @property
    def method(self) -> str:
        """The method: temperature, platt or isotonic."""
        return self.map.method

    @property
    def is_constant(self) -> bool:
        """Whether the probabilities are the class prior, whatever the evidence."""
        return isinstance(self.map, Temperature) and not self.map.t

    def apply(self, log_posterior: Array, log_prior: Array) -> Array:
        """Return calibrated ln p under the prior π', from ln p(k|x) under π, the prior of the fit: p' ∝ p · π'/π.

        It is π' where no class is possible.
        """
        calibrated = self.map.apply(log_posterior, self.log_prior)
        shift = self.shift(log_prior)
        if not shift.any():
            return calibrated
        moved = calibrated + shift
        return normalise(np.where(np.isneginf(moved).all(axis=1, keepdims=True), log_prior, moved))

    def shift(self, log_prior: Array) -> Array:
        """Return ln π'/π of each class; refuse a class whose prior was 0 and is not now."""
        impossible = np.isneginf(self.log_prior)
        if (impossible & ~np.isneginf(log_prior)).any():
            raise InputError(
                "a class whose prior was 0 when the model was calibrated has another one now, and no calibration of "
                "its probabilities is known. Hint: calibrate again under the new prior"
            )
        with np.errstate(invalid="ignore"):
            return np.where(impossible, 0.0, log_prior - self.log_prior)

    def line(self, log_prior: Array) -> tuple[float, Array]:
        """Return the factor of ln p(x|k) and the term of each class added to it; refuse an isotonic map."""
        if isinstance(self.map, Isotonic):
            raise UndefinedError(
                "an isotonic calibration bends the scores, so they have no weights. "
                "Hint: calibrate by 'temperature' or 'platt'; explain(X) gives the evidence of each feature"
            )
        return self.map.slope, self.log_prior + getattr(self.map, "bias", 0.0) + self.shift(log_prior)

    @property
    def rank(self) -> tuple[int, bytes]:
        """The number of rows and the bytes of the map and of its prior, which decide between two maps."""
        values = [np.asarray(getattr(self.map, each.name)) for each in fields(self.map)]
        return self.rows, b"".join(value.tobytes() for value in [*values, self.log_prior])

    def carry(self, names: Sequence[Any], classes: Sequence[Any], log_prior: Array) -> Calibration:
        """Return the calibration of a model of the classes `names` for one of others, as one of the rows of then.

        A class that comes later, or that had no prior, has no bias. Its ln π is the least of the others, not
        that of the rows of now: the order in which models are added makes no difference.
        """
        place = np.array([names.index(label) if label in names else -1 for label in classes])
        old = np.where(place < 0, -np.inf, self.log_prior[place])
        is_new, least = np.isneginf(old) & ~np.isneginf(log_prior), np.min(old[~np.isneginf(old)], initial=0.0)
        moved: CalibrationMap = self.map
        if isinstance(moved, Platt):
            moved = Platt(moved.slope, np.where(is_new, 0.0, moved.bias[place]))
        elif isinstance(moved, Isotonic):
            moved = moved.choose(place)
        return replace(self, map=moved, log_prior=np.where(is_new, least, old), is_former=True)

    def __str__(self) -> str:
        then = "; fitted with the rows of then, before the model changed" if self.is_former else ""
        if np.isnan(self.after):
            return f"{self.map}{then}"
        rows = format_count(self.rows, "row")
        return f"{self.map} (log-loss of {rows} held out: {self.before:.4f} → {self.after:.4f}){then}"


def keep_calibration(
    before: Sequence[tuple[Calibration | None, Sequence[Any]]], classes: Sequence[Any], log_prior: Array
) -> Calibration | None:
    """Return, for a model of more or fewer rows, the map of those before it that was fitted on more rows.

    Each has the classes of its model. Ties are decided by the bytes of the maps, so that the order of models makes no
    difference.
    """
    carried = [each.carry(names, classes, log_prior) for each, names in before if each is not None]
    return max(carried, key=lambda each: each.rank, default=None)


def calibrate_explanation(explanation: Explanation, by: Calibration, log_odds: Array) -> Explanation:
    """Return the explanation of a model after calibration, so that the total is `log_odds` (in nats), of k against l.

    All evidence is multiplied by one factor, which is t, Platt's slope, or of an isotonic map a number from 0 to 1
    for each row. The prior is not; the entry "calibration" is what else the map adds.
    """
    with np.errstate(invalid="ignore", divide="ignore"):  # impossible classes, rows without evidence
        total, prior = log_odds * DECIBAN, explanation.prior
        if isinstance(by.map, Isotonic):
            ratio = (total - prior) / (explanation.total - prior)
            factor = np.where(np.isfinite(ratio), np.clip(ratio, 0.0, 1.0), 1.0)
        else:
            factor = np.full(len(total), by.map.slope)
        evidence = scale_rows(explanation.evidence, factor)
        extras = {name: scale_rows(value, factor) for name, value in explanation.extras.items()}
        explained = prior + scale_rows(explanation.total - prior, factor)
        added = np.where(total == explained, 0.0, total - explained)  # ∞ stays ∞
    if isinstance(by.map, Temperature):
        return replace(explanation, evidence=evidence, total=explained, extras=extras)
    return replace(explanation, evidence=evidence, total=total, extras={**extras, "calibration": added})


def scale_rows(values: Any, factor: Array) -> Any:
    """Return dense or sparse rows, or one value a row, times the factor of each row; a factor of 0 gives 0."""
    if hasattr(values, "tocsr"):
        return values.multiply(factor[:, None]).tocsr()
    by_row = factor.reshape(-1, *[1] * (values.ndim - 1))
    return np.where(by_row == 0, 0.0, by_row * values)


def clip_log_odds(log_posterior: Array, k: int) -> Array:
    """Return the log-odds of a class against the others, clipped to ±MAX_LOG_ODDS."""
    return np.clip(log_odds(log_posterior, k), -MAX_LOG_ODDS, MAX_LOG_ODDS)


def log_sigmoid(x: Array) -> Array:
    """Return ln 1/(1 + e^−x)."""
    return -np.logaddexp(0.0, -x)
