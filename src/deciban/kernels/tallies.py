"""Kernels over sparse rows: totals of each class and feature, and scores of rows.

Rows are the three arrays of a CSR matrix, of any numeric type. Each kernel but `smooth_entries` takes a range (of
classes when counting, of rows when scoring) and writes nothing outside it, so threads share the work without
sharing a sum and their number cannot change a bit of the result. Class codes and column indices are not checked.
Invalid entries are counted and used all the same: where a kernel returns more than 0, its results mean nothing.

Positions are unsigned (`np.uintp`): a signed one makes Numba test for Python's negative indices at each
access. Each row is checked in a separate loop before it is used: that loop vectorises and loads the row
into the cache (counting 5.6 million entries class by class, 20 classes, one thread: 36 ms, and 53 ms with the
test inside the counting loop).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from deciban._typing import Array, Codes
from deciban.kernels.execution import kernel

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Stored = npt.NDArray[Any]  # indptr, indices or data in the caller's type

MAX_FLOAT = float(np.finfo(np.float64).max)
ONE, TWO, THREE, FOUR = np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(4)


@kernel
def _count_invalid(data: Stored, begin: Any, end: Any, lowest: float) -> int:
    """Count the entries that are not finite or lie below `lowest`."""
    invalid = 0
    for p in range(begin, end):
        invalid += int(not (lowest <= np.float64(data[p]) <= MAX_FLOAT))
    return invalid


@kernel
def _read_value(x: Any, threshold: float, binary: bool) -> float:
    """Return the value to count for an entry: itself, or, if `binary`, one above the threshold and else zero."""
    if binary:
        return 1.0 if x > threshold else 0.0
    return np.float64(x)


@kernel
def tally_classes(
    k0: int, k1: int, codes: Codes, indptr: Stored, indices: Stored, data: Stored, weight: Array,
    lowest: float, threshold: float, binary: bool, totals: Array,
) -> int:  # fmt: skip
    """Add the rows of classes k0 ≤ k < k1 to their rows of `totals`; return the number of invalid entries.

    Rows are read in order and those of other threads skipped: reading the rows class by class keeps the sums in
    the cache but is not sequential (20 classes, one thread: 36 ms against 28).
    """
    invalid = 0
    for i in range(codes.size):
        k = codes[i]
        if k0 <= k < k1:
            begin, end, w = np.uintp(indptr[i]), np.uintp(indptr[i + 1]), weight[i]
            invalid += _count_invalid(data, begin, end, lowest)
            for p in range(begin, end):
                totals[k, np.uintp(indices[p])] += w * _read_value(data[p], threshold, binary)
    return invalid


@kernel
def gather_classes(
    k0: int, k1: int, order: Ints, first: Ints, indptr: Stored, indices: Stored, data: Stored, weight: Array,
    lowest: float, threshold: float, binary: bool,
    running: Array, count: Ints, feature: Stored, total: Array, ends: Ints,
) -> int:  # fmt: skip
    """Write the nonzero sums of classes k0 ≤ k < k1 to `feature` and `total`, class by class; count invalid entries.

    `order[first[k]:first[k + 1]]` are the rows of class k. `running` (zeros, one per feature) holds the sums of
    one class at a time; a feature is appended to the class's list when its sum becomes nonzero. Weights that cancel
    can make it zero again and list it twice, so the second loop keeps only nonzero sums. `count[v]`
    grows by the number of classes of v; `ends[k - k0]` is where the list of k stops. `feature` needs one spare slot.
    """
    invalid, m = 0, np.uintp(0)
    for k in range(k0, k1):
        begin_class = m
        for r in range(first[k], first[k + 1]):
            i = order[r]
            begin, end, w = np.uintp(indptr[i]), np.uintp(indptr[i + 1]), weight[i]
            invalid += _count_invalid(data, begin, end, lowest)
            for p in range(begin, end):
                v = np.uintp(indices[p])
                z, before = w * _read_value(data[p], threshold, binary), running[v]
                feature[m] = v
                m += np.uintp(before == 0.0 and z != 0.0)
                running[v] = before + z
        kept = begin_class
        for q in range(begin_class, m):
            v = np.uintp(feature[q])
            if running[v] != 0.0:
                feature[kept], total[kept] = v, running[v]
                running[v] = 0.0
                count[v] += 1
                kept += ONE
        m = kept
        ends[k - k0] = m
    return invalid


@kernel
def transpose_to_features(
    k0: int, k1: int, feature: Stored, total: Array, ends: Ints, slot: Ints, class_code: Codes, out: Array
) -> None:
    """Transpose the class-by-class totals to lists by feature; `slot[v]` is where v's next class goes, and advances.

    Classes come in ascending order, so each feature's list is sorted without sorting. Gathering by class in the
    cache and transposing afterwards took 140 to 167 ms where appending each entry to its feature directly took 187
    to 217 (1000 classes, words with Zipf's frequencies, one thread); with evenly spread words the two tied.
    """
    q = np.uintp(0)
    for k in range(k0, k1):
        end = np.uintp(ends[k - k0])
        while q < end:
            v = np.uintp(feature[q])
            s = np.uintp(slot[v])
            class_code[s], out[s] = k, total[q]
            slot[v] += 1
            q += ONE


@kernel
def _write_scores(i: int, scores: Array, out: Array, winner: Codes) -> None:
    """Write the scores of row i, its best class (the lowest of equals), or both; an empty array is not written."""
    if out.shape[0] > 0:
        for k in range(scores.size):
            out[i, k] = scores[k]
    if winner.size > 0:
        best = 0
        for k in range(1, scores.size):
            if scores[k] > scores[best]:
                best = k
        winner[i] = best


@kernel
def _add_weighted(scores: Array, z: float, weights: Array, v: Any) -> None:
    """Add z times row v of the weights; an entry of zero adds nothing, even to impossible classes (weight −∞)."""
    if z != 0.0:
        for k in range(scores.size):
            scores[k] += z * weights[v, k]


@kernel
def score_rows_dense(
    i0: int, i1: int, indptr: Stored, indices: Stored, data: Stored, weights_t: Array, bias: Array,
    threshold: float, binary: bool, out: Array, winner: Codes,
) -> int:  # fmt: skip
    """Write scores or best classes of rows i0 ≤ i < i1 by a dense table of feature × class; count invalid entries.

    Four entries at a time, added in the order of one at a time: equal bits, and a quarter of the
    passes over `scores` (one thread, evenly spread words: 5 classes 46 ms against 74, 20 classes 91 against 105).
    """
    invalid, scores = 0, np.empty(bias.size)
    for i in range(i0, i1):
        for k in range(scores.size):
            scores[k] = bias[k]
        p, end = np.uintp(indptr[i]), np.uintp(indptr[i + 1])
        invalid += _count_invalid(data, p, end, -MAX_FLOAT)
        while p + FOUR <= end:
            a, b = _read_value(data[p], threshold, binary), _read_value(data[p + ONE], threshold, binary)
            c, d = _read_value(data[p + TWO], threshold, binary), _read_value(data[p + THREE], threshold, binary)
            if a == 0.0 or b == 0.0 or c == 0.0 or d == 0.0:
                for j in range(p, p + FOUR):
                    _add_weighted(scores, _read_value(data[j], threshold, binary), weights_t, np.uintp(indices[j]))
            else:
                s, t = np.uintp(indices[p]), np.uintp(indices[p + ONE])
                u, v = np.uintp(indices[p + TWO]), np.uintp(indices[p + THREE])
                for k in range(scores.size):
                    first_two = (scores[k] + a * weights_t[s, k]) + b * weights_t[t, k]
                    scores[k] = (first_two + c * weights_t[u, k]) + d * weights_t[v, k]
            p += FOUR
        for j in range(p, end):
            _add_weighted(scores, _read_value(data[j], threshold, binary), weights_t, np.uintp(indices[j]))
        _write_scores(i, scores, out, winner)
    return invalid


@kernel
def score_rows_sparse(
    i0: int, i1: int, indptr: Stored, indices: Stored, data: Stored, start: Ints, class_code: Codes, delta: Array,
    common: Codes, common_delta: Array, bias: Array, slope: Array, base: Array, scale: Array,
    mute: Flags, threshold: float, binary: bool, out: Array, winner: Codes,
) -> int:  # fmt: skip
    """Write scores or best classes of rows i0 ≤ i < i1 by each feature's list of classes; count invalid entries.

    score_k = bias_k + Σ_v x_v (slope_k + scale_k base_v + delta_vk), where delta is 0 for classes not in the list.
    A feature whose `common[v]` is not negative is read from that row of `common_delta` instead of its list; one that
    is `mute` adds nothing (an empty array: none is).
    """
    invalid, scores, any_common, any_mute = 0, np.zeros(bias.size), common_delta.shape[0] > 0, mute.size > 0
    for i in range(i0, i1):
        begin, end, amount, level = np.uintp(indptr[i]), np.uintp(indptr[i + 1]), 0.0, 0.0
        invalid += _count_invalid(data, begin, end, -MAX_FLOAT)
        for p in range(begin, end):
            z, v = _read_value(data[p], threshold, binary), np.uintp(indices[p])
            if z != 0.0 and not (any_mute and mute[v]):
                amount += z
                level += z * base[v]
                if any_common and common[v] >= 0:
                    _add_weighted(scores, z, common_delta, np.uintp(common[v]))
                else:
                    for q in range(np.uintp(start[v]), np.uintp(start[v + ONE])):
                        scores[np.uintp(class_code[q])] += z * delta[q]
        for k in range(scores.size):
            scores[k] += bias[k] + slope[k] * amount + scale[k] * level
        _write_scores(i, scores, out, winner)
        for k in range(scores.size):
            scores[k] = 0.0
    return invalid


@kernel
def smooth_entries(class_code: Codes, total: Array, alpha: float, table: Array, sums: Array, delta: Array) -> None:
    """Add the total of each entry to its class in `sums`, and write ln(1 + total/α) of each to `delta`.

    `table` has ln(1 + n/α) for n = 0, 1, 2, …

    One pass in place of several of NumPy: with 4 million entries 10 ms against 42.
    """
    for i in range(len(total)):
        x = total[i]
        sums[class_code[i]] += x
        n = int(x) if x < len(table) else 0
        delta[i] = table[n] if n == x else np.log1p(x / alpha)
