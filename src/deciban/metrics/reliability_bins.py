"""Reliability: the share of hits in each bin of confidence, and Murphy's decomposition of the Brier score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.metrics.intervals import wilson
from deciban.metrics.ranking import Ranks
from deciban.plain_json import to_plain


@dataclass(frozen=True, eq=False, slots=True)
class Reliability:
    """A reliability table: bins of equal width of the confidence in the predicted class; NaN where a bin is empty.

    >>> bins = np.array([[0.0, 4.0], [0.0, 3.2], [0.0, 3.0]])
    >>> table = Reliability.of(bins, 1.0)
    >>> table.confidence.tolist(), table.hits.tolist()
    ([nan, 0.8], [nan, 0.75])
    """

    weight: Array
    confidence: Array
    """The mean confidence in each bin."""
    hits: Array
    """The share of the rows of each bin that were predicted correctly."""
    low: Array
    """The lower end of the 95 % interval of the share (Wilson)."""
    high: Array
    """The upper end of the 95 % interval of the share (Wilson)."""

    @classmethod
    def of(cls, bins: Array, rows_per_weight: float) -> Self:
        """Build the table from the sums of a scorecard: weight, confidence, hits."""
        weight, confidence, hits = bins
        nothing = np.full(len(weight), np.nan)
        mean, share = (np.divide(v, weight, out=nothing.copy(), where=weight > 0) for v in (confidence, hits))
        share = np.minimum(share, 1.0)
        ends = np.array([wilson(s, w * rows_per_weight) if w else (np.nan, np.nan) for s, w in zip(share, weight)])
        return cls(weight, mean, share, ends[:, 0], ends[:, 1])

    def to_dict(self) -> dict[str, Any]:
        """Return the columns by name, as JSON values."""
        return {name: to_plain(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class BrierParts:
    """Murphy's decomposition (1973), class by class against all others, the probabilities in bins of equal width.

    With n_b, p̄_b and ō_b the weight, mean probability and share of the class in bin b, ō the share in all rows:
    reliability Σ n_b (p̄_b − ō_b)² / n, resolution Σ n_b (ō_b − ō)² / n, uncertainty ō (1 − ō), each summed over the
    classes. The variation inside the bins is `within`, Σ (p − p̄_b)² − 2 (p − p̄_b)(o − ō_b) over n (Stephenson et
    al. 2008), so that reliability − resolution + uncertainty + within is the Brier score, to the last bits.

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
        """The Brier score that the parts add up to."""
        return self.reliability - self.resolution + self.uncertainty + self.within

    def to_dict(self) -> Mapping[str, float]:
        """Return the parts by name."""
        return asdict(self)


def brier_parts(ranks: Ranks, bins: int) -> BrierParts | None:
    """Decompose the Brier score of the kept rows whose class their model knows; None where there is no such row."""
    rows = ranks.weighted_rows
    is_known = rows.truth >= 0
    if rows.known is not None:
        is_known = is_known & rows.known[np.arange(len(rows.truth)), rows.truth]
    if not is_known.any():
        return None
    rows = rows[np.flatnonzero(is_known)]
    weight = rows.weight / rows.weight.sum()
    parts = np.zeros(4)
    for k in range(ranks.n_classes):
        parts += _parts_of_class(np.exp(rows.log_posterior[:, k]), rows.truth == k, weight, bins)
    return BrierParts(*(float(part) for part in parts))


def _parts_of_class(p: Array, o: NDArray[np.bool_], weight: Array, bins: int) -> Array:
    """Return reliability, resolution, uncertainty and within of one class, for weights that sum to 1."""
    which = bin_index(p, bins)
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


def bin_index(p: Array, bins: int) -> NDArray[np.intp]:
    """Return the bin of each probability: ((b−1)/B, b/B], the first with 0."""
    return np.searchsorted(np.arange(1, bins) / bins, p)
