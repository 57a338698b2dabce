"""Arrays as kernels take them: rows in one of a few types, level codes, thresholds."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.ledger import Needs

UNIT_WEIGHT = np.empty(0)
"""The argument by which kernels recognise that every row has weight one."""

MAX_LEVEL_CODE = 2**52
"""A level code beyond this was never seen, whatever it is exactly."""


def to_kernel_array(X: NDArray[Any], whole: bool = False) -> NDArray[Any]:
    """Convert rows to an array for kernels: C order, one of a few types, read-only; copied only if necessary.

    Few types, because kernels are compiled for each: double, single, byte; for `whole` numbers, 64-bit integers.
    Read-only, because read-only arrays are a type of their own to the compiler, and these are common.
    """
    if whole:
        X = np.ascontiguousarray(X, dtype=np.int64)
    elif X.dtype == np.bool_:
        X = np.ascontiguousarray(X).view(np.uint8)
    else:
        is_supported = X.dtype in (np.float64, np.float32, np.uint8)
        X = np.ascontiguousarray(X, dtype=X.dtype.newbyteorder("=") if is_supported else np.float64)
    rows = X.view()
    rows.flags.writeable = False
    return rows


def round_threshold(threshold: float | None, X: Any) -> float | None:
    """Round a threshold to X's own type: whether a value is above 0.1 must not depend on the implementation."""
    return float(X.dtype.type(threshold)) if threshold is not None and X.dtype.kind == "f" else threshold


def to_level_codes(X: NDArray[Any]) -> NDArray[Any]:
    """Convert level codes to 64-bit integers, −1 for a missing one, `MAX_LEVEL_CODE` for any beyond; read-only."""
    if X.dtype.kind != "f":
        return to_kernel_array(np.minimum(X, MAX_LEVEL_CODE) if X.dtype == np.uint64 else X, whole=True)
    missing = np.isnan(X)
    codes = np.where(missing, 0, np.clip(X, -1, MAX_LEVEL_CODE)).astype(np.int64)
    codes[missing] = -1
    return to_kernel_array(codes, whole=True)


def are_level_codes(X: NDArray[Any], needs: Needs) -> bool:
    """Return whether all values are level codes: not negative and finite, or NaN where `needs.skips` allows that.

    Integers are not inspected: True.
    """
    if X.dtype.kind != "f":
        return True
    missing = np.isnan(X)
    return bool((missing | (X >= 0) & np.isfinite(X)).all() and (needs.skips or not missing.any()))
