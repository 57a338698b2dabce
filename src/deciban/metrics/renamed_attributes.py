"""Deprecated names of attributes of public results."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar


class RenamedAttributes:
    """A base class that returns renamed attributes under their deprecated names, with a warning."""

    __slots__ = ()
    renamed_attributes: ClassVar[Mapping[str, str]] = {}
    """The new name of each deprecated name."""

    if not TYPE_CHECKING:  # a type checker sees the new names only

        def __getattr__(self, name: str) -> Any:
            new = type(self).renamed_attributes.get(name)
            if new is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            warnings.warn(f"{type(self).__name__}.{name} is now called {new}", DeprecationWarning, stacklevel=2)
            return getattr(self, new)
