"""The base class of public results: fields as JSON values, frames, and deprecated names of attributes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from deciban._lazy import pa
from deciban.errors import InputError, MissingExtraError
from deciban.plain_json import to_plain

FrameKind = Literal["pandas", "polars", "arrow"]
"""The library of a frame; "arrow" is a `pyarrow.Table`, and needs no other library."""


class RenamedAttributes:
    """A class of which attributes were renamed: they are found under their deprecated names, with a warning."""

    __slots__ = ()
    _renamed_attributes: ClassVar[Mapping[str, str]] = {}
    """The new name of each deprecated name; one that begins with an underscore is not for users."""

    if not TYPE_CHECKING:  # a type checker sees the new names only

        def __getattr__(self, name: str) -> Any:
            new = type(self)._renamed_attributes.get(name)
            if new is None:
                return object.__getattribute__(self, name)  # raises the error of a property, or the usual one
            now = "internal, and will be removed" if new.startswith("_") else f"now called {new}"
            warnings.warn(f"{type(self).__name__}.{name} is {now}", DeprecationWarning, stacklevel=2)
            return getattr(self, new)


class Result(RenamedAttributes):
    """A public result, a dataclass."""

    __slots__ = ()

    def select(self, names: Iterable[str]) -> dict[str, Any]:
        """Return some attributes by name, as JSON values.

        >>> import deciban
        >>> taste = {"sweet": [1, 2, 6, 8, 9, 4], "fruit": ["lemon"] * 3 + ["plum"] * 3}
        >>> report = deciban.evaluate(taste, target="fruit", folds="loo", numbers="number")
        >>> report.select(["rows", "classes"])
        {'rows': 6, 'classes': ['lemon', 'plum']}
        """
        return {name: to_plain(getattr(self, name)) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, as JSON values."""
        result: Any = self
        return self.select(field.name for field in fields(result))


def make_frame(columns: Mapping[str, Any], kind: FrameKind) -> Any:
    """Return columns of equal length as a frame; values of one column that have no common type become texts.

    >>> make_frame({"class": ["a", 1], "rows": [3.0, 4.0]}, "arrow").to_pylist()
    [{'class': 'a', 'rows': 3.0}, {'class': '1', 'rows': 4.0}]
    """
    if kind not in get_args(FrameKind):
        raise InputError(f"a frame is one of {', '.join(get_args(FrameKind))}, not {kind!r}")
    table = pa.table({name: _to_arrow(values) for name, values in columns.items()})
    try:
        if kind == "pandas":
            return table.to_pandas()
        if kind == "polars":
            import polars as pl

            return pl.from_arrow(table)
    except ImportError:
        hint = f"Hint: pip install {kind}, or to_frame('arrow'), which needs no other library"
        raise MissingExtraError(f"a frame of {kind} needs {kind}, which is not installed. {hint}") from None
    return table


def _to_arrow(values: Any) -> Any:
    """Return an Arrow array; of texts where the values have no common type."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values])
