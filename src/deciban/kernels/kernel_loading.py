"""Which work is done by kernels: it depends on the size of the work alone, so equal questions get equal bits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from types import ModuleType

MIN_KERNEL_STEPS = 1 << 20
"""Elementary steps from which kernels are used; with fewer, NumPy is done before Numba is imported."""


_total_steps: ContextVar[int] = ContextVar("total_steps", default=0)


@contextmanager
def part_of_work(total_steps: int) -> Iterator[None]:
    """Within this context a small piece of work counts as part of larger work, which may be worth kernels."""
    token = _total_steps.set(total_steps)
    try:
        yield
    finally:
        _total_steps.reset(token)


def load_kernels(name: str, steps: int) -> ModuleType | None:
    """Import a module of kernels if the work has enough steps for it, else return None.

    Call it once for a whole input, not for each block of it: a last, shorter block takes the path of the others.
    """
    return import_module(f"deciban.kernels.{name}") if max(steps, _total_steps.get()) >= MIN_KERNEL_STEPS else None
