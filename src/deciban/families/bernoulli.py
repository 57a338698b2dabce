"""The Bernoulli family: each feature is present or absent, θ_kj = (n_kj1 + α) / (n_kj + 2α)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError
from deciban.families.categorical import combinations
from deciban.families.family import Alpha, EnumeratedRows, Family, dot, log, share, smooth_tallies, to_dense
from deciban.ledger import Counts, Needs, Tallies
from deciban.scores import Linear, ScoreForm, SparseLinear
from deciban.scores.linear import Barrier


@dataclass(frozen=True)
class Bernoulli(Family):
    """Independent features that are present or absent.

    ln p(x|k) = Σ_j x_j ln θ_kj + (1 − x_j) ln(1 − θ_kj), with x_j = [value > threshold].

    >>> coin = Counts(np.array([[3.0]]), np.array([[5.0]]))
    >>> Bernoulli(alpha=0.0).theta(coin).item(), Bernoulli(alpha=1.0).theta(coin).item() == 4 / 7
    (0.6, True)
    """

    alpha: Alpha = 1.0
    threshold: float | None = 0.0

    def needs(self) -> Needs:
        """See `Family.needs`."""
        return Needs(
            "counts", threshold=self.threshold, signed=self.threshold is not None, unit=self.threshold is None
        )

    def theta(self, part: Counts) -> Array:
        """Return θ_kj, the probability that feature j is present in class k."""
        return share(part.total + self.alpha, part.weight + 2 * np.asarray(self.alpha))

    def absent(self, part: Counts) -> Array:
        """Return 1 − θ_kj, from the count of absences: exact where θ is near 1."""
        return share(np.maximum(part.weight - part.total, 0.0) + self.alpha, part.weight + 2 * np.asarray(self.alpha))

    def log_theta(self, part: Counts | Tallies) -> Array:
        """Return ln θ_kj, K×d."""
        return log(self.theta(to_dense(part)))

    def solve(self, part: Counts | Tallies) -> ScoreForm:
        """See `Family.solve`."""
        if isinstance(part, Tallies):
            return self._solve_sparse(part)
        on, off = log(self.theta(part)), log(self.absent(part))
        silent = np.isneginf(on) & np.isneginf(off)  # no row of any class: no evidence
        on, off = np.where(silent, 0.0, on), np.where(silent, 0.0, off)
        never, always = np.isneginf(on), np.isneginf(off)
        finite_on, finite_off = np.where(never, 0.0, on), np.where(always, 0.0, off)
        barrier = Barrier(never.astype(float), always.astype(float)) if (never | always).any() else None
        zeros = np.zeros(part.n_classes)
        return Linear(finite_on - finite_off, zeros, finite_off, threshold=self.threshold, barrier=barrier)

    def _solve_sparse(self, part: Tallies) -> ScoreForm:
        """Compute logit θ_kv = ln α − ln(N_k + α) + [ln(1 + n/α) − ln(1 − n/(N_k + α))]; bias Σ_v ln(1 − θ_kv)."""
        if np.ndim(self.alpha) or self.alpha == 0:
            raise InputError(
                f"a Bernoulli model of {part.n_classes} classes × {part.n_features} features is kept sparse, which "
                f"takes one alpha > 0 for all features. Hint: alpha=1.0, or fewer classes or features."
            )
        a, V, n = float(self.alpha), part.n_features, part.weight[:, 0]
        absent = np.log(np.maximum(n[part.klass] - part.total, 0.0) + a) - np.log(n + a)[part.klass]
        delta = smooth_tallies(part, a)[1] - absent
        bias = V * (np.log(n + a) - np.log(n + 2 * a)) + part.per_class(absent)
        slope, base = -np.log(n + a), np.full(V, np.log(a))
        ones = np.ones(part.n_classes)
        return SparseLinear(part.start, part.klass, delta, bias, slope, base, ones, threshold=self.threshold)

    def sample(self, part: Counts | Tallies, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.int64]:
        """See `Family.sample`."""
        theta = self.theta(to_dense(part))
        return self._to_values(rng.random((len(codes), part.n_features)) < theta[codes])

    def enumerate_rows(self, part: Counts | Tallies) -> EnumeratedRows | None:
        """See `Family.enumerate_rows`."""
        every = combinations([2] * part.n_features)
        return None if every is None else (self._to_values(every[0]), every[1])

    def _to_values(self, bits: NDArray[Any]) -> NDArray[np.int64]:
        """Return presence as the smallest whole number above the threshold, at least 1."""
        return bits.astype(np.int64) * max(1, int(np.floor(self.threshold or 0.0)) + 1)

    def log_likelihood(self, part: Counts | Tallies, solved: Counts | Tallies) -> float:
        """See `Family.log_likelihood`."""
        counts, prior = to_dense(part), to_dense(solved)
        absent = counts.weight - counts.total
        return dot(counts.total, log(self.theta(prior))) + dot(absent, log(self.absent(prior)))

    def n_parameters(self, part: Counts | Tallies) -> int:
        """Return Kd."""
        return part.n_classes * part.n_features
