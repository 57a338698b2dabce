"""Class totals of sparse rows, and scores of sparse rows: how the work is divided among threads.

The loops are in `deciban.kernels.tallies`; here the work is cut into ranges of equal numbers of stored
entries, one for each thread. Counting cuts between classes and scoring between rows, so no sum is ever
shared and the number of threads changes no bit of a result. The pool lives as long as the call: nothing
to inherit across a fork.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from deciban._typing import Codes
from deciban.kernels import tallies
from deciban.kernels.execution import map_in_threads
from deciban.ledger.statistic import compute_offsets

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Span = tuple[int, int]
T = TypeVar("T")

ENTRIES_PER_THREAD = 1 << 15
"""Below this many stored entries a second thread costs more (about 0.1 ms) than it saves."""

# A list of classes is read entry by entry; a full row of weights is a straight run. With 1000 classes and
# Zipf's words, full rows for features of more than half of the classes took scoring from 3.9 s to 2.2 s
# (one thread); more than a quarter or an eighth gave no steady gain, for two and five times the rows.
COMMON_SHARE = 0.5


def tally_dense(
    X: Any, codes: Codes, weight: Floats | None, n_classes: int, threshold: float | None, n_threads: int
) -> tuple[Floats, int]:
    """Sum each feature of CSR rows by class, as a full table.

    totals[k, v] = Σ wᵢ·f(xᵢᵥ) over the rows i of class k, with f(x) = x, or 1{x > threshold} when one is given.
    Also returns the position in `X.data` of the first entry that cannot be counted (not finite, or negative
    where there is no threshold), or −1; when there is one, the totals mean nothing.

    >>> from scipy.sparse import csr_array
    >>> tally_dense(csr_array([[1, 0, 2], [0, 3, 0], [4, 0, 0]]), np.array([0, 1, 0], np.int32), None, 2, None, 1)
    (array([[5., 0., 2.],
            [0., 3., 0.]]), -1)
    """
    indptr, indices, data = _read_csr_arrays(X)
    codes, weight = _to_read_only(codes), _to_read_only(np.ones(codes.size) if weight is None else weight)
    totals = np.zeros((n_classes, X.shape[1]))
    lowest, limit, binary = _read_threshold(threshold)

    def count(k0: int, k1: int) -> int:
        return tallies.tally_classes(
            k0, k1, codes, indptr, indices, data, weight, lowest, limit, binary, totals
        )  # fmt: skip

    n_invalid = sum(_run_all(count, _split_classes(codes, indptr, n_classes, n_threads)))
    return totals, _find_invalid(data, lowest) if n_invalid else -1


def tally_sparse(
    X: Any, codes: Codes, weight: Floats | None, n_classes: int, threshold: float | None, n_threads: int
) -> tuple[Ints, Codes, Floats, int]:
    """Sum each feature of CSR rows by class, as a list of classes for each feature.

    Returns (start, class_code, total, position). Feature v occurs in the classes
    `class_code[start[v]:start[v + 1]]`, ascending, with the sums at the same places of `total`; totals of zero are
    left out. The sums and the position are those of `tally_dense`, but the memory taken is that of the entries,
    never classes × features.

    >>> from scipy.sparse import csr_array
    >>> tally_sparse(csr_array([[1, 0, 2], [0, 3, 0], [4, 0, 1]]), np.array([0, 1, 1], np.int32), None, 2, None, 1)
    (array([0, 2, 3, 5]), array([0, 1, 1, 0, 1], dtype=int32), array([1., 4., 3., 2., 1.]), -1)
    """
    indptr, indices, data = _read_csr_arrays(X)
    codes, weight = _to_read_only(codes), _to_read_only(np.ones(codes.size) if weight is None else weight)
    lowest, limit, binary = _read_threshold(threshold)
    order, first = _sort_by_class(codes, n_classes)
    spans = _split_classes(codes, indptr, n_classes, n_threads)
    count = np.zeros((len(spans), X.shape[1]), np.int64)

    def gather(t: int, span: Span) -> tuple[int, npt.NDArray[Any], Floats, Ints]:
        k0, k1 = span
        rows = order[first[k0] : first[k1]]
        entries = int((indptr[rows + 1] - indptr[rows]).sum())
        feature, total = np.empty(entries + 1, indices.dtype), np.empty(entries)
        ends, running = np.empty(k1 - k0, np.int64), np.zeros(X.shape[1])
        n_invalid = tallies.gather_classes(
            k0, k1, order, first, indptr, indices, data, weight, lowest, limit, binary,
            running, count[t], feature, total, ends,
        )  # fmt: skip
        return n_invalid, feature, total, ends

    lists = _run_all(gather, list(enumerate(spans)))
    start, slots = _list_slots(count)
    class_code, totals = np.empty(start[-1], np.int32), np.empty(start[-1])

    def spread(t: int, span: Span) -> None:
        _, feature, total, ends = lists[t]
        tallies.transpose_to_features(span[0], span[1], feature, total, ends, slots[t], class_code, totals)

    _run_all(spread, list(enumerate(spans)))
    any_invalid = any(n_invalid for n_invalid, *_ in lists)
    return start, class_code, totals, _find_invalid(data, lowest) if any_invalid else -1


def score_dense(
    X: Any, weights_t: Floats, bias: Floats, threshold: float | None, out: Floats | None, n_threads: int,
    *, winner: Codes | None = None,
) -> int:  # fmt: skip
    """Score each CSR row for each class, from a full table of feature × class.

    out[i, k] = bias[k] + Σᵥ f(xᵢᵥ)·weights_t[v, k], and `winner[i]` the best class (of equals, the lowest);
    either may be None. Returns the position in `X.data` of the first entry that is not finite, or −1.

    >>> from scipy.sparse import csr_array
    >>> X, weights_t, bias = csr_array([[2, 0]]), np.array([[1.0, 3.0], [5.0, 7.0]]), np.array([0.5, 0.0])
    >>> out, winner = np.empty((1, 2)), np.empty(1, np.int32)
    >>> score_dense(X, weights_t, bias, None, out, 1, winner=winner)
    -1
    >>> out, winner
    (array([[2.5, 6. ]]), array([1], dtype=int32))
    """
    indptr, indices, data = _read_csr_arrays(X)
    table, bias = _to_read_only(weights_t), _to_read_only(bias)
    _, limit, binary = _read_threshold(threshold)
    scores, best = _make_outputs(out, winner)

    def score(i0: int, i1: int) -> int:
        return tallies.score_rows_dense(i0, i1, indptr, indices, data, table, bias, limit, binary, scores, best)

    n_invalid = sum(_run_all(score, _split_evenly(indptr, _count_threads(indptr, n_threads))))
    return _find_invalid(data, -tallies.MAX_FLOAT) if n_invalid else -1


def score_sparse(
    X: Any, start: Ints, class_code: Codes, delta: Floats, bias: Floats, slope: Floats, base: Floats,
    scale: Floats, threshold: float | None, out: Floats | None, n_threads: int, *, winner: Codes | None = None,
    mute: Flags | None = None,
) -> int:  # fmt: skip
    """Score each CSR row for each class, from each feature's list of classes in which it occurs.

    out[i, k] = bias[k] + slope[k]·Σᵥ z + scale[k]·Σᵥ z·base[v] + Σᵥ z·delta[k, v] with z = f(xᵢᵥ), the lists laid
    out as in `tally_sparse`; z is zero for features that are `mute`. With `winner` alone no rows × classes table is
    made. The result is that of `score_dense`.

    >>> from scipy.sparse import csr_array
    >>> X, start = csr_array([[1, 0], [1, 1]]), np.array([0, 1, 2])
    >>> class_code, delta = np.array([1, 0], np.int32), np.array([4.0, 8.0])
    >>> zero, winner = np.zeros(2), np.empty(2, np.int32)
    >>> score_sparse(X, start, class_code, delta, zero, zero, zero, zero, None, None, 1, winner=winner)
    -1
    >>> winner
    array([1, 0], dtype=int32)
    """
    indptr, indices, data = _read_csr_arrays(X)
    common, common_delta = _build_common_rows(start, class_code, delta, bias.size, int(indptr[-1]))
    lists = _to_read_only(start), _to_read_only(class_code), _to_read_only(delta), common, common_delta
    muted = np.empty(0, np.bool_) if mute is None else mute
    lines = _to_read_only(bias), _to_read_only(slope), _to_read_only(base), _to_read_only(scale), _to_read_only(muted)
    _, limit, binary = _read_threshold(threshold)
    scores, best = _make_outputs(out, winner)

    def score(i0: int, i1: int) -> int:
        return tallies.score_rows_sparse(
            i0, i1, indptr, indices, data, *lists, *lines, limit, binary, scores, best
        )  # fmt: skip

    n_invalid = sum(_run_all(score, _split_evenly(indptr, _count_threads(indptr, n_threads))))
    return _find_invalid(data, -tallies.MAX_FLOAT) if n_invalid else -1


def _build_common_rows(
    start: Ints, class_code: Codes, delta: Floats, n_classes: int, entries: int
) -> tuple[Codes, Floats]:
    """Build full rows for the features of more than half of the classes: their numbers (−1: none), and the rows.

    With few entries to score this would not pay. The rows take at most twice the memory of the lists.
    """
    length = np.diff(start)
    is_common = length > COMMON_SHARE * n_classes
    n_common = int(is_common.sum()) if entries > length.size else 0
    if n_common == 0:
        return np.empty(0, np.int32), np.empty((0, n_classes))
    common = np.full(length.size, -1, np.int32)
    common[is_common] = np.arange(n_common)
    listed = np.repeat(is_common, length)
    rows = np.zeros((n_common, n_classes))
    rows[np.repeat(np.arange(n_common), length[is_common]), class_code[listed]] = delta[listed]
    return common, rows


def _sort_by_class(codes: Codes, n_classes: int) -> tuple[Ints, Ints]:
    """Return the row numbers class by class, ascending within each, and where each class begins."""
    narrow = codes.astype(np.uint16) if n_classes <= 1 << 16 else codes  # 16 bits: NumPy sorts by counting
    first = compute_offsets(np.bincount(codes, minlength=n_classes))
    return np.argsort(narrow, kind="stable").astype(np.int64, copy=False), first


def _list_slots(count: Ints) -> tuple[Ints, Ints]:
    """Return where each feature's list and each thread's entries in it begin; `count` is threads × features."""
    start = compute_offsets(count.sum(axis=0))
    slots = np.cumsum(count, axis=0)
    slots -= count
    slots += start[:-1]
    return start, slots


def _split_classes(codes: Codes, indptr: npt.NDArray[Any], n_classes: int, n_threads: int) -> list[Span]:
    """Return ranges of classes with about equally many entries."""
    entries = np.zeros(n_classes + 1)
    np.cumsum(np.bincount(codes, np.diff(indptr), n_classes), out=entries[1:])
    return _split_evenly(entries, _count_threads(indptr, n_threads))


def _count_threads(indptr: npt.NDArray[Any], n_threads: int) -> int:
    """Return the number of threads: as many as allowed and as the entries keep busy."""
    return max(1, min(n_threads, int(indptr[-1]) // ENTRIES_PER_THREAD))


def _split_evenly(cumulative: npt.NDArray[Any], n_spans: int) -> list[Span]:
    """Return at most `n_spans` ranges, none empty, that cut a running total (from 0) into about equal parts."""
    goals = float(cumulative[-1]) * np.arange(1, n_spans) / n_spans
    cuts = [0, *np.searchsorted(cumulative, goals).tolist(), cumulative.size - 1]
    return [(a, b) for a, b in pairwise(cuts) if a < b]


def _run_all(work: Callable[[Any, Any], T], pairs: list[Any]) -> list[T]:
    """Run `work` on every pair of arguments, one thread each, and return the results in order."""
    return list(map_in_threads(lambda pair: work(*pair), pairs, len(pairs)))


def _read_csr_arrays(X: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the three arrays of a CSR matrix as the kernels read them."""
    data = np.asarray(X.data)
    if data.dtype == np.bool_:
        data = data.view(np.uint8)
    elif data.dtype.kind not in "iuf" or data.dtype.itemsize not in (1, 2, 4, 8) or data.dtype == np.float16:
        data = data.astype(np.float64)
    return _to_read_only(X.indptr), _to_read_only(X.indices), _to_read_only(data)


def _to_read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a contiguous, native, read-only view.

    Numba compiles separate code for read-only arrays (a memory map from joblib) and writable ones; if all inputs are
    read-only there is one kernel to compile, and the promise not to write is checked.
    """
    view = np.require(array, array.dtype.newbyteorder("="), ["C", "A"]).view()
    view.flags.writeable = False
    return view


def _read_threshold(threshold: float | None) -> tuple[float, float, bool]:
    """Return the lowest entry allowed, the threshold, and whether there is one."""
    return (0.0, 0.0, False) if threshold is None else (-tallies.MAX_FLOAT, float(threshold), True)


def _make_outputs(out: Floats | None, winner: Codes | None) -> tuple[Floats, Codes]:
    """Return the kernels' outputs: an empty array where none is wanted."""
    return np.empty((0, 0)) if out is None else out, np.empty(0, np.int32) if winner is None else winner


def _find_invalid(data: npt.NDArray[Any], lowest: float) -> int:
    """Return the position of the first entry that is not finite or lies below `lowest`; there must be one."""
    fine = np.isfinite(data)
    if lowest == 0.0:
        fine &= data >= 0
    return int(np.argmin(fine))
