"""Maps from the probabilities that a model claims to those that come true: temperature, Platt's, isotonic.

A map acts on ln p(k|x), n×K, and gives ln p(k|x) again: it never makes a more probable class less probable than it
would have made a less probable one, and what it gives adds up to one.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import DecibanWarning, InputError, UndefinedError
from deciban.scores.explanation import DECIBAN, Explanation
from deciban.scores.posterior import log_odds, subtract_top

FARTHEST = 1e100
"""Log-odds beyond this, ±∞ among them, are taken for this."""


class CalibrationMap(Protocol):
    """ln p(k|x) as a model claims it, to ln p(k|x) as it comes true."""

    method: ClassVar[str]

    @property
    def scale(self) -> float | None:
        """What all evidence is multiplied by, where the map does nothing else."""
        ...

    def apply(self, log_posterior: Array) -> Array:
        """The calibrated ln p(k|x)."""
        ...

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Temperature:
    """p(k|x)^t, normalised: all evidence counts t times as much (Guo et al. 2017, whose temperature is 1/t).

    >>> np.exp(Temperature(0.5).apply(np.log([[0.9, 0.1]]))).round(6).tolist()
    [[0.75, 0.25]]
    """

    t: float
    method: ClassVar[str] = "temperature"

    @property
    def scale(self) -> float:
        """Every entry of an explanation counts so many times as much."""
        return self.t

    def apply(self, log_posterior: Array) -> Array:
        """t · ln p(k|x), normalised."""
        return normalise(self.t * log_posterior)

    def __str__(self) -> str:
        return f"temperature: all evidence counts {self.t:.3g} times as much"


@dataclass(frozen=True, eq=False)
class Platt:
    """slope · ln p(k|x) + bias_k, normalised: for two classes a line over the log-odds (Platt 1999)."""

    slope: float
    bias: Array
    method: ClassVar[str] = "platt"
    scale: ClassVar[None] = None

    def apply(self, log_posterior: Array) -> Array:
        """slope · ln p(k|x) + bias_k, normalised."""
        return normalise(self.slope * log_posterior + self.bias)

    def __str__(self) -> str:
        return f"platt: all evidence counts {self.slope:.3g} times as much, and each class has a bias"


@dataclass(frozen=True, eq=False)
class Isotonic:
    """A rising line through knots over the log-odds of a class against the others, for each class, then normalised.

    Of two classes the second has the line alone. Curve c goes through the points (claimed, true) from start[c] to
    start[c + 1], both log-odds; beyond the first and the last it is level.
    """

    start: NDArray[np.int64]
    claimed: Array
    true: Array
    method: ClassVar[str] = "isotonic"
    scale: ClassVar[None] = None

    def apply(self, log_posterior: Array) -> Array:
        """ln p̂(k|x) of each class's own line, normalised."""
        K = log_posterior.shape[1]
        if K == 2:
            second = self._line(0, clip_log_odds(log_posterior, 1))
            return np.column_stack([log_sigmoid(-second), log_sigmoid(second)])
        own = [log_sigmoid(self._line(k, clip_log_odds(log_posterior, k))) for k in range(K)]
        return normalise(np.column_stack(own))

    def _line(self, curve: int, x: Array) -> Array:
        at, to = (v[self.start[curve] : self.start[curve + 1]] for v in (self.claimed, self.true))
        right = np.clip(np.searchsorted(at, x), 1, len(at) - 1)
        left = right - 1
        along = np.clip((x - at[left]) / (at[right] - at[left]), 0.0, 1.0)
        return to[left] + along * (to[right] - to[left])

    def __str__(self) -> str:
        curves = len(self.start) - 1
        lines = "a rising line" if curves == 1 else f"{curves} rising lines"
        return f"isotonic: {lines} through {len(self.claimed)} points"


@dataclass(frozen=True, eq=False)
class Calibration:
    """A map, the class prior it was fitted under, and what it is known to do for rows that were held out.

    `rows` is how many there were; `before` and `after` are their log-loss without the map, and by maps that were
    fitted without them.
    """

    map: CalibrationMap
    log_prior: Array
    rows: int = 0
    before: float = np.nan
    after: float = np.nan

    @property
    def method(self) -> str:
        """Temperature, platt or isotonic."""
        return self.map.method

    def apply(self, log_posterior: Array, log_prior: Array) -> Array:
        """Calibrated, then moved to another class prior: p' ∝ p · π'/π; where no class is left, that prior alone."""
        mended = self.map.apply(log_posterior)
        shift = self.shift(log_prior)
        if not shift.any():
            return mended
        moved = mended + shift
        return normalise(np.where(np.isneginf(moved).all(axis=1, keepdims=True), log_prior, moved))

    def shift(self, log_prior: Array) -> Array:
        """ln π'/π of each class; refused for a class that had no chance before and has one now."""
        gone = np.isneginf(self.log_prior)
        if (gone & ~np.isneginf(log_prior)).any():
            raise InputError(
                "a class that had the prior 0 when the model was calibrated is given another, and what came true of "
                "its probabilities is not known. Hint: calibrate again under the new prior"
            )
        with np.errstate(invalid="ignore"):
            return np.where(gone, 0.0, log_prior - self.log_prior)

    def line(self, log_prior: Array) -> tuple[float, Array]:
        """What ln p(x|k) is multiplied by, and what is added to it, where the map is a line."""
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
        return f"{self.map} (log-loss of {self.rows} rows held out: {self.before:.4f} → {self.after:.4f})"


def warn_dropped(calibration: Calibration | None, hint: str) -> None:
    """Say that what was learned is no longer what the calibration was fitted to."""
    if calibration is not None:
        warnings.warn(
            f"the calibration ({calibration.method}) is dropped: it fitted what had been learned before. {hint}",
            DecibanWarning,
            stacklevel=_users_call(),
        )


def _users_call() -> int:
    """How far up the call is that came from outside of this package, as `warnings.warn` counts."""
    frame, deep = sys._getframe(2), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("deciban."):
        frame, deep = frame.f_back, deep + 1
    return deep


def calibrate_explanation(
    told: Explanation,
    by: Calibration,
    log_prior: Array,
    k: NDArray[np.intp],
    l: NDArray[np.intp],
    log_odds: Array,
) -> Explanation:
    """An explanation of what a model claims under `log_prior`, as one of what is said after calibration.

    Where all evidence counts t times as much, so does every entry; otherwise the entry "calibration" is what the map
    adds to the total, so that this becomes the calibrated `log_odds` of class k against l.
    """
    shift = by.shift(log_prior)
    with np.errstate(invalid="ignore"):  # a class that has no chance: −∞ − −∞ has no value
        moved = (shift[k] - shift[l]) * DECIBAN
        prior = told.prior - moved
        if by.map.scale is not None:
            t = by.map.scale
            extras = {name: t * value for name, value in told.extras.items()}
            evidence, total = told.evidence * t, t * (told.total - moved) + moved
            return replace(told, evidence=evidence, prior=t * prior + moved, total=total, extras=extras)
        total = log_odds * DECIBAN
        added = np.where(total == told.total, 0.0, total - told.total)  # ∞ stays ∞, and nothing is added to it
    return replace(told, total=total, extras={**told.extras, "calibration": added})


def normalise(scores: Array) -> Array:
    """Scores as logarithms of shares that add up to one."""
    _, below, log_total = subtract_top(scores)
    return below - log_total


def clip_log_odds(log_posterior: Array, k: int) -> Array:
    """The log-odds of a class against the others, within bounds."""
    return np.clip(log_odds(log_posterior, k), -FARTHEST, FARTHEST)


def log_sigmoid(x: Array) -> Array:
    """ln 1/(1 + e^−x)."""
    return -np.logaddexp(0.0, -x)
