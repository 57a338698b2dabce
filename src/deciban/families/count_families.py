"""Families of counts: Bernoulli, multinomial, Poisson and complement naive Bayes.

- Bernoulli: each feature is present or absent, θ_kj = (n_kj1 + α) / (n_kj + 2α).
- Multinomial: words drawn independently, θ_kv = (n_kv + α) / (Σ_v n_kv + αV).
- Poisson: counts with one rate per class and feature, λ_kj = (Σ w x + α m_j) / (Σ w + α).
- Complement (Rennie et al. 2003): a class is scored by the words of all *other* classes. The score is not
  a likelihood: there is no p(x|k), so there is no density, no sampling and no prior in it.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError, UndefinedError
from deciban.families.family import (
    Alpha,
    EnumeratedRows,
    Family,
    broadcast_alpha,
    divide_or_pool,
    log,
    sum_count_log,
    to_dense,
)
from deciban.families.level_families import enumerate_combinations
from deciban.ledger import Counts, Needs, Tallies
from deciban.ledger.statistic import divide
from deciban.scores import BoundedRates, Linear, ScoreForm, SparseLinear
from deciban.scores.bounded_forms import CONTAMINATION
from deciban.scores.linear import ImpossibleValues

MAX_DRAWN_RATE = 1e18
"""Largest mean of counts that are drawn: they are integers of 64 bits."""

LOOKUP_TABLE_SIZE = 4096
"""The logarithms of whole numbers below this are looked up in a table."""

MIN_KERNEL_ENTRIES = 1 << 20
"""Number of entries from which they are smoothed by a kernel."""


def draw_counts(rates: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw Poisson counts with these rates; refuse rates beyond integers of 64 bits."""
    largest = rates.max(initial=0.0)
    if not largest <= MAX_DRAWN_RATE:
        raise InputError(f"a rate of {largest:g} is too large to draw counts from. Hint: rescale the column.")
    return rng.poisson(rates)


def smooth_tallies(part: Tallies, alpha: float) -> tuple[Array, Array]:
    """Return Σ n_kv of each class and ln(1 + n_kv/α) of each entry; those of small counts are looked up."""
    if len(part.total) < MIN_KERNEL_ENTRIES:
        return part.per_class(part.total), np.log1p(part.total / alpha)
    from deciban.kernels.tallies import smooth_entries

    sums, delta = np.zeros(part.n_classes), np.empty(len(part.total))
    smooth_entries(part.class_code, part.total, alpha, np.log1p(np.arange(LOOKUP_TABLE_SIZE) / alpha), sums, delta)
    return sums, delta


@dataclass(frozen=True)
class Bernoulli(Family):
    """Independent features that are present or absent.

    ln p(x|k) = Σ_j x_j ln θ_kj + (1 − x_j) ln(1 − θ_kj), with x_j = [value > threshold]; without a threshold
    x_j is the value itself, a probability of presence.

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
        return divide_or_pool(part.total + self.alpha, part.weight + 2 * np.asarray(self.alpha))

    def absent(self, part: Counts) -> Array:
        """Return 1 − θ_kj, from the count of absences: exact where θ is near 1."""
        absent = np.maximum(part.weight - part.total, 0.0) + self.alpha
        return divide_or_pool(absent, part.weight + 2 * np.asarray(self.alpha))

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
        impossible = ImpossibleValues(never.astype(float), always.astype(float)) if (never | always).any() else None
        zeros = np.zeros(part.n_classes)
        return Linear(finite_on - finite_off, zeros, finite_off, threshold=self.threshold, impossible=impossible)

    def _solve_sparse(self, part: Tallies) -> ScoreForm:
        """Compute logit θ_kv = ln α − ln(N_k + α) + [ln(1 + n/α) − ln(1 − n/(N_k + α))]; bias Σ_v ln(1 − θ_kv)."""
        if np.ndim(self.alpha) or self.alpha == 0:
            raise InputError(
                f"a Bernoulli model of {part.n_classes} classes × {part.n_features} features is kept sparse, which "
                f"takes one alpha > 0 for all features. Hint: alpha=1.0, or fewer classes or features."
            )
        a, V, n = float(self.alpha), part.n_features, part.weight[:, 0]
        absent = np.log(np.maximum(n[part.class_code] - part.total, 0.0) + a) - np.log(n + a)[part.class_code]
        delta = smooth_tallies(part, a)[1] - absent
        bias = V * (np.log(n + a) - np.log(n + 2 * a)) + part.per_class(absent)
        slope, base = -np.log(n + a), np.full(V, np.log(a))
        ones = np.ones(part.n_classes)
        return SparseLinear(part.start, part.class_code, delta, bias, slope, base, ones, threshold=self.threshold)

    def sample(self, part: Counts | Tallies, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.int64]:
        """See `Family.sample`."""
        theta = self.theta(to_dense(part))
        return self._to_values(rng.random((len(codes), part.n_features)) < theta[codes])

    def enumerate_rows(self, part: Counts | Tallies) -> EnumeratedRows | None:
        """See `Family.enumerate_rows`."""
        every = enumerate_combinations([2] * part.n_features)
        return None if every is None else (self._to_values(every[0]), every[1])

    def _to_values(self, bits: NDArray[Any]) -> NDArray[np.int64]:
        """Return presence as 1, or the smallest whole number above the threshold if larger; absence as 0, or less."""
        below = int(np.floor(self.threshold or 0.0))
        return np.where(bits, max(1, below + 1), min(0, below))

    def log_likelihood(self, part: Counts | Tallies, solved: Counts | Tallies) -> float:
        """See `Family.log_likelihood`."""
        counts, prior = to_dense(part), to_dense(solved)
        absent = np.maximum(counts.weight - counts.total, 0.0)
        return sum_count_log(counts.total, log(self.theta(prior))) + sum_count_log(absent, log(self.absent(prior)))


class WordFamily(Family):
    """A family of bags of words; a word that a bag does not have was counted zero times, so none is missing."""

    def needs(self) -> Needs:
        """See `Family.needs`."""
        return Needs("counts", signed=False, skips=False)

    def n_parameters(self, part: Counts | Tallies) -> int:
        """Return K(V − 1)."""
        return part.n_classes * max(part.n_features - 1, 0)


@dataclass(frozen=True)
class Multinomial(WordFamily):
    """Bags of words that are drawn independently.

    ln p(z|k) = Σ_v z_v ln θ_kv, without the multinomial coefficient, which does not depend on the class.

    >>> bag = Counts(np.array([[3.0, 2.0]]), np.array([[1.0]]))
    >>> Multinomial(alpha=1.0).theta(bag).tolist() == [[4 / 7, 3 / 7]]
    True
    """

    alpha: Alpha = 1.0

    def theta(self, part: Counts) -> Array:
        """Return θ_kv, the probability of word v in class k."""
        smoothed = part.total + self.alpha
        return divide_or_pool(smoothed, smoothed.sum(axis=-1, keepdims=True))

    def log_theta(self, part: Counts | Tallies) -> Array:
        """Return ln θ_kv, K×V."""
        return log(self.theta(to_dense(part)))

    def solve(self, part: Counts | Tallies) -> ScoreForm:
        """See `Family.solve`."""
        if isinstance(part, Tallies):
            return self._solve_sparse(part)
        return _make_linear(log(self.theta(part)))

    def _solve_sparse(self, part: Tallies) -> ScoreForm:
        """Compute ln θ_kv = ln α_v − ln(N_k + Σα) + ln(1 + n_kv/α_v); without α_v, ln n_kv − ln(N_k + Σα)."""
        K, V = part.n_classes, part.n_features
        alpha = broadcast_alpha(self.alpha, V)
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
        impossible = hard if hard.any() else None
        return SparseLinear(part.start, part.class_code, delta, np.zeros(K), slope, base, np.ones(K), hard=impossible)

    def sample(self, part: Counts | Tallies, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw a bag for each class code; its length is Poisson with the class's mean length."""
        counts = to_dense(part)
        theta = self.theta(counts)
        words, documents = counts.total.sum(axis=1, keepdims=True), counts.weight.max(axis=1, keepdims=True)
        length = divide_or_pool(words, documents)[:, 0]
        bags = np.zeros((len(codes), part.n_features), dtype=np.int64)
        drawn = draw_counts(length[codes], rng)
        for i in np.flatnonzero(drawn):  # without any words θ has no sum
            bags[i] = rng.multinomial(drawn[i], theta[codes[i]] / theta[codes[i]].sum())
        return bags

    def log_likelihood(self, part: Counts | Tallies, solved: Counts | Tallies) -> float:
        """See `Family.log_likelihood`."""
        return sum_count_log(to_dense(part).total, log(self.theta(to_dense(solved))))


def _make_linear(log_theta: Array, **options: Any) -> Linear:
    """Return the linear score of log-probabilities per unit of x; −∞ becomes an impossible value."""
    ruled_out = np.isneginf(log_theta)
    impossible = ImpossibleValues(ruled_out.astype(np.float64), np.zeros_like(log_theta)) if ruled_out.any() else None
    return Linear(np.where(ruled_out, 0.0, log_theta), np.zeros(len(log_theta)), impossible=impossible, **options)


MAX_DEVIANCE = -math.log(CONTAMINATION)
"""The bound of ln p(x; x) − ln p(x; λ), half the deviance of a count, in tables."""


@dataclass(frozen=True)
class Poisson(Family):
    """Independent Poisson counts, with α pseudo-observations of the column's mean m_j.

    ln p(x|k) = Σ_j x_j ln λ_kj − λ_kj − ln x_j!.

    `bounded`, for tables: unless α is 0, no class gives a count less than `CONTAMINATION` times its probability under
    the rate that suits it best.
    """

    alpha: Alpha = 1.0
    bounded: bool = False

    def needs(self) -> Needs:
        """See `Family.needs`."""
        return Needs("counts", signed=False)

    def rates(self, part: Counts | Tallies) -> Array:
        """Return λ_kj; 0 in a column without counts."""
        counts = to_dense(part)
        weight = np.broadcast_to(counts.weight, counts.total.shape)
        mean = divide(counts.total.sum(axis=-2, keepdims=True), weight.sum(axis=-2, keepdims=True))
        return divide_or_pool(counts.total + self.alpha * mean, weight + self.alpha)

    def solve(self, part: Counts | Tallies) -> ScoreForm:
        """See `Family.solve`."""
        if isinstance(part, Tallies):
            return self._solve_sparse(part)
        rate = self.rates(part)
        if self.bounded and np.all(np.asarray(self.alpha) > 0):
            return BoundedRates(rate, MAX_DEVIANCE)
        silent = (rate == 0).all(axis=0)  # a column without counts carries no evidence
        return _make_linear(np.where(silent, 0.0, log(rate)), offsets=-rate, carrier="log_factorial")

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
        pseudo_counts = np.where(mute, 1.0, a * mean) if a else np.ones(part.n_features)
        at = part.feature
        delta = np.log1p(part.total / pseudo_counts[at]) if a else np.log(part.total)
        bias = -(part.per_class(part.total) + a * mean.sum()) / n
        return SparseLinear(
            part.start, part.class_code, delta, bias, -np.log(n), np.log(pseudo_counts), np.ones(part.n_classes),
            hard=None if a else ~mute, mute=mute if mute.any() else None, carrier="log_factorial",
        )  # fmt: skip

    def sample(self, part: Counts | Tallies, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.int64]:
        """See `Family.sample`."""
        return draw_counts(self.rates(part)[codes], rng)

    def log_likelihood(self, part: Counts | Tallies, solved: Counts | Tallies) -> float:
        """Refuse: the ledger has Σ x but not Σ ln x!."""
        raise UndefinedError(
            "a Poisson likelihood needs Σ ln x! of the data, which the ledger does not keep. "
            "Hint: log_likelihood(X, y) computes it from the rows."
        )


@dataclass(frozen=True)
class Complement(WordFamily):
    """Words scored by their shares in all other classes.

    score_k(z) = −Σ_v z_v ln θ̄_kv, θ̄_kv = (n_v − n_kv + α) / Σ_v(…); `norm` divides by Σ_v |ln θ̄_kv|.
    """

    alpha: Alpha = 1.0
    norm: bool = False

    @property
    def probabilistic(self) -> bool:
        """See `Family.probabilistic`."""
        return False

    def log_theta(self, part: Counts | Tallies) -> Array:
        """Return the weights −ln θ̄_kv, K×V, normalised with `norm`; InputError where one is infinite (alpha = 0)."""
        counts = to_dense(part)
        everywhere = counts.total.sum(axis=-2, keepdims=True)
        elsewhere = everywhere - counts.total + self.alpha
        self._refuse_infinite(elsewhere, everywhere + self.alpha)
        known = elsewhere > 0  # without alpha, a word that occurs nowhere carries no evidence
        total = np.broadcast_to(elsewhere.sum(axis=-1, keepdims=True), elsewhere.shape)
        logged = np.log(np.where(known, elsewhere, 1.0)) - np.log(np.where(known, total, 1.0))
        return divide(logged, logged.sum(axis=-1, keepdims=True)) if self.norm else -logged

    def _refuse_infinite(self, elsewhere: Array, anywhere: Array) -> None:
        """Refuse a word that occurs, but in no other class than one: the logarithm of its share there is −∞."""
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
        delta = delta * scale[part.class_code]
        return SparseLinear(part.start, part.class_code, delta, np.zeros(K), slope * scale, base, scale)
