"""Many rows judged at once by a kernel: the sums of `Scorecard.of`, made block by block."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban.kernels.kernel_loading import load_kernels
from deciban.kernels.thread_pool import run
from deciban.ledger import Moments, Needs
from deciban.ledger.statistic import Array

BLOCK = 1 << 15
"""Rows judged at a time."""


class Sums(NamedTuple):
    """The fields of a `Scorecard`, but for the rows themselves."""

    confusion: Array
    unknown: Array
    losses: Moments
    bins: Array
    squares: Array
    rows: NDArray[np.int64]


def judged(
    scores: Array, truth: NDArray[Any], weight: Array, known: NDArray[np.bool_] | None, bins: int
) -> Sums | None:
    """What many rows come to; None where they are few, or no numbers: then the definition has its say."""
    n, K = scores.shape
    loops = load_kernels("scorecard", n * K)
    if loops is None or not n or not scores.flags.c_contiguous:
        return None
    places, edges = truth.astype(np.int32), np.arange(1, bins) / bins
    lines = np.ones((1, K), dtype=np.bool_) if known is None else np.ascontiguousarray(known)
    losses = np.empty((n, 2))

    def one(start: int) -> tuple[Any, ...] | None:
        rows = slice(start, start + BLOCK)
        sums = np.zeros((K, K)), np.zeros((K + 1, K)), np.zeros((3, bins)), np.zeros(3), np.zeros(3, dtype=np.int64)
        mine = lines if len(lines) == 1 else lines[rows]
        fine = loops.judge(scores[rows], places[rows], weight[rows], mine, edges, *sums, losses[rows])
        return sums if fine else None

    threads = engines.thread_count(None)
    parts = list(run(one, range(0, n, BLOCK), threads))
    whole = [part for part in parts if part is not None]
    if len(whole) < len(parts):
        return None
    confusion, unknown, binned, squares, rows = (sum(each) for each in zip(*whole))
    codes = np.zeros(n, dtype=np.int32)
    moments: Any = engines.summarise(Needs("moments"), losses, codes, weight, 1, threads)
    return Sums(confusion, unknown, moments, binned, squares, rows)
