"""Brier's score taken apart: how honest the probabilities are, how much they tell, how hard the question is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from deciban.ledger.statistic import Array
from deciban.metrics.ranking import Ranks


@dataclass(frozen=True, slots=True)
class BrierParts:
    """Murphy's decomposition (1973), class by class against all others, the probabilities in bins of equal width.

    With n_b, p̄_b and ō_b the weight, mean probability and share of the class in bin b, ō the share in all rows:
    reliability Σ n_b (p̄_b − ō_b)² / n, resolution Σ n_b (ō_b − ō)² / n, uncertainty ō (1 − ō), each summed over the
    classes. What the bins blur is `within`, Σ (p − p̄_b)² − 2 (p − p̄_b)(o − ō_b) over n (Stephenson et al. 2008), so
    that reliability − resolution + uncertainty + within is Brier's score, to the last bits.

    >>> parts = BrierParts(reliability=0.01, resolution=0.2, uncertainty=0.5, within=0.0)
    >>> round(parts.score, 4)
    0.31
    """

    reliability: float
    resolution: float
    uncertainty: float
    within: float

    @property
    def score(self) -> float:
        """The Brier score that they add up to."""
        return self.reliability - self.resolution + self.uncertainty + self.within

    def to_dict(self) -> Mapping[str, float]:
        """By name."""
        return asdict(self)


def brier_parts(ranks: Ranks, bins: int) -> BrierParts | None:
    """The Brier score of the kept rows whose class their model knows, in parts; None where there is no such row."""
    some = ranks.some
    n = len(some.truth)
    sure = some.truth >= 0
    if some.known is not None:
        sure = sure & some.known[np.arange(n), some.truth]
    if not sure.any():
        return None
    rows = some[np.flatnonzero(sure)]
    weight = rows.weight / rows.weight.sum()
    parts = np.zeros(4)
    for k in range(ranks.n_classes):
        parts += _of_class(np.exp(rows.log_posterior[:, k]), rows.truth == k, weight, bins)
    return BrierParts(*(float(part) for part in parts))


def _of_class(p: Array, o: NDArray[np.bool_], weight: Array, bins: int) -> Array:
    """Reliability, resolution, uncertainty and within of one class, for weights that sum to 1."""
    which = binned(p, bins)
    n, sum_p, sum_o = (np.bincount(which, weights=weight * v, minlength=bins) for v in (1.0, p, o))
    full = n > 0
    mean_p, mean_o = (np.divide(total, n, out=np.zeros(bins), where=full) for total in (sum_p, sum_o))
    share = float(sum_o.sum())
    gap = p - mean_p[which]
    return np.array(
        [
            n @ (mean_p - mean_o) ** 2,
            n @ (mean_o - share) ** 2,
            share * (1 - share),
            weight @ (gap * gap - 2 * gap * (o - mean_o[which])),
        ]
    )


def binned(p: Array, bins: int) -> NDArray[np.intp]:
    """The bin of each probability: ((b−1)/B, b/B], the first with 0."""
    return np.searchsorted(np.arange(1, bins) / bins, p)
