"""Tensors of torch and arrays of CuPy: they are recognised without importing either, and read as torch tensors."""

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.errors import DeviceMemoryError, InputError, MissingExtraError

ROW_TYPES = ("float16", "bfloat16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool")
"""Types that the values of a tensor may have; others are refused."""

MAX_INT64 = (1 << 63) - 1
"""The largest whole number of 64 bits."""


def is_tensor(X: Any) -> bool:
    """Return whether X is to be handled as a tensor: an array or matrix of CuPy, a torch tensor on a device.

    A torch tensor in host memory is handled as one only where scikit-learn's `array_api_dispatch` is set; else it is
    read as a NumPy array.
    """
    if is_torch(X):
        return X.device.type != "cpu" or _is_dispatching()
    library = type(X).__module__.partition(".")[0]
    if library == "cupyx":
        return hasattr(X, "tocsr")
    return library == "cupy" and hasattr(X, "__cuda_array_interface__")


def _is_dispatching() -> bool:
    """Return whether scikit-learn's `array_api_dispatch` is set."""
    sklearn = sys.modules.get("sklearn")
    return sklearn is not None and bool(sklearn.get_config()["array_api_dispatch"])


def import_torch() -> ModuleType:
    """Import torch, or raise an error that names the extra."""
    try:
        import torch
    except ImportError:
        raise MissingExtraError("arrays on a GPU need torch. Hint: pip install 'deciban[gpu]'") from None
    return torch


def to_torch(X: Any, name: str = "X") -> Any:
    """Return X as a torch tensor of the same memory, dense booleans as uint8.

    Refuses sparse ones but CSR, and types other than `ROW_TYPES`; errors give it the name of its argument.
    """
    torch = import_torch()
    if isinstance(X, torch.Tensor):
        tensor = X.detach()
        if type(tensor) is not torch.Tensor:
            tensor = tensor.as_subclass(torch.Tensor)
    else:
        tensor = _read_cupy_csr(X) if hasattr(X, "tocsr") else torch.from_dlpack(X)
    if tensor.layout not in (torch.strided, torch.sparse_csr):
        rows_hint = "X.to_sparse_csr(), or " if name == "X" else ""
        raise InputError(
            f"{name} is a sparse tensor ({tensor.layout}), and only sparse rows in CSR are taken. "
            f"Hint: {rows_hint}{name}.to_dense()"
        )
    if type_name(tensor) not in ROW_TYPES:
        raise InputError(f"{name} holds values of type {type_name(tensor)}. Hint: one of {', '.join(ROW_TYPES)}")
    is_dense_bool = tensor.dtype == torch.bool and tensor.layout == torch.strided
    return tensor.view(torch.uint8) if is_dense_bool else tensor


def _read_cupy_csr(X: Any) -> Any:
    """Return a sparse matrix of CuPy as a CSR tensor, of the same memory where it is in canonical CSR."""
    torch, matrix = import_torch(), X.tocsr()
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    parts = (torch.from_dlpack(part) for part in (matrix.indptr, matrix.indices, matrix.data))
    return torch.sparse_csr_tensor(*parts, size=tuple(matrix.shape), check_invariants=False)


def is_csr(tensor: Any) -> bool:
    """Return whether a torch tensor has the layout CSR."""
    return str(tensor.layout) == "torch.sparse_csr"


def count_cells(tensor: Any) -> int:
    """Return the number of cells of a tensor, of CSR rows of those that are stored."""
    return int(tensor.values().numel() if is_csr(tensor) else tensor.numel())


def type_name(tensor: Any) -> str:
    """Return the name of a tensor's type, as NumPy spells it."""
    return str(tensor.dtype).removeprefix("torch.")


def round_threshold(threshold: float, tensor: Any) -> float:
    """Round a threshold to a tensor's type: down for whole numbers, which are compared as 64-bit integers.

    torch compares whole numbers with a float in single precision, where 1.7e9 and 1.7e9 + 10 are equal.
    """
    if tensor.dtype.is_floating_point:
        return float(import_torch().tensor(threshold, dtype=tensor.dtype))
    return math.floor(min(threshold, MAX_INT64))


def is_above(tensor: Any, threshold: float) -> Any:
    """Return whether each value is above a threshold that was rounded to the tensor's type."""
    return (tensor if tensor.dtype.is_floating_point else tensor.long()) > threshold


def to_numpy(tensor: Any) -> NDArray[Any]:
    """Copy a tensor to a NumPy array; one in host memory is not copied. Half precision becomes single."""
    if not is_torch(tensor):
        tensor = to_torch(tensor)
    if type_name(tensor) in ("float16", "bfloat16"):
        tensor = tensor.float()
    try:
        array: NDArray[Any] = tensor.detach().cpu().numpy()
    except NotImplementedError:
        raise InputError(
            f"a tensor on {tensor.device} has no values that can be copied. Hint: tensors on a GPU or in host memory"
        ) from None
    return array


def is_torch(X: Any) -> bool:
    """Return whether X is a torch tensor, or of a subclass; there is none unless torch is imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, getattr(torch, "Tensor", ()))


def to_device(array: Any, like: Any) -> Any:
    """Return a NumPy array as a torch tensor on the device of another one; in host memory it is not copied."""
    return import_torch().as_tensor(np.ascontiguousarray(array), device=like.device)


def match_library(tensor: Any, X: Any) -> Any:
    """Return a torch tensor as an array of X's library, of the same memory."""
    if is_torch(X):
        return tensor
    import cupy

    return cupy.from_dlpack(tensor)


def check_same_device(X: Any, tensor: Any, name: str) -> None:
    """Refuse a tensor, the argument of this name, that is on another device than X."""
    if X.device != tensor.device:
        raise InputError(
            f"X is on {X.device} and {name} on {tensor.device}; both must be on one device. "
            f"Hint: {name}.to(X.device), or {name} as a NumPy array"
        )


@contextmanager
def on_device(tensor: Any) -> Iterator[None]:
    """Run kernels on the tensor's device, and raise an error of deciban where its memory does not suffice."""
    torch = import_torch()
    try:
        if tensor.device.type != "cuda":
            yield
            return
        with torch.cuda.device(tensor.device):
            yield
    except torch.OutOfMemoryError as error:
        reason = str(error).split(". ")[0]
        raise DeviceMemoryError(
            f"the memory of {tensor.device} does not suffice: {reason}. Nothing was changed. Hint: fewer rows at a "
            f"time, partial_fit(X[a:b], y[a:b], classes=...) and predict(X[a:b])"
        ) from None
