"""The multinomial family: words drawn independently, θ_kv = (n_kv + α) / (Σ_v n_kv + αV)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.families.family import Alpha, Family, dot, draw_counts, log, share, smooth_tallies, to_dense
from deciban.ledger import Counts, Needs, Tallies
from deciban.scores import Linear, ScoreForm, SparseLinear
from deciban.scores.linear import Barrier


@dataclass(frozen=True)
class Multinomial(Family):
    """Bags of words that are drawn independently.

    ln p(z|k) = Σ_v z_v ln θ_kv, without the multinomial coefficient, which does not depend on the class.

    >>> bag = Counts(np.array([[3.0, 2.0]]), np.array([[1.0]]))
    >>> Multinomial(alpha=1.0).theta(bag).tolist() == [[4 / 7, 3 / 7]]
    True
    """

    alpha: Alpha = 1.0

    def needs(self) -> Needs:
        """See `Family.needs`."""
        return Needs("counts", signed=False, skips=False)

    def theta(self, part: Counts) -> Array:
        """Return θ_kv, the probability of word v in class k."""
        smoothed = part.total + self.alpha
        return share(smoothed, smoothed.sum(axis=-1, keepdims=True))

    def log_theta(self, part: Counts | Tallies) -> Array:
        """Return ln θ_kv, K×V."""
        return log(self.theta(to_dense(part)))

    def solve(self, part: Counts | Tallies) -> ScoreForm:
        """See `Family.solve`."""
        if isinstance(part, Tallies):
            return self._solve_sparse(part)
        return linear(log(self.theta(part)))

    def _solve_sparse(self, part: Tallies) -> ScoreForm:
        """Compute ln θ_kv = ln α_v − ln(N_k + Σα) + ln(1 + n_kv/α_v); without α_v, ln n_kv − ln(N_k + Σα)."""
        K, V = part.n_classes, part.n_features
        alpha = np.broadcast_to(np.asarray(self.alpha, dtype=np.float64), (V,))
        if not alpha.any():
            part = part.fill_empty_classes()
        hard = alpha == 0
        if hard.any() or np.ndim(self.alpha):
            a = alpha[part.feature]
            total = part.per_class(part.total)
            delta = np.where(a == 0, np.log(part.total), np.log1p(part.total / np.where(a == 0, 1.0, a)))
        else:
            total, delta = smooth_tallies(part, float(self.alpha))
        total = total + alpha.sum()
        slope = -np.log(np.where(total == 0, 1.0, total))  # no words at all: no evidence for any class
        base = np.log(np.where(hard, 1.0, alpha))
        return SparseLinear(
            part.start, part.klass, delta, np.zeros(K), slope, base, np.ones(K), hard=hard if hard.any() else None
        )

    def sample(self, part: Counts | Tallies, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw a bag for each class code; its length is Poisson with the class's mean length."""
        counts = to_dense(part)
        theta = self.theta(counts)
        length = share(counts.total.sum(axis=1, keepdims=True), counts.weight.max(axis=1, keepdims=True))[:, 0]
        bags = np.zeros((len(codes), part.n_features), dtype=np.int64)
        for i, (n, k) in enumerate(zip(draw_counts(length[codes], rng), codes)):
            bags[i] = rng.multinomial(n, theta[k] / theta[k].sum())
        return bags

    def log_likelihood(self, part: Counts | Tallies, solved: Counts | Tallies) -> float:
        """See `Family.log_likelihood`."""
        return dot(to_dense(part).total, log(self.theta(to_dense(solved))))

    def n_parameters(self, part: Counts | Tallies) -> int:
        """Return K(V − 1)."""
        return part.n_classes * (part.n_features - 1)


def linear(log_theta: Array, bias: Array | None = None) -> Linear:
    """Return the linear score of log-probabilities per unit of x; −∞ becomes a barrier."""
    ruled_out = np.isneginf(log_theta)
    zero = np.zeros(len(log_theta)) if bias is None else bias
    if not ruled_out.any():
        return Linear(log_theta, zero)
    barrier = Barrier(ruled_out.astype(np.float64), np.zeros_like(log_theta))
    return Linear(np.where(ruled_out, 0.0, log_theta), zero, barrier=barrier)
