"""The Poisson family: counts with one rate per class and feature, λ_kj = (Σ w x + α m_j) / (Σ w + α)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError, UndefinedError
from deciban.families.family import Alpha, Family, draw_counts, log, share, to_dense
from deciban.ledger import Counts, Needs, Tallies
from deciban.ledger.statistic import divide
from deciban.scores import Linear, ScoreForm, SparseLinear
from deciban.scores.linear import Barrier


@dataclass(frozen=True)
class Poisson(Family):
    """Independent Poisson counts, with α imagined rows of the column's mean m_j.

    ln p(x|k) = Σ_j x_j ln λ_kj − λ_kj − ln x_j!.
    """

    alpha: Alpha = 1.0

    def needs(self) -> Needs:
        """See `Family.needs`."""
        return Needs("counts", signed=False)

    def rates(self, part: Counts | Tallies) -> Array:
        """Return λ_kj; 0 in a column without counts."""
        counts = to_dense(part)
        weight = np.broadcast_to(counts.weight, counts.total.shape)
        mean = divide(counts.total.sum(axis=-2, keepdims=True), weight.sum(axis=-2, keepdims=True))
        return share(counts.total + self.alpha * mean, weight + self.alpha)

    def solve(self, part: Counts | Tallies) -> ScoreForm:
        """See `Family.solve`."""
        if isinstance(part, Tallies):
            return self._solve_sparse(part)
        rate = self.rates(part)
        silent = (rate == 0).all(axis=0)  # a column without counts carries no evidence
        never = (rate == 0) & ~silent
        weights = np.where(rate == 0, 0.0, log(rate))
        barrier = Barrier(never.astype(float), np.zeros_like(rate)) if never.any() else None
        zeros = np.zeros(len(rate))
        return Linear(weights, zeros, offsets=-rate, carrier="log_factorial", barrier=barrier)

    def _solve_sparse(self, part: Tallies) -> ScoreForm:
        """Compute the bias −Σ_v λ_kv and the weights ln λ_kv.

        ln λ_kv = ln(α m_v) − ln(N_k + α) + ln(1 + n_kv/(α m_v)); without α, ln n_kv − ln N_k.
        """
        if np.ndim(self.alpha):
            raise InputError(
                f"a Poisson model of {part.n_classes} classes × {part.n_features} features is kept sparse, which "
                f"takes one alpha for all features. Hint: alpha=1.0, or fewer classes or features."
            )
        a = float(self.alpha)
        part = part if a else part.fill_empty_classes()
        mean = part.per_feature(part.total) / max(part.weight.sum(), np.finfo(float).tiny)
        mute = mean == 0
        n = part.weight[:, 0] + a
        n = np.where(n == 0, part.weight.sum(), n)
        imagined = np.where(mute, 1.0, a * mean) if a else np.ones(part.n_features)
        at = part.feature
        delta = np.log1p(part.total / imagined[at]) if a else np.log(part.total)
        bias = -(part.per_class(part.total) + a * mean.sum()) / n
        return SparseLinear(
            part.start, part.klass, delta, bias, -np.log(n), np.log(imagined), np.ones(part.n_classes),
            hard=None if a else ~mute, mute=mute if mute.any() else None, carrier="log_factorial",
        )  # fmt: skip

    def sample(self, part: Counts | Tallies, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.int64]:
        """See `Family.sample`."""
        rates = self.rates(part)
        return draw_counts(rates[codes], rng)

    def log_likelihood(self, part: Counts | Tallies, solved: Counts | Tallies) -> float:
        """Refuse: the ledger has Σ x but not Σ ln x!."""
        raise UndefinedError(
            "a Poisson likelihood needs Σ ln x! of the data, which the ledger does not keep. "
            "Hint: log_likelihood(X, y) computes it from the rows."
        )

    def n_parameters(self, part: Counts | Tallies) -> int:
        """Return Kd."""
        return part.n_classes * part.n_features
