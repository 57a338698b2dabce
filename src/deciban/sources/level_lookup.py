"""Known: the names of levels as a file has them, looked up where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

LOOKED_THROUGH = 4
"""Searches that look through all names before a table of them is made.

250 000 names are looked through in 2 ms, and put into a table in 110: one row should not pay for ten million.
"""


class Known(Sequence[str]):
    """A pyarrow array of texts as a sequence, with the place of each.

    >>> import pyarrow as pa
    >>> Known(pa.array(["no", "perhaps", "yes"])).places(["yes", "never", None])
    [2, 3, -1]
    """

    def __init__(self, names: Any) -> None:
        self._names = names
        self._searches = 0

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, i: Any) -> Any:
        return self._names[i].to_pylist() if isinstance(i, slice) else self._names[i].as_py()

    def __iter__(self) -> Any:
        return iter(self._names.to_pylist())

    def places(self, words: Sequence[str | None]) -> list[int]:
        """The place of each word: −1 for none, and one past the last where it is not known."""
        self._searches += 1
        place = self._found(words) if self._searches <= LOOKED_THROUGH else self._table
        return [-1 if word is None else place.get(word, len(self)) for word in words]

    def _found(self, words: Sequence[str | None]) -> dict[str, int]:
        """The words that are known, by one look at every name."""
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted = pa.array([word for word in words if word is not None], self._names.type)
        at = np.flatnonzero(np.asarray(pc.is_in(self._names, value_set=wanted)))
        return {self[i]: i for i in at.tolist()}

    @cached_property
    def _table(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self)}
