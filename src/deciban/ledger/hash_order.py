"""Row numbers thoroughly mixed, so that a part of them is a fair sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def hash_row_numbers(number: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A fixed, thorough mixing of row numbers (the finaliser of SplitMix64, Steele et al. 2014).

    >>> (hash_row_numbers(np.arange(3)) >> np.uint64(60)).tolist()
    [14, 6, 0]
    """
    z = (number.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        z ^= z >> np.uint64(shift)
        z *= np.uint64(factor)
    return z


def sample_row_numbers(n: int, most: int) -> NDArray[np.intp]:
    """The places of as many of n rows as there may be at most, in their order: a fair sample, always the same.

    >>> sample_row_numbers(3, 10).tolist(), sample_row_numbers(1000, 4).tolist()
    ([0, 1, 2], [366, 410, 503, 821])
    """
    if n <= most:
        return np.arange(n)
    return np.sort(np.argsort(hash_row_numbers(np.arange(n)), kind="stable")[:most])
