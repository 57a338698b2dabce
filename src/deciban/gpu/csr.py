"""CSR rows on a GPU: tensors of torch with the layout `sparse_csr`, and CSR matrices of CuPy, read as such."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError
from deciban.gpu import launch
from deciban.gpu.tensors import import_torch, is_above, is_csr, round_threshold, to_device, to_numpy
from deciban.scores import Linear, ScoreForm

MAX_STORED_PER_BLOCK = 1 << 25
"""Stored values that a definition holds at a time."""

MAX_WHOLE = float(1 << 53)
"""Whole numbers below this are exact in double precision."""


def to_scipy(x: Any) -> Any:
    """Copy CSR rows to a matrix of SciPy in host memory; refuse pointers and columns out of range."""
    from scipy.sparse import csr_array

    check_pointers(x)
    check_columns(x)
    parts = (to_numpy(part) for part in (x.values(), x.col_indices(), x.crow_indices()))
    return csr_array(tuple(parts), shape=tuple(x.shape))


def to_host(tensor: Any) -> Any:
    """Copy a tensor to an array of NumPy, or to a CSR matrix of SciPy."""
    return to_scipy(tensor) if is_csr(tensor) else to_numpy(tensor)


def split_csr(x: Any) -> Iterator[tuple[slice, Any, Any, Any]]:
    """Yield blocks of rows: their slice, the number of stored values of each row, columns and values."""
    starts = to_numpy(x.crow_indices()).astype(np.int64)
    first, n = 0, x.shape[0]
    while first < n:
        last = max(int(np.searchsorted(starts, starts[first] + MAX_STORED_PER_BLOCK, side="right")) - 1, first + 1)
        last = min(last, n)
        stored = slice(int(starts[first]), int(starts[last]))
        lengths = to_device(np.diff(starts[first : last + 1]), x.values())
        yield slice(first, last), lengths, x.col_indices()[stored], x.values()[stored]
        first = last


def keep_csr_rows(x: Any, kept: Any) -> Any:
    """Return the rows of which `kept` is true."""
    torch = import_torch()
    lengths = x.crow_indices().diff()
    stored = kept.repeat_interleave(lengths)
    starts = torch.nn.functional.pad(lengths[kept].cumsum(0), (1, 0)).to(x.crow_indices().dtype)
    size = len(starts) - 1, x.shape[1]
    return torch.sparse_csr_tensor(
        starts, x.col_indices()[stored], x.values()[stored], size=size, check_invariants=False
    )


def sum_stored(x: Any, codes: Any, K: int, threshold: float | None) -> NDArray[np.int64] | None:
    """Return Σ x, or the number of stored values above the threshold, by class; None unless x are whole numbers.

    With a threshold it is None too where columns may be repeated in a row: their values are added before they are
    compared, in host memory.
    """
    threshold = None if threshold is None else round_threshold(threshold, x)
    total = launch.count_stored(x, codes, K, threshold)
    return define_stored(x, codes, K, threshold) if total is None else total


def define_stored(x: Any, codes: Any, K: int, threshold: float | None) -> NDArray[np.int64] | None:
    """Return what `sum_stored` does; whole numbers are added in any order."""
    torch, d = import_torch(), x.shape[1]
    check_columns(x)
    if threshold is not None and not is_canonical(x):
        return None
    total = torch.zeros(K * d, dtype=torch.int64, device=x.device)
    for rows, lengths, columns, values in split_csr(x):
        is_finite = bool(torch.isfinite(values).all())
        counts = values if threshold is None else is_above(values, threshold)
        if not is_finite or not bool(
            (counts >= 0).all() & (counts < MAX_WHOLE).all() & (counts == counts.long()).all()
        ):
            return None
        cell = codes[rows].long().repeat_interleave(lengths) * d + columns
        total.index_add_(0, cell, counts.long())
    return to_numpy(total).reshape(K, d)


def check_pointers(x: Any) -> None:
    """Refuse row pointers that do not divide the stored values into rows, which torch does not check."""
    torch, pointers, stored = import_torch(), x.crow_indices(), len(x.values())
    if len(pointers) == x.shape[0] + 1 and len(x.col_indices()) == stored:
        is_falling = (pointers.diff() < 0).any().to(pointers.dtype)
        if to_numpy(torch.stack([pointers[0], pointers[-1], is_falling])).tolist() == [0, stored, 0]:
            return
    raise InputError(
        f"X is a CSR tensor of {x.shape[0]} rows with {stored} stored values and {len(x.col_indices())} column "
        f"indices; its {len(pointers)} row pointers must begin with 0, never decrease, and end with the number of "
        f"stored values. Hint: torch.sparse.check_sparse_tensor_invariants finds such tensors"
    )


def is_canonical(x: Any) -> bool:
    """Return whether the columns of every row are in increasing order, so that none is repeated."""
    columns, starts = x.col_indices(), x.crow_indices()[1:-1]
    is_next = columns[1:] > columns[:-1]
    is_next[starts[(starts > 0) & (starts < len(columns))] - 1] = True  # a row begins after these
    return bool(is_next.all())


def check_columns(x: Any) -> None:
    """Refuse indices of columns that do not exist, which torch does not check."""
    if not len(x.col_indices()):
        return
    low, high = (int(end) for end in import_torch().aminmax(x.col_indices()))
    if low < 0 or high >= x.shape[1]:
        raise InputError(
            f"X is a CSR tensor of {x.shape[1]} columns, and has the column index {low if low < 0 else high}. "
            f"Hint: indices from 0 on; torch.sparse.check_sparse_tensor_invariants finds such tensors"
        )


def can_score(form: ScoreForm) -> bool:
    """Return whether a product with the stored values gives the score."""
    if type(form) is not Linear or form.carrier is not None or form.impossible is not None or form.limits is not None:
        return False
    return form.threshold is None or form.threshold >= 0


def is_valid(x: Any, signed: bool, is_compared: bool) -> bool:
    """Return whether all stored values are finite, none is negative unless `signed`, none repeated if compared.

    Values that are repeated in a cell are added before they are compared with a threshold.
    """
    torch, values = import_torch(), x.values()
    is_usable = bool(torch.isfinite(values).all()) and (signed or not bool((values < 0).any()))
    return is_usable and (not is_compared or is_canonical(x))


def score_csr(form: Linear, x: Any, log_prior: Array) -> Iterator[tuple[slice, Any]]:
    """Yield blocks of rows and their scores ln π_k + ln p(x|k), in double precision."""
    torch = import_torch()
    check_columns(x)
    threshold = 0.0 if form.threshold is None else round_threshold(form.threshold, x)
    weights, bias = to_device(form.weights.T, x.values()), to_device(log_prior + form.complete_bias, x.values())
    for rows, lengths, columns, values in split_csr(x):
        used = values.double() if form.threshold is None else is_above(values, threshold).double()
        starts = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
        size = rows.stop - rows.start, x.shape[1]
        yield (
            rows,
            torch.sparse_csr_tensor(starts, columns.long(), used, size=size, check_invariants=False) @ weights + bias,
        )
