"""When kernels are loaded: for large work, or where they have been used before."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

LARGE = 1 << 20
"""Below this many elementary steps the definition is done before Numba is imported."""

_loaded: dict[str, ModuleType] = {}


def kernels(name: str, work: int) -> ModuleType | None:
    """A module of kernels where it pays: for large work, or where it has been used before.

    Asked once for a whole input, not block by block: what the first blocks load must not change the last ones.
    """
    module = _loaded.get(name)
    if module is None and work >= LARGE:
        module = _loaded[name] = import_module(f"deciban.kernels.{name}")
    return module
