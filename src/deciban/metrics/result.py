"""The base class of public results: fields as JSON values, and deprecated names of attributes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

from deciban.plain_json import to_plain


class Result:
    """A public result, a dataclass; renamed attributes are found under their deprecated names, with a warning."""

    __slots__ = ()
    renamed_attributes: ClassVar[Mapping[str, str]] = {}
    """The new name of each deprecated name."""

    def select(self, names: Iterable[str]) -> dict[str, Any]:
        """Return some attributes by name, as JSON values."""
        return {name: to_plain(getattr(self, name)) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, as JSON values."""
        result: Any = self
        return self.select(field.name for field in fields(result))

    if not TYPE_CHECKING:  # a type checker sees the new names only

        def __getattr__(self, name: str) -> Any:
            new = type(self).renamed_attributes.get(name)
            if new is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            warnings.warn(f"{type(self).__name__}.{name} is now called {new}", DeprecationWarning, stacklevel=2)
            return getattr(self, new)
