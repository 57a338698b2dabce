"""Compilation of kernels: on first use, cached on disk, without the interpreter's lock."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, ParamSpec, TypeVar

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with Numba for one core, without the interpreter's lock, and cache the machine code.

    Where neither the package's folder nor the user's cache can be written, Numba refuses to cache;
    then the kernel is compiled again in each process, and one warning tells how to change that.
    """
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:
        _warn_once()
        return numba.njit(nogil=True)(function)


@cache
def _warn_once() -> None:
    warnings.warn(
        "deciban found no folder to keep its compiled kernels in, so each process compiles them again "
        "(a second or two). Hint: set NUMBA_CACHE_DIR to a writable folder.",
        stacklevel=4,
    )


def _trailing_zeros(typing_context: Any, x: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), build


trailing_zeros: Any = intrinsic(_trailing_zeros)
"""The number of trailing zero bits of a non-zero number: one instruction, which NumPy does not offer."""
