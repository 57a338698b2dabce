"""Complement naive Bayes (Rennie et al. 2003): a class is scored by the words of all *other* classes.

The score is not a likelihood: there is no p(x|k), so there is no density, no sampling and no prior in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError, UndefinedError
from deciban.families.family import NO_LIKELIHOOD, Alpha, Family, broadcast_alpha, to_dense
from deciban.ledger import Counts, Needs, Tallies
from deciban.ledger.statistic import divide
from deciban.scores import Linear, ScoreForm, SparseLinear


@dataclass(frozen=True)
class Complement(Family):
    """Words scored by their shares in all other classes.

    score_k(z) = −Σ_v z_v ln θ̄_kv, θ̄_kv = (n_v − n_kv + α) / Σ_v(…); `norm` divides by Σ_v |ln θ̄_kv|.
    """

    alpha: Alpha = 1.0
    norm: bool = False

    @property
    def probabilistic(self) -> bool:
        """See `Family.probabilistic`."""
        return False

    def needs(self) -> Needs:
        """See `Family.needs`."""
        return Needs("counts", signed=False, skips=False)

    def log_theta(self, part: Counts | Tallies) -> Array:
        """Return the weights −ln θ̄_kv, K×V, normalised with `norm`."""
        counts = to_dense(part)
        everywhere = counts.total.sum(axis=-2, keepdims=True)
        elsewhere = everywhere - counts.total + self.alpha
        self._refuse_infinite(elsewhere, everywhere + self.alpha)
        known = elsewhere > 0  # without alpha, a word that occurs nowhere carries no evidence
        whole = np.broadcast_to(elsewhere.sum(axis=-1, keepdims=True), elsewhere.shape)
        logged = np.log(np.where(known, elsewhere, 1.0)) - np.log(np.where(known, whole, 1.0))
        return divide(logged, logged.sum(axis=-1, keepdims=True)) if self.norm else -logged

    def _refuse_infinite(self, elsewhere: Array, anywhere: Array) -> None:
        alone = (elsewhere <= 0) & (anywhere > 0)
        if alone.any():
            k, v = (int(i) for i in np.argwhere(alone)[0])
            raise InputError(
                f"feature {v} occurs in class {k} alone, so without a pseudo-count its weight is infinite. "
                f"Hint: alpha > 0."
            )

    def solve(self, part: Counts | Tallies) -> ScoreForm:
        """See `Family.solve`."""
        if isinstance(part, Tallies) and np.all(np.asarray(self.alpha) > 0):
            return self._solve_sparse(part)
        return Linear(self.log_theta(part), np.zeros(part.n_classes))

    def _solve_sparse(self, part: Tallies) -> ScoreForm:
        """Compute ln θ̄_kv = ln(n_v + α) − ln(T − N_k + αV) + ln((n_v − n_kv + α)/(n_v + α)).

        Each difference is taken before α is added, so that α is not lost where counts are very large.
        """
        K = part.n_classes
        alpha, everywhere = broadcast_alpha(self.alpha, part.n_features), part.per_feature(part.total)
        anywhere = everywhere + alpha
        slope = np.log(np.maximum(everywhere.sum() - part.per_class(part.total), 0.0) + alpha.sum())
        base = -np.log(anywhere)
        elsewhere = everywhere[part.feature] - part.total + alpha[part.feature]
        delta = -np.log(elsewhere / anywhere[part.feature])
        scale = np.ones(K)
        if self.norm:
            scale = divide(scale, slope * part.n_features + base.sum() + part.per_class(delta))
        delta = delta * scale[part.klass]
        return SparseLinear(part.start, part.klass, delta, np.zeros(K), slope * scale, base, scale)

    def sample(self, part: Counts | Tallies, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.int64]:
        """Refuse: there is no distribution to draw from."""
        raise UndefinedError(NO_LIKELIHOOD.format(what="rows to draw"))

    def log_likelihood(self, part: Counts | Tallies, solved: Counts | Tallies) -> float:
        """Refuse: there is no likelihood."""
        raise UndefinedError(NO_LIKELIHOOD.format(what="likelihood"))

    def n_parameters(self, part: Counts | Tallies) -> int:
        """Return K(V − 1)."""
        return part.n_classes * (part.n_features - 1)
