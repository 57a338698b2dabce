"""Calibration maps from predicted to calibrated probabilities: temperature, Platt's, isotonic.

A map takes ln p(k|x), n×K, and returns ln p(k|x): it is monotone in the probability of each class, and its
probabilities add up to one.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError, UndefinedError, warn_caller
from deciban.formatting import format_count
from deciban.scores.explanation import DECIBAN, Explanation
from deciban.scores.posterior import log_odds, normalise

MAX_LOG_ODDS = 1e100
"""Log-odds beyond this, including ±∞, are clipped to it."""


@dataclass(frozen=True)
class Temperature:
    """Temperature scaling: p(k|x)^t, normalised, so that all evidence is multiplied by t.

    The temperature of Guo et al. (2017) is 1/t.

    >>> np.exp(Temperature(0.5).apply(np.log([[0.9, 0.1]]))).round(6).tolist()
    [[0.75, 0.25]]
    """

    t: float
    method: ClassVar[str] = "temperature"

    def apply(self, log_posterior: Array) -> Array:
        """Return t · ln p(k|x), normalised."""
        return normalise(self.t * log_posterior)

    def __str__(self) -> str:
        return f"temperature: all evidence counts {self.t:.3g} times as much"


@dataclass(frozen=True, eq=False)
class Platt:
    """Platt scaling: slope · ln p(k|x) + bias_k, normalised; for two classes linear in the log-odds (Platt 1999)."""

    slope: float
    bias: Array
    method: ClassVar[str] = "platt"

    def apply(self, log_posterior: Array) -> Array:
        """Return slope · ln p(k|x) + bias_k, normalised."""
        return normalise(self.slope * log_posterior + self.bias)

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

    def apply(self, log_posterior: Array) -> Array:
        """Return ln p̂(k|x) of each class's curve, normalised."""
        K = log_posterior.shape[1]
        if K == 2:
            second = self._interpolate(0, clip_log_odds(log_posterior, 1))
            return np.column_stack([log_sigmoid(-second), log_sigmoid(second)])
        own = [log_sigmoid(self._interpolate(k, clip_log_odds(log_posterior, k))) for k in range(K)]
        return normalise(np.column_stack(own))

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

    @property
    def method(self) -> str:
        """The method: temperature, platt or isotonic."""
        return self.map.method

    def apply(self, log_posterior: Array, log_prior: Array) -> Array:
        """Return calibrated ln p under the prior π', from ln p(k|x) under π, the prior of the fit: p' ∝ p · π'/π.

        It is π' where no class is possible.
        """
        calibrated = self.map.apply(log_posterior)
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
        match self.map:
            case Temperature(t):
                slope, bias = t, np.zeros(len(log_prior))
            case Platt(slope, bias):
                pass
            case _:
                raise UndefinedError(
                    "an isotonic calibration bends the scores, so they have no weights. "
                    "Hint: calibrate by 'temperature' or 'platt'; explain(X) gives the evidence of each feature"
                )
        return slope, slope * self.log_prior + bias + self.shift(log_prior)

    def __str__(self) -> str:
        if np.isnan(self.after):
            return str(self.map)
        rows = format_count(self.rows, "row")
        return f"{self.map} (log-loss of {rows} held out: {self.before:.4f} → {self.after:.4f})"


def warn_dropped(calibration: Calibration | None, hint: str) -> None:
    """Warn, at the caller outside this package, that a calibration is dropped; None: there is none to drop."""
    if calibration is not None:
        warn_caller(
            f"the calibration ({calibration.method}) is dropped: it fitted what had been learned before. {hint}"
        )


def calibrate_explanation(
    explanation: Explanation,
    by: Calibration,
    log_prior: Array,
    k: NDArray[np.intp],
    l: NDArray[np.intp],
    log_odds: Array,
) -> Explanation:
    """Return the explanation of a model under `log_prior` after calibration.

    With a temperature all entries are multiplied by t, except the change of the prior since the fit; otherwise the
    entry "calibration" is what the map adds, so that the total is `log_odds` (in nats), of class k against l.
    """
    shift = by.shift(log_prior)
    with np.errstate(invalid="ignore"):  # an impossible class: −∞ − −∞ has no value
        moved = (shift[k] - shift[l]) * DECIBAN
        prior = explanation.prior - moved
        if isinstance(by.map, Temperature):
            t = by.map.t
            extras = {name: t * value for name, value in explanation.extras.items()}
            evidence, total = explanation.evidence * t, t * (explanation.total - moved) + moved
            return replace(explanation, evidence=evidence, prior=t * prior + moved, total=total, extras=extras)
        total = log_odds * DECIBAN
        added = np.where(total == explanation.total, 0.0, total - explanation.total)  # ∞ stays ∞
    return replace(explanation, total=total, extras={**explanation.extras, "calibration": added})


def clip_log_odds(log_posterior: Array, k: int) -> Array:
    """Return the log-odds of a class against the others, clipped to ±MAX_LOG_ODDS."""
    return np.clip(log_odds(log_posterior, k), -MAX_LOG_ODDS, MAX_LOG_ODDS)


def log_sigmoid(x: Array) -> Array:
    """Return ln 1/(1 + e^−x)."""
    return -np.logaddexp(0.0, -x)
