"""Rows of known words as bags: what the words count for in each class, and how many documents have them."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from deciban._typing import Array, Codes
from deciban.engines.dispatch import summarise
from deciban.ledger import Bags, Counts, Needs, Tallies

OCCURRENCES = Needs("counts", signed=False, skips=False)
"""Words are counted, and none is missing."""


def bagged(X: Any, codes: Codes, weight: Array | None, n_classes: int, threads: int, presence: bool = False) -> Bags:
    """The bags of CSR rows; a document without a word is a missing one. `presence`: a word counts once anyway."""
    here = np.flatnonzero(np.diff(X.indptr))
    if len(here) < X.shape[0]:
        X, codes, weight = X[here], codes[here], None if weight is None else weight[here]
    occurrences = _tallies(X, codes, weight, n_classes, threads)
    if presence:
        return Bags(occurrences, occurrences)
    once = X.copy()
    once.data = np.ones_like(once.data)
    return Bags(occurrences, _tallies(once, codes, weight, n_classes, threads))


def _tallies(X: Any, codes: Codes, weight: Array | None, n_classes: int, threads: int) -> Tallies:
    counted = summarise(OCCURRENCES, X, codes, weight, n_classes, threads)
    return Tallies.from_counts(counted) if isinstance(counted, Counts) else cast(Tallies, counted)
