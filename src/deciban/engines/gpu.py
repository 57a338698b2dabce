"""Engine for rows on a GPU: tensors of torch and arrays of CuPy, dense or CSR.

Small tensors, statistics and score forms that have no definition on a device are computed in host memory, by the
engine of dense arrays. Results come back on the device, in the library of X.
"""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.engines import checks, dense, sparse
from deciban.engines.checks import MAX_LEVELS, check
from deciban.engines.threads import thread_count
from deciban.errors import InputError
from deciban.gpu import csr, device_scores, labels, sums
from deciban.gpu.labels import DeviceCodes
from deciban.gpu.tensors import (
    count_cells,
    import_torch,
    is_csr,
    match_library,
    on_device,
    to_device,
    to_numpy,
    to_torch,
    type_name,
)
from deciban.ledger import Counts, Needs, Statistic, Tallies
from deciban.scores import Linear, ScoreForm
from deciban.scores.posterior import Finish, warn_impossible

MAX_HOST_CELLS = 1 << 14
"""Tensors with at most this many cells are copied to host memory: the launches of kernels would take longer."""


def is_for_host(x: Any) -> bool:
    """Return whether the rows are summarised and scored in host memory: they are there, or they are few."""
    return bool(x.device.type == "cpu" or count_cells(x) <= MAX_HOST_CELLS)


def summarise(needs: Needs, X: Any, codes: Any, weight: Any, n_classes: int, threads: int) -> Statistic:
    """Summarise these rows into the statistic that a family needs, which is in host memory.

    `threads` is not used: work that is left to the host takes all threads that the process may use.
    """
    x = to_torch(X)
    if is_csr(x):
        return _summarise_csr(needs, x, codes, weight, n_classes)
    with on_device(x):
        if is_for_host(x) or needs.kind not in sums.SUMMARISE:
            return dense.summarise(needs, to_numpy(x), *_copy_labels(codes, weight), n_classes, thread_count(None))
        codes = match_codes(codes, x, n_classes)
        w = to_device(weight, x) if isinstance(weight, np.ndarray) else weight
        statistic = sums.SUMMARISE[needs.kind](
            needs, x, codes, w, lambda: check_tensor_values(x, needs, learning=True)
        )
    return dense.merge_blocks([statistic]) if type_name(x) == "float64" else statistic  # no other type can overflow


def _copy_labels(codes: Any, weight: Any) -> tuple[NDArray[np.int32], Array | None]:
    """Return class codes and weights in host memory."""
    y = to_numpy(codes.tensor).astype(np.int32) if isinstance(codes, DeviceCodes) else codes
    return y, weight if weight is None or isinstance(weight, np.ndarray) else to_numpy(weight)


def _summarise_csr(needs: Needs, x: Any, codes: Any, weight: Any, n_classes: int) -> Statistic:
    """Summarise CSR rows: whole numbers are counted on the device, everything else is computed in host memory."""
    is_sum = needs.kind == "counts" and not needs.unit and not sparse.is_zero_counted(needs)
    with on_device(x):
        total = None
        if is_sum and weight is None and not is_for_host(x):
            codes = match_codes(codes, x, n_classes)
            total = csr.sum_stored(x, codes.tensor, n_classes, needs.threshold)
        if total is None:
            return sparse.summarise(
                needs, csr.to_scipy(x), *_copy_labels(codes, weight), n_classes, thread_count(None)
            )
    counts = Counts(total.astype(np.float64), codes.rows.astype(np.float64)[:, None])
    return Tallies.from_counts(counts) if total.size > sparse.DENSE_CELLS else counts


def check_tensor_values(x: Any, needs: Needs, first_row: int = 0, *, learning: bool = False) -> None:
    """Raise an error for values that a family cannot use; see `engines.checks.check`, which words it."""
    torch = import_torch()
    for block in sums.row_blocks(len(x), x.shape[1]):
        rows = x[block]
        suspect = ~torch.isfinite(rows)
        if not needs.signed:
            suspect |= rows < 0
        if needs.unit:
            suspect |= rows > 1
        if learning and needs.kind in ("levels", "cells"):
            suspect |= rows.double() >= MAX_LEVELS
        if bool(suspect.any()):
            check(to_numpy(rows), needs, first_row + block.start, learning=learning)


def apply(
    forms: Sequence[ScoreForm],
    parts: Sequence[Any],
    needs: Sequence[Needs],
    log_prior: Array,
    wanted: Finish,
    threads: int,
) -> Any:
    """Compute ln π_k + Σ ln p(x|k) of rows, finished as wanted, on their device; single precision stays single.

    CSR rows have one form. `threads` is not used, as in `summarise`.
    """
    x = to_torch(parts[0])
    if is_csr(x):
        return match_library(_apply_csr(forms[0], x, needs[0], log_prior, wanted), parts[0])
    with on_device(x):
        if len(forms) > 1 or is_for_host(x) or not device_scores.has_definition(forms[0]):
            host = [to_numpy(part) for part in parts]
            return match_rows(dense.apply(forms, host, needs, log_prior, wanted, thread_count(None)), parts[0])
        result = allocate_result(x, len(log_prior), wanted)
        if not device_scores.score_by_kernel(forms[0], x, log_prior, wanted, result):
            _apply_by_definition(forms[0], x, needs[0], log_prior, wanted, result)
    return match_library(result, parts[0])


def _apply_csr(form: ScoreForm, x: Any, needs: Needs, log_prior: Array, wanted: Finish) -> Any:
    """Score CSR rows: by products with the stored values on the device, or in host memory."""
    with on_device(x):
        is_host = is_for_host(x) or not csr.can_score(form) or needs.unit
        if is_host or not csr.is_valid(x, needs.signed, needs.threshold is not None):
            return match_rows(sparse.apply(form, csr.to_scipy(x), needs, log_prior, wanted, thread_count(None)), x)
        result = allocate_result(x, len(log_prior), wanted)
        blocks = csr.score_csr(cast(Linear, form), x, log_prior)
        _finish_blocks(blocks, to_device(log_prior, x.values()), wanted, result)
        return result


def choose_type(x: Any) -> Any:
    """Return the type of scores: double precision for rows in double precision and whole numbers of 32 or 64 bits."""
    torch = import_torch()
    return torch.float64 if type_name(x) in ("float64", "int32", "int64") else torch.float32


def allocate_result(x: Any, K: int, wanted: Finish) -> Any:
    """Allocate the result of `apply` on the device: class codes, densities, or n×K scores."""
    torch, n = import_torch(), len(x)
    if wanted == "winner":
        return torch.empty(n, dtype=torch.int64, device=x.device)
    shape = (n,) if wanted == "density" else (n, K)
    return torch.empty(shape, dtype=choose_type(x), device=x.device)


def _apply_by_definition(
    form: ScoreForm, x: Any, needs: Needs, log_prior: Array, wanted: Finish, result: Any
) -> None:
    """Write finished scores to `result`, a block of rows at a time, in double precision; refuse invalid values."""
    prior, score = to_device(log_prior, x), device_scores.make_scorer(form, x)
    width = max(x.shape[1], device_scores.count_terms(form))

    def score_blocks() -> Iterator[tuple[slice, Any]]:
        for block in sums.row_blocks(len(x), width):
            check_tensor_values(x[block], needs, block.start)
            yield block, prior + score(x[block])

    _finish_blocks(score_blocks(), prior, wanted, result)


def _finish_blocks(blocks: Iterator[tuple[slice, Any]], prior: Any, wanted: Finish, result: Any) -> None:
    """Write the joint scores of blocks of rows to `result`, finished as wanted.

    Warn of rows that are impossible under every class; refuse overflow, after the checks of all blocks.
    """
    n_impossible, is_overflow = 0, False
    for rows, joint in blocks:
        is_overflow = is_overflow or not bool((joint < np.inf).all())
        result[rows], impossible = device_scores.finish(joint, prior, wanted)
        n_impossible += 0 if impossible is None else int(impossible.sum())
    if is_overflow:
        raise InputError(dense.OVERFLOW)
    warn_impossible(n_impossible)


def encode(y: Any) -> tuple[NDArray[Any], DeviceCodes]:
    """Return the classes in order, in host memory, and each row's index among them, on the device."""
    tensor = to_torch(y, "y")
    with on_device(tensor):
        classes, codes = labels.encode(tensor.contiguous())
    return classes.astype(np.bool_) if "bool" in str(y.dtype) else classes, codes


def encode_known(y: Any, classes: NDArray[Any], hint: str) -> DeviceCodes:
    """Return each row's index among known classes; raise an error for any other label."""
    present, codes = encode(y)
    if np.array_equal(present, classes):
        return codes
    place = checks.encode_known(present, classes, hint)
    rows = np.zeros(len(classes), dtype=np.int64)
    rows[place] = codes.rows
    with on_device(codes.tensor):
        return DeviceCodes(to_device(place, codes.tensor)[codes.tensor.long()], rows)


def match_codes(codes: Any, X: Any, n_classes: int) -> DeviceCodes:
    """Return an array of class codes as `DeviceCodes` on the device of X; `DeviceCodes` are returned as they are."""
    if isinstance(codes, DeviceCodes):
        return codes
    x = to_torch(X)
    with on_device(x):
        return DeviceCodes.of(to_device(codes, x), n_classes)


def keep_rows(X: Any, codes: DeviceCodes, weight: Any) -> tuple[Any, DeviceCodes, Any]:
    """Return rows, codes and weights (not None) without rows of weight zero; CSR rows as a torch tensor."""
    x = to_torch(X)
    with on_device(x):
        kept = weight != 0
        rows = csr.keep_csr_rows(x, kept) if is_csr(x) else match_library(x[kept], X)
        return rows, codes[kept], weight[kept]


def to_host(X: Any) -> Any:
    """Copy a tensor to an array of NumPy, or to a CSR matrix of SciPy."""
    x = to_torch(X)
    with on_device(x):
        return csr.to_host(x)


def find_highest(X: Any) -> Array:
    """Return the highest value of each column, in host memory; NaN is left out."""
    x, torch = to_torch(X), import_torch()
    with on_device(x):
        if is_csr(x):
            return np.asarray(csr.to_scipy(x).nanmax(axis=0).toarray().ravel(), dtype=np.float64)
        known = torch.where(torch.isnan(x), -torch.inf, x) if x.dtype.is_floating_point else x
        return to_numpy(known.amax(0)).astype(np.float64)


def average_columns(X: Any, weight: Any, skips: bool) -> Array:
    """Return the mean of the values of each column, in host memory; NaN is left out if `skips`, else refused."""
    x, torch = to_torch(X), import_torch()
    with on_device(x):
        one_class = DeviceCodes(torch.zeros(len(x), dtype=torch.uint8, device=x.device), np.array([len(x)]))
    moments: Any = summarise(Needs("moments", skips=skips), X, one_class, weight, 1, 1)
    return np.asarray(moments.mean[0] + moments.rest[0])


def fill_missing(X: Any, means: Array) -> Any:
    """Return the rows with missing cells at the mean of their column; X itself where none is missing."""
    x, torch = to_torch(X), import_torch()
    with on_device(x):
        if not x.dtype.is_floating_point or not bool(torch.isnan(x.sum())):
            return X
        return match_library(torch.where(torch.isnan(x), to_device(means, x).to(x.dtype), x), X)


def match_rows(result: NDArray[Any], X: Any) -> Any:
    """Copy a result to the device of X, in its library; scores of rows in single precision become single."""
    x = to_torch(X)
    with on_device(x):
        tensor = to_device(result, x)
        return match_library(tensor.to(choose_type(x)) if result.dtype == np.float64 else tensor, X)


def take_classes(classes: NDArray[Any], codes: Any) -> Any:
    """Return the label of each code, in the library of the codes; in host memory where labels are not numbers."""
    taken = labels.take(classes, to_torch(codes))
    return taken if isinstance(taken, np.ndarray) else match_library(taken, codes)
